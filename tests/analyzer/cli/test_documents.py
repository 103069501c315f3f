"""Several reports of one call, redacted or not, and reports read again."""

import json

import msgspec
import pytest

from analyzer.cli.main import main
from showing import analyses


def secretive():
    """The example with a path and a token in it."""
    base = analyses.example()
    why = "reads /home/bob/data/train.bin with ghp_0123456789abcdefABCDEF"
    findings = tuple(msgspec.structs.replace(one, why=why) for one in base.findings)
    return msgspec.structs.replace(base, findings=findings)


def test_several_formats_in_one_run(world, tmp_path, capsys):
    names = ["r.md", "r.json", "r.txt", "r.html", "r.sarif", "s.sarif.json", "r.svg"]
    arguments = [part for name in names for part in ("-o", str(tmp_path / name))]
    assert main(["explain", "trace.json", *arguments]) == 0
    starts = [(tmp_path / name).read_text(encoding="utf-8")[:4] for name in names]
    assert starts == ["<!--", "{\n  ", "trac", "<!do", "{\n  ", "{\n  ", "<svg"]
    assert len(world.asked) == 1
    assert capsys.readouterr().err.count("wrote ") == len(names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "a.md", "-o", "./a.md"], "one place"),
        (["--format", "json", "-o", "a.md", "-o", "b.md"], "several files"),
        (["-o", "a.md", "-o", "b.pdf"], "names no format"),
    ],
)
def test_impossible_outputs_are_told_before_the_trace_is_read(world, capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "trace.json", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert world.asked == []


def test_findings_that_a_sarif_log_leaves_out_are_told(world, capsys):
    base = analyses.example()
    nowhere = tuple(msgspec.structs.replace(one, location=None, explained_by=()) for one in base.findings[:2])
    world.answer = msgspec.structs.replace(base, findings=nowhere)
    assert main(["explain", "t.json", "--format", "sarif"]) == 0
    assert "note: 2 findings without a line of your code left out" in capsys.readouterr().err
    world.answer = msgspec.structs.replace(base, findings=())
    assert main(["explain", "t.json", "--format", "sarif"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("form", ["markdown", "json", "text", "html", "sarif", "github"])
def test_reports_are_redacted_unless_asked(world, capsys, form):
    world.answer = secretive()
    assert main(["explain", "t.json", "--format", form]) == 0
    shown = capsys.readouterr().out
    assert "bob" not in shown
    assert "ghp_" not in shown
    assert "train.bin" in shown
    assert main(["explain", "t.json", "--format", form, "--no-redact"]) == 0
    shown = capsys.readouterr().out
    assert "/home/bob/data" in shown
    assert "ghp_" in shown


@pytest.mark.parametrize("name", ["report.json", "report.html"])
def test_a_written_report_is_shown_again(world, capsys, tmp_path, name):
    path = tmp_path / name
    main(["explain", "trace.json", "-o", str(path)])
    world.answer = AssertionError("the trace must not be needed")
    assert main(["explain", str(path)]) == 0
    assert "DL002 [high] DataLoader has no workers" in capsys.readouterr().out
    assert main(["explain", str(path), "--format", "markdown"]) == 0
    assert "### PyTorch performance report" in capsys.readouterr().out


def test_a_written_report_cannot_be_analysed_anew(world, capsys, tmp_path):
    path = tmp_path / "report.json"
    main(["explain", "trace.json", "-o", str(path)])
    assert main(["explain", str(path), "--steps", "3-4"]) == 2
    assert "give the trace" in capsys.readouterr().err


def test_a_damaged_report_is_a_message(world, capsys, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"schema_version": "1.0"}))
    assert main(["explain", str(path)]) == 3
    assert "not a complete report" in capsys.readouterr().err


def test_github_job_gets_annotations_and_a_summary(world, capsys, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["explain", "t.json", "--format", "github"]) == 0
    assert capsys.readouterr().out.startswith("::warning file=train.py,line=88,")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- advisor-report")
    assert "### PyTorch performance report" in text


def test_summary_that_cannot_be_written_is_a_message(world, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "absent" / "summary.md"))
    assert main(["explain", "t.json", "--format", "github"]) == 2
    assert "GITHUB_STEP_SUMMARY" in capsys.readouterr().err


def test_redacting_reads_who_and_where_we_are(monkeypatch, tmp_path):
    from analyzer.report.redact import here

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USER", "alicesmith")
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-box-17.corp.example")
    project = here.project()
    assert project.roots == (str(tmp_path),)
    assert {"alicesmith", "gpu-box-17", "gpu-box-17.corp.example"} <= set(project.names)
