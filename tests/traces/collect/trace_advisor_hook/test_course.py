"""The course of a whole run: its steps in bounded memory, what makes some of them long, and what is seen meanwhile."""

import gc
import os
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from traces.collect.trace_advisor_hook.sampling.sampler import Sampler
from traces.collect.trace_advisor_hook.steps.course import Course
from traces.collect.trace_advisor_hook.surroundings.core_wait import ThreadWait

MS = 1_000_000


class _Waiting:
    """What a thread waited for a core, as the system tells it."""

    def __init__(self) -> None:
        self.so_far_ns = 0

    def ns(self) -> int:
        """The sum so far."""
        return self.so_far_ns


def _course(durations_ms: list[float], *, profiled: bool = False, loaders: list[set[int]] | None = None) -> Course:
    course = Course()
    course.waiting = _Waiting()  # type: ignore[assignment]
    course.step(course.started_ns + 7 * MS, 7 * MS, profiled=False, loaders=set())
    for number, duration in enumerate(durations_ms):
        drawn = loaders[number] if loaders else set()
        course.step(0, round(duration * MS), profiled=profiled, loaders=drawn)
    return course


def test_every_step_counts_and_the_sums_are_exact() -> None:
    durations = [10.0] * 90 + [500.0] * 10
    told = _course(durations).told()
    assert told["steps"] == 100
    assert told["times"] == [[90, 900 * MS], [10, 5000 * MS]]
    assert told["before_ns"] == 7 * MS


def test_a_step_with_the_profiler_on_is_counted_apart() -> None:
    told = _course([10.0] * 5, profiled=True).told()
    assert (told["steps"], told["profiled_steps"], told["profiled_ns"], told["times"]) == (5, 5, 50 * MS, [])


@pytest.mark.parametrize("durations", [[10.0, 11.0, 12.0, 13.0, 90.0], [0.02, 0.03, 0.03, 0.04, 50.0]])
def test_the_median_is_within_a_bin(durations: list[float]) -> None:
    middle = sorted(durations)[2] * MS
    assert _course(durations).median_ns() == pytest.approx(middle, rel=0.09)


def test_a_long_run_takes_no_more_room() -> None:
    course = Course()
    for number in range(100_000):
        course.step(1, 1000 + number % 977, profiled=False, loaders=set())
    assert len(course.bins) < 20
    assert len(course.longest) == 256
    assert course.steps == 99_999


def test_the_longest_keep_their_numbers() -> None:
    told = _course([1.0] * 400 + [40.0] + [1.0] * 400).told()
    assert [401, 40 * MS] in told["longest"]
    assert [number for number, _ in told["longest"]] == sorted(number for number, _ in told["longest"])


def test_batches_of_another_loader_in_long_steps_are_told() -> None:
    usual, other = [{1}] * 40, [{1, 2}] * 2
    assert _course([5.0] * 40 + [300.0] * 2, loaders=usual + other).told()["other_batches_ns"] == 600 * MS
    assert _course([5.0] * 40 + [300.0] * 2, loaders=usual + usual[:2]).told()["other_batches_ns"] == 0


def test_an_evaluation_before_anybody_knows_what_is_long_is_one_all_the_same() -> None:
    """The first steps take their time: three of them are longer than the evaluation behind the first epoch."""
    usual, other = [{1}] * 12, [{1, 2}]
    course = _course([200.0] * 12 + [300.0] + [50.0] * 40 + [310.0], loaders=usual + other + [{1}] * 40 + other)
    assert course.told()["other_batches_ns"] == 610 * MS


def test_a_loader_of_usual_steps_is_none_of_another_loop() -> None:
    """Tasks that take turns: one of them is long at times."""
    course = _course([5.0, 5.0] * 20 + [300.0] * 2, loaders=[{1}, {2}] * 20 + [{2}] * 2)
    assert course.told()["other_batches_ns"] == 0


def test_loaders_without_end_take_no_more_room() -> None:
    course = _course([5.0] * 1000, loaders=[{1, 2 + number} for number in range(1000)])
    assert len(course._drawn) == 64


def test_passes_of_the_collector_are_counted_in_steps_without_the_profiler() -> None:
    course = Course()
    course.step(0, 0, profiled=False, loaders=set())
    for profiled in (False, True, False):
        gc.collect(1)
        gc.collect()
        course.step(0, MS, profiled=profiled, loaders=set())
        gc.collect()
        course.worked(0)
    told = course.told()["collections"]
    assert (told["middle"], told["full"]) == (2, 2)


def test_what_recording_takes_is_in_no_step() -> None:
    course = _course([5.0] * 3)
    course.worked(time.perf_counter_ns() - 30 * MS)
    assert 30 * MS <= course.told()["own_ns"] < 1000 * MS


def _evaluate(until: threading.Event) -> None:
    until.wait(30)


def _loop(sampler: Sampler, *, long: bool) -> None:
    sampler.begin()
    if not long:
        sampler.course.limit_ns = None
    _evaluate(_Enough(sampler) if long else _Soon())


