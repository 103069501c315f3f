"""Advice to record again has to record the reader's script: without one `advisor collect` runs the reference loop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rules

_SOURCES = sorted(Path(rules.__file__).parent.rglob("*.py"))
_COMMAND = re.compile(r"advisor collect (?=-)[^\n`\"\\#]*")


def commands(text: str) -> list[str]:
    """Command lines of `advisor collect` with options."""
    return [found[0].strip() for found in _COMMAND.finditer(text)]


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: path.stem)
def test_every_recording_names_the_script(path: Path) -> None:
    assert [command for command in commands(path.read_text()) if "train.py" not in command] == []


def test_a_command_without_a_script_is_seen() -> None:
    assert commands('"advisor collect --stacks --active 2",') == ["advisor collect --stacks --active 2"]
