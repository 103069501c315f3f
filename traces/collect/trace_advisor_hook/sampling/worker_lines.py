"""Lines that a loader's worker processes are at, sampled while the training process asks for it.

A worker looks for a file that the training process makes: it may have been forked long before, and shares nothing else with it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import threading
from typing import Any

from ..common import FAILURES
from .line_sampler import LineSampler

_LOOK_S = 0.1
# torch gives a worker five seconds to end.
_WRITE_S = 2.0


def request(folder: str, pid: int) -> str:
    """The file that stands there while workers of a process are to be sampled."""
    return os.path.join(folder, f"sample-{pid}")


def wrap_workers(folder: str) -> None:
    """Let each worker sample itself on request.

    The wrapped function keeps its name and module: where workers are started anew, they find it by those, wrapped or not.
    """
    worker: Any = sys.modules["torch.utils.data._utils.worker"]
    loop = worker._worker_loop

    @functools.wraps(loop)
    def _worker_loop(*args: Any, **kwargs: Any) -> Any:
        over = threading.Event()
        watch = threading.Thread(
            target=_watch, args=(folder, threading.get_ident(), over), name="advisor line sampler", daemon=True
        )
        with contextlib.suppress(*FAILURES):
            watch.start()
        try:
            return loop(*args, **kwargs)
        finally:
            over.set()  # an epoch may end while lines are sampled: what was seen is written then
            with contextlib.suppress(*FAILURES):
                watch.join(_WRITE_S)

    worker._worker_loop = _worker_loop


def _watch(folder: str, thread: int, over: threading.Event) -> None:
    """Sample this worker's main thread once the training process asks for it, and write what was seen.

    Args:
        folder: Where it asks.
        thread: The worker's main thread.
        over: Set where the worker ends.
    """
    fetch: Any = sys.modules["torch.utils.data._utils.fetch"]
    marks = frozenset({(fetch.__file__, "fetch")})
    asked = request(folder, os.getppid())
    while not over.wait(_LOOK_S):
        if not os.path.exists(asked):
            continue
        sampler = LineSampler(thread, marks)
        sampler.start()
        while os.path.exists(asked) and not over.wait(_LOOK_S):
            pass
        sampler.stop()
        with contextlib.suppress(OSError):
            path = os.path.join(folder, f"lines-{os.getppid()}-{os.getpid()}.json")
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(sampler.told(), file)
            os.replace(path + ".part", path)
        return
