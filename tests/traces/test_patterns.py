"""Patterns that are compiled when they are asked: they say what compiled ones say, and all that the project states are sound."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from traces.patterns import Pattern


def test_it_says_what_a_compiled_one_says() -> None:
    lazy, compiled = Pattern(r"(?P<a>a)|b", re.IGNORECASE), re.compile(r"(?P<a>a)|b", re.IGNORECASE)
    for _ in range(2):
        assert lazy.findall("xAyb") == compiled.findall("xAyb")
        assert lazy.sub("-", "xAyb") == "x-y-"
        found = lazy.search("xAyb")
        assert found
        assert (found["a"], found.span()) == ("A", (1, 2))
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)
    assert Pattern(rb"\d").findall(b"a1") == [b"1"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = lazy.nothing  # type: ignore[attr-defined]


def test_it_is_compiled_once_and_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def counted(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", counted)
    lazy = Pattern("seldom")
    assert compiled == []
    assert [bool(lazy.search(text)) for text in ("seldom", "often", "seldom")] == [True, False, True]
    assert compiled == ["seldom"]


def test_what_is_wrong_shows_when_it_is_asked() -> None:
    with pytest.raises(re.error):
        Pattern("(").search("")


_COMPILE_ALL = """
import gc, importlib, pkgutil
import analyzer, rules, traces
from traces.patterns import Pattern
for package in (analyzer, rules, traces):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if ".collect." not in module.name:
            importlib.import_module(module.name)
stated = [one for one in gc.get_objects() if type(one) is Pattern]
for one in stated:
    one.search
print(len(stated))
"""


def test_every_pattern_of_the_project_can_be_compiled() -> None:
    run = subprocess.run([sys.executable, "-c", _COMPILE_ALL], check=True, capture_output=True, text=True, timeout=120)
    assert int(run.stdout) > 300


def test_the_command_line_compiles_few_at_its_start() -> None:
    code = (
        "import re, sys\nreal, found = re.compile, []\n"
        "re.compile = lambda text, flags=0: (found.append(sys._getframe(1).f_globals['__name__']), real(text, flags))[1]\n"
        "import analyzer.explain, analyzer.report.redact\n"
        "print([name for name in found if name.startswith(('analyzer', 'traces', 'rules'))])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]"
