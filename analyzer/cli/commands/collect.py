"""`advisor collect`: record the reference training loop, or a script as it is, and see that the trace is worth reading."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.progress import ProgressLine
from analyzer.units import count, rate
from traces.collect.reference.config import DEVICES, MODELS, CollectConfig, default_of, help_for
from traces.collect.trace_advisor_hook.phases.counters import KINDS
from traces.collect.trace_advisor_hook.phases.stacks import LEFT_OUT
from traces.errors import UnreadableTraceError, UntrustedTraceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyzer.engine.trust import TrustGrade
    from traces.collect.script.session import Recording, ScriptConfig, Verdict

_TYPES: dict[str, Any] = {
    "output": click.Path(path_type=Path),
    "data_dir": click.Path(path_type=Path),
    "device": click.Choice(DEVICES),
    "model": click.Choice(MODELS),
}
_NAMES = {"output": ("-o", "--output")}
# What means the same for a script; the other options shape the reference loop.
_SHARED = ("output", "wait", "warmup", "active", "stacks", "shapes")
# What may be skipped at least: the first step begins where the loop is found, and one warms the profiler up.
_LEAST_SKIPPED = {"wait": 2, "warmup": 1}
# A file from this size on is awkward to send, or to keep for each run.
_LARGE_BYTES = 20_000_000
_WITHOUT_EVIDENCE = (
    "--evidence found no step for stacks, so that findings name no line: the script was over before, or profiled itself. Let it "
    "take more steps, or skip fewer with --wait"
)
_FOR_SCRIPTS = {
    "module": "-m",
    "python": "--python",
    "stop": "--stop",
    "evidence": "--evidence",
    "modules": "--modules",
    "counters": "--counters",
}


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


class _Collect(click.Command):
    """Options behind a script are ours; those behind a launcher are the launcher's, as behind `time` or `nice`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; up to the first word alone where that is a program."""
        from traces.collect.script.launching import is_program, spoken_python

        # Below the same parent: click keeps the help option of who asks first, and without one it is `--help` alone.
        ahead = click.Context(self, parent=ctx.parent, allow_interspersed_args=False, resilient_parsing=True)
        with contextlib.suppress(click.UsageError):  # which the parser says again below
            options = self.make_parser(ahead).parse_args(list(args))[0]
            # What was not given is a mark of click's own in some versions, and missing in others.
            given = options.get("words", ())
            words = tuple(given) if isinstance(given, (tuple, list)) else ()
            starts = bool(words) and (is_program(words[0], options.get("python")) or spoken_python(words) is not None)
            ctx.allow_interspersed_args = not starts or "module" in options
        return super().parse_args(ctx, args)


@click.command(
    "collect", cls=_Collect, short_help="Record the reference training loop, or a script, and write trace.json."
)
@click.argument("words", nargs=-1, metavar="[SCRIPT [-- ARGS] | LAUNCHER ARGS]...", type=click.UNPROCESSED)
@click.option("-m", "module", metavar="MODULE", help="Run a module instead of a script, as `python -m` does.")
@click.option(
    "--python", type=click.Path(path_type=Path), help="Interpreter of the script's environment; needs torch only."
)
@click.option("--stop", is_flag=True, help="End the script once everything is recorded.")
@click.option(
    "--calibrate",
    is_flag=True,
    help="Record shapes, then measure what this machine achieves at best (20 s), to compare operators with.",
)
@click.option("--modules", is_flag=True, help="Record the calls of modules (--shapes does where they cost little).")
@click.option(
    "--counters",
    type=click.Choice(KINDS),
    default=None,
    help="Sample a CUDA device's clock, power and temperature, or the activity of its units, which locks the clock "
    "(torch 2.15 with cupti-python).",
)
@click.option("--evidence", is_flag=True, help="Record two more steps with stacks, to name lines of your code.")
@_all_options
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], *, calibrate: bool, **options: Any) -> None:
    """Record the reference training loop, or a script as it is, and write trace.json.

    Without SCRIPT: trains a small network on MNIST, or on digits it draws itself where torchvision's MNIST is not at hand,
    and records some steps in the middle. The defaults are the usual beginner's loop: no worker processes, no pinned memory,
    loss.item() in every step.

    With SCRIPT (or -m MODULE): runs it unchanged in a process of its own, finds its steps from the optimizer, else from the
    DataLoader, skips the warm-up (--wait is then 10 by default), records and lets it go on. Its exit status is kept.

    With LAUNCHER (torchrun, accelerate launch, deepspeed, fabric run, bash train.sh): runs it as it is, with its own options
    behind it, and records what it starts on this machine, several ranks into one folder. So does -m torch.distributed.run.

    A large recording is compressed, unless -o names the file.
    """
    extras = {name: options.pop(name) for name in _FOR_SCRIPTS}
    given = [name for name in options if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE]
    if calibrate and "shapes" not in given:
        # What is achieved at best is set beside what operators do, which their shapes tell.
        options["shapes"] = True
        given.append("shapes")
    if words or extras["module"]:
        ctx.exit(_collect_script(_script_config(words, extras, options, given), calibrate))
    for name, option in _FOR_SCRIPTS.items():
        if extras[name]:
            raise UsageError(f"{option} needs a script", fix="name one: `advisor collect train.py -- ARGS`")
    _collect_reference(CollectConfig(**options), calibrate)


