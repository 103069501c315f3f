"""`advisor baseline`: runs kept under a name, to compare later ones with."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.cli import sides


@click.group("baseline", short_help="Keep a run under a name, to compare later ones with.")
def command() -> None:
    """Keep a run under a name, to compare later ones with."""


@command.command("save")
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TRACE...")
def save(name: str, paths: tuple[Path, ...]) -> None:
    """Save what a comparison needs of TRACE (files or folders) in .advisor/baselines/NAME.json."""
    from analyzer.compare.baseline import baseline_path, save_baseline
    from analyzer.job import traces_in

    baseline_path(name)
    written = save_baseline(name, sides.snapshots_of(traces_in(paths)))
    click.echo(f"wrote {written}")
    click.echo(f"next: advisor compare --baseline {name} after.json")


@command.command("list")
def list_baselines() -> None:
    """List the saved baselines of this folder."""
    from analyzer.compare.baseline import FOLDER, load_baseline
    from analyzer.units import count, duration

    found = sorted(FOLDER.glob("*.json"))
    for path in found:
        runs = load_baseline(path.stem)
        steps = [step for run in runs for step in run.steps_ns]
        mean = duration(sum(steps) / len(steps)) if steps else "no steps"
        click.echo(f"{path.stem}: {count(len(runs), 'run')}, {count(len(steps), 'step')}, mean {mean}")
    if not found:
        click.echo("no baseline is saved here; `advisor baseline save NAME TRACE` does it")