def test_what_other_programs_take_of_a_step_makes_it_no_longer() -> None:
    course = _course([5.0] * 40)
    waiting = course.waiting = _Waiting()  # type: ignore[assignment]
    course.worked(time.perf_counter_ns())
    waiting.so_far_ns += 295 * MS
    course.step(0, 300 * MS, profiled=False, loaders=set())
    told = course.told()
    assert (told["times"], told["waited_ns"]) == ([[41, 205 * MS]], 295 * MS)


def test_a_step_is_no_long_one_while_others_have_the_cores() -> None:
    course = Course()
    waiting = course.waiting = _Waiting()  # type: ignore[assignment]
    course.limit_ns, course.last_ns, course.waited_at_ns = 100 * MS, time.perf_counter_ns() - 400 * MS, 0
    assert course.is_long()
    waiting.so_far_ns = 10_000 * MS
    assert not course.is_long()


def test_an_ordinary_step_is_told_by_what_it_took_of_a_core() -> None:
    course = _course([5.0] * 7)
    waiting = course.waiting = _Waiting()  # type: ignore[assignment]

    def ordinary(duration_ms: int, *, without_core_ms: int = 0, profiled: bool = False) -> bool:
        course.worked(time.perf_counter_ns())
        waiting.so_far_ns += without_core_ms * MS
        return course.step(0, duration_ms * MS, profiled=profiled, loaders=set())

    assert not ordinary(5, profiled=True)
    assert ordinary(5)
    assert ordinary(300, without_core_ms=295), "among other programs each step takes so long"
    assert not ordinary(300)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell")
def test_a_thread_with_competitors_on_its_core_is_seen_to_wait() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        code = "import time; end = time.monotonic() + 30\nwhile time.monotonic() < end: pass"
        with subprocess.Popen([sys.executable, "-c", code]) as other:
            waiting, until = ThreadWait(), time.monotonic() + 30
            while waiting.ns() < 20 * MS and time.monotonic() < until:
                pass
            other.kill()
    finally:
        os.sched_setaffinity(0, before)
    assert waiting.ns() >= 20 * MS


def test_what_usual_steps_do_is_looked_at_as_well() -> None:
    course = _course([400.0] * 40)
    sampler = Sampler(course)
    course.worked(time.perf_counter_ns())
    sampler.begin()
    until = time.monotonic() + 30
    while sampler.usual_samples < 3 and time.monotonic() < until:
        _evaluate(_Soon())
        course.step(0, 300 * MS, profiled=False, loaders=set())
        course.last_ns = time.perf_counter_ns()
    sampler.end()
    told = sampler.told()
    assert (told["samples"], told["places"]) == (0, [])
    assert told["usual"]["samples"] >= 3
    assert told["usual"]["places"][0]["functions"][0][0].endswith("_evaluate")


@pytest.mark.parametrize(("so_far", "looks"), [(0, 60), (23, 60), (24, 20), (100, 0)])
def test_a_short_run_is_looked_at_often_enough_to_tell_what_its_steps_do(so_far: int, looks: int) -> None:
    sampler = Sampler(_course([400.0] * 40))
    sampler.usual_samples = so_far
    turns = 0
    for sampler._wakes in range(1, 61):
        turns += sampler._is_turn()
    assert turns == looks


def test_what_comes_first_in_a_long_step_is_seen_as_well() -> None:
    course = _course([100.0] * 40)
    sampler = Sampler(course)
    sampler.begin()
    course.worked(time.perf_counter_ns())
    until = time.monotonic() + 30
    while not sampler._undecided.late and time.monotonic() < until:
        _evaluate(_Soon())
    course.step(0, 900 * MS, profiled=False, loaders=set())
    course.last_ns = time.perf_counter_ns()
    while not sampler.samples and time.monotonic() < until:
        time.sleep(0.01)
    sampler.end()
    assert "_evaluate" in {row["functions"][0][0] for row in sampler.told()["places"]}
    assert sampler.usual_samples == 0


class _Soon(threading.Event):
    def wait(self, timeout: float | None = None) -> bool:
        time.sleep(0.25)
        return True


class _Enough(threading.Event):
    """Set once the sampler has looked three times."""

    def __init__(self, sampler: Sampler) -> None:
        super().__init__()
        self.sampler = sampler

    def wait(self, timeout: float | None = None) -> bool:
        until = time.monotonic() + 30
        while self.sampler.samples < 3 and time.monotonic() < until:
            time.sleep(0.01)
        return True


@pytest.mark.parametrize("long", [True, False])
def test_only_a_long_step_is_looked_into_and_the_function_named(long: bool) -> None:
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    _loop(sampler, long=long)
    sampler.end()
    told = sampler.told()
    if not long:
        assert (told["samples"], told["places"]) == (0, [])
        return
    first = told["places"][0]
    (function, file), *_ = first["functions"]
    assert (function.rpartition(".")[2], first["in_function"].rpartition(".")[2]) == ("_evaluate", "_loop")
    assert file == first["in_file"] == __file__
    assert first["own"]
    # A look costs microseconds: three of them less than one in a hundred of the time they stand for.
    assert told["cpu_ns"] < 0.5 * told["samples"] * told["sample_ns"]


