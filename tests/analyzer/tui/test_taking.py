"""Taking things away: reports, lines for the configuration, the editor."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from textual.widgets import Input

from analyzer.analysis import Location
from analyzer.explained import Explained
from analyzer.tui.draw.code import RIGHT
from analyzer.tui.outside import export
from analyzer.tui.outside import programs as outside
from analyzer.tui.screens.export import ExportScreen
from showing import analyses
from showing.ui import running, settle, text_of


async def notified(pilot) -> str:
    await settle(pilot)
    return "\n".join(f"{one.title} {one.message}" for one in pilot.app._notifications)


@pytest.mark.parametrize(("form", "begins"), [("m", "<!--"), ("j", "{"), ("h", "<!doctype html>"), ("s", "<svg")])
async def test_e_writes_a_report_and_says_where(app_for, monkeypatch, tmp_path, form, begins):
    monkeypatch.chdir(tmp_path)
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("e")
        assert isinstance(pilot.app.screen, ExportScreen)
        assert "markdown" in text_of(pilot.app)
        await pilot.press(form)
        said = await notified(pilot)
    (path,) = tmp_path.glob("advisor-trace.*")
    assert str(path) in said
    assert path.read_text(encoding="utf-8").lower().startswith(begins)


def test_a_report_never_replaces_a_file(tmp_path):
    form = next(form for form in export.FORMS if form.name == "json")
    paths = [export.write(Explained(analyses.example()), form, tmp_path) for _ in range(2)]
    assert [path.name for path in paths] == ["advisor-trace.json", "advisor-trace-2.json"]
    assert json.loads(paths[0].read_text())["schema_version"] == "1.0"


@pytest.mark.parametrize("name", ["../../etc/passwd", "\x1b[31m/../x.json", "", "." * 300])
def test_the_trace_s_name_cannot_choose_the_folder(tmp_path, name):
    analysis = analyses.example(trace=analyses.trace_info(name=name))
    assert export.write(Explained(analysis), export.FORMS[0], tmp_path).parent == tmp_path


async def test_m_copies_the_report_and_w_says_where_the_page_is(app_for, tmp_path):
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("m")
        said = await notified(pilot)
        assert pilot.app.clipboard == (tmp_path / "trace-advisor" / "report.md").read_text(encoding="utf-8")
        assert "report.md" in said
        await pilot.press("w")
        assert "No browser here" in await notified(pilot)
        assert (tmp_path / "trace-advisor" / "report.html").exists()


async def test_a_long_reason_stays_one_line_of_the_file(app_for, monkeypatch, tmp_path):
    """Wrapped, it looked like two lines, which TOML does not read."""
    monkeypatch.chdir(tmp_path)
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("i")
        pilot.app.screen.query_one(Input).value = "why " * 30
        await settle(pilot)
        rows = [row.strip("\u2502 ") for row in text_of(pilot.app).splitlines()]
        at = rows.index("[[accept]]")
        assert rows[at + 2].startswith('reason = "why why')
        assert rows[at + 2].endswith(RIGHT)
        assert "why" not in "".join(rows[at + 3 :])


@pytest.mark.slow
async def test_i_shows_the_lines_and_writes_them_once_there_is_a_reason(app_for, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("i")
        shown = text_of(pilot.app)
        assert "[[accept]]" in shown
        assert 'id = "DL002-6d1f"' in shown
        assert "advisor.toml" in shown
        await pilot.press("enter", "escape")
        assert not list(tmp_path.glob("*.toml"))
        await pilot.press("i", *"so", "enter")
        await settle(pilot)
        assert 'reason = "so"' in (tmp_path / "advisor.toml").read_text()
        assert "accepted" in text_of(pilot.app)
        assert {one.id for one in pilot.app.analysis.findings if one.accepted == "so"} == {"DL002-6d1f"}
        await pilot.press("i")
        assert "accepted already: so" in await notified(pilot)


async def test_lines_that_cannot_be_written_are_copied(app_for, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "advisor.toml").write_text("accept = []")
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("i", *"so", "enter")
        assert "The lines are in the clipboard" in await notified(pilot)
        assert 'id = "DL002-6d1f"' in pilot.app.clipboard
        assert not [one for one in pilot.app.analysis.findings if one.accepted is not None]
    assert (tmp_path / "advisor.toml").read_text() == "accept = []"


async def test_keys_of_reports_do_nothing_while_reading(monkeypatch):
    from analyzer.tui.app import AdvisorApp
    from analyzer.tui.look.terminal import look_for
    from analyzer.tui.screens.loading import LoadingScreen
    from analyzer.tui.work.job import Job

    gate = threading.Event()

    def analyse(report):
        gate.wait(10)
        report("reading", 0, 0)
        raise AssertionError("cancelled by the report above")

    app = AdvisorApp("t.json", Job(analyse), look_for({}, "utf-8", "truecolor"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", "m", "w", "2", "3")
        assert isinstance(app.screen, LoadingScreen)
        await pilot.press("c")
        gate.set()


def place(file: str, line: int | None = 88) -> Location:
    return Location(file=file, line=line, function=None)


@pytest.mark.parametrize(
    ("editor", "words"),
    [("vim", ["vim", "+88"]), ("code -w", ["code", "-w", "--goto"]), ("hx", ["hx"]), ("unknown", ["unknown"])],
)
def test_the_editor_opens_at_the_line(monkeypatch, tmp_path, editor, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    (tmp_path / "-train.py").write_text("")
    command = outside.editor_command(place("-train.py"), {"EDITOR": editor})
    assert command is not None
    assert command[:-1] == words
    assert command[-1] == {"code -w": "./-train.py:88", "hx": "./-train.py:88"}.get(editor, "./-train.py")


def test_no_editor_for_files_that_are_not_here(tmp_path):
    assert outside.editor_command(place(str(tmp_path / "absent.py")), {"EDITOR": sys.executable}) is None
    (tmp_path / "here.py").write_text("")
    assert outside.editor_command(place(str(tmp_path / "here.py")), {"EDITOR": "no-such-editor-anywhere"}) is None


@pytest.mark.parametrize(("environ", "there"), [({}, False), ({"DISPLAY": ":0"}, True), ({"BROWSER": "firefox"}, True)])
def test_a_browser_needs_a_display(monkeypatch, environ, there):
    monkeypatch.setattr(sys, "platform", "linux")
    assert outside.has_browser(environ) is there


async def test_the_palette_writes_reports_and_opens_rule_pages(app_for):
    from analyzer.tui.screens.rule_page import RulePage

    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        found = {command.title: command for command in pilot.app.get_system_commands(pilot.app.screen)}
        assert {f"Write {form.name} report" for form in export.FORMS} <= set(found)
        title = next(title for title in found if title.startswith("Rule SY002"))
        found[title].callback()
        await settle(pilot)
        assert isinstance(pilot.app.screen, RulePage)
