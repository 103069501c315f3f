"""`advisor`: finds the command, and turns whatever goes wrong into a message and an exit code.

Each command is imported when it is called: `advisor --help` costs neither pandas nor torch nor Textual.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

import click

from analyzer.cli.installation import foreign_package, version
from analyzer.cli.refused import check_folder, check_limit_of_memory, refusal
from traces import ending, leftovers
from traces.errors import AdvisorError

INTERNAL_ERROR = 70
# What a shell reports of a program that a closed pipe ended.
PIPE_CLOSED = 141
_NEEDING_NO_FOLDER = ("rules", "rule", "cache")

# Command, which is a module in `commands`, and the line `advisor --help` shows (a test holds it equal to the command's own).
COMMANDS: dict[str, str] = {
    "collect": "Record the reference training loop, or a script, and write trace.json.",
    "tune": "Try on a script what the findings advise, and measure what helps.",
    "calibration": "Show how good each rule's promises were, where they were measured.",
    "experiment": "Time each remedy on the reference loop, and record a trace of each.",
    "explain": "Say where each step's time goes and what to change.",
    "summarize": "Write what one rank of a job needs to be merged with the others.",
    "compare": "Say whether a change helped, beyond noise.",
    "baseline": "Keep a run under a name, to compare later ones with.",
    "repair": "Write a repaired copy of a damaged trace.",
    "slim": "Write a small copy of a trace: some steps, less detail.",
    "annotate": "Write the trace with gaps and findings on its timeline.",
    "zoo": "Plant known bottlenecks and see whether they are found.",
    "cache": "Say what is kept of large traces, or remove it.",
    "rules": "List every rule.",
    "rule": "Show what a rule finds, why it matters and how to fix it.",
}


class Commands(click.Group):
    """A group that imports a command's module when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"analyzer.cli.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these arguments, or an error that names the nearest one.

        Raises:
            click.UsageError: there is no such command.
            AdvisorError: the process may have too little memory, or runs in a folder that is gone.
        """
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from analyzer.cli.codes import nearest

            path = " A trace is read by `advisor explain PATH`." if os.path.exists(name) else ""
            raise click.UsageError(f"there is no command {name!r}.{nearest(name, COMMANDS)}{path}", ctx)
        if not {"-h", "--help"} & set(args):
            check_limit_of_memory()
            if name in COMMANDS and name not in _NEEDING_NO_FOLDER:
                check_folder()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a reader that closes the pipe (`| head`) ends it without complaint."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # a service may have none
                sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes stdout once more when it exits; give it somewhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(PIPE_CLOSED)
        return result


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the version, which is looked up only now, and stop."""
    if wanted:
        click.echo(f"advisor {version()}")
        ctx.exit()


# The \b keeps click from filling the paragraph that follows.
_HELP = """Read a PyTorch profiler trace: where each step's time goes, what to change, and how much that saves at most.

\b
Begin with:
  advisor collect                record trace.json from the reference training loop
  advisor explain trace.json     read it

Exit codes: 0 done, 1 a gate failed (--fail-on, --gate), 2 wrong usage, 3 the input could not be read, 4 the input is not to be
trusted for advice, 70 internal error, 130 interrupted (129 by SIGHUP, 143 by SIGTERM), 141 the reader closed the pipe.
"""


# Help that is asked for by no word at all. Click before 8.2 shows it itself, and knows no such error.
_NO_ARGUMENTS: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


