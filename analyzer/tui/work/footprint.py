"""How much memory this process took at most."""

from __future__ import annotations

import sys


def peak_memory_bytes() -> int | None:
    """The most so far; None where the system does not say."""
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Only macOS counts in bytes.
    return most if sys.platform == "darwin" else most * 1024
