"""How often do steps of a busy machine mislead `advisor compare`, with the limits of `compare/believed.py` and with others?

    python tests/bench/believed.py [--repeat 12] [--steps 40] [--data FILE]

One small training loop is recorded in processes of its own, as it is, as it is again, with steps made to last a quarter longer and
twice as long; before all others on one core (Linux, as root), alone ("calm"), and where another program takes 5 ("mild") or 20 ms
("busy") of every 50. Each run times an empty loop before and after, its steps without the profiler, and those with it, and what the
thread waited for a core, as `advisor collect` does. Printed is how far equal runs lie apart, and how often the answer is wrong or
missing for each value of a limit, with that wait and without, as where no system tells it. With `--data` the runs are kept, or
judged again where the file exists.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/bench")]

from gate import SHAPES, prepare, spin  # noqa: E402

WARM_UP = 5
# What is made of the loop, and what a step then takes beside one of the loop as it is.
PROGRAMS = {"first": 0.0, "second": 0.0, "quarter": 0.25, "double": 1.0}
# Of every 50 ms on the core, what another program takes.
SETTINGS = {"calm": 0.0, "mild": 0.005, "busy": 0.02}
_EVERY_S = 0.05
WORKS = ("mlp", "small")
Pair = tuple[bool, str, dict[str, Any], dict[str, Any]]
LIMITS: dict[str, tuple[float, ...]] = {
    "_SLOWER_LOOP": (1.1, 1.25, 1.5, 2.0, 3.0, 1e9),
    "_FAR_PART": (0.0, 0.1, 0.2, 1 / 3, 0.5, 0.8),
    "_UNPROFILED_NOISE": (0.02, 0.05, 0.1, 0.2, 1e9),
    "_LARGE_RATIO": (0.1, 0.25, 0.4, 1e9),
}


def main() -> int:
    """Record what is not there yet, judge, print; 0 whatever comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=12)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--data", type=Path, help="runs to judge again, or where to keep them")
    options = parser.parse_args()
    if options.data is not None and options.data.exists():
        recorded = json.loads(options.data.read_text("utf-8"))
    else:
        recorded = record(options.repeat, options.steps)
        if options.data is not None:
            options.data.write_text(json.dumps(recorded), encoding="utf-8")
    sys.stdout.write(f"{recorded['machine']}\n")
    report(recorded["runs"])
    return 0


def record(repeat: int, steps: int) -> dict[str, Any]:
    """All runs, in turns, by loop, setting and program."""
    prepare()
    import torch.profiler  # noqa: F401  imported once, before the processes fork

    before = os.getloadavg()[0]
    runs: dict[str, list[dict[str, Any]]] = {}
    for number, work in itertools.product(range(repeat), WORKS):
        for setting, (name, slower) in itertools.product(SETTINGS, PROGRAMS.items()):
            runs.setdefault(f"{work}/{setting}/{name}", []).append(forked(work, setting, steps, slower))
        sys.stderr.write(f"\r{work}: {number + 1} of {repeat} ")
    machine = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load {before:.1f} before, {os.getloadavg()[0]:.1f} after, {repeat} runs of {steps} steps"
    )
    return {"machine": machine, "runs": runs}


