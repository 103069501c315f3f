"""NumPy without threads for matrix products: nothing here multiplies matrices.

OpenBLAS, which NumPy's wheels bring, begins a thread for each core when it is loaded. On two cores that costs as much CPU time as
the rest of NumPy's import, on many more; and a process that has threads is copied (`fork`) at the risk that one held a lock.
"""

from __future__ import annotations

import importlib
import os

_THREADS = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """Import NumPy, for a process that is ours alone. What the user has set holds; processes begun later are told nothing."""
    if _THREADS in os.environ:
        importlib.import_module("numpy")
        return
    os.environ[_THREADS] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_THREADS]
