"""Does the gate stay green where nothing changed, and does it catch a planted slowdown of a tenth?

    python tests/bench/gate.py [--work mlp|small|loader|all] [--repeat 20] [--steps 40] [--data FILE]

Each repeat runs one small training script three times, each time as a process of its own: twice as it is, once with a sleep
of a tenth of its median step in every step. Judged with `step_ns<=+3%` are the two equal runs, the two halves of the first one,
and the first against the slow one. Steps are timed without the profiler. With `--data` the times are kept, or judged
again where the file exists.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

LIMIT = "step_ns<=+3%"
PLANTED_RATIO = 0.1
WARM_UP = 10
BYTECODE = str(Path(tempfile.gettempdir()) / "advisor-bench-bytecode")
# Widths of the layers and the batch: mostly matrix products, mostly Python between small ones, mostly collating samples.
SHAPES = {"mlp": ([512, 512, 512, 10], 128), "small": ([16] * 120, 8), "loader": ([784, 64, 10], 2048)}
WORKS = tuple(SHAPES)


def main() -> int:
    """Record what is not there yet, judge, print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=[*WORKS, "all"], default="all")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--data", type=Path, help="times to judge again, or where to keep them")
    parser.add_argument(
        "--alone",
        action="store_true",
        help="run the loops before all other programs (Linux, as root), as on a quiet machine",
    )
    parser.add_argument("--train", type=float, metavar="SLEEP_S", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train is not None:
        sys.stdout.write(json.dumps(train(options.work, options.steps, options.train, alone=options.alone)))
        return 0
    if options.data is not None and options.data.exists():
        recorded = json.loads(options.data.read_text("utf-8"))
    else:
        works = WORKS if options.work == "all" else (options.work,)
        recorded = record(works, options.repeat, options.steps, alone=options.alone)
        if options.data is not None:
            options.data.write_text(json.dumps(recorded), encoding="utf-8")
    sys.stdout.write(f"{recorded['machine']}; gate {LIMIT}\n")
    for work, repeats in recorded["works"].items():
        report(work, repeats)
    return 0


def record(works: Sequence[str], repeat: int, steps: int, *, alone: bool) -> dict[str, object]:
    """Step times in ns by script: one dictionary of runs per repeat."""
    before = os.getloadavg()[0]
    times: dict[str, list[dict[str, list[int]]]] = {}
    for work in works:
        for number in range(repeat):
            first = run(work, steps, 0.0, alone=alone)
            slow_s = PLANTED_RATIO * statistics.median(first) / 1e9
            times.setdefault(work, []).append(
                {
                    "first": first,
                    "second": run(work, steps, 0.0, alone=alone),
                    "slow": run(work, steps, slow_s, alone=alone),
                }
            )
            sys.stderr.write(f"\r{work}: {number + 1} of {repeat} ")
    machine = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
        f"{', loops before all other programs' if alone else ''}"
    )
    return {"machine": machine, "works": times}


def run(work: str, steps: int, sleep_s: float, *, alone: bool) -> list[int]:
    """Step times of one process."""
    command = [sys.executable, __file__, "--work", work, "--steps", str(steps), "--train", str(sleep_s)]
    command += ["--alone"] if alone else []
    # Some containers switch bytecode off; importing torch then takes longer than the loop.
    environment = os.environ | {"PYTHONPYCACHEPREFIX": BYTECODE}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return list(json.loads(done.stdout))


def train(work: str, steps: int, sleep_s: float, *, alone: bool) -> list[int]:
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
    if alone:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    times = []
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
        if sleep_s:
            time.sleep(sleep_s)
        times.append(time.perf_counter_ns() - began)
    return times[WARM_UP:]


def report(work: str, repeats: Sequence[dict[str, list[int]]]) -> None:
    """A line for each kind of pair: how often the gate was right, and what the comparison said."""
    count = len(repeats)
    medians = [statistics.median(one["first"]) / 1e6 for one in repeats]
    sys.stdout.write(
        f"{work}: {len(repeats[0]['first'])} steps a run, median step {statistics.median(medians):.1f} ms "
        f"({min(medians):.1f} to {max(medians):.1f} over the runs)\n"
    )
    pairs = {
        "two runs of one script": [(one["first"], one["second"]) for one in repeats],
        "two halves of one run": [halves(one["first"]) for one in repeats],
        "a tenth slower": [(one["first"], one["slow"]) for one in repeats],
    }
    for name, sides in pairs.items():
        answers = [judged(*pair) for pair in sides]
        good = sum(passed is (name != "a tenth slower") for passed, _ in answers)
        kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(kind for _, kind in answers).most_common())
        verb = "caught" if name == "a tenth slower" else "green"
        sys.stdout.write(f"  {name:<24} {verb} {good}/{count}   ({kinds})\n")


def halves(steps: list[int]) -> tuple[list[int], list[int]]:
    """The first half and the second."""
    return steps[: len(steps) // 2], steps[len(steps) // 2 :]


def judged(before: list[int], after: list[int]) -> tuple[bool, str]:
    """Whether the gate stays open, and the answer of the comparison."""
    from analyzer.compare.comparison import compare
    from analyzer.compare.gate import apply_gate, parse_gate
    from snapshots import snapshot

    comparison = compare([snapshot(steps_ns=tuple(before))], [snapshot(steps_ns=tuple(after))])
    assert comparison.change is not None
    return apply_gate(comparison, parse_gate(LIMIT)).passed, comparison.change.kind


if __name__ == "__main__":
    raise SystemExit(main())
