"""Threads and processes that a stranger's call leaves running: the program does not wait for them at its end, as Python would."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_threads: set[threading.Thread] = set()
_processes: set[BaseProcess] = set()
_leave, _PROCESS = os._exit, os.getpid()


@contextmanager
def watched() -> Iterator[None]:
    """What is begun while the context holds, and goes on behind it, is nobody's."""
    threads, processes = set(threading.enumerate()), _children()
    try:
        yield
    finally:
        begun = set(threading.enumerate()) - threads
        _threads.update(begun)
        if begun:
            os._exit = _stay
        _processes.update(_children() - processes)


def _stay(status: int) -> NoReturn:
    """`os._exit` from now on: of a thread that was left behind it ends that thread, or a gate would be green before it is asked."""
    if threading.current_thread() in _threads and os.getpid() == _PROCESS:
        sys.exit(status)
    _leave(status)


def are_there() -> bool:
    """Whether any of it still runs."""
    return any(thread.is_alive() for thread in _threads) or any(process.is_alive() for process in _processes)


def end() -> None:
    """Ends the processes; threads end with this one."""
    for process in _processes:
        process.kill()


def _children() -> set[BaseProcess]:
    # Whoever started one has imported it.
    if "multiprocessing.process" not in sys.modules:
        return set()
    from multiprocessing import active_children

    return set(active_children())
