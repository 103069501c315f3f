"""Idle time behind work of the host: how much of it ends sooner, and that no figure called "at most" is exceeded by such work."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.facts import Facts
from analyzer.facts.sync.behind import Waiting, behind
from analyzer.spans import arrays
from analyzer.spans.intervals import EMPTY, IntervalSet
from known.sayings import explained
from programs.late_hosts import LATE, loading


def spans(*pairs: tuple[int, int]) -> IntervalSet:
    return IntervalSet(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)


def found(host: IntervalSet, idle: IntervalSet, waits: tuple[int, ...] = (), had: int = 0) -> list[tuple[int, int]]:
    at = np.array(waits, dtype=np.int64)
    return behind(host, idle, Waiting(at, np.full(len(at), had))).pairs()


def test_as_much_of_the_next_idle_time_as_was_hidden() -> None:
    assert found(spans((0, 30)), spans((40, 60), (70, 90))) == [(40, 60), (70, 80)]


def test_what_the_device_idles_in_the_work_hides_nothing() -> None:
    assert found(spans((0, 30)), spans((0, 30), (40, 60))) == []
    assert found(spans((0, 30)), spans((10, 30), (40, 60))) == [(40, 50)]


def test_behind_a_wait_the_host_is_as_late_as_before() -> None:
    assert found(spans((0, 30)), spans((40, 60)), waits=(35,)) == []
    assert found(spans((0, 30)), spans((40, 60)), waits=(61,)) == [(40, 60)]


def test_behind_a_wait_it_is_earlier_by_what_the_device_idled_before() -> None:
    assert found(spans((0, 30)), spans((40, 60)), waits=(35,), had=5) == [(40, 45)]


def test_what_the_last_step_hides_the_first_one_has_to_give() -> None:
    assert found(spans((80, 100)), spans((10, 40))) == [(10, 30)]


def test_nothing_of_nothing() -> None:
    assert found(EMPTY, spans((0, 10))) == []
    assert found(spans((0, 10)), EMPTY) == []


@pytest.mark.parametrize("late", LATE)
def test_no_promise_is_exceeded_by_what_made_the_host_late(late: str) -> None:
    """Each came to two or three times what was called "at most": only what the device idled meanwhile was in it."""
    code, program = LATE[late]
    slow, fast = explained(program(slow=True)), explained(program(slow=False))
    (one,) = (item for item in slow.findings if item.rule == code)
    came = slow.summary.step_ns.mean - fast.summary.step_ns.mean
    assert one.saving.kind == "bound"
    # Kernels of these programs vary by 2 %.
    assert one.saving.ns_per_step_max >= 0.98 * came
    assert one.saving.expected_ns < came


def test_the_likely_part_is_what_the_device_idles_meanwhile() -> None:
    saving = next(one for one in explained(loading(slow=True)).findings if one.rule == "DL001").saving
    facts = Facts(loading(slow=True).trace())
    assert saving.expected_ns == facts.time.waterfall.owned("input").total_ns // facts.steps.count
    assert 4_000_000 <= saving.ns_per_step_max <= 4_200_000


def test_where_the_host_waits_in_between_the_bound_is_what_it_was() -> None:
    saving = next(one for one in explained(loading(slow=True, waits=True)).findings if one.rule == "DL001").saving
    assert saving.expected_ns <= saving.ns_per_step_max < 1.1 * saving.expected_ns


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_in_stretches_comes_out_what_comes_out_at_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(at_once)
    found = []
    for _ in range(60):
        starts = drawn.integers(0, 300, (2, 20))
        host, idle = (IntervalSet(start, start + drawn.integers(0, 20, 20)) for start in starts)
        at = np.sort(drawn.integers(-5, 305, 5))
        at = at[~host.contains(at)]
        waiting = Waiting(at, drawn.integers(0, 15, len(at)))
        whole = behind(host, idle, waiting)
        with monkeypatch.context() as patch:
            patch.setattr(arrays, "_AT_ONCE", at_once)
            assert behind(host, idle, waiting) == whole
        found.append(whole.total_ns)
    assert sum(map(bool, found)) > 30
