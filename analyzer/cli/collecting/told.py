"""What was recorded, and what of it is not as it was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.streams.notes import note
from analyzer.units import count, rate
from traces.collect.trace_advisor_hook.phases.stacks import LEFT_OUT

if TYPE_CHECKING:
    from traces.collect.script.session import Recording, ScriptConfig

# What may be skipped at least: the first step begins where the loop is found, and one warms the profiler up.
_LEAST_SKIPPED = {"wait": 2, "warmup": 1}
# A file from this size on is awkward to send, or to keep for each run.
LARGE_BYTES = 20_000_000
# From here on one decimal tells it from as long.
_LONGER = 1.05
_WITHOUT_EVIDENCE = (
    "--evidence found no step for stacks, so that findings name no line: the script was over before, or profiled itself. Let it "
    "take more steps, or skip fewer with --wait"
)


def summary(path: Path, events: int, steps: int, size: int) -> str:
    """`wrote trace.json: 12,345 events, 6 steps, 1.2 MB`."""
    megabytes = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    return f"wrote {path}: {events:,} events, {steps:,} step{'' if steps == 1 else 's'}, {megabytes}"


def calibrated(path: Path, python: str) -> str:
    """Measure what the machine achieves, add it to a recording, and say it."""
    from traces.collect.calibrate import calibrate

    told = calibrate(path, python)
    products = ", ".join(f"{rate(value, 'FLOP')} {kind}" for kind, value in told["flops_per_s"].items())
    best = f"measured at best: {products}; a copy moves {rate(told['bytes_per_s'], 'B')}"
    unsettled = ", ".join(told.get("unsettled") or ())
    return f"{best}; disturbed by other programs, perhaps too low: {unsettled}" if unsettled else best


def tell(recording: Recording, config: ScriptConfig) -> None:
    """Say what was written, and how far to trust it; on stderr, stdout belongs to the script."""
    click.echo("advisor: " + summary(recording.path, recording.events, recording.steps, recording.bytes), err=True)
    if recording.path.suffix != ".gz" and recording.bytes >= LARGE_BYTES:
        note(f"-o {recording.path.name}.gz writes it compressed: about a tenth of that")
    for one in filter(None, (_cut_short(recording, config), *_left_out(recording))):
        note(one)
    if recording.source == "loader":
        note("no optimizer stepped, steps are taken from the DataLoader's batches")
    elif recording.source == "time":
        note("no optimizer stepped and no DataLoader gave batches: no step is marked")
    with_, without = recording.profiled_step_ns, recording.unprofiled_step_ns
    if with_ and without:
        times = f"{with_ / 1e6:.2f} ms with the profiler, {without / 1e6:.2f} ms without"
        slower = f" ({with_ / without:.1f} times as long)" if with_ >= _LONGER * without else ""
        click.echo(f"advisor: a step took {times}{slower}", err=True)
    if not recording.verdict.usable:
        click.echo(f"advisor: {recording.path} is of no use: {recording.verdict.message}", err=True)
    elif recording.verdict.message:
        note(recording.verdict.message)


def _cut_short(recording: Recording, config: ScriptConfig) -> str:
    """That the loop ended before as many steps were recorded as were to be; empty where they were."""
    from traces.collect.recorder.window import window_of

    if recording.full or not recording.steps:
        return ""
    wanted = window_of(config.active).least
    skips = [f"--{name} {least}" for name, least in _LEAST_SKIPPED.items() if getattr(config, name) > least]
    fewer = f", or skip fewer ahead of them ({' '.join(skips)})" if skips else ""
    return f"the loop ended when {recording.steps} of {count(wanted, 'step')} were recorded: let it run longer{fewer}"


def _left_out(recording: Recording) -> Iterator[str]:
    """What was asked for and is not so."""
    if recording.not_there:
        yield kept(recording.not_there, recording.path)
    if recording.stacks_left_out:
        yield LEFT_OUT
    if recording.evidence_left_out:
        yield _WITHOUT_EVIDENCE
    if recording.counters_left_out:
        yield f"no counters are sampled: {recording.counters_left_out}"


def kept(why: str, path: Path) -> str:
    """Where a recording is until it can be where it was asked for."""
    return f"{why}: it is kept in {path.parent} until you move it"
