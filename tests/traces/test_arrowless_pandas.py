"""What importing pandas imports beside it, in processes of their own that have a pyarrow to find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from traces.arrowless_pandas import import_pandas
how = sys.argv[1]
if how == "behind":
    import pyarrow
if how != "plain":
    import_pandas()
import pandas
seen = "pyarrow" in sys.modules
import pyarrow
print(seen, pyarrow.__version__)
"""


def _told(folder: Path, how: str) -> list[str]:
    """Whether pyarrow had been imported behind pandas, and which one an import finds then."""
    found = folder / "pyarrow"
    found.mkdir(exist_ok=True)
    # Too old for any pandas to use it.
    (found / "__init__.py").write_text('__version__ = "0.0.1"\n', encoding="utf-8")
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, how],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return made.stdout.split()


def test_pandas_leaves_arrow_alone(tmp_path: Path) -> None:
    """Ours does not import it, where pandas itself does; whoever asks for it later finds it, and whoever has it keeps it."""
    assert _told(tmp_path, "plain") == ["True", "0.0.1"]
    assert _told(tmp_path, "ours") == ["False", "0.0.1"]
    assert _told(tmp_path, "behind") == ["True", "0.0.1"]
