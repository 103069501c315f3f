"""Every key does what the help says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.containers import VerticalScroll
from textual.screen import Screen

from analyzer.explain import Explained
from analyzer.tui.app import AdvisorApp
from analyzer.tui.screens.checks import ChecksScreen
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.screens.help import GROUPS, HelpScreen
from analyzer.tui.screens.rule_page import RulePage
from analyzer.tui.widgets.check_table import CheckTable
from analyzer.tui.widgets.detail import Detail
from analyzer.tui.widgets.filter_bar import FilterBar
from analyzer.tui.widgets.finding_list import FindingList
from analyzer.tui.widgets.step_strip import StepStrip
from showing import analyses
from showing.ui import running, settle, text_of

MakeApp = Callable[..., AdvisorApp]


def selected(app: AdvisorApp) -> str | None:
    finding = app.screen.query_one(FindingList).finding
    return finding.rule if finding else None


def listed(app: AdvisorApp) -> list[str]:
    return [finding.rule for finding in app.screen.query_one(FindingList).shown]


MOVES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), "DL002"),
    (("j",), "SY001"),
    (("down", "down"), "PR001"),
    (("j", "j", "k"), "SY001"),
    (("up",), "DL002"),
    (("G",), "PY001"),
    (("G", "home"), "DL002"),
    (("end",), "PY001"),
    (("n", "n", "p"), "SY001"),
    (("pagedown",), "PY001"),
    (("pagedown", "pageup"), "DL002"),
    (("tab", "n"), "SY001"),
)


@pytest.mark.slow
async def test_keys_move_the_cursor_and_everything_follows(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        for keys, rule in MOVES:
            await pilot.press("g", *keys)
            await pilot.pause()
            assert selected(pilot.app) == rule, keys
            assert str(pilot.app.screen.query_one(Detail).border_title) == rule
            shown = pilot.app.screen.query_one(StepStrip).finding
            assert shown is not None
            assert shown.rule == rule


async def test_enter_opens_the_detail_over_everything_on_a_narrow_screen_and_escape_returns(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        screen = pilot.app.screen
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(screen.focused, Detail)
        assert not screen.query_one("#list-pane").display
        assert screen.query_one(Detail).size.height > 15
        await pilot.press("j", "j")
        assert screen.query_one(Detail).scroll_offset.y == 2
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(screen.focused, FindingList)
        assert screen.query_one("#list-pane").display


async def test_an_opened_detail_stays_open_when_the_terminal_changes(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        await pilot.press("enter")
        for columns, listed_too in ((80, False), (120, True), (80, False)):
            await pilot.resize_terminal(columns, 24)
            await settle(pilot)
            assert pilot.app.screen.query_one("#list-pane").display is listed_too, columns
            assert isinstance(pilot.app.screen.focused, Detail)


async def test_enter_keeps_the_list_where_there_is_room(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen.focused, Detail)
        assert pilot.app.screen.query_one("#list-pane").display
        await pilot.press("G")
        assert pilot.app.screen.query_one(Detail).scroll_offset.y > 0
        await pilot.press("g")
        assert pilot.app.screen.query_one(Detail).scroll_offset.y == 0


FILTERS: tuple[tuple[str, list[str]], ...] = (
    ("sev:high", ["DL002", "DL001"]),
    ("rule:DL", ["DL002", "DL001"]),
    ("cat:prec", ["PR001"]),
    ("conf:med rule:s", ["SY001"]),
    ("pageable", ["XF001"]),
    ("sev:high cat:x", []),
)


@pytest.mark.slow
async def test_filter_narrows_the_list_while_typing(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        for query, rules in FILTERS:
            await pilot.press("slash")
            pilot.app.screen.query_one(FilterBar).value = query
            await pilot.pause()
            await pilot.pause()
            assert listed(pilot.app) == rules, query
            assert ("0 of 8 match" in text_of(pilot.app)) is not bool(rules)
            await pilot.press("escape")
            await pilot.pause()
            assert len(listed(pilot.app)) == 8
            assert isinstance(pilot.app.screen.focused, FindingList)


async def test_enter_keeps_the_filter_and_escape_clears_it_later(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("slash", "f", "p", "3", "2", "enter")
        await pilot.pause()
        assert listed(pilot.app) == ["PR001"]
        assert isinstance(pilot.app.screen.focused, FindingList)
        await pilot.press("escape")
        await pilot.pause()
        assert len(listed(pilot.app)) == 8
        assert selected(pilot.app) == "PR001"


async def test_s_goes_through_the_orders_and_stays_on_the_finding(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("j", "s", "s")
        await pilot.pause()
        assert listed(pilot.app) == ["DL002", "ID001", "OP001", "PR001", "SY001", "XF001", "DL001", "PY001"]
        assert selected(pilot.app) == "SY001"
        await pilot.press("s")
        await pilot.pause()
        assert listed(pilot.app)[:2] == ["DL002", "SY001"]


COPIES = (
    ("c", "fix-DL002.txt", "+    persistent_workers=True,"),
    ("C", "finding-DL002.md", "### DL002 DataLoader has no workers"),
)


async def test_copying_fills_the_clipboard_and_a_file(app_for: MakeApp, tmp_path: Path) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        for key, name, part in COPIES:
            await pilot.press(key)
            await pilot.pause()
            written = (tmp_path / "trace-advisor" / name).read_text(encoding="utf-8")
            assert part in written
            assert pilot.app.clipboard == written
            assert any(name in notification.message for notification in pilot.app._notifications)


async def test_ctrl_c_says_what_leaves(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert [notification.message for notification in pilot.app._notifications] == ["q leaves."]


async def test_z_maximises_the_pane_and_back(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("tab", "z")
        await pilot.pause()
        assert isinstance(pilot.app.screen.maximized, Detail)
        await pilot.press("z")
        assert pilot.app.screen.maximized is None
        await pilot.press("z", "escape")
        assert pilot.app.screen.maximized is None


@pytest.mark.parametrize(("mode", "pane"), [("2", "lanes"), ("3", "operators"), ("4", "allocations"), ("5", "checks")])
async def test_z_maximises_in_every_mode(app_for: MakeApp, measured: Explained, mode: str, pane: str) -> None:
    async with running(app_for(measured), (80, 24)) as pilot:
        await pilot.press(mode)
        await settle(pilot)
        await pilot.press("z")
        maximised = pilot.app.screen.maximized
        assert maximised is not None
        assert maximised.id == pane
        await pilot.press("z")
        assert pilot.app.screen.maximized is None


async def test_pages_scroll_by_their_keys(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        await pilot.press("question_mark")
        box = pilot.app.screen.query_one(VerticalScroll)
        for keys, top in ((("j", "j", "k"), 1), (("G",), box.max_scroll_y), (("g",), 0), (("end",), box.max_scroll_y)):
            await pilot.press(*keys)
            await pilot.pause()
            assert box.scroll_offset.y == top > -1
        assert box.max_scroll_y > 5


async def test_tab_goes_round_the_panes(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (200, 50)) as pilot:
        names = []
        for _ in range(3):
            await pilot.press("tab")
            names.append(pilot.app.screen.focused and pilot.app.screen.focused.id)
        assert names == ["detail", "evidence", "list"]
        await pilot.press("shift+tab")
        assert pilot.app.screen.focused is not None
        assert pilot.app.screen.focused.id == "evidence"


async def test_help_lists_the_keys_and_closes(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        for close in ("escape", "question_mark", "q"):
            await pilot.press("question_mark")
            assert isinstance(pilot.app.screen, HelpScreen)
            await pilot.press(close)
            assert isinstance(pilot.app.screen, FindingsScreen), close


async def test_modes_switch_by_number_and_a_rule_page_opens(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example())) as pilot:
        await pilot.press("5")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChecksScreen)
        await pilot.press("j", "k", "G", "g", "enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, RulePage)
        await pilot.press("escape", "1")
        assert isinstance(pilot.app.screen, FindingsScreen)
        await pilot.click("#tab-checks")
        assert isinstance(pilot.app.screen, ChecksScreen)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, FindingsScreen)


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit_ends_with_success_and_escape_never_quits(app_for: MakeApp, key: str) -> None:
    app = app_for(analyses.example())
    async with running(app, (80, 24)) as pilot:
        await pilot.press("escape", "escape", "escape")
        assert app.is_running
        await pilot.press(key)
    assert app.return_value == 0


async def test_every_binding_has_an_id_and_a_tooltip_and_the_footer_at_most_six(app_for: MakeApp) -> None:
    async with running(app_for(analyses.example()), (80, 24)) as pilot:
        for keys in ((), ("enter",), ("5",), ("enter",), ("escape",), ("2",), ("3",), ("4",)):
            await pilot.press(*keys)
            await pilot.pause()
            active = [one.binding for one in pilot.app.screen.active_bindings.values()]
            ours = [one for one in active if one.id]
            assert all(one.tooltip for one in ours)
            shown = [one for one in active if one.show and not one.system]
            assert all(one.id for one in shown)
            assert len({one.action for one in shown}) <= 6


async def test_palette_finds_a_finding_by_what_it_says(app_for: MakeApp) -> None:
    app = app_for(analyses.example())
    async with running(app) as pilot:
        screen: Screen[object] = app.screen
        names = {command.title: command.callback for command in app.get_system_commands(screen)}
        precision = next(one for one in analyses.example().findings if one.rule == "PR001")
        app.call_later(names[f"{precision.title} (PR001)"])
        await pilot.pause()
        assert selected(app) == "PR001"


async def test_palette_lists_findings_then_keys_then_reports_then_rules(app_for: MakeApp) -> None:
    app = app_for(analyses.example())
    async with running(app) as pilot:
        await pilot.press("ctrl+p")
        await settle(pilot)
        titles = [str(option.prompt).partition("\n")[0] for option in app.screen.query_one(CommandList).options]
        found = analyses.example().findings
        assert titles[: len(found)] == [f"{one.title} ({one.rule})" for one in found]
        first = [titles.index(title) for title in ("Copy the change to make (c)", "Write html report")]
        assert (
            len(found) <= first[0] < first[1] < next(n for n, title in enumerate(titles) if title.startswith("Rule "))
        )
        # Getting about needs no name.
        assert not [title for title in titles if title.startswith(("A page", "Back to the list"))]


async def test_a_leads_from_the_change_to_its_proof(app_for: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    app = app_for(analyses.example())
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with running(app) as pilot:
        await pilot.press("a")
        await settle(pilot)
        shown = text_of(app)
        assert all(
            word in shown
            for word in ("1. Change", "2. Record again", "3. Compare", "advisor compare trace.json.gz after.json")
        )
        await pilot.press("o", "r")
        # Nobody knows how this one was recorded: there is nothing to copy.
        assert copied == ["advisor compare trace.json.gz after.json"]
        await pilot.press("E")
        await settle(pilot)
        assert any("is not here" in one.message for one in app._notifications)
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, FindingsScreen)


@pytest.mark.slow
async def test_checks_can_be_filtered(app_for: MakeApp) -> None:
    app = app_for(analyses.example())
    async with running(app) as pilot:
        await pilot.press("5")
        await settle(pilot)
        table = app.screen.query_one(CheckTable)
        total = table.row_count
        await pilot.press("/", *"cannot tell")
        await settle(pilot)
        wanted = [one.rule for one in analyses.example().checks if one.state == "cannot_tell"]
        assert 0 < table.row_count == len(wanted) < total
        assert f"{len(wanted)} of {total} match" in text_of(app)
        await pilot.press("enter")
        assert table.check is not None
        assert table.check.rule in wanted
        await pilot.press("escape")
        assert table.row_count == total
        await pilot.press("/", *"nothing like it")
        await settle(pilot)
        assert table.check is None
        assert "None matches. Esc clears." in text_of(app)
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert isinstance(app.screen, FindingsScreen)


async def test_palette_does_what_the_key_does(app_for: MakeApp) -> None:
    app = app_for(analyses.example())
    async with running(app) as pilot:
        names = {command.title: command.callback for command in app.get_system_commands(app.screen)}
        names["Every rule and its result (5)"]()
        await settle(pilot)
        assert app.current_mode == "0/checks"


def test_help_names_each_key_once() -> None:
    keys = [key for _, group in GROUPS for key, _ in group]
    assert len(keys) == len(set(keys))
