"""Does the gate stay green where nothing changed, and does it catch a planted slowdown of a tenth?

    python tests/bench/gate.py --calm                        the table of analyzer/compare/README.md, in about seven minutes
    python tests/bench/gate.py [--work mlp|small|loader|all] [--repeat 20] [--runs 5] [--steps 40] [--data FILE] [--calm] [--fresh]

A repeat runs one small training loop in processes of their own, in turns: as it is, as it is again, and with every step made to
last a tenth longer, `--runs` times each. Judged with `step_ns<=+3%` are equal runs and slower ones, one run a side and all of a
repeat, and the two halves of each run. Steps are timed without the profiler. With `--data` the times are kept, or judged again
where the file exists.

Each process is forked from one that has torch imported, or the table would take an hour; `--fresh` starts an interpreter for each
run instead, whose addresses and hash seed are its own.
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
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

LIMIT = "step_ns<=+3%"
PLANTED_RATIO = 0.1
WARM_UP = 10
# A loop that lasts longer loses what keeps the other cores busy.
LONGEST_S = 30
BYTECODE = str(Path(tempfile.gettempdir()) / "advisor-bench-bytecode")
# Widths of the layers and the batch: mostly matrix products, mostly Python between small ones, mostly collating samples.
SHAPES = {"mlp": ([512, 512, 512, 10], 128), "small": ([16] * 120, 8), "loader": ([784, 64, 10], 2048)}
WORKS = tuple(SHAPES)


def main() -> int:
    """Record what is not there yet, judge, print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=[*WORKS, "all"], default="all")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--data", type=Path, help="times to judge again, or where to keep them")
    parser.add_argument(
        "--calm",
        action="store_true",
        help="keep one core to the loop and the others busy with nothing (Linux, as root): a machine that does nothing else",
    )
    parser.add_argument("--fresh", action="store_true", help="an interpreter of its own for each run")
    parser.add_argument("--train", type=float, metavar="RATIO", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train is not None:
        sys.stdout.write(json.dumps(train(options.work, options.steps, options.train, calm=options.calm)))
        return 0
    if options.data is not None and options.data.exists():
        recorded = json.loads(options.data.read_text("utf-8"))
    else:
        works = WORKS if options.work == "all" else (options.work,)
        recorded = record(works, options)
        if options.data is not None:
            options.data.write_text(json.dumps(recorded), encoding="utf-8")
    sys.stdout.write(f"{recorded['machine']}; gate {LIMIT}\n")
    for work, repeats in recorded["works"].items():
        report(work, repeats)
    return 0


def record(works: Sequence[str], options: argparse.Namespace) -> dict[str, object]:
    """Step times in ns by script: one dictionary of runs per repeat."""
    if not options.fresh:
        prepare()
    run = run_fresh if options.fresh else run_forked
    before = os.getloadavg()[0]
    times: dict[str, list[dict[str, list[list[int]]]]] = {}
    for work in works:
        for number in range(options.repeat):
            one: dict[str, list[list[int]]] = {"first": [], "second": [], "slow": []}
            for _ in range(options.runs):
                for name, runs in one.items():
                    runs.append(run(work, options.steps, PLANTED_RATIO if name == "slow" else 0.0, calm=options.calm))
            times.setdefault(work, []).append(one)
            sys.stderr.write(f"\r{work}: {number + 1} of {options.repeat} ")
    machine = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
        f"{', a core kept to the loop' if options.calm else ''}{', fresh interpreters' if options.fresh else ''}"
    )
    return {"machine": machine, "works": times}


def prepare() -> None:
    """Import what every run needs, and run none of it: torch's threads would not outlive a fork."""
    import torch._dynamo  # noqa: F401  the first step of an optimizer imports it


