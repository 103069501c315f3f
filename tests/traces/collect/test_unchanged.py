"""A script under `advisor collect` shows what it shows without: its own names, folders, source lines and warnings."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from traces.collect.script.session import ScriptConfig, Verdict, collect_script

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.mark.scripts
def test_output_and_traceback_are_the_scripts_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(SCRIPTS)
    alone = subprocess.run([sys.executable, "itself.py"], capture_output=True, text=True, check=False)
    result = collect_script(ScriptConfig(target="itself.py", output=tmp_path / "t.json"), lambda path: Verdict(True))
    assert (result.status, len(result.recordings)) == (alone.returncode, 1)
    said = capfd.readouterr()
    assert said.out == alone.stdout
    assert said.err == alone.stderr
