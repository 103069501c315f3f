"""`advisor collect`: run the reference training loop under torch.profiler and write the trace."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from analyzer.cli.progress import ProgressLine
from traces.collect.config import DEVICES, MODELS, CollectConfig, default_of, help_for

_TYPES: dict[str, Any] = {
    "output": click.Path(path_type=Path),
    "data_dir": click.Path(path_type=Path),
    "device": click.Choice(DEVICES),
    "model": click.Choice(MODELS),
}
_NAMES = {"output": ("-o", "--output")}


def _option(field: str) -> Any:
    """A click option for a field of `CollectConfig`: its name, default and help are written there, once."""
    names = _NAMES.get(field, (f"--{field.replace('_', '-')}",))
    default = default_of(field)
    if isinstance(default, bool):
        return click.option(*names, field, is_flag=True, default=default, help=help_for(field))
    kind = _TYPES.get(field, int)
    shown = default is not None
    return click.option(*names, field, type=kind, default=default, show_default=shown, help=help_for(field))


def _all_options(function: Any) -> Any:
    for field in reversed(CollectConfig.__dataclass_fields__):
        function = _option(field)(function)
    return function


@click.command("collect", short_help="Record the reference training loop and write trace.json.")
@_all_options
def command(**options: Any) -> None:
    """Record the reference training loop and write trace.json.

    Trains a small network on MNIST, or on digits it draws itself where torchvision's MNIST is not at hand, and records
    some steps in the middle. The defaults are the usual beginner's loop: no worker processes, no pinned memory,
    loss.item() in every step.
    """
    config = CollectConfig(**options)
    from traces.collect import collect

    with ProgressLine(patience_s=0.3) as line:
        result = collect(config, progress=lambda done, total, label: line(label, done, total), say=line.say)
    click.echo(summary(result.path, result.events, result.steps, result.bytes))
    click.echo(f"next: advisor explain {shlex.quote(str(result.path))}")


def summary(path: Path, events: int, steps: int, size: int) -> str:
    """`wrote trace.json: 12,345 events, 6 steps, 1.2 MB`."""
    megabytes = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    return f"wrote {path}: {events:,} events, {steps:,} step{'' if steps == 1 else 's'}, {megabytes}"
