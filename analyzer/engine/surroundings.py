"""What all code of a process shares (working folder, environment, streams, settings), put back after a stranger's call."""

from __future__ import annotations

import locale
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Undo = Callable[[], object]
_INPUT, _OUTPUT, _ERRORS = 0, 1, 2


@contextmanager
def kept() -> Iterator[None]:
    """While the context holds, the numbers of standard output lead to standard error; at its end all is as it was before.

    What a library prints past `sys.stdout` (logging to the stream of the beginning, a program that is started, C) would stand in
    the document that is written to standard output. Threads share all this: nothing else may write while the context holds.
    """
    undo = [keep() for keep in (_folder, _environment, _path, _warnings, _locale, _mask, _depth, _streams, _numbers)]
    try:
        yield
    finally:
        for one in reversed(undo):
            # A folder that was removed meanwhile cannot be gone back to; the rest can be had.
            with suppress(OSError, ValueError, locale.Error):
                one()


def _folder() -> Undo:
    try:
        before = os.getcwd()
    except OSError:
        return lambda: None
    return lambda: os.chdir(before)


def _environment() -> Undo:
    before = dict(os.environ)

    def undo() -> None:
        if dict(os.environ) != before:
            os.environ.clear()
            os.environ.update(before)

    return undo


def _path() -> Undo:
    path, before = sys.path, list(sys.path)

    def undo() -> None:
        # What was added stays, behind the rest: the stranger's next call may import from there.
        added = [folder for folder in sys.path if folder not in before]
        sys.path = path
        sys.path[:] = before + added

    return undo


def _warnings() -> Undo:
    before = list(warnings.filters)

    def undo() -> None:
        # To set them anew is to forget which warnings were shown already.
        if list(warnings.filters) != before:
            warnings.resetwarnings()
            # `simplefilter` and `filterwarnings` take words; these are made of them.
            warnings.filters.extend(before)  # type: ignore[attr-defined]

    return undo


def _locale() -> Undo:
    before = locale.setlocale(locale.LC_ALL)
    return lambda: locale.setlocale(locale.LC_ALL, before)


def _mask() -> Undo:
    # It can be asked for by setting it only.
    before = os.umask(0o077)
    os.umask(before)
    return lambda: os.umask(before)


def _depth() -> Undo:
    before = sys.getrecursionlimit()
    return lambda: sys.setrecursionlimit(before)


def _streams() -> Undo:
    before = (sys.stdin, sys.stdout, sys.stderr)

    def undo() -> None:
        sys.stdin, sys.stdout, sys.stderr = before

    return undo


def _numbers() -> Undo:
    """Lead standard output to standard error where the system knows it, by its number."""
    _flush()
    before: dict[int, int] = {}
    for number in (_INPUT, _OUTPUT, _ERRORS):
        # The shell may have closed it.
        with suppress(OSError):
            before[number] = os.dup(number)
    if before.keys() >= {_OUTPUT, _ERRORS}:
        os.dup2(_ERRORS, _OUTPUT)

    def undo() -> None:
        _flush()
        for number, copy in before.items():
            if not _is_same(number, copy):
                os.dup2(copy, number)
            os.close(copy)

    return undo


def _is_same(number: int, copy: int) -> bool:
    """Whether a number still stands for the file that its copy does."""
    try:
        return os.path.sameopenfile(number, copy)
    except OSError:
        return False


def _flush() -> None:
    for stream in (sys.__stdout__, sys.stdout):
        # None where the shell closed it; ValueError where a stranger did.
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
