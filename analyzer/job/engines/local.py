"""Summarising here: in this process, or in as many as there are cores and memory for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stderr
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path

from analyzer.job.engines import Outcome, Report, outcome
from analyzer.options import Options
from traces.ending import end_now
from traces.reader.memory_left import available_bytes

# What a process takes before it reads anything: Python, numpy, pandas (tests/bench/README.md).
_BASE_BYTES = 110_000_000
# Of a trace as it is stored, what explaining it takes at most beside that: 535 MB for 993 MB of text, which gzip makes 15 times
# smaller (tests/bench/README.md).
_PER_PLAIN_BYTE, _PER_PACKED_BYTE = 0.6, 9.0
# Under this much work processes take longer to start than they save.
_WORTH_BYTES = 4_000_000
_FEW = 2
# Between looks at whether whoever watches wants to stop.
_LOOK_S = 0.2


def jobs_for(places: Sequence[str], cores: int | None = None, memory: int | None = None) -> int:
    """How many processes to use: one per core, fewer where memory does not allow, one where there is little to do.

    Args:
        places: Paths.
        cores: Cores to use; None for those of this machine that this process may use.
        memory: Bytes that may be taken; None for what is left here.
    """
    sizes = sorted((_size(place) for place in places), reverse=True)
    cores = (
        (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
        if cores is None
        else cores
    )
    left = available_bytes() if memory is None else memory
    most = min(cores or 1, len(places))
    if len(places) < _FEW or sum(sizes) < _WORTH_BYTES:
        return 1
    while most > 1 and left is not None and sum(_need(*one) for one in _largest(places, most)) > left // 2:
        most -= 1
    return max(most, 1)


def _largest(places: Sequence[str], most: int) -> list[tuple[str, int]]:
    return sorted(((place, _size(place)) for place in places), key=lambda item: -item[1])[:most]


def _need(place: str, size: int) -> float:
    return _BASE_BYTES + size * (_PER_PLAIN_BYTE if place.endswith(".json") else _PER_PACKED_BYTE)


def _size(place: str) -> int:
    try:
        return Path(place).stat().st_size
    except OSError:
        return 0


class HereEngine:
    """One file after another in this process."""

    def outcomes(self, places: Sequence[str], options: Options, report: Report) -> Iterator[Outcome]:
        """See `Engine`."""
        for number, place in enumerate(places):
            yield outcome(number, place, options, report)


class ProcessesEngine:
    """Several files at once, each in a process of its own choosing.

    Args:
        jobs: How many processes.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def outcomes(self, places: Sequence[str], options: Options, report: Report) -> Iterator[Outcome]:
        """See `Engine`; a file whose process was killed is read again, alone, and named if that happens again."""
        # Largest first: what is begun last decides when all is done.
        order = sorted(range(len(places)), key=lambda number: -_size(places[number]))
        lost: list[int] = []
        for found in self._pooled(order, places, options, report):
            if isinstance(found, int):
                lost.append(found)
            else:
                yield found
        for number in lost:
            alone = [*ProcessesEngine(1)._pooled([number], places, options, report)]
            yield from (one if isinstance(one, Outcome) else _killed(number) for one in alone)

    def _pooled(
        self, order: Sequence[int], places: Sequence[str], options: Options, report: Report
    ) -> Iterator[Outcome | int]:
        """An outcome for each file, or its number where the pool broke under it."""
        # Spawned, not forked: threads of ours may hold locks.
        context = multiprocessing.get_context("spawn")
        _mind_resources()
        pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_end_at_once)
        running: dict[Future[Outcome], int] = {}
        waiting = list(reversed(order))
        done = False
        try:
            while running or waiting:
                while waiting and len(running) < 2 * self._jobs:
                    number = waiting.pop()
                    with _deaf_to_interrupts():
                        running[pool.submit(outcome, number, places[number], options)] = number
                finished, _ = wait(running, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                if not finished:
                    report("reading ranks", 0, 0)
                for future in finished:
                    number = running.pop(future)
                    yield number if future.exception() is not None else future.result()
            done = True
        except BrokenProcessPool:
            yield from (*running.values(), *waiting)
            done = True
        finally:
            if not done:
                # Nobody wants what they are at, which may take minutes.
                for process in [*pool._processes.values()]:
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _mind_resources() -> None:
    """Starts what spawned processes share: it hands on standard error by number, and what the terminal UI puts there has none."""
    if sys.platform != "win32":
        with redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started in here never see Ctrl-C, which a terminal sends to all: the one that started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_at_once() -> None:
    """In a process of the pool: SIGTERM ends it, and so does the end of whoever started it; its copies of remote files go, too."""
    signal.signal(signal.SIGTERM, lambda number, _: end_now(number))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    end_now(signal.SIGTERM)


def _killed(number: int) -> Outcome:
    return Outcome(number, reason="the process that read it was killed, twice: perhaps there is not enough memory")
