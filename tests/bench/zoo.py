"""How often the rules are right, and whether a bound was ever exceeded, on bottlenecks planted on purpose: a table for README.

    python tests/bench/zoo.py -o traces/README.md

Records every preset that this machine can run and times it against its remedy, which takes minutes; `pytest -m zoo` does the same
and fails below the bar. The table goes between two comments of the file; without -o it is printed.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import torch

from analyzer.cli.commands.zoo import run
from analyzer.cli.commands.zoo.score import Score, Total, lines, rates
from traces.collect.output.cores import usable_cores

BEGIN, END = "<!-- zoo: begin -->", "<!-- zoo: end -->"


def main() -> int:
    """Exit code 1 where the zoo fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="file that holds the two comments")
    parser.add_argument("--only", default="", help="presets, as `advisor zoo` takes them")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        total, skipped = run(Path(folder), tuple(filter(None, arguments.only.split(","))))
    load = f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after"
    report = [*lines(total, skipped), *(f"FAILED: {problem}" for problem in total.problems)]
    sys.stdout.write("\n".join(report) + "\n")
    text = "\n".join(table(total, skipped, load))
    if arguments.output:
        whole = arguments.output.read_text("utf-8")
        head, _, rest = whole.partition(BEGIN)
        arguments.output.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")
    else:
        sys.stdout.write(text + "\n")
    return 1 if total.problems else 0


def table(total: Total, skipped: dict[str, str], load: str) -> Iterator[str]:
    """What the answers were, rule by rule, and what the remedies brought."""
    today = datetime.now(timezone.utc).date()
    yield (
        f"Written by `python tests/bench/zoo.py -o traces/README.md` on {today}: {usable_cores()} cores, {platform.system()} "
        f"{platform.machine()}, {load}, Python {platform.python_version()}, torch {torch.__version__}."
    )
    yield ""
    right, wrong, missed = (sum(answers[place] for answers in total.rules.values()) for place in range(3))
    yield (
        f"{len(total.scores)} presets: {right} findings right, {wrong} wrong, {missed} missed; {rates(total)}. "
        f"Not run: {reasons(skipped)}."
    )
    yield ""
    yield "| rule | right | wrong | missed | precision | recall |"
    yield "|---|---|---|---|---|---|"
    for code, (hits, false, lost) in total.rules.items():
        precision = f"{hits / (hits + false):.2f}" if hits + false else "-"
        recall = f"{hits / (hits + lost):.2f}" if hits + lost else "-"
        yield f"| {code} | {hits} | {false} | {lost} | {precision} | {recall} |"
    yield ""
    yield "| preset | found | a step | saves at most | its remedy saved | with the rest as it was | noise |"
    yield "|---|---|---|---|---|---|---|"
    for score in total.scores:
        if score.timing is not None and score.right:
            yield row(score)


def row(score: Score) -> str:
    """One preset with its remedy, both timed without the profiler."""
    assert score.timing is not None
    bound = f"{score.bound_ratio:.1%}" if score.bound_ratio is not None else "no bound"
    step = f"{statistics.mean(score.timing.preset) / 1e6:.2f} ms"
    rest = f"{score.rest_gain_ratio:.1%}"
    gain, noise = f"{score.gain_ratio:.1%}", f"{score.noise_ratio:.1%}"
    return f"| {score.name} | {', '.join(sorted(score.right))} | {step} | {bound} | {gain} | {rest} | {noise} |"


def reasons(skipped: dict[str, str]) -> str:
    """`17 (no CUDA device)`, or that all were run."""
    counted = Counter("the machine was busy" if "had the core" in reason else reason for reason in skipped.values())
    return ", ".join(f"{number} ({reason})" for reason, number in counted.items()) or "none"


if __name__ == "__main__":
    raise SystemExit(main())
