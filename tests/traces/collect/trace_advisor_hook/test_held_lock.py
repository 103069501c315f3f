"""Code in C that keeps the interpreter's lock, so that nobody else looks: who kept it, and whether it was the collector."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from traces.collect.trace_advisor_hook.sampling.held_lock import ASKED_FOR, ON_ITS_OWN, FullPasses, HeldLock
from traces.collect.trace_advisor_hook.sampling.sampler import Sampler
from traces.collect.trace_advisor_hook.steps.course import Course

# An interpreter without the lock looks whenever it likes.
_LOCKED = getattr(sys, "_is_gil_enabled", lambda: True)()
needs_lock = pytest.mark.skipif(not _LOCKED, reason="this interpreter has no lock to keep")


@contextmanager
def _seen(work: Callable[[], object], after: Callable[[], object]) -> Iterator[Sampler]:
    """A step that works, and then does something short; each again until enough was seen of it."""
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    sampler.begin()
    until = time.monotonic() + 60
    while sampler.samples < 25 and time.monotonic() < until:
        work()
        after()
    sampler.end()
    yield sampler


def _looks(sampler: Sampler, name: str) -> int:
    rows = sampler.told()["places"]
    return sum(row["samples"] for row in rows if row["functions"][0][0].rpartition(".<locals>.")[2] == name)


@needs_lock
def test_what_keeps_the_lock_is_seen_and_not_what_comes_next() -> None:
    many = [0] * 20_000_000

    def counts() -> None:
        many.count(1)

    def sleeps() -> None:
        time.sleep(0.01)

    with _seen(counts, sleeps) as sampler:
        assert _looks(sampler, "counts") > 2 * _looks(sampler, "sleeps")
        assert not [row for row in sampler.told()["places"] if row["functions"][0][0] in (ASKED_FOR, ON_ITS_OWN)]


@needs_lock
def test_a_pass_of_the_collector_is_told_with_the_function_that_asked_for_it() -> None:
    kept: list[list[int]] = [[] for _ in range(4_000_000)]

    def collects() -> None:
        gc.collect()

    def sleeps() -> None:
        time.sleep(0.01)

    with _seen(collects, sleeps) as sampler:
        assert _looks(sampler, ASKED_FOR) > 2 * _looks(sampler, "sleeps")
        rows = [row for row in sampler.told()["places"] if row["functions"][0][0] == ASKED_FOR]
        assert rows[0]["functions"][1][0].endswith("collects")
        assert rows[0]["functions"][0][1] == __file__
    # The callback is gone with the sampler, at the latest once it wakes up again.
    until = time.monotonic() + 30
    while time.monotonic() < until and any(
        isinstance(getattr(call, "__self__", None), FullPasses) for call in gc.callbacks
    ):
        time.sleep(0.01)
    assert not [call for call in gc.callbacks if isinstance(getattr(call, "__self__", None), FullPasses)]
    assert kept


def test_a_thread_that_wakes_in_time_has_missed_nothing() -> None:
    lock = HeldLock(0.05)
    lock.begin()
    time.sleep(0.05)
    assert (lock.missed(), lock._passes.mark in gc.callbacks) == (0, False)


def test_time_without_a_core_is_no_lock() -> None:
    class Waiting:
        so_far_ns = 0

        def ns(self) -> int:
            return self.so_far_ns

    lock = HeldLock(0.001)
    lock._waiting = waiting = Waiting()  # type: ignore[assignment]
    lock.begin()
    time.sleep(0.05)
    assert lock.missed() >= 40
    waiting.so_far_ns = 10**12
    assert lock.missed() == 0


@pytest.mark.parametrize(
    ("enabled", "fewest", "objects", "name"),
    [
        (True, 700, 12, ASKED_FOR),
        (True, 700, 701, ON_ITS_OWN),
        (True, 0, 5000, ASKED_FOR),
        (False, 700, 5000, ASKED_FOR),
    ],
)
def test_a_pass_that_was_asked_for_is_told_from_one_that_python_begins(
    monkeypatch: pytest.MonkeyPatch, enabled: bool, fewest: int, objects: int, name: str
) -> None:
    monkeypatch.setattr(gc, "isenabled", lambda: enabled)
    monkeypatch.setattr(gc, "get_threshold", lambda: (fewest, 10, 10))
    monkeypatch.setattr(gc, "get_count", lambda: (objects, 0, 0))
    passes = FullPasses()
    passes.mark("start", {"generation": 2})
    assert passes.name == name
    assert passes.took_ns() > 0, "it is not over yet"
    passes.mark("stop", {"generation": 2})
    took_ns = passes.took_ns()
    assert took_ns == passes.took_ns() > 0
    passes.begin()
    assert passes.took_ns() == 0
