"""Loading, errors, nothing found, no advice, small terminals, hostile names."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.analysis import Analysis
from analyzer.explain import Explained, Options
from analyzer.tui.answer import wording
from analyzer.tui.answer.opened import Opened, Since
from analyzer.tui.app import CANCELLED, AdvisorApp, run
from analyzer.tui.look.terminal import look_for
from analyzer.tui.screens.error import ErrorScreen
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.screens.loading import LoadingScreen
from analyzer.tui.screens.remarks import RemarksScreen
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.notice import Notice
from analyzer.tui.work.job import Job, Report
from showing import analyses, comparisons
from showing.ui import settle, text_of
from traces.errors import UnreadableTraceError

MakeApp = Callable[..., AdvisorApp]
LOOK = look_for({}, "utf-8", "truecolor")


@pytest.mark.parametrize("key", ["escape", "c", "ctrl+c"])
async def test_loading_is_silent_at_first_then_shows_progress_and_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    # Long enough for a busy machine to come and look.
    monkeypatch.setattr("analyzer.tui.screens.loading.SILENT_SECONDS", 1.0)
    gate, begun = threading.Event(), threading.Event()

    def analyse(report: Report) -> Opened:
        report("reading [/events]", 30, 100)
        begun.set()
        gate.wait(10)
        report("reading [/events]", 40, 100)
        raise AssertionError("the report above ends the job")

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(80, 24)) as pilot:
        begun.wait(10)
        await pilot.pause()
        assert isinstance(app.screen, LoadingScreen)
        assert app.screen.has_class("-silent")
        while app.screen.has_class("-silent"):
            await pilot.pause(0.02)
        await pilot.pause()
        assert "reading [/events]" in text_of(app)
        assert "30%" in text_of(app)
        await pilot.press(key)
        await pilot.pause()
        assert "Stopping." in text_of(app)
        gate.set()
        while app.return_value is None:
            await pilot.pause(0.01)
    assert app.return_value == CANCELLED


async def test_an_error_says_what_where_why_and_what_to_do() -> None:
    def analyse(report: Report) -> Opened:
        raise UnreadableTraceError(
            "the file ends in [/an] event", where="byte 12", why="it was cut", fix="record again"
        )

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, ErrorScreen)
        shown = text_of(app)
        for part in ("The file ends in [/an] event.", "byte 12", "it was cut", "record again", "trace.json.gz"):
            assert part in shown
        await pilot.press("q")
    assert app.return_value == 3
    assert isinstance(app.failure, UnreadableTraceError)


async def test_a_bug_of_the_analysis_is_a_message_too() -> None:
    def analyse(report: Report) -> Opened:
        raise KeyError("dur")

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(80, 24)) as pilot:
        while not isinstance(app.screen, ErrorScreen):
            await pilot.pause(0.01)
        await pilot.pause()
        assert "KeyError" in text_of(app)
        await pilot.press("q")
    assert app.return_value == 70


async def test_too_little_memory_is_no_bug() -> None:
    def analyse(report: Report) -> Opened:
        raise MemoryError

    app = AdvisorApp("trace.json.gz", Job(analyse), LOOK)
    async with app.run_test(size=(80, 24)) as pilot:
        while not isinstance(app.screen, ErrorScreen):
            await pilot.pause(0.01)
        await pilot.pause()
        assert "advisor slim" in text_of(app)
        await pilot.press("q")
    assert app.return_value == 3


def test_what_could_not_be_read_is_said_again_once_the_screen_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    error = UnreadableTraceError("the file ends", where="byte 12")

    def fails(app: AdvisorApp) -> int:
        app.failure = error
        return 3

    monkeypatch.setattr(AdvisorApp, "run", fails)
    monkeypatch.setattr("analyzer.tui.app.answer_soon", lambda: None)
    with pytest.raises(UnreadableTraceError) as raised:
        run([Path("trace.json")], Options())
    assert raised.value is error


async def test_no_findings_says_what_was_checked(app_for: MakeApp) -> None:
    app = app_for(analyses.healthy())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        shown = text_of(app)
        assert "checks passed" in shown
        assert "profile_memory=True" in shown
        await pilot.press("c", "slash", "s", "n", "z", "enter", "escape", "5", "1")
        assert isinstance(app.screen, FindingsScreen)


async def test_a_notice_that_does_not_fit_scrolls_by_the_keys_of_lists(app_for: MakeApp) -> None:
    app = app_for(analyses.healthy())
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        notice = app.screen.query_one(Notice)
        assert notice.max_scroll_y > 1
        for keys, top in ((("j", "j", "k"), 1), (("G",), notice.max_scroll_y), (("g",), 0)):
            await pilot.press(*keys)
            await settle(pilot)
            assert notice.scroll_offset.y == top, keys


async def test_an_unusable_trace_gives_reasons_instead_of_advice_and_exit_code_4(app_for: MakeApp) -> None:
    app = app_for(analyses.unusable())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert app.screen.query(Notice)
        assert not app.screen.query(FindingList)
        assert "PG003" in text_of(app)
        await pilot.press("q")
    assert app.return_value == 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (analyses.cpu_only, "This trace has no GPU events"),
        (analyses.no_steps, "PG001"),
        (analyses.no_steps, "the whole trace ─╯"),
        (analyses.example, "PG002"),
        (lambda: analyses.healthy(trace=analyses.trace_info(notes=("a bare list",))), "Note: a bare list"),
    ],
)
async def test_banners(app_for: MakeApp, make: Callable[[], Analysis], words: str) -> None:
    app = app_for(make())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert words in text_of(app)


@pytest.mark.parametrize("code", ["PG001", "PG003", "PG002"])
def test_a_doubt_that_says_as_much_stands_alone(code: str) -> None:
    """That no steps were marked was told twice, one line under the other."""
    trust = replace(analyses.example().trust, verdict="caution", reasons=())
    own = "No steps were marked" if code != "PG003" else "2 steps only"
    make = analyses.no_steps if code != "PG003" else two_steps
    assert any(remark.startswith(own) for remark in wording.banners(replace(make(), trust=trust)))
    reason = replace(analyses.example().trust.reasons[0], code=code, message="said here", doubts=True)
    doubted = replace(make(), trust=replace(trust, reasons=(reason,)))
    remarks = wording.banners(doubted)
    assert f"{code} said here" in remarks
    assert any(remark.startswith(own) for remark in remarks) is (code == "PG002")


def test_a_doubt_comes_before_what_whoever_trains_on_the_cpu_knows() -> None:
    reason = replace(analyses.example().trust.reasons[0], code=None, message="no core for most of it", doubts=True)
    trust = replace(analyses.cpu_only().trust, verdict="caution", reasons=(reason,))
    remarks = wording.banners(replace(analyses.cpu_only(), trust=trust))
    assert [remark.partition(".")[0] for remark in remarks[:2]] == [
        "no core for most of it",
        "This trace has no GPU events",
    ]


def two_steps() -> Analysis:
    example = analyses.example()
    steps = replace(example.trace.steps, used=2)
    return replace(example, trace=replace(example.trace, steps=steps))


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (120, 40), (200, 50)])
async def test_every_size_shows_the_selected_finding_and_nothing_sticks_out(
    app_for: MakeApp, size: tuple[int, int]
) -> None:
    app = app_for(analyses.example())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = text_of(app)
        assert "DL002" in shown
        assert "-142 ms" in shown
        for widget in app.screen.query("*"):
            if widget.display and widget.region.area and widget.ancestors_with_self[-2] is app.screen:
                assert widget.region.right <= size[0], widget


@pytest.mark.parametrize("size", [(39, 12), (40, 11), (12, 3)])
async def test_a_terminal_that_is_too_small_says_what_is_needed_and_recovers(
    app_for: MakeApp, size: tuple[int, int]
) -> None:
    app = app_for(analyses.example())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = " ".join(text_of(app).split())
        assert shown.startswith("needs 40x12")
        assert "DL002" not in shown
        await pilot.resize_terminal(40, 12)
        await settle(pilot)
        assert "DL002" in text_of(app)
        assert "needs 40x12" not in text_of(app)
        assert isinstance(app.screen.focused, FindingList)


async def test_no_view_looks_out_from_behind_what_is_needed(app_for: MakeApp, measured: Explained) -> None:
    """The timeline scrolled to its focus, and with it the words out of sight."""
    app = app_for(measured)
    async with app.run_test(size=(80, 5)) as pilot:
        for key in "2351":
            await pilot.press(key)
            await settle(pilot)
            assert text_of(app).strip().startswith("needs 40x12"), key


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (120, 40)])
async def test_every_remark_is_seen_or_a_key_away(app_for: MakeApp, size: tuple[int, int]) -> None:
    remarks = wording.banners(analyses.example())
    assert len(remarks) == 2
    app = app_for(analyses.example())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = text_of(app)
        assert "! PG002" in shown
        assert all(remark in shown for remark in remarks) or "! 1 more remark" in shown or "! all of it" in shown
        await pilot.press("exclamation_mark")
        await settle(pilot)
        assert isinstance(app.screen, RemarksScreen)
        paragraphs = " ".join(app.screen.text(30).plain.split())
        assert all(remark in paragraphs for remark in remarks)
        assert "! PG002" in text_of(app)
        await pilot.press("escape")
        assert isinstance(app.screen, FindingsScreen)


@pytest.mark.parametrize(
    ("size", "heading"), [((80, 24), ""), ((100, 30), "DL002 in short"), ((120, 40), "DL002 in short")]
)
async def test_one_screen_says_what_is_saved_what_to_change_and_how_to_check(
    app_for: MakeApp, size: tuple[int, int], heading: str
) -> None:
    app = app_for(analyses.example())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = text_of(app)
        for words in (
            heading,
            "Saves at most 142 ms a step",
            "Fix    dataset, batch_size=64",
            "Check  advisor explain",
        ):
            assert words in shown, words
        await pilot.press("j")
        await settle(pilot)
        assert "Fix    dataset" not in text_of(app)


async def test_without_a_remark_the_key_says_so(app_for: MakeApp) -> None:
    app = app_for(analyses.healthy())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert wording.banners(analyses.healthy()) == []
        await pilot.press("exclamation_mark")
        assert any("Nothing to remark" in one.message for one in app._notifications)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_hostile_names_are_shown_as_text_on_every_screen(app_for: MakeApp, size: tuple[int, int]) -> None:
    app = app_for(analyses.hostile())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        ways = (
            ("n", "C", "c", "enter", "escape", "slash", "[", "/", "enter", "escape"),
            ("exclamation_mark",), ("escape", "i"), ("escape", "5", "enter"),
        )  # fmt: skip
        for keys in ways:
            await pilot.press(*keys)
            await settle(pilot)
            shown = text_of(app)
            assert not {char for char in shown if char != "\n" and not char.isprintable()}, keys


@pytest.mark.parametrize(("environ", "encoding"), [({"NO_COLOR": "1"}, "utf-8"), ({}, "ascii")])
async def test_without_unicode_only_ascii_is_drawn_and_without_colour_none_is_sent(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], encoding: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    app = AdvisorApp(
        "trace.json",
        Job(lambda report: Opened((Explained(analyses.example()),))),
        look_for(environ, encoding, "truecolor"),
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        if encoding == "ascii":
            assert text_of(app).isascii(), {char for char in text_of(app) if not char.isascii()}
        if environ:
            strips = app.screen._compositor.render_strips()
            colours = {
                colour.name
                for strip in strips
                for segment in strip
                if segment.style
                for colour in (segment.style.color, segment.style.bgcolor)
                if colour is not None
            }
            assert colours <= {"default"}


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_hostile_names_of_a_baseline_are_text_and_leave_room_for_what_is_said(
    app_for: MakeApp, size: tuple[int, int]
) -> None:
    compared = comparisons.hostile(analyses.HOSTILE_NAMES)
    rules = tuple(replace(rule, state="fixed") for rule in compared.rules)
    since = Since("[/b]\x1b[31m\u202e" + "z" * 10_240, replace(compared, rules=rules))
    app = app_for(Opened((Explained(analyses.example()),), (since,)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "Fixed since [/b]" in text_of(app)
        for key in ("j", "5", "1"):
            await settle(pilot)
            shown = text_of(app)
            assert not {char for char in shown if char != "\n" and not char.isprintable()}
            await pilot.press(key)
        await settle(pilot)
        assert "Not comparable with" in text_of(app)
        assert "device was A" in text_of(app)
