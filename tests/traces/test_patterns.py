"""Patterns that are compiled when they are asked: they say what compiled ones say, and all that the project states are sound."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.patterns import Pattern, WordedPattern


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


_ALL_WORDED = """
import gc, importlib, pkgutil
import analyzer, rules, traces
from traces.patterns import WordedPattern
for package in (analyzer, rules, traces):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if ".collect." not in module.name:
            importlib.import_module(module.name)
for one in gc.get_objects():
    if type(one) is WordedPattern:
        print(" ".join(one.words), one.pattern, sep="\\t")
"""
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


def _literal_runs(parsed: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """The letters that follow one another in every match of a parsed pattern, run by run."""
    run = ""
    for kind, value in parsed:
        if str(kind) == "LITERAL":
            run += chr(value)
            continue
        yield run
        run = ""
    yield run


def _always_holds(parsed: Iterable[tuple[Any, Any]], words: tuple[str, ...]) -> bool:
    """Whether every match of a parsed pattern holds one of the words."""
    parsed = list(parsed)
    if any(word in run for run in _literal_runs(parsed) for word in words):
        return True
    for kind, value in parsed:
        if str(kind) == "BRANCH" and all(_always_holds(way, words) for way in value[1]):
            return True
        if str(kind) == "SUBPATTERN" and _always_holds(value[3], words):
            return True
        if str(kind) == "MAX_REPEAT" and value[0] and _always_holds(value[2], words):
            return True
    return False


def _proven(words: tuple[str, ...], pattern: str) -> bool:
    parser: Any = re._parser  # type: ignore[attr-defined]
    # Where case does not count, the letters are not those of the match.
    return "(?i" not in pattern and _always_holds(parser.parse(pattern), words)


def test_the_proof_of_words_sees_a_way_without_any() -> None:
    assert _proven(("onv", "gemm"), r"[Cc]onv|x(?:gemm)+_|(?:a|b)gemm$")
    assert not _proven(("onv",), r"[Cc]onv|gemm")
    assert not _proven(("gemm",), r"x(?:gemm)?")
    assert not _proven(("gemm",), r"(?!gemm)x|gemm")
    assert not _proven(("ab",), r"a.b")
    assert not _proven(("ab",), r"(?i)ab")


def test_every_match_of_a_worded_pattern_holds_one_of_its_words() -> None:
    run = subprocess.run([sys.executable, "-c", _ALL_WORDED], check=True, capture_output=True, text=True, timeout=120)
    stated = [line.split("\t") for line in run.stdout.splitlines()]
    assert len(stated) > 20
    for words, pattern in stated:
        assert _proven(tuple(words.split()), pattern), f"some match of {pattern} holds none of: {words}"


@given(st.text("abcx_", max_size=8))
def test_a_worded_pattern_finds_what_the_pattern_finds(text: str) -> None:
    found, expected = WordedPattern("bc ax", r"(?<!_)bc|a+x$").search(text), re.search(r"(?<!_)bc|a+x$", text)
    assert (found and found.span()) == (expected and expected.span())


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