def run_forked(work: str, steps: int, slower_ratio: float, *, calm: bool) -> list[int]:
    """Step times of one process that is a copy of this one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "w") as pipe:
            json.dump(train(work, steps, slower_ratio, calm=calm), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"a run of {work} failed")
    return list(json.loads(text))


def run_fresh(work: str, steps: int, slower_ratio: float, *, calm: bool) -> list[int]:
    """Step times of one process with an interpreter of its own."""
    command = [sys.executable, __file__, "--work", work, "--steps", str(steps), "--train", str(slower_ratio)]
    command += ["--calm"] if calm else []
    # Some containers switch bytecode off; importing torch then takes longer than the loop.
    environment = os.environ | {"PYTHONPYCACHEPREFIX": BYTECODE}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return list(json.loads(done.stdout))


def train(work: str, steps: int, slower_ratio: float, *, calm: bool) -> list[int]:
    """A small training loop as the script of a user, each step timed; the first ones are left out."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers, batch = SHAPES[work]
    pairs = list(itertools.pairwise(layers))
    model = torch.nn.Sequential(*(part for pair in pairs for part in (torch.nn.Linear(*pair), torch.nn.ReLU())))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    samples = [(torch.rand(layers[0]), index % layers[-1]) for index in range(batch * 4)]
    loader = torch.utils.data.DataLoader(samples, batch_size=batch, shuffle=True)
    held = next(iter(loader))
    batches = iter(())
    times = []
    with calmed() if calm else contextlib.nullcontext():
        for _ in range(WARM_UP + steps):
            began = time.perf_counter_ns()
            if work == "loader":
                batch_now = next(batches, None)
                if batch_now is None:
                    batches = iter(loader)
                    batch_now = next(batches)
            else:
                batch_now = held
            loss = torch.nn.functional.cross_entropy(model(batch_now[0]), batch_now[1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            spin(began, slower_ratio)
            times.append(time.perf_counter_ns() - began)
    return times[WARM_UP:]


def spin(began: int, ratio: float) -> None:
    """Make the step that began then longer by a share of itself; a sleep would last longer than asked and free the core."""
    until = time.perf_counter_ns()
    until += int((until - began) * ratio)
    while time.perf_counter_ns() < until:
        pass


@contextlib.contextmanager
def calmed() -> Iterator[None]:
    """This process before all others on one core, and the other cores busy: what shares a core's units is the same each time."""
    mine, *others = sorted(os.sched_getaffinity(0))
    children = []
    for core in others:
        child = os.fork()
        if child == 0:
            took(core)
            until = time.monotonic() + LONGEST_S
            while time.monotonic() < until:
                pass
            os._exit(0)
        children.append(child)
    took(mine)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def took(core: int) -> None:
    """Keep this process on a core, before all others."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def report(work: str, repeats: Sequence[dict[str, list[list[int]]]]) -> None:
    """A line for each kind of pair: how often the gate was right, and what the comparison said."""
    firsts = [one for repeat in repeats for one in repeat["first"]]
    medians = [statistics.median(one) / 1e6 for one in firsts]
    sys.stdout.write(
        f"{work}: {len(firsts[0])} steps a run, median step {statistics.median(medians):.1f} ms "
        f"({min(medians):.1f} to {max(medians):.1f} over the runs)\n"
    )
    runs = len(repeats[0]["first"])
    for name, other, right in (("equal", "second", True), ("a tenth slower", "slow", False)):
        single = [
            ([mine], [theirs])
            for repeat in repeats
            for mine, theirs in zip(repeat["first"], repeat[other], strict=True)
        ]
        line(f"{name}, one run a side", single, green=right)
        if runs > 1:
            line(f"{name}, {runs} runs a side", [(repeat["first"], repeat[other]) for repeat in repeats], green=right)
    half = len(firsts[0]) // 2
    line("two halves of one run", [([one[:half]], [one[half:]]) for one in firsts], green=True)


def line(name: str, pairs: Sequence[tuple[list[list[int]], list[list[int]]]], *, green: bool) -> None:
    """How often the gate was right about these pairs."""
    answers = [judged(*pair) for pair in pairs]
    good = sum(passed is green for passed, _ in answers)
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(kind for _, kind in answers).most_common())
    sys.stdout.write(f"  {name:<28} {'green' if green else 'caught'} {good}/{len(pairs)}   ({kinds})\n")


def judged(before: list[list[int]], after: list[list[int]]) -> tuple[bool, str]:
    """Whether the gate stays open, and the answer of the comparison."""
    from analyzer.compare.comparison import compare
    from analyzer.compare.gate import apply_gate, parse_gate
    from showing.snapshots import snapshot

    first, second = ([snapshot(steps_ns=tuple(run)) for run in side] for side in (before, after))
    comparison = compare(first, second)
    assert comparison.change is not None
    return apply_gate(comparison, parse_gate(LIMIT)).passed, comparison.change.kind


if __name__ == "__main__":
    raise SystemExit(main())
