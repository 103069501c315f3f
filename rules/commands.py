"""Commands that fixes suggest, with the name of the program's own script and its arguments as far as they were recorded."""

from __future__ import annotations

import shlex

from analyzer.facts import Facts

_ANY_SCRIPT = "train.py"
_LEFT_OUT = "..."


def collect(facts: Facts, *options: str) -> str:
    """`advisor collect` of the same program with some options."""
    words = ["advisor", "collect", *options]
    if facts.recording.collected.launches:
        return " ".join([*words, "--", *_script(facts), *_arguments(facts)])
    return " ".join([*words, *_script(facts), *(["--", *_arguments(facts)] if _arguments(facts) else [])])


def run(facts: Facts, before: str = "", *, program: str = "python") -> str:
    """The program itself, with variables before it; a launcher that was recorded stays what starts it."""
    script = _script(facts) or [_ANY_SCRIPT]
    start = [] if facts.recording.collected.launches else [program]
    return " ".join([*([before] if before else []), *start, *script, *_arguments(facts)])


def arguments_note(facts: Facts) -> str:
    """What stands for arguments that were not recorded; empty where none is left out."""
    left_out = any(_LEFT_OUT in word for word in _arguments(facts))
    return (
        " `...`: an argument that the recording does not hold, as it might be a secret or a path." if left_out else ""
    )


def _script(facts: Facts) -> list[str]:
    """The script, or `-m` and the module; nothing where advisor recorded its own loop."""
    known = facts.recording.collected.script
    if known is not None:
        option, _, module = known.partition(" ")
        return [option, shlex.quote(module)] if option == "-m" else [shlex.quote(known)]
    return [] if facts.recording.by_command else [_ANY_SCRIPT]


def _arguments(facts: Facts) -> tuple[str, ...]:
    known = facts.recording.collected
    return tuple(map(shlex.quote, known.arguments)) if known.script is not None else ()
