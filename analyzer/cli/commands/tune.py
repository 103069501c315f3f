"""`advisor tune`: try on a script, unchanged, what its findings advise, and say what really helped."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli.collecting.for_tuning import recorded
from analyzer.cli.streams import output, remembering
from analyzer.cli.streams.closed import ClosedOutputError
from analyzer.cli.streams.notes import note
from analyzer.cli.streams.output import NamedChoice
from analyzer.cli.streams.terminal import is_terminal, style_for, wants_screen
from traces.ending import BY_SIGNAL, code_of
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.analysis.tuning import Tuning
    from analyzer.tune.events import Event, Tell
    from analyzer.tune.result import About
    from analyzer.tune.session import Wanted
    from traces.collect.tune.trial import Script

FORMATS = ("text", "markdown", "html", "json")
PATCH = "changes.diff"
_RESULTS = {"result.json": "json", "report.html": "html", "report.md": "markdown"}
_ENDINGS = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}


@click.command("tune", short_help="Try on a script what the findings advise, and measure what helps.")
@click.argument("words", nargs=-1, metavar="SCRIPT [-- ARGS]...", type=click.UNPROCESSED)
@click.option("-m", "module", metavar="MODULE", help="Run a module instead of a script, as `python -m` does.")
@click.option(
    "--python", type=click.Path(path_type=Path), help="Interpreter of the script's environment; needs torch only."
)
@click.option("--budget", type=click.FloatRange(min=0.1), default=10.0, show_default=True, metavar="MINUTES",
              help="Stop trying after so long.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the generators of every run."
)
@click.option(
    "--allow-numerics", is_flag=True, help="Also try changes that alter the precision of results; the loss is compared."
)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("advisor-tune"), show_default=True,
              help="The run folder: recording, runs, logs, result.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on where the run folder ends.")
@click.option(
    "--remember", is_flag=True, help="Keep what was promised and measured, on this machine, for `advisor calibration`."
)
@click.option("--plain", is_flag=True, help="Say what goes on in lines, as where there is no terminal.")
@click.option("--format", "stated", type=NamedChoice(FORMATS), help="Print the result as this.")
@click.option("-o", "--output", "targets", type=click.Path(path_type=Path), metavar="FILE", multiple=True,
              help="Write the result to FILE (.md, .html, .json, .txt) as well.")  # fmt: skip
def command(
    words: tuple[str, ...],
    module: str | None,
    python: Path | None,
    budget: float,
    seed: int,
    allow_numerics: bool,
    folder: Path,
    resume: bool,
    remember: bool,
    plain: bool,
    stated: str | None,
    targets: tuple[Path, ...],
) -> int:
    """Try on SCRIPT, unchanged, what its findings advise, and say what really helped.

    Records and explains it, times it without the profiler, then tries each change that can be made from outside in runs of
    their own, in turns with the script as it is. A change whose largest possible saving lies within the noise is not run.
    Relative paths lead to a scratch folder, and a run ends before Python or torch.save writes elsewhere; other compiled
    writers (safetensors, say) are not seen: commit or copy what such a script writes over. The result is a table, and a
    diff of your own calls. While it runs a table shows the changes and their step times; Ctrl-C ends it and keeps what was
    measured.

    Exit codes: 0 also where nothing helps or there is nothing to try; 4 where the script cannot be tuned, with the reason.
    """
    script = _script(words, module, python)
    forms = [(target, _form(target)) for target in targets]
    for target in targets:
        output.check(target, [])
    from analyzer.tune import run_folder
    from analyzer.tune.session import Wanted

    wanted = Wanted(
        script=script, folder=folder, budget_s=60 * budget, seed=seed, resume=resume, allow_numerics=allow_numerics
    )
    here = about()
    with run_folder.opened(folder, run_folder.runs_of(script, seed, here.machine, here.tool), resume=resume):
        for name in (*_RESULTS, PATCH):
            output.check(folder / name, [])
        tuning, code = _tuned(wanted, here, screen=wants_screen() and not plain)
        if remember:
            from analyzer.calibration.taken import of_tuning

            remembering.keep(of_tuning(tuning))
        _write(tuning, folder, forms, stated)
    return code


def _script(words: tuple[str, ...], module: str | None, python: Path | None) -> Script:
    from traces.collect.script.before import check_named, script_meant, why_no_script
    from traces.collect.script.launching import is_program, spoken_python
    from traces.collect.tune.trial import Script

    if not words and module is None:
        raise UsageError("no script is named", fix="advisor tune train.py -- ARGS")
    check_named(words[0] if module is None else module)
    if module is not None:
        return Script(target=module, module=True, arguments=words, python=python)
    spoken = spoken_python(words)
    if spoken is not None:
        python = python or Path(words[0])
        target, is_module, arguments = spoken
        if is_module:
            return Script(target=target, module=True, arguments=arguments, python=python)
        words = (target, *arguments)
    path = Path(words[0])
    what = why_no_script(path)
    if what is not None:
        if is_program(words[0], python):
            what = "is a program: a tuning runs a script in one process"
        near = script_meant(path)
        fix = f"did you mean {near}?" if near else "name a Python file: advisor tune train.py -- ARGS"
        raise UsageError(f"the script {path} {what}", fix=fix)
    return Script(target=str(path), arguments=words[1:], python=python)


def _form(target: Path) -> str:
    form = _ENDINGS.get(target.suffix.lower())
    if form is None:
        raise UsageError(f"{target} names no format", where="-o/--output", fix=f"let it end in {', '.join(_ENDINGS)}")
    return form


def _tuned(wanted: Wanted, machine: About, *, screen: bool) -> tuple[Tuning, int]:
    """Record, explain, try; the result and the exit code.

    Raises:
        KeyboardInterrupt: It was ended before anything was tried.
    """
    from analyzer.engine.plugins import load_rules
    from analyzer.tune.run_folder import kept_words
    from analyzer.tune.session import planned, tune
    from traces.collect.tune.run import run

    told = Told()
    outside = {rule.meta.code: rule.meta.outside for rule in load_rules()}
    try:
        analysis = recorded(wanted, told)
        if screen and planned(analysis, outside, machine):
            return _shown(wanted, machine, analysis, outside)
        tuning = tune(wanted, machine, analysis, outside, told, run)
    except KeyboardInterrupt:
        click.echo(f"advisor: {kept_words(wanted.folder)}", err=True)
        raise
    return tuning, 0 if told.interrupt is None else code_of(told.interrupt)


def _shown(
    wanted: Wanted, machine: About, analysis: Analysis, outside: Mapping[str, Sequence[str]]
) -> tuple[Tuning, int]:
    """The same on the whole terminal."""
    from analyzer.tui.tuning.app import run as show
    from analyzer.tune.events import Interrupted
    from analyzer.tune.live import Live
    from analyzer.tune.session import tune
    from traces.collect.tune.run import run

    interrupts: list[KeyboardInterrupt] = []

    def work(tell: Tell, stopped: Callable[[], bool]) -> Tuning:
        def heard(event: Event) -> None:
            if isinstance(event, Interrupted):
                interrupts.append(event.error)
            tell(event)

        return tune(wanted, machine, analysis, outside, heard, partial(run, stopped=stopped))

    tuning, number = show(Live(" ".join([wanted.script.target, *wanted.script.arguments]), wanted.budget_s), work)
    if number is not None:
        return tuning, BY_SIGNAL + number
    return tuning, code_of(interrupts[0]) if interrupts else 0


def about() -> About:
    """The machine and the versions that a result is of."""
    from analyzer.assemble import tool_version
    from analyzer.tune.result import About
    from traces.collect.output.cores import usable_cores

    cores = usable_cores()
    machine = f"{cores} core{'' if cores == 1 else 's'}, {platform.system()} {platform.machine()}"
    return About(tool_version(), machine, None, datetime.date.today().isoformat(), cores)


class Told:
    """What goes on, a line each, on stderr.

    Attributes:
        interrupt: What ended it; held, or the signal would be sent again in the middle of writing the result.
    """

    def __init__(self) -> None:
        self.interrupt: KeyboardInterrupt | None = None

    def __call__(self, event: Event) -> None:
        """Say it."""
        from analyzer.tune import events, lines

        if isinstance(event, events.Interrupted):
            self.interrupt = event.error
        text = lines.line(event)
        if text:
            click.echo(f"advisor: {text}", err=True)


def _rows(tuning: Tuning) -> list[dict[str, object]]:
    """What was measured, for the recording's own metadata: who explains it again sees it beside what is promised."""
    names = ("change", "rules", "verdict", "measured_ratio", "low_ratio", "high_ratio", "pays_after_steps")
    return [{name: getattr(one, name) for name in names} for one in tuning.trials if one.measured_ratio is not None]


