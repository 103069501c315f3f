"""`advisor collect`: record the reference training loop, or a script as it is, and see that the trace is worth reading."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from analyzer.cli.collecting.judged import judge
from analyzer.cli.collecting.told import LARGE_BYTES, calibrated, kept, summary, tell
from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.progress import ProgressLine
from traces.collect.reference.config import DEVICES, MODELS, CollectConfig, default_of, help_for
from traces.collect.trace_advisor_hook.phases.counters import KINDS
from traces.errors import UntrustedTraceError, UsageError

if TYPE_CHECKING:
    from traces.collect.script.session import ScriptConfig

_TYPES: dict[str, Any] = {
    "output": click.Path(path_type=Path),
    "data_dir": click.Path(path_type=Path),
    "device": click.Choice(DEVICES),
    "model": click.Choice(MODELS),
}
_NAMES = {"output": ("-o", "--output")}
# What means the same for a script; the other options shape the reference loop.
_SHARED = ("output", "wait", "warmup", "active", "stacks", "shapes")
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
    if extras["module"] is not None:
        from traces.collect.script.before import check_named

        check_named(extras["module"])
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
        note(kept(result.not_there, result.path))
    verdict = judge(result.path)
    if not verdict.usable:
        raise UntrustedTraceError(f"{result.path} is of no use: {verdict.message}")
    if calibrates:
        confirm(calibrated(result.path, sys.executable))
    confirm(f"next: advisor explain {shlex.quote(str(result.path))}")


def _script_config(
    words: tuple[str, ...], extras: dict[str, Any], options: dict[str, Any], given: list[str]
) -> ScriptConfig:
    from traces.collect.script.launching import is_program, spoken_python
    from traces.collect.script.session import ScriptConfig

    foreign = [f"--{name.replace('_', '-')}" for name in given if name not in _SHARED]
    if foreign:
        named = f"-m {extras['module']}" if extras["module"] else shlex.quote(words[0])
        raise UsageError(
            f"{', '.join(foreign)} shapes the reference loop, not a script",
            fix=f"arguments of the script go after `--`: advisor collect {named} -- {foreign[0]} ...",
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
        shared["compress_from"] = LARGE_BYTES
    return ScriptConfig(target=target, module=bool(module), program=program, arguments=arguments, **extras, **shared)


def _collect_script(config: ScriptConfig, calibrates: bool) -> int:
    """Run it, say on stderr what was written, and return the exit code."""
    from traces.collect.script.session import collect_script

    result = collect_script(config, judge, lambda words: click.echo(f"advisor: {words}", err=True))
    for recording in result.recordings:
        tell(recording, config)
    for path in result.set_aside:
        note(f"what lay there before is now {path}: it is not of this run")
    if calibrates:
        for recording in result.recordings:
            told = calibrated(recording.path, str(config.python or sys.executable))
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
