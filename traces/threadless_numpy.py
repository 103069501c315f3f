"""NumPy without threads for matrix products: nothing here multiplies matrices.

OpenBLAS, which NumPy's wheels bring, begins a thread for each core when it is loaded. On two cores that costs as much CPU time as
the rest of NumPy's import, on many more; and a process that has threads is copied (`fork`) at the risk that one held a lock.
"""

from __future__ import annotations

import os

from traces.uncollected import uncollected

_THREADS = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """Import NumPy, for a process that is ours alone. What the user has set holds; processes begun later are told nothing."""
    given = _THREADS in os.environ
    if not given:
        os.environ[_THREADS] = "1"
    try:
        with uncollected():
            import numpy as np
    finally:
        if not given:
            del os.environ[_THREADS]
    # It is there: whoever asks for it next waits no more.
    del np
