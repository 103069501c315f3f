"""Where `advisor explain` takes its trace from, and how strictly: files, the standard input, ranks in one file."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.cli.main import main
from analyzer.report import formats
from building.builders import TraceBuilder
from running.recorded import ROOT
from showing import analyses


def json_decode(text: str) -> Analysis:
    return msgspec.json.decode(text, type=Analysis)


def document(rank: int | None = None, *, name: str = "aten::add") -> str:
    builder = TraceBuilder()
    if rank is not None:
        builder.top["distributedInfo"] = {"rank": rank, "world_size": 2, "backend": "nccl"}
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        for index in range(20):
            builder.launch(at + index * 40, kernel_start=at + index * 40 + 8, kernel_dur=30, op=name)
    return json.dumps(builder.document())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def test_strict_accepts_a_sound_trace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text(document())
    assert main(["explain", "t.json", "--strict", "--format", "json"]) == 0
    assert explained(capsys)["repairs"] == []


def test_strict_refuses_a_repair(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text(document(name="a\\x").replace("\\\\x", "\\x"))
    assert main(["explain", "t.json", "--format", "json"]) == 0
    document_ = explained(capsys)
    assert [repair["kind"] for repair in document_["repairs"]] == ["invalid-escape"]  # type: ignore[attr-defined]
    assert main(["explain", "t.json", "--strict"]) == 3
    error = capsys.readouterr().err
    assert "is damaged" in error
    assert "byte" in error
    assert "--strict" in error


def test_repairs_are_a_line_of_the_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text(document()[:-40])
    main(["explain", "t.json", "--plain"])
    text = capsys.readouterr().out
    assert "Repairs" in text
    assert "the file ends before its last event" in text
    assert "at byte" in text


def test_the_standard_input_is_explained(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(gzip.compress(document().encode()))

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Input())
    assert main(["explain", "-", "--format", "json"]) == 0
    trace = explained(capsys)["trace"]
    assert trace["name"] == "standard input"  # type: ignore[index]


def test_an_empty_standard_input_is_no_broken_recording(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(b"")

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Input())
    assert main(["explain", "-", "--format", "json"]) == 3
    said = capsys.readouterr().err
    assert "standard input is empty" in said
    assert "wrote nothing" in said
    assert "record the trace again" not in said


def test_ranks_on_the_standard_input_are_a_job(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO((document(0) + document(1)).encode())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Input())
    assert main(["explain", "-", "--format", "json"]) == 0
    found = explained(capsys)
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]  # type: ignore[attr-defined]
    assert found["repairs"] == []


@pytest.mark.parametrize("name", ["a" * 300, "missing.json"])
def test_a_path_that_cannot_be_is_an_error_in_words(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["explain", name, "--format", "json"]) == 3
    assert "cannot open" in capsys.readouterr().err


def test_a_misspelt_name_is_told_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace.json").write_text('{"traceEvents": []}')
    # Nearer, but nothing that can be explained.
    (tmp_path / "trace.jsn~").write_text('{"lr": 1}')
    assert main(["explain", str(tmp_path / "trace.jsn")]) == 3
    assert f"did you mean {tmp_path / 'trace.json'}?" in capsys.readouterr().err
    for other in ("else.json", "none/trace.json"):
        assert main(["explain", str(tmp_path / other)]) == 3
        assert "did you mean" not in capsys.readouterr().err


def test_nobody_types_a_trace(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.cli.arguments.several.is_terminal", lambda stream: True)
    assert main(["explain", "-", "--plain"]) == 2
    assert "standard input" in capsys.readouterr().err


def test_the_standard_input_is_named_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-", "-", "--plain"]) == 2
    assert "more than once" in capsys.readouterr().err


def test_ranks_that_wrote_one_file_are_a_job(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text(document(0) + document(1))
    assert main(["explain", "t.json", "--format", "json"]) == 0
    found = explained(capsys)
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]  # type: ignore[attr-defined]
    assert found["repairs"] == []
    assert main(["explain", "t.json", "--format", "json", "--strict"]) == 0
    assert explained(capsys) == found


def test_strict_refuses_traces_in_one_file_that_are_no_ranks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.json").write_text(document(0) + document(0))
    assert main(["explain", "t.json", "--format", "json", "--strict"]) == 3
    assert "several traces" in capsys.readouterr().err


def waiting(pipe: int) -> int:
    """Bytes in a pipe that nobody has read yet."""
    import fcntl
    import termios

    answer = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, answer)
    return int.from_bytes(answer, sys.byteorder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("dash", [False, True], ids=["file", "stdin"])
def test_an_interrupt_leaves_nothing_behind(here: Path, dash: bool) -> None:
    os.mkfifo("pipe.json")
    (here / "out").mkdir()
    script = "from analyzer.cli.main import main; import sys; sys.exit(main())"
    command = [sys.executable, "-c", script, "explain", "-" if dash else "pipe.json", "-o", "out/r.html", "--isolated"]
    reader = os.open("pipe.json", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open("pipe.json", os.O_WRONLY)
    os.set_blocking(reader, True)
    process = subprocess.Popen(command, stdin=reader if dash else subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        os.write(writer, document().encode()[:3000])
        while waiting(reader) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        os.close(reader)
        os.close(writer)
    finally:
        process.kill()
        assert process.stderr is not None
        process.stderr.close()
    assert os.listdir("out") == []


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_report_is_opened_from_a_pipe_too(form: str) -> None:
    # Whole numbers of a table come back as floats: what is read is the measure, not what was written.
    written = formats.render(json_decode(formats.render(analyses.example(), "json")), form)
    process = subprocess.run(
        [sys.executable, "-m", "analyzer.cli.main", "explain", "-", "--format", form, "--no-redact"],
        input=written.encode(), capture_output=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout.decode() == written, process.stderr.decode()