def forked(work: str, setting: str, steps: int, slower: float) -> dict[str, Any]:
    """One run in a process that is a copy of this one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "w") as pipe, shared(SETTINGS[setting]):
            json.dump(one_run(work, steps, slower), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"a run of {work} failed")
    return dict(json.loads(text))


@contextlib.contextmanager
def shared(taken_s: float) -> Iterator[None]:
    """This process before all others on one core, but for a program that works for so long of every 50 ms."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    child = os.fork() if taken_s else None
    if child == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        parent = os.getppid()
        while os.getppid() == parent:
            until = time.monotonic() + taken_s
            while time.monotonic() < until:
                pass
            time.sleep(_EVERY_S - taken_s)
        os._exit(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        if child is not None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def one_run(work: str, steps: int, slower: float) -> dict[str, Any]:
    """Times of one training loop, and what went on beside it."""
    import torch

    from traces.collect.trace_advisor_hook.surroundings.python_loop import TURNS, time_loop

    step = training(work, slower)
    for _ in range(WARM_UP):
        step()
    rounds = time_loop()
    plain = [step() for _ in range(steps)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        for _ in range(WARM_UP):
            step()
        waited, began = core_wait_ns(), time.perf_counter_ns()
        profiled = [step() for _ in range(steps)]
        wait_ratio = (core_wait_ns() - waited) / (time.perf_counter_ns() - began)
    rounds += time_loop()
    return {
        "steps": profiled,
        "unprofiled": statistics.median(plain),
        "loop": statistics.mean(rounds) / TURNS,
        "wait": wait_ratio,
    }


def training(work: str, slower: float) -> Any:
    """A function that takes a step and tells its nanoseconds."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers, batch = SHAPES[work]
    pairs = list(itertools.pairwise(layers))
    model = torch.nn.Sequential(*(part for pair in pairs for part in (torch.nn.Linear(*pair), torch.nn.ReLU())))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples, labels = torch.rand(batch, layers[0]), torch.randint(layers[-1], (batch,))

    def step() -> int:
        began = time.perf_counter_ns()
        loss = torch.nn.functional.cross_entropy(model(samples), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        spin(began, slower)
        return time.perf_counter_ns() - began

    return step


def core_wait_ns() -> int:
    """Time for which this thread could run and had no core."""
    return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1])


def report(runs: dict[str, list[dict[str, Any]]]) -> None:
    """How far equal runs lie apart, and what each limit makes of pairs whose truth is known."""
    for work, (one, other) in itertools.product(WORKS, itertools.combinations_with_replacement(SETTINGS, 2)):
        pairs = paired(runs, f"{work}/{one}/first", f"{work}/{other}/second")
        loops = sorted(max(a["loop"], b["loop"]) / min(a["loop"], b["loop"]) for a, b in pairs)
        apart = sorted(abs(unlike(a, b)) for a, b in pairs)
        waits = [statistics.median(run["wait"] for run in side) for side in zip(*pairs, strict=True)]
        sys.stdout.write(
            f"{work}, {one} and {other}, {len(pairs)} equal pairs: no core for {waits[0]:.2f} and {waits[1]:.2f} of the steps; "
            f"loop {quantiles(loops)} times as long; change with the profiler less that without {quantiles(apart)}\n"
        )
    found = list(known_pairs(runs))
    for (name, values), known in itertools.product(LIMITS.items(), (True, False)):
        sys.stdout.write(f"{name}, {'with' if known else 'without'} the wait for a core\n")
        for value in values:
            sys.stdout.write(f"  {value:>8.4g}: {judged(found, name, value, known=known)}\n")


def quantiles(values: Sequence[float]) -> str:
    """Median, 95th percentile, and the most."""
    return f"{statistics.median(values):.2f} ({values[int(0.95 * (len(values) - 1))]:.2f}, at most {values[-1]:.2f})"


def paired(runs: dict[str, list[dict[str, Any]]], one: str, other: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Runs of two kinds that were recorded one after the other."""
    return list(zip(runs[one], runs[other], strict=True))


def unlike(before: dict[str, Any], after: dict[str, Any]) -> float:
    """By how much the change of steps with the profiler is another than that without."""
    with_it = statistics.median(after["steps"]) / statistics.median(before["steps"])
    return with_it - after["unprofiled"] / before["unprofiled"]


def known_pairs(runs: dict[str, list[dict[str, Any]]]) -> Iterator[Pair]:
    """Whether the two settings are alike, what is true, and two runs."""
    for work, one, other in itertools.product(WORKS, SETTINGS, SETTINGS):
        for program, truth in (("second", "unchanged"), ("quarter", "slower"), ("double", "slower")):
            for before, after in paired(runs, f"{work}/{one}/first", f"{work}/{other}/{program}"):
                yield one == other, truth, before, after
                if truth == "slower":
                    yield one == other, "faster", after, before


def judged(pairs: Sequence[Pair], name: str, value: float, *, known: bool) -> str:
    """Answers with one limit replaced."""
    from analyzer.compare import believed

    kept, judge_change = getattr(believed, name), believed.judge_change
    setattr(believed, name, value)
    believed.judge_change = change_of
    try:
        lines = []
        for alike in (True, False):
            mine = [
                (truth, believed.judge([side(a, known=known)], [side(b, known=known)]).kind)
                for same, truth, a, b in pairs
                if same is alike
            ]
            wrong = sum(said not in (truth, "inconclusive") for truth, said in mine)
            opposite = sum({truth, said} == {"faster", "slower"} for truth, said in mine)
            right = sum(truth == said for truth, said in mine)
            where = "machine alike" if alike else "unlike"
            lines.append(f"{where}: {right} right, {wrong} wrong ({opposite} the opposite) of {len(mine)}")
        return "; ".join(lines)
    finally:
        setattr(believed, name, kept)
        believed.judge_change = judge_change


def change_of(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> Any:
    """The change by the steps alone, which no limit changes: judged once."""
    return once(*(tuple(map(tuple, runs)) for runs in (before, after)))


@cache
def once(before: tuple[tuple[int, ...], ...], after: tuple[tuple[int, ...], ...]) -> Any:
    """As `judge_change`."""
    from analyzer.compare.noise import judge_change

    return judge_change(before, after)


def side(run: dict[str, Any], *, known: bool) -> Any:
    """A snapshot of a run."""
    from analyzer.compare.surroundings import Surroundings
    from analyzer.facts.recording.collected import QUIET_TURN_NS
    from showing.snapshots import snapshot

    beside = Surroundings(
        core_wait_ratio=run["wait"] if known else None,
        python_slowness=run["loop"] / QUIET_TURN_NS,
        unprofiled_step_ns=round(run["unprofiled"]),
    )
    return snapshot(steps_ns=tuple(run["steps"]), surroundings=beside)


if __name__ == "__main__":
    raise SystemExit(main())
