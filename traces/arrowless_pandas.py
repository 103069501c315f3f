"""pandas without Arrow, for a process that is ours alone: no column of ours is kept in it.

Where pyarrow is installed, as beside most data sets and language models, pandas imports it and keeps strings in it. That takes a
sixth of what it takes to explain a small trace, and some of a large one; what comes out is the same. Somebody's rule that asks
pandas for a type of Arrow's is told that pyarrow is missing.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from traces.uncollected import uncollected

_ARROW = "pyarrow"


def import_pandas() -> None:
    """Import pandas as where pyarrow is not installed. Who imports pyarrow later finds it; who has imported either keeps it."""
    # What stands for a module is none: an import of it fails, as of one that is not there.
    modules = cast("dict[str, Any]", sys.modules)
    if _ARROW in modules or "pandas" in modules:
        return
    modules[_ARROW] = None
    try:
        with uncollected():
            import pandas as pd
    finally:
        del modules[_ARROW]
    # It is there: whoever asks for it next waits no more.
    del pd
