"""A warning of torch's that must not reach the script."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def without_torchs_warning() -> Iterator[None]:
    """Torch 2.11 warns of each profiler that it clears events: noise, and where warnings are errors a profiler half started.

    Asking it to keep them (`acc_events`) is no way out: it then works through all events, for seconds. Neither is
    `catch_warnings`: after that, Python shows again every warning it has shown once.
    """
    quiet: Any = ("ignore", re.compile(r"(?:Warning: )?Profiler clears events"), Warning, None, 0)
    warnings.filters.insert(0, quiet)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        warnings.filters.remove(quiet)  # type: ignore[attr-defined]