@click.group(
    cls=Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def advisor() -> None:
    """Find the command; its help is `_HELP`."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; the one place where errors are caught."""
    try:
        shadowed = foreign_package()
        if shadowed:
            return _complain(shadowed, INTERNAL_ERROR)
        # click returns what `ctx.exit` was given; a command that returns nothing has succeeded.
        code = advisor.main(args=list(args) if args is not None else None, prog_name="advisor", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except AdvisorError as error:
        return _complain(str(error), error.exit_code)
    except _NO_ARGUMENTS as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _complain(_usage(error, sys.argv[1:] if args is None else args), error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        return _interrupted(ending.interrupt_in(error))
    except Exception as error:
        interrupt = ending.interrupt_in(error)
        if interrupt is not None:
            return _interrupted(interrupt)
        refused = refusal(error)
        return _complain(str(refused), refused.exit_code) if refused is not None else _bug(error)


def program() -> NoReturn:
    """The `advisor` of the shell: `main`, and then out.

    Taking a million objects of pandas apart, only to give their memory back to a system that takes it anyway, is a tenth of the
    time that explaining a small trace takes; mypy leaves the same way. What runs threads or processes (torch, the UI) gets the
    usual end, unless a plug-in left them: its threads would be waited for.
    """
    code = main()
    ending.surfaced()
    leftovers.sweep()
    asked = ending.received()
    if asked is not None and code != ending.BY_SIGNAL + asked:
        # Lost in code that swallows what it cannot raise, or come when there was nothing left to interrupt.
        code = _interrupted(ending.Ended(asked))
    left = sys.modules.get("analyzer.engine.left_behind")
    if left is not None and left.are_there():
        left.end()
    elif threading.active_count() > 1 or not sys.modules.keys().isdisjoint(("torch", "textual", "multiprocessing")):
        sys.exit(code)
    # A stream that the shell closed (`>&-`) is None.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            # The reader is gone, and nothing more can be said there; what stood in the stream before was flushed in time.
            code = code or PIPE_CLOSED
    os._exit(code)


# They run a script, and take options of their own before `--`.
_RUNNERS = ("collect", "tune")


def _usage(error: click.ClickException, args: Sequence[str]) -> str:
    """Click's message, with the help that would have answered the question, or how to name a file that looks like an option."""
    message = error.format_message()
    files = [arg for arg in args if arg.startswith("-") and os.path.isfile(arg)]
    if files and isinstance(error, click.NoSuchOption):
        return f"{message}\n  fix: if you mean the file of that name, write ./{files[0]}"
    context = getattr(error, "ctx", None)
    # Of an option without its value click does not say whose it is.
    command = (
        context.command_path if context is not None else next((f"advisor {arg}" for arg in args if arg in COMMANDS), "")
    )
    see = f"see `{command} --help`" if command else ""
    target = _target(args)
    if isinstance(error, click.NoSuchOption) and target and context is not None and context.info_name in _RUNNERS:
        name = error.option_name
        scripts = f"what the script is to get stands after `--`: {context.command_path} {target.words} -- {name} ..."
        if not any(arg.partition("=")[0] == name for arg in args[: target.at]):
            return f"{message}\n  fix: {scripts}"
        # Ahead of the script stand the options of ours: what is like one is a misspelt one.
        near = next(iter(error.possibilities or ()), None)
        return f"{message}\n  fix: write {near}, or {see}" if near else f"{message}\n  fix: {see}; {scripts}"
    return f"{message}\n  fix: {see}" if see else message


class _Target(NamedTuple):
    """What is run, as a command line names it, and where in that it stands."""

    words: str
    at: int


def _target(args: Sequence[str]) -> _Target | None:
    """What is run: a module or a script; None where neither is named."""
    if "-m" in args[:-1]:
        at = args.index("-m")
        return _Target(f"-m {shlex.quote(args[at + 1])}", at)
    return next((_Target(shlex.quote(arg), at) for at, arg in enumerate(args) if arg.endswith(".py")), None)


def _complain(message: str, code: int) -> int:
    """Print an error as `advisor: error: ...`, its text free of control characters, and return its code."""
    from analyzer.page.words.printable import clean

    for number, line in enumerate(message.splitlines()):
        # Ours go on indented; one that does not stands behind a line break in a name.
        go_on = clean(line) if line.startswith("  ") else f"  {clean(line)}"
        click.echo(f"advisor: error: {clean(line)}" if number == 0 else go_on, err=True)
    return code


def _interrupted(interrupt: KeyboardInterrupt | None) -> int:
    ending.surfaced()
    said = str(interrupt) if isinstance(interrupt, ending.Ended) else "interrupted"
    # The terminal may be what is gone.
    with suppress(OSError):
        click.echo(f"advisor: {said}", err=True)
    return ending.code_of(interrupt)


def _bug(error: Exception) -> int:
    """Say that the program is wrong, not the user, and how to report it."""
    if os.environ.get("ADVISOR_TRACEBACK"):
        traceback.print_exception(error)
    kind = type(error).__name__
    detail = f": {error}" if str(error) else ""
    return _complain(
        f"this is a bug in advisor ({kind}{detail[:300]})\n"
        "  fix: please report it, with what `ADVISOR_TRACEBACK=1 advisor ...` prints for the same command",
        INTERNAL_ERROR,
    )


if __name__ == "__main__":
    program()