def _collect_reference(config: CollectConfig, calibrates: bool) -> None:
    from traces.collect import collect

    with ProgressLine(patience_s=0.3) as line:
        result = collect(config, progress=lambda done, total, label: line(label, done, total), say=line.say)
    confirm(summary(result.path, result.events, result.steps, result.bytes))
    if result.not_there:
        click.echo(f"advisor: note: {_kept(result.not_there, result.path)}", err=True)
    verdict = judge(result.path)
    if not verdict.usable:
        raise UntrustedTraceError(f"{result.path} is of no use: {verdict.message}")
    if calibrates:
        confirm(_calibrated(result.path, sys.executable))
    confirm(f"next: advisor explain {shlex.quote(str(result.path))}")


def _script_config(
    words: tuple[str, ...], extras: dict[str, Any], options: dict[str, Any], given: list[str]
) -> ScriptConfig:
    from traces.collect.script.launching import is_program, spoken_python
    from traces.collect.script.session import ScriptConfig

    foreign = [f"--{name.replace('_', '-')}" for name in given if name not in _SHARED]
    if foreign:
        raise UsageError(
            f"{', '.join(foreign)} shapes the reference loop, not a script",
            fix="arguments of the script go after `--`: advisor collect train.py -- --epochs 3",
        )
    module = extras.pop("module")
    target, arguments = (module, words) if module else (words[0], words[1:])
    program = not module and is_program(target, extras["python"])
    spoken = spoken_python(words) if program else None
    if spoken is not None:
        extras["python"] = extras["python"] or Path(target)
        (target, module, arguments), program = spoken, False
    extras["counters"] = extras["counters"] or ""
    shared = {name: options[name] for name in given}
    if "output" not in given:
        shared["compress_from"] = _LARGE_BYTES
    return ScriptConfig(target=target, module=bool(module), program=program, arguments=arguments, **extras, **shared)


def _collect_script(config: ScriptConfig, calibrates: bool) -> int:
    """Run it, say on stderr what was written, and return the exit code."""
    from traces.collect.script.session import collect_script

    result = collect_script(config, judge, lambda words: click.echo(f"advisor: {words}", err=True))
    for recording in result.recordings:
        _tell(recording, config)
    for path in result.set_aside:
        click.echo(f"advisor: note: what lay there before is now {path}: it is not of this run", err=True)
    if calibrates:
        for recording in result.recordings:
            told = _calibrated(recording.path, str(config.python or sys.executable))
            click.echo(f"advisor: {told}", err=True)
    # A file of no use has been told so: to explain it would only say that again.
    of_use = [recording.path for recording in result.recordings if recording.verdict.usable]
    if of_use:
        places = [result.folder] if result.folder is not None else of_use
        click.echo(f"advisor: next: advisor explain {shlex.join(map(str, places))}", err=True)
    if not result.recordings:
        if result.status == 0 and not result.untouched:
            raise UntrustedTraceError(f"nothing was recorded: {result.problem}", fix=result.fix or None)
        click.echo(f"advisor: nothing was recorded: {result.problem}\n  fix: {result.fix}", err=True)
    elif result.status == 0 and not all(recording.verdict.usable for recording in result.recordings):
        return UntrustedTraceError.exit_code
    return result.status


