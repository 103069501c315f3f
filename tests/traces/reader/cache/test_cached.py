"""What is kept of a trace is used only where it is whole and of the same bytes, and then gives the same trace."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from trace_files import SHARED_FILES, frames, lines, sound

from analyzer.cli.main import main
from running.recorded import trace_of
from traces.progress import silent
from traces.reader.cache import cached, folder
from traces.reader.decode import document
from traces.reader.parallel.ahead import decoding_ahead
from traces.reader.read import read
from traces.trace import Trace

SAMPLES = sorted((Path(__file__).parents[4] / "traces" / "samples").glob("*.json.gz"))


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(folder, "LEAST_BYTES", 0)


def trace_file(at: Path, text: str | None = None) -> Path:
    at.write_text(lines(sound()) if text is None else text)
    return at


def same(one: Trace, other: Trace) -> None:
    for name, frame in frames(one).items():
        pd.testing.assert_frame_equal(frame, frames(other)[name], obj=name)
    for field in ("meta", "capabilities", "repairs", "notes", "unknown_categories", "whole_until_ns", "unfinished"):
        assert getattr(one, field) == getattr(other, field), field


@pytest.mark.parametrize("path", [SAMPLES[0], *SHARED_FILES[::4]], ids=lambda path: path.name)
def test_a_trace_from_what_was_kept_is_the_trace(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(path, decoder=cached.decode)
    same(first, trace_of(path))
    if not folder.entries():
        # Only of a sound file is anything kept.
        assert document.decode(path, silent, False, False).documents[0].repairs.listed()
        return
    monkeypatch.setattr(document, "decode", lambda *_: pytest.fail("decoded again"))
    same(read(path, decoder=cached.decode), first)


def test_a_file_of_other_bytes_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    first = read(path, decoder=cached.decode)
    # Changed where nothing looks before the digest does, with size and times as they were.
    monkeypatch.setattr(folder, "_LOOK_BYTES", 0)
    read(path, decoder=cached.decode)
    assert len(folder.entries()) == 2
    times = path.stat().st_mtime_ns
    path.write_text(lines(sound()).replace("aten::", "uten::"))
    os.utime(path, ns=(times, times))
    changed = read(path, decoder=cached.decode)
    assert changed.meta.sha256 != first.meta.sha256
    assert any(name.startswith("uten::") for name in changed.ops["name"].cat.categories)


@pytest.mark.parametrize("at", [0, 30, 400, -200, -1])
def test_what_was_damaged_is_not_used(tmp_path: Path, at: int) -> None:
    path = trace_file(tmp_path / "trace.json")
    first = read(path, decoder=cached.decode)
    (entry,) = folder.entries()
    content = bytearray(entry.read_bytes())
    content[at] ^= 1
    entry.write_bytes(content)
    assert cached.load(path, entry, first.meta.sha256) is None
    assert not entry.exists()
    same(read(path, decoder=cached.decode), first)


@pytest.mark.parametrize("size", [0, 5, 40, 500])
def test_what_was_cut_is_not_used(tmp_path: Path, size: int) -> None:
    path = trace_file(tmp_path / "trace.json")
    first = read(path, decoder=cached.decode)
    (entry,) = folder.entries()
    entry.write_bytes(entry.read_bytes()[:size])
    same(read(path, decoder=cached.decode), first)


def test_nothing_is_kept_of_a_file_that_was_mended(tmp_path: Path) -> None:
    read(trace_file(tmp_path / "trace.json", lines(sound())[:-400]), decoder=cached.decode)
    assert folder.entries() == []


def test_nothing_is_kept_of_a_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    monkeypatch.setattr(folder, "LEAST_BYTES", path.stat().st_size + 1)
    read(path, decoder=cached.decode)
    assert folder.entries() == []


def test_another_reader_does_not_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    read(path, decoder=cached.decode)
    assert folder.entry_of(path)
    monkeypatch.setattr(folder, "_reader", lambda: "another")
    assert folder.entry_of(path) is None


def test_the_longest_unused_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [trace_file(tmp_path / f"{name}.json", lines(sound()).replace("aten::", f"{name}ten::")) for name in "abc"]
    for path in paths[:2]:
        read(path, decoder=cached.decode)
    a, b = folder.entries()
    os.utime(b, (1, 1))
    monkeypatch.setattr(folder, "MOST_BYTES", a.stat().st_size * 5 // 2)
    read(paths[2], decoder=cached.decode)
    assert a.exists()
    assert not b.exists()


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    assert len(read(path, decoder=cached.decode).ops)


def test_only_its_owner_may_look_into_the_folder(tmp_path: Path) -> None:
    read(trace_file(tmp_path / "trace.json"), decoder=cached.decode)
    assert folder.folder().stat().st_mode & 0o077 == 0


def test_a_trace_from_what_was_kept_is_told_as_read(tmp_path: Path) -> None:
    """The screen of what is done said of reading, to the end, that it was still to come."""
    path = trace_file(tmp_path / "trace.json")
    read(path, decoder=cached.decode)
    told: list[tuple[str, int, int]] = []
    read(path, lambda *at: told.append(at), decoder=cached.decode)
    size = path.stat().st_size
    assert told[-1] == ("reading", size, size)


def test_decoding_ahead_takes_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    with decoding_ahead(path, strict=False, cached=True) as ahead:
        first = read(path, decoder=ahead.decode)
    assert folder.entries()
    monkeypatch.setattr(document, "decode", lambda *_: pytest.fail("decoded again"))
    with decoding_ahead(path, strict=False, cached=True) as ahead:
        same(read(path, decoder=ahead.decode), first)


def test_the_command_says_what_is_kept_and_removes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace_file(tmp_path / "trace.json")
    main(["explain", str(path), "--plain", "--no-cache"])
    assert folder.entries() == []
    main(["explain", str(path), "--plain"])
    # Its columns, and the answer.
    assert len(folder.entries()) == 2
    shown = capsys.readouterr().out
    assert main(["explain", str(path), "--plain"]) in (0, 4)
    assert capsys.readouterr().out in shown
    assert main(["cache"]) == 0
    assert "1 trace, 0 MB, in " in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "removed 2 files" in capsys.readouterr().out
    assert folder.entries() == []


def test_what_another_user_put_there_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace_file(tmp_path / "trace.json")
    first = read(path, decoder=cached.decode)
    assert folder.entry_of(path)
    # With the right digest and checksum, which are no secrets.
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert folder.entry_of(path) is None
    same(read(path, decoder=cached.decode), first)


def test_nothing_is_kept_in_another_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.folder().mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    read(trace_file(tmp_path / "trace.json"), decoder=cached.decode)
    assert list(folder.folder().iterdir()) == []


def test_a_folder_that_others_may_look_into_is_closed(tmp_path: Path) -> None:
    folder.folder().mkdir(parents=True)
    folder.folder().chmod(0o755)
    read(trace_file(tmp_path / "trace.json"), decoder=cached.decode)
    assert folder.entries()
    assert folder.folder().stat().st_mode & 0o077 == 0


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = trace_file(tmp_path / "trace.json")
    read(path, decoder=cached.decode)
    (entry,) = folder.entries()
    elsewhere = entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(elsewhere)
    assert folder.entry_of(path) is None


def test_what_is_no_file_of_ours_hinders_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(trace_file(tmp_path / "trace.json"), decoder=cached.decode)
    (entry,) = folder.entries()
    dangling, other = entry.with_name(f"dangling{folder.COLUMNS}"), entry.with_name(f"folder{folder.ANSWER}")
    dangling.symlink_to("nowhere")
    other.mkdir()
    assert folder.entries() == [entry]
    assert main(["cache", "clear"]) == 0
    assert "removed 1 file," in capsys.readouterr().out
    assert sorted(entry.parent.iterdir()) == [dangling, other]
