"""SIGTERM and SIGHUP, whenever they come: as clean as Ctrl-C, with exit codes of their own."""

from __future__ import annotations

import gzip
import signal
import sys
import time
from pathlib import Path

import pytest

from running import signals
from running.signals import KINDS, READING, SAMPLE, TRAINING, Place

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
ALL = READING | TRAINING
# Torch looks every five seconds whether the parent of a loader's worker is still there.
_WORKERS_NOTICE_S = 15
_TIMES = 20
# Past this the programs that train repeat themselves.
_LONGEST_S = 12.0


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The sample, some MB: writing a copy takes a while."""
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "endless.py"
    path.write_text(signals.SCRIPT)
    return path


def _sent(
    command: str,
    kind: signal.Signals,
    place: Place,
    trace: Path,
    script: Path,
    after_s: float | None,
    *,
    heard: bool = False,
) -> tuple[int, str]:
    """Exit code and last words of a command that is sent a signal.

    Args:
        command: Its words.
        kind: The signal.
        place: Its folders.
        trace: What it reads.
        script: What it records.
        after_s: When; None: as soon as it has something that it must clean up.
        heard: Count from when it looks out for signals, not from its start.
    """
    with signals.started(command, place, trace, script) as process:
        if after_s is None:
            begun = lambda: place.left() or signals.others(process.pid) or process.poll() is not None  # noqa: E731
            signals.wait_until(begun, 60)
        else:
            if heard:
                signals.wait_until(lambda: signals.is_caught(kind, process.pid), 60)
            signals.wait_until(lambda: process.poll() is not None, after_s)
        process.send_signal(kind)
        said = signals.last_words(process)
        left = lambda: signals.others(process.pid)  # noqa: E731
        signals.wait_until(lambda: not left(), _WORKERS_NOTICE_S)
        assert left() == [], said
        assert place.left() == [], said
    return process.returncode, said


# The writing commands have a temporary file, explain has other processes, and those that train have a folder.
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["explain", "slim", "repair", "annotate", "collect-script"])
def test_a_signal_leaves_nothing_behind(
    name: str, kind: signal.Signals, tmp_path: Path, cache: Path, trace: Path, script: Path
) -> None:
    place = signals.place_in(tmp_path / "run", cache)
    code, said = _sent(ALL[name], kind, place, trace, script, None)
    assert code == 128 + kind, said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["compare", "baseline"])
def test_what_only_reads_ends_with_the_code_and_a_word(
    name: str, tmp_path: Path, cache: Path, trace: Path, script: Path
) -> None:
    place = signals.place_in(tmp_path / "run", cache)
    code, said = _sent(ALL[name], signal.SIGTERM, place, trace, script, 0.3, heard=True)
    assert (code, said.strip()) == (143, "advisor: ended by SIGTERM")


@pytest.mark.signals
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ALL)
def test_a_signal_at_any_moment(
    name: str, kind: signal.Signals, tmp_path: Path, cache: Path, trace: Path, script: Path
) -> None:
    place = signals.place_in(tmp_path / "whole", cache)
    begun = time.monotonic()
    with signals.started(ALL[name], place, trace, script) as process:
        signals.wait_until(lambda: process.poll() is not None, _LONGEST_S)
        # Or the runs below would end at the first line of a wrong call, with nothing to clean up.
        assert process.poll() in (None, 0), process.communicate()[1]
        process.terminate()
        signals.last_words(process)
    whole_s = min(time.monotonic() - begun, _LONGEST_S)
    for number in range(_TIMES):
        place = signals.place_in(tmp_path / str(number), cache)
        code, said = _sent(ALL[name], kind, place, trace, script, whole_s * (number + 0.5) / _TIMES)
        # Before the first line of the program and behind its last nobody looks out for signals, and nothing is there to clean up.
        silent = not said or "wrote " in said
        assert code in (128 + kind, 0) or (code == -kind and silent), f"at {number} of {_TIMES}: {code}\n{said}"
        assert "Traceback" not in signals.without_sharers(said), said


@pytest.mark.signals
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_signal_to_a_launcher_at_any_moment(
    kind: signal.Signals, tmp_path: Path, cache: Path, trace: Path, script: Path
) -> None:
    """It is handed on, and the launcher ends its ranks: with its own status, and temporary files of its own."""
    for number in range(_TIMES):
        place = signals.place_in(tmp_path / str(number), cache)
        code, said = _to_launcher(kind, place, trace, script, 2 * _LONGEST_S * (number + 0.5) / _TIMES)
        assert code in (128 + kind, -kind, 0, 1), f"at {number} of {_TIMES}: {code}\n{said}"
        assert "this is a bug" not in said


def _to_launcher(kind: signal.Signals, place: Place, trace: Path, script: Path, after_s: float) -> tuple[int, str]:
    with signals.started(signals.LAUNCHED, place, trace, script) as process:
        signals.wait_until(lambda: process.poll() is not None, after_s)
        process.send_signal(kind)
        said = signals.last_words(process)
        left = lambda: signals.others(process.pid)  # noqa: E731
        signals.wait_until(lambda: not left(), _WORKERS_NOTICE_S)
        assert left() == [], said
        assert place.left(signals.OF_LAUNCHER) == [], said
    return process.returncode, said
