"""`advisor experiment`: what each remedy brings on the reference loop, timed without the profiler."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analyzer.cli.streams.progress import ProgressLine
from analyzer.cli.streams.terminal import style_for
from analyzer.report.text.intervals import Timed, intervals, overlap
from analyzer.units import count
from traces.collect.reference.config import DEVICES, MODELS
from traces.errors import UsageError

if TYPE_CHECKING:
    from traces.collect.experiment import MethodResult, Skipped

_HEAD = f"{'method':<32} {'total':>10} {'per epoch':>10} {'speed-up':>9} {'spread':>7} {'loss':>8} {'accuracy':>9}"


@click.command("experiment", short_help="Time each remedy on the reference loop, and record a trace of each.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("experiment"), show_default=True,
              help="Folder for the traces.")  # fmt: skip
@click.option("--methods", help="Which to compare, separated by commas. Default: all.")
@click.option("--epochs", type=int, default=2, show_default=True, help="Passes over the data in a repeat.")
@click.option("--repeats", type=int, default=3, show_default=True, help="How often each method is timed.")
@click.option("--device", type=click.Choice(DEVICES), default="auto", show_default=True, help="Where to train.")
@click.option("--model", type=click.Choice(MODELS), default="mlp", show_default=True, help="Network to train.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder with torchvision's MNIST.")
@click.option("--tensorboard", type=click.Path(path_type=Path), help="Log loss and accuracy of each epoch there.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first repeat.")
def command(methods: str | None, **options: Any) -> None:
    """Time each remedy on the reference loop, and record a trace of each.

    Trains the same network with one change at a time and prints total time, time per epoch, speed-up, final loss and
    accuracy, medians of the repeats. The times are taken without the profiler; the traces come from separate runs.
    """
    from traces.collect.experiment import ExperimentConfig, MethodResult, run_experiment

    config = ExperimentConfig(methods=tuple(filter(None, (methods or "").split(","))), **options)
    standard: MethodResult | None = None
    failed: list[str] = []
    timed: list[Timed] = []
    with ProgressLine(patience_s=0.3, items="run") as line:
        for result in run_experiment(config, lambda done, total, label: line(label, done, total)):
            if standard is None:
                assert isinstance(result, MethodResult)
                standard = result
                line.say(_HEAD)
            line.say(row(result, standard))
            if isinstance(result, MethodResult):
                timed.append(Timed(result.title, result.totals_ns, result.total_ns))
            elif result.failed:
                failed.append(result.name)
    for text in chart(timed, config.repeats):
        click.echo(text)
    click.echo(f"next: advisor explain {shlex.quote(str(config.output / 'standard.json'))}")
    if failed:
        raise UsageError(
            f"{count(len(failed), 'method')} failed: {', '.join(failed)}; the others' results stand",
            fix=f"advisor experiment --methods {','.join(failed)}; leave out what fails again",
        )


def chart(timed: Sequence[Timed], repeats: int) -> Iterator[str]:
    """The times as bars with their intervals, and what repeats are worth; the first is the standard loop."""
    yield ""
    drawn = list(intervals(timed, style_for(sys.stdout)))
    yield from drawn
    if repeats < 2:
        yield "one repeat each: it does not show how far repeats lie apart, so none of these differences is proven; --repeats 3"
    else:
        if drawn:
            yield "a bar reaches to the fastest repeat, the line behind it to the slowest, with a mark at the median"
        among = [one.label for one in timed[1:] if overlap(one, timed[0])]
        if among:
            yield f"not proven, as their repeats lie among those of the standard loop: {', '.join(among)}"
    yield ""


def row(result: MethodResult | Skipped, standard: MethodResult) -> str:
    """One line of the table."""
    from traces.collect.experiment import Skipped

    if isinstance(result, Skipped):
        return f"{result.title:<32} {'failed' if result.failed else 'skipped'}: {result.reason}"
    spread = f"{result.spread_ratio:.0%}" if len(result.totals_ns) > 1 else "-"
    cells = (
        f"{result.title:<32} {result.total_ns / 1e9:>8.2f} s {result.total_ns / result.epochs / 1e9:>8.2f} s "
        f"{result.speed_up(standard):>7.2f} x {spread:>6} {result.loss:>8.4f} {result.accuracy:>9.1%}"
    )
    return cells + ("  less accurate" if result.is_less_accurate(standard) else "")
