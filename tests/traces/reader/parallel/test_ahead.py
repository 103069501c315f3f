"""A file decoded by a second process while the first still imports: the same result, and never a worse message."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas  # noqa: F401 (this process has it: see below)
import pytest

from traces.reader.parallel import ahead, cuts
from traces.reader.parallel.ahead import decoding_ahead

ROOT = Path(__file__).parents[4]
SAMPLE = ROOT / "traces" / "samples" / "baseline.json.gz"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux copies a process safely")

# Prints whether another process decoded, and what `read` makes of it: {"ahead", "sha256", "ops", "repairs"}.
_READ = """
import json, sys
exec(sys.argv[4])
from pathlib import Path
import traces.reader.parallel.ahead as ahead
ahead._cores = lambda: 2
ahead._TELL_EVERY_S = 0
told = []
path = Path(sys.argv[1])
with ahead.decoding_ahead(path, strict=False) as began:
    exec(sys.argv[2])
    import traces.reader.decode.document
    here = []
    plain = traces.reader.decode.document.decode
    def watched(*arguments):
        here.append(True)
        return plain(*arguments)
    traces.reader.decode.document.decode = watched
    from traces.errors import UnreadableTraceError
    from traces.reader.read import read
    try:
        trace = read(path, lambda *where: told.append(where), strict=sys.argv[3] == "strict", decoder=began.decode)
    except UnreadableTraceError as error:
        print(json.dumps({"pipes": len(began.pipes), "here": bool(here), "error": str(error)}))
    else:
        frames = {name: getattr(trace, name).to_csv() for name in ("ops", "steps", "annotations", "threads")}
        print(json.dumps({"pipes": len(began.pipes), "here": bool(here), "sha256": trace.meta.sha256, "frames": frames,
            "told": told[-1]}))
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample without its compression."""
    path = tmp_path_factory.mktemp("plain") / "trace.json"
    path.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    return path


@cache
def _read_once(path: Path) -> dict[str, object]:
    return _read(path)


def _read(path: Path, before: str = "pass", *, strict: bool = False, first: str = "pass") -> dict[str, object]:
    """What a fresh process finds; `first` runs in it before anything, `before` between the beginning and the reading."""
    arguments = [sys.executable, "-c", _READ, str(path), before, "strict" if strict else "lenient", first]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    assert not done.stderr, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_another_process_decodes_the_same() -> None:
    elsewhere = dict(_read_once(SAMPLE))
    assert elsewhere.pop("pipes") == 1
    assert not elsewhere.pop("here")
    here = _read(SAMPLE, "began = ahead.Ahead(path, False, ())")
    assert here.pop("here")
    assert not here.pop("pipes")
    assert elsewhere == here


_IN_PARTS = "import traces.reader.parallel.cuts as cuts; cuts._LEAST_BYTES = 1; "


@pytest.mark.slow
def test_several_processes_decode_the_same(plain: Path) -> None:
    parted = _read(plain, first=_IN_PARTS)
    assert parted.pop("pipes") == 3  # the digest, and a part for each core
    assert not parted.pop("here")
    whole = dict(_read_once(plain))
    assert whole.pop("pipes") == 1
    assert not whole.pop("here")
    assert parted == whole


def test_a_core_that_is_spared_decodes_no_part(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "_LEAST_BYTES", 1)
    monkeypatch.setattr(ahead, "_cores", lambda: 3)
    # With the digest, where there are parts.
    assert [len(ahead._tasks(plain, False, spared, None)) for spared in (0, 1, 2)] == [4, 3, 1]
    # Where columns were kept, only whether they are this file's is asked.
    assert len(ahead._tasks(plain, False, 0, plain)) == 1


@pytest.mark.slow
def test_a_part_that_wants_a_repair_leaves_the_file_to_this_process(tmp_path: Path) -> None:
    damaged = tmp_path / "trace.json"
    damaged.write_bytes(gzip.decompress(SAMPLE.read_bytes())[:-2000])
    parted = _read(damaged, first=_IN_PARTS)
    assert parted["pipes"] == 3
    assert parted["here"]
    assert parted["frames"] == _read(damaged)["frames"]


_NO_MORE_THAN = """
import os
left = [{processes}]
fork = os.fork
def limited():
    left[0] -= 1
    if left[0] < 0:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
os.fork = limited
"""


@pytest.mark.parametrize("processes", [0, 2])
def test_where_no_more_processes_are_allowed_this_one_reads(plain: Path, processes: int) -> None:
    # Those that were begun are ended, and nothing stays open.
    before = "assert len(os.listdir('/proc/self/fd')) == 4, os.listdir('/proc/self/fd')"
    found = _read(plain, before, first=_IN_PARTS + _NO_MORE_THAN.format(processes=processes))
    assert (found["pipes"], found["here"]) == (0, True)
    assert found["sha256"] == _read_once(plain)["sha256"]


def test_how_far_it_is_is_told_across() -> None:
    size = SAMPLE.stat().st_size
    assert _read_once(SAMPLE)["told"] == ["reading", size, size]


def test_what_is_wrong_with_a_file_is_said_by_the_first_process(tmp_path: Path) -> None:
    page = tmp_path / "trace.json"
    page.write_text("<!doctype html><title>Sign in</title>")
    found = _read(page)
    assert found["pipes"]
    assert found["here"]
    assert "HTML" in str(found["error"])


@pytest.mark.parametrize("sent", [b"", b"\x80\x05\x95"])
def test_a_process_that_was_ended_is_not_missed(sent: bytes) -> None:
    found = _read(
        SAMPLE,
        f"import os; r, w = os.pipe(); os.write(w, {sent!r}); os.close(w); began = ahead.Ahead(path, False, (open(r, 'rb'),))",
    )
    assert found["pipes"]
    assert found["here"]
    assert found["sha256"] == _read_once(SAMPLE)["sha256"]


def test_another_question_is_not_answered_with_it() -> None:
    found = _read(SAMPLE, strict=True)
    assert found["pipes"]
    assert found["here"]


def test_nothing_is_begun_where_pandas_is_there_already() -> None:
    with decoding_ahead(SAMPLE, strict=False) as began:
        assert not began.pipes


@pytest.mark.parametrize("missing", ["nothing.json", ""])
def test_nothing_is_begun_without_a_file(tmp_path: Path, missing: str) -> None:
    found = _read(tmp_path / missing)
    assert not found["pipes"]
    assert found["error"]


@pytest.mark.slow
def test_files_whose_columns_would_take_much_memory_twice_are_read_in_one_process(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate((1 << 30) + 1)
    found = _read(large)
    assert not found["pipes"]
