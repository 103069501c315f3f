"""What a trace tells about the person and the machine that recorded it. Counts and key names only: values are never kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pandas as pd

from analyzer.spans.labels import distinct_texts
from traces.allowed import DISTRIBUTED_KEYS, OWN, PARTLY, is_allowed
from traces.patterns import Pattern
from traces.trace import Trace

# Keys that any torch writes and that say nothing: a random id of the recording.
_HARMLESS = frozenset({"trace_id"})
_HOME = Pattern(r"(?:/home/|/Users/|/root/|[A-Za-z]:[\\/]Users[\\/])[^\s/\\(){}\[\]<>:;,\"']*")
_TOKEN = Pattern(
    r"\b(?:hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[\w-]{10,}|sk-[\w-]{20,}|AIza[\w-]{35}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)"
)
# Without one of these in it no text matches.
_HOME_MARKS = ("/home/", "/Users/", "/root/", "Users\\", "Users/")
_TOKEN_MARKS = (
    "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "xox", "sk-", "AIza", "eyJ",
)  # fmt: skip
_SECRET_KEY = Pattern(
    r"(?:^|[_.\-])(?:TOKEN|SECRET|PASSW(?:OR)?D|API_?KEY|ACCESS_?KEY|CREDENTIALS?)(?:$|[_.\-])", re.IGNORECASE
)
_PLAIN_KEY = Pattern(r"[\w.\- ]{1,40}")
# Nested deeper than this no writer of traces goes.
_MAX_DEPTH = 20


class Privacy(msgspec.Struct, frozen=True):
    """Private content of a trace.

    Args:
        keys: Top-level keys off the allow-list, sorted; a name that is itself odd is given as `(odd name)`.
        tokens: Strings that have the shape of an access token, or stand at a key named like one.
        home_paths: Distinct names of events, or stacks, with a path below somebody's home folder.
    """

    keys: tuple[str, ...]
    tokens: int
    home_paths: int

    @property
    def found(self) -> bool:
        """Whether there is anything."""
        return bool(self.keys or self.tokens or self.home_paths)


def privacy(trace: Trace) -> Privacy:
    """Looks through the top-level keys and every distinct text of the events that the reader keeps."""
    top = trace.meta.top
    keys = {
        key if _PLAIN_KEY.fullmatch(key) else "(odd name)" for key, value in top.items() if not _allowed(key, value)
    }
    texts = list(_names(trace))
    in_top = sum(_suspicious(key, text) for key, text in _strings("", top, 0))
    return Privacy(
        tuple(sorted(keys)),
        in_top + _found(_TOKEN, _TOKEN_MARKS, texts),
        _found(_HOME, _HOME_MARKS, texts),
    )


def _found(pattern: Pattern[str], marks: tuple[str, ...], texts: list[str]) -> int:
    """How many texts match; they are looked through one by one only where one of the marks is in any of them."""
    together = "\n".join(texts)
    return sum(pattern.search(text) is not None for text in texts) if any(mark in together for mark in marks) else 0


def _allowed(key: str, value: Any) -> bool:
    if key in PARTLY:
        if key == "distributedInfo":
            return isinstance(value, dict) and set(value) <= set(DISTRIBUTED_KEYS)
        return True
    return key in OWN or key in _HARMLESS or is_allowed(key, value)


def _suspicious(key: str, text: str) -> bool:
    return bool(text) and (_TOKEN.search(text) is not None or _SECRET_KEY.search(key) is not None)


def _strings(key: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Every text inside a value with the nearest key above it."""
    if isinstance(value, str):
        yield key, value
    elif depth < _MAX_DEPTH and isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(str(name), item, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list):
        for item in value:
            yield from _strings(key, item, depth + 1)


def _names(trace: Trace) -> Iterator[str]:
    """Distinct names of events, and distinct stacks."""
    columns: list[pd.Series[str]] = [
        frame["name"] for frame in (trace.ops, trace.annotations, trace.runtime, trace.kernels, trace.python)
    ]
    for column in (*columns, trace.ops["stack"]):
        yield from distinct_texts(column)
