"""What the call and the configuration file say together: rules, thresholds, steps, accepted findings."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli import codes
from analyzer.cli.streams.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.config import Config
    from analyzer.options import Options
    from analyzer.rule import Rule


def configured(config_file: Path | None, *, isolated: bool) -> Config:
    """The configuration of the working folder, or of the file named; empty with `isolated` or where there is none."""
    from analyzer.config import Config, find_config, load_config

    path = config_file or (None if isolated else find_config(Path.cwd()))
    if path is None:
        return Config()
    from analyzer.explain import load_rules

    return load_config(path, load_rules())


def options_of(
    config: Config, *, select: str | None = None, ignore: str | None = None, span: str | None = None
) -> Options:
    """The options of the analysis, codes checked against the rules there are; the call wins over the file."""
    from analyzer.calibration.store import calibrated
    from analyzer.options import Options

    steps = parse_steps(span)
    rules: tuple[Rule, ...] = ()
    if select is not None or ignore is not None:
        from analyzer.explain import load_rules

        rules = load_rules()
    today = datetime.date.today()
    for item in config.accepted:
        if not item.holds(today):
            click.echo(f"advisor: {item.id} is no longer accepted: {item.until} has passed", err=True)
    return Options(
        select=config.select if select is None else codes.expand(select, rules, "--select"),
        ignore=config.ignore if ignore is None else codes.expand(ignore, rules, "--ignore"),
        steps=steps,
        limits=config.limits,
        accepted={item.id: item.reason for item in config.accepted if item.holds(today)},
        calibrated=calibrated(),
        rule_seconds=config.rule_seconds,
    )


def parse_steps(text: str | None) -> tuple[int, int] | None:
    """`3-5` as (3, 5), `4` as (4, 4).

    Raises:
        UsageError: the text is neither, or ends before it begins.
    """
    if text is None:
        return None
    first, dash, last = text.strip().partition("-")
    bounds = (first, last) if dash else (first, first)
    if not all(bound.isascii() and bound.isdigit() and len(bound) < 10 for bound in bounds):
        raise UsageError(
            f"{text[:40]!r} is no range of steps", where="--steps", fix="write it as 3-5, or 4 for one step"
        )
    start, end = int(bounds[0]), int(bounds[1])
    if start > end:
        raise UsageError(f"the range {text} ends before it begins", where="--steps", fix=f"write --steps {end}-{start}")
    return start, end


def check_saved(path: Path, *, given: bool, alone: bool) -> None:
    """Refuse options that need the trace where the path is a report, or the summary of a rank and nothing else is read.

    Args:
        path: What is read.
        given: Whether there are such options.
        alone: Whether nothing is read beside; where traces are, the options are for these.

    Raises:
        UsageError: it is, and such an option was given.
    """
    if not given:
        return
    from analyzer.opening.saved import is_report
    from analyzer.ranks.files import looks_like_summary

    with ProgressLine() as progress:
        what = "report" if is_report(path, progress) else "summary" if alone and looks_like_summary(path) else ""
    if what:
        name = "standard input" if str(path) == "-" else path.name
        raise UsageError(
            f"{name} is a {what}: its steps and rules were chosen when it was written",
            where="--steps, --select, --ignore",
            fix=f"give the trace instead of the {what}",
        )