def _write(tuning: Tuning, folder: Path, forms: list[tuple[Path, str]], stated: str | None) -> None:
    """The result in the run folder in every format, in the files that were asked for, and on stdout."""
    from analyzer.report.tuning import html, json, markdown, text
    from analyzer.tune.run_folder import RECORDING
    from traces.collect.output.attached import attach

    renders = {"text": text.render, "markdown": markdown.render, "html": html.render, "json": json.render}
    for name, form in _RESULTS.items():
        output.write(renders[form](tuning), folder / name)
    for target, form in forms:
        output.write(renders[form](tuning), target)
    if tuning.patch:
        output.write(tuning.patch, folder / PATCH)
    try:
        attach(folder / RECORDING, "tuned", _rows(tuning))
    except (OSError, ValueError) as error:
        # Removed or changed meanwhile: what was measured is told all the same.
        note(f"the recording keeps nothing of this: {error}"[:300])
    printed = text.render(tuning, style_for(sys.stdout)) if stated in (None, "text") else renders[stated](tuning)
    with suppress(ClosedOutputError):  # all of it is in the folder
        output.write(output.encodable(printed), None)
    if is_terminal(sys.stderr) or os.environ.get("CI") is None:
        click.echo(f"advisor: all of it is in {folder}{os.sep}", err=True)
        if tuning.patch:
            click.echo(f"advisor: to change the script so: patch -p1 < {shlex.quote(str(folder / PATCH))}", err=True)