# Of so many, zlib computes without the lock.
_BYTES = bytes(8192)


def _reckon() -> None:
    """Some milliseconds of Python, as one step of a small environment: fewer than after which the interpreter asks for its lock."""
    until = time.perf_counter() + 0.003
    while time.perf_counter() < until:
        pass


def _act(sampler: Sampler) -> None:
    sampler.begin()
    until = time.monotonic() + 30
    while sampler.samples < 20 and time.monotonic() < until:
        _reckon()
        zlib.crc32(_BYTES)  # lets go of the interpreter's lock, as each op of torch's does, but not of the core


def test_what_never_lets_go_of_the_interpreters_lock_is_seen_as_well() -> None:
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    before = sys.getswitchinterval()
    _act(sampler)
    sampler.end()
    if course.lacked_ns() > 0.2 * (time.perf_counter_ns() - course.last_ns):
        pytest.skip("other programs have the cores: the thread is mostly found where it waits for one")
    if sampler.samples < 20:
        pytest.skip(
            "on idle cores the thread takes the lock back before the other one has woken up: too few looks to judge"
        )
    seen = sum(row["samples"] for row in sampler.told()["places"] if row["functions"][0][0].endswith("_reckon"))
    assert seen > 0.4 * sampler.samples
    until = time.monotonic() + 30
    while sys.getswitchinterval() != before and time.monotonic() < until:
        time.sleep(0.01)  # the last look may not be over yet
    assert sys.getswitchinterval() == before


class _Clock:
    def reset(self) -> None:
        pass

    def step(self, until: threading.Event) -> None:
        until.wait(30)


class _Maze(_Clock):
    def __init__(self) -> None:
        self.n_actions = 4

    def step(self, until: threading.Event) -> None:
        until.wait(30)


@pytest.mark.parametrize(("acts", "expected"), [(_Maze, True), (_Clock, False)])
def test_an_environment_is_told_by_what_it_has(acts: type[_Clock], expected: bool) -> None:
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    sampler.begin()
    acts().step(_Enough(sampler))
    sampler.end()
    assert sampler.told()["places"][0]["environment"] is expected


def test_what_torch_wraps_around_a_step_is_not_named() -> None:
    torch = pytest.importorskip("torch")

    class Slow(torch.optim.SGD):  # type: ignore[misc, name-defined]
        def step(self, closure: object = None) -> None:
            _Enough(sampler).wait()

    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    optimizer = Slow([torch.zeros(1, requires_grad=True)], lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    sampler.begin()
    optimizer.step()
    sampler.end()
    functions = [name.rpartition(".")[2] for name, _ in sampler.told()["places"][0]["functions"]]
    assert functions[0] == "step"
    assert "wrapper" not in functions


def test_nothing_is_seen_while_it_is_paused() -> None:
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    sampler = Sampler(course)
    sampler.paused = True
    sampler.begin()
    time.sleep(0.3)
    sampler.end()
    assert sampler.samples == 0


def test_another_loop_has_other_ordinary_steps() -> None:
    sampler = Sampler(Course())
    sampler.begin()
    other = sampler.anew()
    assert (other.begun, other.course) == (False, sampler.course)
    assert sampler._ended.is_set()


def _long() -> Course:
    """A course whose step takes long, from now on."""
    course = Course()
    course.limit_ns, course.last_ns = 1, time.perf_counter_ns()
    return course


def test_samplers_that_look_at_once_leave_the_interpreters_switch_interval_as_it_was() -> None:
    usual, samplers = sys.getswitchinterval(), [Sampler(_long()) for _ in range(8)]
    before = set(threading.enumerate())
    for sampler in samplers:
        sampler.begin()
    threads = set(threading.enumerate()) - before
    time.sleep(0.5)
    for sampler in samplers:
        sampler.end()
    for thread in threads:
        thread.join()
    assert any(sampler.samples for sampler in samplers)
    assert sys.getswitchinterval() == usual


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_process_that_is_forked_beside_a_look_has_the_usual_switch_interval() -> None:
    code = (
        "import os, sys, time\n"
        "from traces.collect.trace_advisor_hook.sampling import sampler\n"
        "from traces.collect.trace_advisor_hook.steps.course import Course\n"
        "usual, sampler.PERIOD_S, sampler._LATER_S = sys.getswitchinterval(), 0.0001, 0.02\n"
        "course = Course()\n"
        "course.limit_ns, course.last_ns = 1, time.perf_counter_ns()\n"
        "one = sampler.Sampler(course)\n"
        "one.begin()\n"
        "for _ in range(20):\n"
        "    time.sleep(0.003)\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os._exit(sys.getswitchinterval() != usual)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