def _calibrated(path: Path, python: str) -> str:
    """Measure what the machine achieves, add it to a recording, and say it."""
    from traces.collect.calibrate import calibrate

    told = calibrate(path, python)
    products = ", ".join(f"{rate(value, 'FLOP')} {kind}" for kind, value in told["flops_per_s"].items())
    best = f"measured at best: {products}; a copy moves {rate(told['bytes_per_s'], 'B')}"
    unsettled = ", ".join(told.get("unsettled") or ())
    return f"{best}; disturbed by other programs, perhaps too low: {unsettled}" if unsettled else best


def _tell(recording: Recording, config: ScriptConfig) -> None:
    """Say what was written, and how far to trust it; on stderr, stdout belongs to the script."""
    click.echo("advisor: " + summary(recording.path, recording.events, recording.steps, recording.bytes), err=True)
    if recording.path.suffix != ".gz" and recording.bytes >= _LARGE_BYTES:
        click.echo(f"advisor: note: -o {recording.path.name}.gz writes it compressed: about a tenth of that", err=True)
    for note in filter(None, (_cut_short(recording, config), *_left_out(recording))):
        click.echo(f"advisor: note: {note}", err=True)
    if recording.source == "loader":
        click.echo("advisor: note: no optimizer stepped, steps are taken from the DataLoader's batches", err=True)
    elif recording.source == "time":
        click.echo("advisor: note: no optimizer stepped and no DataLoader gave batches: no step is marked", err=True)
    with_, without = recording.profiled_step_ns, recording.unprofiled_step_ns
    if with_ and without:
        times = f"{with_ / 1e6:.2f} ms with the profiler, {without / 1e6:.2f} ms without"
        slower = f" ({with_ / without:.1f} times as long)" if with_ > without else ""
        click.echo(f"advisor: a step took {times}{slower}", err=True)
    if not recording.verdict.usable:
        click.echo(f"advisor: {recording.path} is of no use: {recording.verdict.message}", err=True)
    elif recording.verdict.message:
        click.echo(f"advisor: note: {recording.verdict.message}", err=True)


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
        yield _kept(recording.not_there, recording.path)
    if recording.stacks_left_out:
        yield LEFT_OUT
    if recording.evidence_left_out:
        yield _WITHOUT_EVIDENCE
    if recording.counters_left_out:
        yield f"no counters are sampled: {recording.counters_left_out}"


def _kept(why: str, path: Path) -> str:
    return f"{why}: it is kept in {path.parent} until you move it"


def judge(path: Path) -> Verdict:
    """Read a written trace back and grade it, before anybody bases advice on it."""
    from analyzer.engine.trust import grade
    from analyzer.facts import Facts
    from traces.collect.script.session import Verdict
    from traces.reader.read import read

    try:
        trust = grade(Facts(read(path)))
    except UnreadableTraceError as error:
        return Verdict(usable=False, message=str(error), again=True)
    usable = trust.verdict != "unusable"
    return Verdict(usable, _first_reason(trust), again=not usable or any(one.passes for one in trust.symptoms))


def _first_reason(trust: TrustGrade) -> str:
    if trust.verdict == "ok" or not trust.symptoms:
        return ""
    worst = trust.symptoms[0]
    return f"{worst.message} Fix: {worst.fix}" if worst.fix else worst.message


def summary(path: Path, events: int, steps: int, size: int) -> str:
    """`wrote trace.json: 12,345 events, 6 steps, 1.2 MB`."""
    megabytes = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    return f"wrote {path}: {events:,} events, {steps:,} step{'' if steps == 1 else 's'}, {megabytes}"
