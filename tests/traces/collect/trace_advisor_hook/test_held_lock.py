"""Passes of the garbage collector that keep the interpreter's lock, so that nobody else looks: who began them, and for how long."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from traces.collect.trace_advisor_hook.sampling.held_lock import ASKED_FOR, ON_ITS_OWN, HeldLock
from traces.collect.trace_advisor_hook.sampling.sampler import Sampler
from traces.collect.trace_advisor_hook.steps.course import Course

MS = 1_000_000
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
        isinstance(getattr(call, "__self__", None), HeldLock) for call in gc.callbacks
    ):
        time.sleep(0.01)
    assert not [call for call in gc.callbacks if isinstance(getattr(call, "__self__", None), HeldLock)]
    assert kept


def _lock(*, slept_ms: int) -> HeldLock:
    """As of a thread that wanted to sleep for 50 ms."""
    lock = HeldLock(0.05)
    lock.begin()
    lock._began_ns -= slept_ms * MS
    return lock


def test_a_thread_that_wakes_in_time_has_missed_nothing() -> None:
    lock = HeldLock(10)
    lock.begin()
    gc.collect()
    assert (lock.missed(), lock.mark in gc.callbacks) == (0, False)


def test_passes_are_timed_from_the_first_one_on_that_makes_it_late() -> None:
    lock = _lock(slept_ms=350)
    assert (lock.missed(), lock.mark in gc.callbacks) == (0, False), "something else did"
    gc.collect()
    assert (lock.missed(), lock.mark in gc.callbacks) == (0, True)
    lock.end()
    lock.end()
    assert lock.mark not in gc.callbacks


@pytest.mark.parametrize(("pass_ms", "missed"), [(260, 5), (160, 3), (120, 0)])
@pytest.mark.parametrize("over", [True, False])
def test_only_passes_that_are_most_of_the_delay_count(pass_ms: int, missed: int, *, over: bool) -> None:
    lock = _lock(slept_ms=350)
    lock.mark("start", {"generation": 2})
    assert lock._since_ns is not None
    lock._since_ns -= pass_ms * MS
    if over:
        lock.mark("stop", {"generation": 2})
    assert lock.missed() == missed


def test_what_other_libraries_do_at_the_end_of_a_pass_did_not_begin_it() -> None:
    """Hypothesis and others are called there as well."""
    seen: list[list[FrameType]] = []

    def began() -> None:
        lock.mark("start", {"generation": 2})
        ended()

    def ended() -> None:
        frames, frame = [], sys._getframe()
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back  # type: ignore[assignment]
        seen.append(frames[::-1])

    lock = HeldLock(0.05)
    began()
    assert [frame.f_code.co_name for frame in seen[0][-2:]] == ["began", "ended"]
    assert [frame.f_code.co_name for frame in lock.where(seen[0])[-1:]] == ["began"]
    assert lock.where(seen[0][:3]) == seen[0][:3]


def test_of_a_pass_only_what_lies_behind_the_beginning_counts() -> None:
    lock = HeldLock(0.05)
    lock.mark("start", {"generation": 2})
    assert lock._since_ns is not None
    lock._since_ns -= 10_000 * MS
    lock.begin()
    lock.mark("stop", {"generation": 2})
    assert lock._ended_ns < 5_000 * MS


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
    lock = HeldLock(0.05)
    lock.mark("start", {"generation": 2})
    assert lock.name == name
