"""Suggested commands carry the script's real name, and of its arguments those that were recorded."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules.commands import arguments_note, collect, run


def facts(advisor: dict[str, Any] | None) -> Facts:
    return Facts(TraceBuilder(advisor=advisor).step(0, 0, 100).trace())


@pytest.mark.parametrize(
    ("advisor", "command", "program"),
    [
        (None, "advisor collect --stacks train.py", "A=1 python train.py"),
        ({"command": ["advisor", "collect"]}, "advisor collect --stacks", "A=1 python train.py"),
        (
            {"command": [], "script": {"target": "fit.py", "arguments": ["--lr", "0.1", "..."]}},
            "advisor collect --stacks fit.py -- --lr 0.1 ...",
            "A=1 python fit.py --lr 0.1 ...",
        ),
        (
            {"command": [], "script": {"target": "-m pkg.fit", "arguments": []}},
            "advisor collect --stacks -m pkg.fit",
            "A=1 python -m pkg.fit",
        ),
        (
            {"command": [], "script": {"target": "accelerate", "arguments": ["launch", "fit.py"], "program": True}},
            "advisor collect --stacks -- accelerate launch fit.py",
            "A=1 accelerate launch fit.py",
        ),
        (
            {"command": [], "script": {"target": "my fit.py", "arguments": ["a&b"]}},
            "advisor collect --stacks 'my fit.py' -- 'a&b'",
            "A=1 python 'my fit.py' 'a&b'",
        ),
    ],
)
def test_commands(advisor: dict[str, Any] | None, command: str, program: str) -> None:
    found = facts(advisor)
    assert collect(found, "--stacks") == command
    assert run(found, "A=1") == program


@pytest.mark.parametrize(("arguments", "said"), [(["--lr", "0.1"], False), (["--name=..."], True)])
def test_a_note_says_what_was_left_out(arguments: list[str], *, said: bool) -> None:
    assert bool(arguments_note(facts({"script": {"target": "fit.py", "arguments": arguments}}))) is said
