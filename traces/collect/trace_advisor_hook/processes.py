"""Watching this process and those it starts, up to their end."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from typing import Any

from .common import FAILURES
from .trial.guard import Guard
from .trial.watcher import TrialWatcher
from .watcher import Watcher
from .wrapping import TorchFinder

MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")


_installed: list[Watcher] = []


def install(path: str, *, launched: bool = False) -> Watcher:
    """Get ready to watch this process and those it starts through multiprocessing; once, however often this is called.

    Args:
        path: The file of the settings.
        launched: Whether another process has started this one, with our folder on its `PYTHONPATH`.
    """
    import multiprocessing.spawn as spawn
    import multiprocessing.util as util

    if _installed:
        return _installed[0]
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    watcher = TrialWatcher(settings) if settings.get("trial") else Watcher(settings)
    if settings.get("guard"):
        watcher.guard = Guard(settings["guard"], getattr(watcher, "leave", lambda why: watcher.end()))
        watcher.guard.install()
    sys.meta_path.insert(0, TorchFinder(watcher))
    _installed.append(watcher)
    command_line = spawn.get_command_line

    def get_command_line(**arguments: Any) -> list[str]:
        words = command_line(**arguments)
        if "-c" in words:
            load = f"from runpy import run_path;run_path({MAIN!r})['load']('processes').install({os.path.abspath(path)!r});"
            words[words.index("-c") + 1] = load + words[words.index("-c") + 1]
        return words

    # multiprocessing ends its children without unwinding what stood below them when they were forked.
    at_end: Any = lambda watcher: util.Finalize(None, watcher.end, exitpriority=0)  # noqa: E731
    spawn.get_command_line = get_command_line
    _before_leaving(watcher)
    util.register_after_fork(watcher, at_end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=watcher.begin_process)
    if "--multiprocessing-fork" in sys.argv:
        watcher.child = True
        at_end(watcher)
    elif launched:
        watcher.launched()
        atexit.register(watcher.end)
    return watcher


def _before_leaving(watcher: Watcher) -> None:
    """Scripts that would hang in threads or in CUDA at their end leave by `os._exit`: what is recorded is written before."""
    leave = os._exit

    def _exit(status: int) -> Any:
        with contextlib.suppress(*FAILURES):
            watcher.end()
        leave(status)

    os._exit = _exit
