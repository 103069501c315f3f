"""What a plug-in's rule changes of what all code of a process shares is as before once it is over."""

from __future__ import annotations

import decimal
import io
import locale
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from analyzer.engine import left_behind
from analyzer.engine.limited import Caller


def _clear_decimals() -> None:
    decimal.getcontext().prec = 2


# What a call does, and what must be as before; one line for each thing that is shared.
CHANGES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "folder": (lambda: os.chdir("/"), os.getcwd),
    "environment": (os.environ.clear, lambda: dict(os.environ)),
    "a-variable": (lambda: os.environ.update(TMPDIR="/nowhere"), lambda: dict(os.environ)),
    "path": (lambda: sys.path.clear(), lambda: list(sys.path)),
    "warnings": (lambda: warnings.simplefilter("ignore"), lambda: list(warnings.filters)),
    "locale": (lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"), lambda: locale.setlocale(locale.LC_ALL)),
    "mask": (lambda: os.umask(0o777), lambda: os.umask(0o022)),
    "depth": (lambda: sys.setrecursionlimit(200), sys.getrecursionlimit),
    "streams": (lambda: setattr(sys, "stdin", None), lambda: sys.stdin),
    "errors": (lambda: setattr(sys, "stderr", None), lambda: sys.stderr),
    "numpy": (lambda: np.seterr(all="raise"), np.geterr),
    "decimal": (_clear_decimals, lambda: decimal.getcontext().prec),
}


@pytest.mark.skipif(sys.platform == "win32", reason="these are the names of another system")
@pytest.mark.parametrize("name", CHANGES)
def test_all_is_as_before(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with warnings.catch_warnings(), Caller[object](10) as caller:
        before_locale, before_mask = locale.setlocale(locale.LC_ALL), os.umask(0o022)
        locale.setlocale(locale.LC_ALL, "C")
        change, ask = CHANGES[name]
        before = caller(ask) if name in ("numpy", "decimal") else ask()
        try:
            caller(change)
            # On the thread of the rules, where those of a thread are kept: facts are measured there.
            assert (caller(ask) if name in ("numpy", "decimal") else ask()) == before
        finally:
            os.umask(before_mask)
            locale.setlocale(locale.LC_ALL, before_locale)


def test_a_folder_that_is_gone_keeps_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("KEPT", "1")

    def change() -> None:
        gone.rmdir()
        os.environ.clear()

    with Caller[None](10) as caller:
        caller(change)
        assert os.environ["KEPT"] == "1"
        # And where it was gone before.
        caller(os.environ.clear)
        assert os.environ["KEPT"] == "1"


def test_what_a_plug_in_adds_to_the_path_stays_behind_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)
    with Caller[None](10) as caller:
        caller(lambda: sys.path.insert(0, "/its/own"))
    assert sys.path == [*before, "/its/own"]


def test_a_call_that_hangs_gives_all_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def hang() -> None:
        os.chdir("/")
        threading.Event().wait(30)

    with Caller[None](0.3) as caller, pytest.raises(Exception, match="did not come back"):
        caller(hang)
    assert Path.cwd() == tmp_path


def test_what_stands_in_for_standard_error_need_not_know_whether_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the terminal UI's: Python flushes what led to it once more when it is taken apart, and any error there is a warning."""

    class Kept:
        text, flushed = "", 0

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            self.flushed += 1

    kept = Kept()
    monkeypatch.setattr(sys, "stderr", kept)
    with Caller[object](5) as caller:
        caller(lambda: [sys.stdout.write("said\n"), sys.stdout.flush()])
    assert kept.text == "said\n"
    assert kept.flushed


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of another system")
@pytest.mark.parametrize(
    "say",
    [
        lambda: os.write(1, b"said\n"),
        lambda: os.system("echo said"),
        lambda: logging.StreamHandler(sys.__stdout__).emit(logging.makeLogRecord({"msg": "said"})),
        lambda: sys.stdout.write("said\n"),
    ],
    ids=["number", "shell", "logging", "stream"],
)
def test_nothing_comes_on_standard_output(say: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> None:
    with Caller[object](10) as caller:
        caller(say)
    os.write(1, b"after\n")
    assert capfd.readouterr() == ("after\n", "said\n")


@pytest.mark.parametrize("number", [1, 2])
def test_a_number_that_was_closed_is_open_again(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    with Caller[None](10) as caller:
        caller(lambda: os.close(number))
    os.write(number, b"here")
    assert "here" in capfd.readouterr()


def test_who_closes_standard_error_closes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Caller[None](10) as caller:
        caller(lambda: sys.stderr.close())
    sys.stderr.write("here\n")
    assert capsys.readouterr().err == "here\n"


@pytest.mark.filterwarnings("error")
def test_what_stands_in_for_a_stream_is_taken_apart_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, kept = io.TextIOWrapper(io.BytesIO()), []
    monkeypatch.setattr(sys, "stderr", stream)
    with Caller[None](10) as caller:
        caller(lambda: kept.append(sys.stderr))
    stream.close()
    (stand_in,) = kept
    stand_in.flush()


def test_threads_that_go_on_are_known() -> None:
    enough = threading.Event()
    with Caller[None](10) as caller:
        caller(lambda: threading.Thread(target=enough.wait, daemon=False).start())
        assert left_behind.are_there()
    enough.set()
    deadline = time.monotonic() + 10
    while left_behind.are_there():
        assert time.monotonic() < deadline
        time.sleep(0.01)
