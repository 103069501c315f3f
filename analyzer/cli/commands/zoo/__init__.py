"""`advisor zoo`: plant known bottlenecks, and see whether they are found and nothing else is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.streams.progress import ProgressLine
from traces.ending import interrupt_in
from traces.errors import AdvisorError, UsageError

if TYPE_CHECKING:
    from analyzer.cli.commands.zoo.score import Score, Total
    from traces.collect.zoo import Preset
    from traces.collect.zoo.session import Recorded


# What was disturbed is recorded again at once, and at the end, when the other program may be done; but not for ever.
_ROUNDS = 3
_ATTEMPTS = 4
_PATIENCE_S = 360
# CI gives twelve minutes; a machine that needs more has so much else to do that the answers would be worth little.
_MOST_S = 600


@click.command("zoo", short_help="Plant known bottlenecks and see whether they are found.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("zoo"), show_default=True,
              help="Folder for the traces and the table.")  # fmt: skip
@click.option("--only", help="Presets to run, separated by commas; a prefix stands for all that begin so.")
@click.option("--no-timing", is_flag=True, help="Do not measure what the remedies bring.")
def command(output: Path, only: str | None, no_timing: bool) -> int:
    """Plant known bottlenecks and see whether they are found, and nothing else is.

    Records every preset that this machine can run, explains each trace, and times each preset against its remedy with the
    profiler off. What fails is looked at once more. Writes the traces and table.txt. Exit code 1 where precision or recall
    is below 0.95, a remedy saved more than was said to be possible, a preset could not run, or other programs disturbed more
    than a tenth of them.
    """
    total, skipped = run(output, tuple(filter(None, (only or "").split(","))), not no_timing)
    from analyzer.cli.commands.zoo.score import lines

    text = "\n".join(lines(total, skipped) + [f"FAILED: {problem}" for problem in total.problems])
    click.echo(text)
    (output / "table.txt").write_text(text + "\n", encoding="utf-8")
    return 1 if total.problems else 0


def run(output: Path, only: tuple[str, ...] = (), timing: bool = True) -> tuple[Total, dict[str, str]]:
    """Run the zoo.

    Args:
        output: Folder for the traces, made if missing.
        only: Beginnings of the names of the presets to run; empty for all.
        timing: Whether remedies are measured.

    Returns:
        The judgement, and what was skipped and why.
    """
    from traces.collect.needs import check_installed

    check_installed("the zoo")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from traces.collect.zoo import PRESETS
    from traces.collect.zoo.session import missing

    chosen = [preset for preset in PRESETS if not only or preset.name.startswith(only)]
    if not chosen:
        raise UsageError("no such preset", fix="presets: " + ", ".join(preset.name for preset in PRESETS))
    output.mkdir(parents=True, exist_ok=True)
    skipped = {preset.name: reason for preset in chosen if (reason := missing(preset))}
    able = [preset for preset in chosen if preset.name not in skipped]
    return _total(able, output, timing, skipped), skipped


def _total(presets: list[Preset], output: Path, timing: bool, skipped: dict[str, str]) -> Total:
    """Every preset judged; one that fails is looked at once more, and the second look counts: chance seldom fails twice."""
    from analyzer.cli.commands.zoo.score import Total, size_problem
    from traces.collect.zoo.session import Recorded

    begun = time.monotonic()
    scores: dict[str, Score] = {}
    again: list[str] = []
    failures: dict[str, str] = {}
    with ProgressLine(patience_s=0.3, items="preset") as line:
        waiting = presets
        for round_ in range(_ROUNDS):
            following = []
            for number, preset in enumerate(waiting):
                line(preset.name, number, len(waiting))
                spent = time.monotonic() - begun
                patient = spent < _PATIENCE_S
                if spent > _MOST_S:
                    if preset.name not in scores:
                        skipped[preset.name] = "no time was left: other programs had the core too often"
                    continue
                try:
                    score = _look(preset, output, timing, _ATTEMPTS if patient else 1)
                # One that cannot run, say for want of device memory, must not take the others' answers along; torch has no
                # narrower type for all it tells this way.
                except (RuntimeError, AdvisorError) as error:
                    failures[preset.name] = _failure(preset, error)
                    continue
                if isinstance(score, Recorded):
                    if patient or round_ == 0:
                        following.append(preset)
                    # What was seen the first time stands where there is no second.
                    if preset.name not in scores:
                        skipped[preset.name] = (
                            f"other programs had the core for {score.disturbed_ratio:.0%} of the time"
                        )
                    continue
                skipped.pop(preset.name, None)
                scores[preset.name] = score
                if score.faulty and preset.name not in again:
                    again.append(preset.name)
                    following.append(preset)
            waiting = following
    disturbed = len(presets) - len(scores.keys() | failures.keys())
    sizes = (size_problem(path) for path in sorted(output.glob("*.json.gz")))
    return Total(tuple(scores.values()), disturbed, tuple(again), (*failures.values(), *filter(None, sizes)))


def _failure(preset: Preset, error: Exception) -> str:
    """Why a preset could not run; raises what an interrupt became inside a compiler."""
    if interrupt_in(error) is not None:
        raise error
    return f"{preset.name} failed: {str(error).strip().partition(chr(10))[0]}"


def _look(preset: Preset, output: Path, timing: bool, attempts: int) -> Score | Recorded:
    """A preset recorded and judged; what was recorded of it where other programs disturbed it."""
    from analyzer.cli.commands.zoo.score import judge
    from analyzer.job import explain_job
    from traces.collect.zoo import PRESETS
    from traces.collect.zoo.session import record_preset, time_pair

    recorded = record_preset(preset, output, attempts)
    if recorded.disturbed:
        return recorded
    remedy = next((other for other in PRESETS if other.name == preset.remedy), None)
    # Before anything is explained: that takes memory, and the more a process has, the longer it takes to fork a worker from it.
    timed = time_pair(preset, remedy, seconds=0.3) if timing and remedy else None
    return judge(preset, explain_job(recorded.paths).explained, timed)
