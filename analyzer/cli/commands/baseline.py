"""`advisor baseline`: runs kept under a name, to compare later ones with."""

from __future__ import annotations

from pathlib import Path

import click

from analyzer.cli.arguments import settings, sides
from analyzer.cli.arguments.place import Here
from analyzer.cli.streams.closed import confirm


@click.group("baseline", short_help="Keep a run under a name, to compare later ones with.")
def command() -> None:
    """Keep a run under a name, to compare later ones with."""


@command.command("save", short_help="Save what a comparison needs of a trace, or of several runs.")
@click.argument("name")
@click.argument("paths", nargs=-1, required=True, type=Here(), metavar="TRACE...")
@click.option("--no-redact", is_flag=True, help="Keep full paths, names of machines and users, and what looks secret.")
@click.option("--names", is_flag=True, help="Keep names of kernels and ops that no known library gives, too.")
def save(name: str, paths: tuple[Path, ...], no_redact: bool, names: bool) -> None:
    """Save what a comparison needs of TRACE (files or folders) in .advisor/baselines/NAME.json.

    The file is small and may be committed: it holds step times, causes, findings, and the names of kernels and ops of known
    libraries. Any other name is left out and counted, its time kept with that of the others.
    """
    from analyzer.cli.arguments.folders import traces_in
    from analyzer.compare.baseline import baseline_path, save_baseline
    from analyzer.compare.public import public
    from analyzer.units import count

    replaced = baseline_path(name).exists()
    options = settings.options_of(settings.configured(None, isolated=False))
    runs = sides.snapshots_of(traces_in(paths), options, redacted=not no_redact)
    if not names:
        runs = public(runs)
    written = save_baseline(name, runs)
    confirm(f"wrote {written}{', in place of what was kept under that name' if replaced else ''}")
    left = sum(run.left_out.kernels + run.left_out.ops for run in runs if run.left_out is not None)
    if left:
        confirm(f"left out: {count(left, 'name')} of kernels and ops that no known library gives (--names keeps them)")
    confirm(f"next: advisor explain after.json --baseline {name}, or advisor compare --baseline {name} after.json")


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
