"""Timeline, operators and memory, on a trace measured for real."""

from __future__ import annotations

import pytest

from analyzer.tui.draw.event import EVENT_LINES
from analyzer.tui.draw.lane_rows import FRAME_LINES, lane_rows
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.screens.memory import MemoryScreen
from analyzer.tui.screens.operator_page import OperatorPage
from analyzer.tui.screens.operators import OperatorsScreen
from analyzer.tui.screens.timeline import TimelineScreen
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.gap_table import GapTable
from analyzer.tui.widgets.operator_table import BAR_WIDTH, OperatorTable
from analyzer.tui.widgets.timeline_view import TimelineView
from analyzer.views.measured import Measured
from analyzer.views.operator_rows import OperatorRow
from programs.hardware import explained as explained_world
from programs.hardware import products
from showing import analyses
from showing.ui import explained, loader_bound, running, settle, text_of

MS = 1_000_000


async def test_timeline_shows_lanes_gaps_and_their_findings(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        shown = text_of(pilot.app)
        for words in (
            "main thread",
            "stream 7",
            "stream 13",
            "next(loader)",
            "GPU gaps",
            "input wait",
            "gap 1",
            "DL00",
        ):
            assert words in shown, words


async def test_n_and_p_go_through_the_findings_from_any_mode(app_for):
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        for mode, key, rule in (("5", "n", "SY001"), ("3", "n", "PR001"), ("4", "p", "SY001")):
            await pilot.press(mode)
            await settle(pilot)
            await pilot.press(key)
            await settle(pilot)
            assert isinstance(pilot.app.screen, FindingsScreen)
            assert pilot.app.screen.query_one(FindingList).finding.rule == rule


async def test_on_the_timeline_n_shows_the_place_of_the_finding(app_for, measured):
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("2", "n")
        await settle(pilot)
        assert isinstance(pilot.app.screen, TimelineScreen)
        assert pilot.app.screen.query_one(TimelineView).mark.label == "DL001"


async def test_tab_goes_to_the_lanes_and_arrows_walk_their_events(app_for, measured):
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        view = pilot.app.screen.query_one(TimelineView)
        told = [str(view.border_subtitle)]
        for key in ("tab", "right", "down", "enter"):
            await pilot.press(key)
            await settle(pilot)
            told.append(str(view.border_subtitle))
        assert "events" in told[0]
        assert "main thread" in told[1]
        assert told[1] != told[2] != told[3] == told[4]
        assert view.zoomed
        assert view.cursor.start_ns >= view.view.start_ns
        await pilot.press("tab")
        await settle(pilot)
        assert "events" in str(view.border_subtitle)


async def test_plus_looks_nearer_at_the_event_that_is_pointed_at(app_for, measured):
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        view = pilot.app.screen.query_one(TimelineView)
        # The gap in the loader comes first; the event is 40 ms behind it.
        await pilot.press("tab", "right", "right", "plus", "plus", "plus", "plus")
        await settle(pilot)
        assert view.cursor.start_ns >= 40 * MS
        assert view.view.dur_ns < 10 * MS
        assert view.view.start_ns <= view.cursor.start_ns
        assert view.cursor.end_ns <= view.view.end_ns
        await pilot.press("tab", "0", "plus", "plus", "plus", "plus")
        gap = pilot.app.screen.query_one(GapTable).gap
        assert view.view.start_ns <= gap.start_ns + gap.dur_ns // 2 <= view.view.end_ns


async def test_z_fills_the_screen_with_lanes_and_what_is_known_of_an_event(app_for, measured):
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("2", "z")
        await settle(pilot)
        view = pilot.app.screen.query_one(TimelineView)
        assert view.size.height == 38
        drawn = lane_rows(view.step, view.size.height - EVENT_LINES, view.cursor)
        assert len(drawn) + FRAME_LINES + EVENT_LINES > 0.9 * view.size.height
        assert "of the step" in text_of(pilot.app)
        assert "z: back to the gaps" in str(view.border_subtitle)
        await pilot.press("down")
        await settle(pilot)
        assert "inside" in text_of(pilot.app)
        await pilot.press("z")
        await settle(pilot)
        assert pilot.app.screen.maximized is None
        assert "main thread" in str(view.border_subtitle)


async def test_a_click_points_at_the_event_that_is_drawn_there(app_for, measured):
    async with running(app_for(measured), (120, 40)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        view = pilot.app.screen.query_one(TimelineView)
        lines = text_of(pilot.app).splitlines()
        row = next(at for at, line in enumerate(lines) if "stream 7" in line)
        await pilot.click(offset=(100, row))
        await settle(pilot)
        assert view.cursor.track.name == "stream 7"
        assert view.cursor.start_ns > 60 * MS
        before = view.cursor
        await pilot.click(offset=(100, view.region.y + 1))
        await settle(pilot)
        assert view.cursor is before


async def test_s_offers_every_step(app_for, measured):
    async with running(app_for(measured), (80, 24)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        for keys, number in ((("s", "G", "enter"), 3), (("s", "k", "enter"), 2), (("s", "escape"), 2), (("s", "s"), 2)):
            await pilot.press(*keys)
            await settle(pilot)
            step = pilot.app.screen.query_one(TimelineView).step
            assert step.number == number, keys
        await pilot.press("s")
        assert "4 steps" in text_of(pilot.app)
        assert "step 0       100 ms  ████████████████████████" in text_of(pilot.app)


async def test_timeline_zooms_pans_and_comes_back(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        view = pilot.app.screen.query_one(TimelineView)
        whole = view.view
        assert (whole.start_ns, whole.end_ns) == (0, 100 * MS)
        await pilot.press("plus", "plus")
        assert view.view.dur_ns == 25 * MS
        before = view.view.start_ns
        await pilot.press("right")
        assert view.view.start_ns > before
        await pilot.press("left", "left", "left", "left", "left", "left")
        assert view.view.start_ns == 0
        await pilot.press("minus")
        assert view.view.dur_ns == 50 * MS
        await pilot.press("0")
        assert view.view == whole
        await pilot.press("enter")
        assert view.zoomed
        await pilot.press("escape")
        assert view.view == whole
        await pilot.press("z")
        assert pilot.app.screen.maximized is view
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FindingsScreen)


async def test_brackets_change_the_step_and_stop_at_the_ends(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        numbers = []
        for key in ("left_square_bracket", *["right_square_bracket"] * 5):
            await pilot.press(key)
            await settle(pilot)
            step = pilot.app.screen.query_one(TimelineView).step
            numbers.append(step.number)
        assert numbers == [0, 1, 2, 3, 3, 3]


async def test_t_points_at_the_finding_and_f_goes_back_to_it(app_for, measured):
    async with running(app_for(measured)) as pilot:
        rule = measured.analysis.cards[0].rule
        await pilot.press("t")
        await settle(pilot)
        assert isinstance(pilot.app.screen, TimelineScreen)
        mark = pilot.app.screen.query_one(TimelineView).mark
        assert mark is not None
        assert mark.label == rule
        await pilot.press("j")
        assert pilot.app.screen.query_one(TimelineView).mark.label == "gap 2"
        await pilot.press("k", "f")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FindingsScreen)


async def test_operators_are_grouped_sorted_and_searched(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        table = pilot.app.screen.query_one(OperatorTable)
        assert table.row.name == "aten::mm"
        await pilot.press("b")
        await settle(pilot)
        assert "[[8, 4], [4, 4]]" in text_of(pilot.app)
        await pilot.press("b")
        await settle(pilot)
        assert table.row.name.startswith("void sgemm")
        # Short in the table; what is opened bears the whole name.
        assert "void sgemm" not in text_of(pilot.app)
        assert "sgemm" in text_of(pilot.app)
        assert "CPU self" not in text_of(pilot.app)
        await pilot.press("b")
        await settle(pilot)
        assert "with_stack=True" in text_of(pilot.app)
        assert "Modules by share" in text_of(pilot.app)
        await pilot.press("b", "s")
        await settle(pilot)
        assert "Operators by GPU" in text_of(pilot.app)
        await pilot.press("slash", *"linear", "enter")
        await settle(pilot)
        assert table.row_count == 1
        await pilot.press("escape")
        await settle(pilot)
        assert table.row_count > 1
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, FindingsScreen)


async def test_a_share_has_a_bar_and_a_wrapper_has_none(app_for, measured):
    async with running(app_for(measured), size=(140, 36)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        lines = text_of(pilot.app).splitlines()
        largest = next(line for line in lines if "aten::mm" in line)
        assert "█" * BAR_WIDTH in largest
        # Launches nothing itself.
        wrapper = next(line for line in lines if "aten::linear" in line)
        assert "█" not in wrapper
        assert " - " in wrapper
        assert not any(" 0 % " in line for line in lines)


async def test_names_of_the_backward_pass_are_told_apart(app_for, measured, monkeypatch):
    names = [f"autograd::engine::evaluate_function: {name}Backward0" for name in ("Convolution", "Threshold")]
    rows = tuple(
        OperatorRow(name, "", 1.0, 1000, 1000, 1000, 1000, 0.5 - 0.1 * place, None) for place, name in enumerate(names)
    )
    monkeypatch.setattr(Measured, "operators", lambda *_: rows)
    async with running(app_for(measured), size=(80, 24)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        shown = text_of(pilot.app)
        assert "autograd: Convolu" in shown
        assert "autograd: Thresho" in shown


async def test_cut_names_lose_what_they_share_first(app_for, measured, monkeypatch):
    name = "aten::cudnn_convolution_backward_weight"
    rows = (OperatorRow(name, "", 1.0, 1000, 1000, 1000, 1000, 0.5, None),)
    monkeypatch.setattr(Measured, "operators", lambda *_: rows)
    async with running(app_for(measured), size=(90, 24)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        shown = text_of(pilot.app)
        assert "aten::" not in shown
        assert "cudnn_con" in shown
        assert "weight" in shown


async def test_an_empty_table_says_why_in_its_own_place(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        await pilot.press("slash", *"nosuchop", "enter")
        await settle(pilot)
        told = pilot.app.screen.query_one("#nothing")
        assert "Esc clears" in text_of(pilot.app)
        assert told.region.height > 0
        assert pilot.app.screen.query_one("#operators-pane").region.contains_region(told.region)
        await pilot.press("escape")
        await settle(pilot)
        assert told.region.height == 0


async def test_operators_with_shapes_show_what_they_achieve(app_for, tmp_path):
    async with running(app_for(explained_world(products(), tmp_path)), size=(130, 30)) as pilot:
        await pilot.press("3", "b")
        await settle(pilot)
        shown = text_of(pilot.app)
        assert "344 TFLOP/s" in shown
        assert "26 %" in shown
        await pilot.press("enter")
        await settle(pilot)
        assert "295 us a step above its roofline" in text_of(pilot.app)


async def test_enter_opens_callers_and_examples(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("3")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, OperatorPage)
        shown = text_of(pilot.app)
        assert "Called by" in shown
        assert "Longest calls" in shown
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, OperatorsScreen)


async def test_memory_shows_the_curve_and_who_allocates(app_for, measured):
    async with running(app_for(measured)) as pilot:
        await pilot.press("4")
        await settle(pilot)
        shown = text_of(pilot.app)
        assert isinstance(pilot.app.screen, MemoryScreen)
        for words in ("peak 9.0 MiB", "aten::linear", "8.0 MiB", "╵1"):
            assert words in shown, words


async def test_without_memory_events_it_says_what_to_record(app_for, without_memory):
    async with running(app_for(without_memory), (60, 20)) as pilot:
        await pilot.press("4")
        await settle(pilot)
        assert "profile_memory=True" in text_of(pilot.app)


@pytest.mark.parametrize("key", ["2", "3", "4"])
async def test_a_reopened_report_says_that_it_has_no_events(app_for, key):
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press(key)
        await settle(pilot)
        shown = text_of(pilot.app)
        assert "Open the trace itself" in shown or "profile_memory=True" in shown
        await pilot.press("plus", "b", "slash", "f", "d", "escape")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FindingsScreen)


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (200, 50)])
async def test_modes_fit_every_size(app_for, measured, size):
    async with running(app_for(measured), size) as pilot:
        for key, words in (("2", "gap 1"), ("3", "aten::mm"), ("4", "aten::linear"), ("5", "DL001"), ("1", "DL00")):
            await pilot.press(key)
            await settle(pilot)
            shown = text_of(pilot.app)
            assert words in shown, (key, shown)
            last = shown.splitlines()[-1]
            assert "? Help" in last, last
            assert "q Quit" in last, last
            for widget in pilot.app.screen.query("TitleBar *, KeyBar, DataTable, #lanes, #curve"):
                if widget.display and widget.region.area:
                    assert widget.region.right <= size[0], widget


async def test_hostile_names_are_text_in_every_mode(app_for, tmp_path):
    evil = "[/x]\x1b[31m</script>\u202e[bold]@click=app.quit[/]" + "y" * 3_000
    async with running(app_for(explained(loader_bound(evil=evil), tmp_path)), (80, 24)) as pilot:
        for keys in (("2",), ("enter",), ("3",), ("b",), ("b",), ("enter",), ("escape", "4")):
            await pilot.press(*keys)
            await settle(pilot)
            shown = text_of(pilot.app)
            assert not {char for char in shown if char != "\n" and not char.isprintable()}


async def test_gaps_of_a_trace_without_a_device(app_for, tmp_path):
    builder = loader_bound(memory=False)
    builder.device = None
    builder.events = [event for event in builder.events if event["cat"] in ("cpu_op", "user_annotation")]
    async with running(app_for(explained(builder, tmp_path)), (120, 40)) as pilot:
        await pilot.press("2")
        await settle(pilot)
        assert "Time outside compute" in text_of(pilot.app)
        assert pilot.app.screen.query_one(GapTable).gap.cause == "input"
        await pilot.press("3")
        await settle(pilot)
        assert "GPU" not in text_of(pilot.app).partition("Operators by")[2].splitlines()[1]
