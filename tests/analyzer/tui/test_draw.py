from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.content import Content

from analyzer.analysis import Lane, Span
from analyzer.page.findings.card import card_of
from analyzer.tui.draw import bars, lanes
from analyzer.tui.draw.brief import brief
from analyzer.tui.draw.evidence import evidence
from analyzer.tui.draw.finding import code_block, row
from analyzer.tui.draw.markdown import markdown
from analyzer.tui.draw.step import strip
from analyzer.tui.draw.table import table
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.look.glyphs import ASCII, UNICODE, choose
from showing import analyses

PLAIN = choose(unicode=True, coloured=False)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e12), max_size=20), st.integers(0, 300))
def test_allocated_cells_are_whole_and_add_up(values: list[float], width: int) -> None:
    cells = bars.allocate(values, width)
    assert len(cells) == len(values)
    assert all(cell >= 0 for cell in cells)
    assert sum(cells) == (width if sum(values) > 0 else 0)


def test_a_stacked_bar_is_as_wide_as_told_and_labels_only_where_they_fit() -> None:
    parts = [
        bars.Part("compute", 70, ("compute 70 ms", "compute")),
        bars.Part("input", 30, ("input wait 30 ms", "input")),
    ]
    wide, narrow = bars.stacked(parts, 60, UNICODE), bars.stacked(parts, 20, UNICODE)
    assert "compute 70 ms" in wide.plain
    assert "input wait 30 ms" in wide.plain
    assert wide.cell_length == 60
    assert narrow.plain.strip() == "compute"
    assert narrow.cell_length == 20


def test_without_colour_each_cause_has_its_own_fill() -> None:
    assert bars.stacked([bars.Part("compute", 1), bars.Part("input", 1)], 8, PLAIN).plain == "████▓▓▓▓"
    assert len(set(UNICODE.patterns.values())) == len(UNICODE.patterns) == len(set(ASCII.patterns.values()))


def test_a_lane_shows_gaps_and_lets_another_thread_through() -> None:
    main = Lane(name="main", kind="host", spans=(Span(start_ns=0, dur_ns=40, label="load", cause="input"),))
    other = Lane(name="other", kind="host", spans=(Span(start_ns=20, dur_ns=60, label="", cause="framework"),))
    assert lanes.lane([main, other], 100, 10, PLAIN).plain == "▓▓▓▓▄▄▄▄··"
    assert lanes.lane([main, other], 100, 30, PLAIN).plain.count("load") == 1


def test_a_device_is_drawn_as_high_as_it_is_busy_and_the_host_is_not() -> None:
    spans = (Span(start_ns=0, dur_ns=100, label="fwd", cause="compute", busy_ns=25),)
    device, host = (Lane(name="", kind=kind, spans=spans) for kind in ("device", "host"))
    assert lanes.lane([device], 100, 9, PLAIN).plain == "▂▂ fwd ▂▂"
    assert lanes.lane([host], 100, 9, PLAIN).plain == "██ fwd ██"
    # Little work in a long step is still some, and stands where it was.
    rare = Lane(name="", kind="device", spans=(Span(start_ns=50, dur_ns=2, label="", cause="compute"),))
    assert lanes.lane([rare], 100, 10, PLAIN).plain == "·····▂····"
    full = Lane(name="", kind="device", spans=(Span(start_ns=0, dur_ns=100, label="", cause="compute", busy_ns=95),))
    assert lanes.lane([full], 100, 3, PLAIN).plain == "███"


def test_a_bracket_names_the_widest_span() -> None:
    content = lanes.bracket([(0, 50), (90, 91)], 100, 40, "DL001", UNICODE, "")
    assert content.plain == "└───── DL001 ──────┘                ╵   "


def test_many_pieces_are_one_strip_as_high_as_they_are_dense() -> None:
    # Of four cells of 25 ns: all of the first, half of the second by two pieces, nothing of the third, a trace of the last.
    strip = lanes.density([(0, 25), (25, 30), (40, 48), (99, 100)], 100, 4, UNICODE, "").plain
    assert strip == "█▅ ▁"
    assert lanes.density([(-50, -1), (120, 130)], 100, 4, UNICODE, "").plain == "    "
    assert lanes.density([(-50, 200)], 100, 4, UNICODE, "").plain == "████"


def test_a_short_bracket_has_its_label_beside_it() -> None:
    assert "└─┘ DL001" in lanes.bracket([(0, 8)], 100, 40, "DL001", UNICODE, "").plain


@pytest.mark.parametrize(
    ("dur", "first"), [(2_000, "0 us"), (412_000_000, "0 ms"), (9_000_000_000, "0 s"), (0, ""), (3, "0 ns")]
)
def test_an_axis_has_its_unit_at_zero(dur: int, first: str) -> None:
    axis = lanes.axis(dur, 80).plain
    assert axis.startswith(first)
    assert len(axis) == 80


@settings(deadline=None)
@given(st.integers(1, 250), st.integers(0, 12))
def test_the_strip_fits_any_size(width: int, height: int) -> None:
    analysis = analyses.example()
    lines = strip(analysis, analysis.cards[0], width, height, UNICODE).split("\n")
    assert len(lines) <= max(1, height)
    assert all(line.cell_length <= width for line in lines)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200))
def test_evidence_and_rows_fit_any_width(width: int) -> None:
    for analysis in (analyses.example(), analyses.hostile()):
        for finding in analysis.findings:
            for item in finding.evidence:
                assert all(line.cell_length <= width for line in evidence(item, width, UNICODE, ""))
            for height in (1, 2):
                drawn = row(card_of(finding, analysis), width, height, UNICODE, of_cards=True, largest_ns=1)
                assert all(line.cell_length <= width for line in drawn.split("\n"))


def test_code_is_folded_not_cut() -> None:
    lines = code_block("+" + "x" * 100, "diff", 40)
    assert sum(line.plain.count("x") for line in lines) == 100
    assert all(line.cell_length <= 40 for line in lines)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 120), st.integers(0, 9))
def test_a_brief_finding_fits_any_size(width: int, height: int) -> None:
    for analysis in (analyses.example(), analyses.hostile()):
        for finding in analysis.findings:
            lines = brief(card_of(finding, analysis), width, height, UNICODE).split("\n")
            assert len(lines) <= max(1, height)
            if width > 10:
                assert all(line.cell_length <= width for line in lines)


def test_three_lines_answer_what_it_saves_what_to_change_and_how_to_check() -> None:
    first, change, check = brief(card_of(analyses.example().cards[0], analyses.example()), 100, 3, UNICODE).plain.split(
        "\n"
    )
    assert first.startswith("Saves at most 142 ms a step (34 %)")
    assert change.startswith("Fix    dataset, batch_size=64, num_workers=8, persistent_workers=True,")
    assert check == "Check  advisor explain after.json --select DL002"


def test_a_long_change_leaves_room_for_the_check() -> None:
    finding = analyses.example().cards[0]
    long = replace(
        finding, fix=(replace(finding.fix[0], language="text", code="word " * 99, note=""),), verify="see " * 99
    )
    words = [line[:5] for line in brief(card_of(long, analyses.example()), 60, 7, UNICODE).plain.split("\n")]
    assert words == ["Saves", "Fix  ", "     ", "     ", "Check", "     ", "     "]


def test_what_the_list_shows_is_in_the_brief_finding_too_where_it_fits() -> None:
    """A row tells what is likely; of a bound alone the two would differ without a word why."""
    finding = analyses.example().cards[0]
    likely = replace(finding, saving=replace(finding.saving, ns_per_step_expected=27_000_000, ratio_expected=0.066))
    card = card_of(likely, analyses.example())
    wide, narrow = (brief(card, width, 3, UNICODE).plain.split("\n")[0] for width in (78, 60))
    assert wide.startswith("Saves at most 142 ms a step (34 %); 27 ms (6.6 %) likely · high confidence")
    assert narrow.startswith("Saves at most 142 ms a step (34 %) · high confidence")
    # Where the share would be cut, what the row above says already goes first.
    assert brief(card, 32, 3, UNICODE).plain.split("\n")[0].startswith("at most 142 ms a step (34 %)")


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_stays_on_the_line_of_its_unit(width: int) -> None:
    said = "Saves 142 ms a step (34 %) of 1.5 GiB, 3 ranks, 12 GFLOP/s and 100 usual things; then\nwaits 3.0 us."
    text = Content.styled(said, "bold")
    lines = wrapped(text, width)
    assert all(line.cell_length <= width for line in lines)
    assert " ".join(line.plain.strip() for line in lines).split() == said.split()
    assert not any(line.plain.startswith(("ms", "%", "GiB", "GFLOP/s", "us.")) for line in lines)
    assert all(line.spans for line in lines)
    # Of anything else lines are broken as before.
    plain = Content("all of it is 3 words or 4 of them, and no unit is among them")
    assert [line.plain for line in wrapped(plain, width)] == [line.plain for line in plain.wrap(width)]


@pytest.mark.parametrize(
    ("language", "code", "shown"),
    [
        (
            "diff",
            " loader = DataLoader(\n+   num_workers=4,\n+   pin_memory=True,\n )",
            "num_workers=4, pin_memory=True,",
        ),
        ("diff", "-x = 1   # old\n+x = 2   # new\n y\n+z = [\n+    3]", "x = 2; z = [ 3]"),
        ("python", "\nwith profile(\n    a=[1],\n) as prof:\n    pass", "with profile( a=[1], ) as prof:"),
        ("python", "x = f(1)   # once\ny = 2", "x = f(1)"),
        ("diff", " for one in all_of_them:\n-    torch.cuda.synchronize()   # waits", "-torch.cuda.synchronize()"),
        ("diff", "-m = f(m)\n+for one in m:      # blocks\n+    one.compile()", "for one in m: one.compile()"),
        ("shell", "advisor collect   # first\nadvisor explain", "advisor collect"),
    ],
)
def test_a_change_on_one_line(language: str, code: str, shown: str) -> None:
    finding = analyses.example().cards[0]
    changed = replace(finding, fix=(replace(finding.fix[0], language=language, code=code, note="why"),))
    lines = brief(card_of(changed, analyses.example()), 80, 4, UNICODE).plain.split("\n")
    assert lines[1] == f"Fix    {shown}"
    assert lines[2] == "       why"


PAGE = """A head that is longer
than a line.

## Fix
1. One thing `to do` first,
   and more of it.
- Another.

```python
x = [1]   # [/b]

```
After.
| a | b |
"""


def test_a_rule_page_is_drawn_not_quoted() -> None:
    assert [line.rstrip() for line in markdown(PAGE, 20).plain.split("\n")] == [
        "A head that is", "longer than a line.", "",
        "Fix", "1. One thing to do", "   first, and more", "   of it.", "- Another.", "",
        " x = [1]   # [/b]", "After.", "| a | b |", "",
    ]  # fmt: skip


@settings(deadline=None)
@given(st.text(alphabet="#-*`1. |ab\n[", max_size=80), st.integers(1, 40))
@example("```a", 1)
def test_no_text_of_a_page_is_lost(text: str, width: int) -> None:
    shown = markdown(text, width).plain
    # What stands behind the opening of a code block names its language, and is not shown.
    told = "\n".join(line for line in text.splitlines() if not line.startswith("```"))
    assert sum(char in "ab" for char in shown) == sum(char in "ab" for char in told)


def test_names_of_a_table_are_worth_more_than_titles_of_figures() -> None:
    heads, rows = ("collective", "calls a step", "median size"), [("all_gather", "1.0", "16 MiB")]
    assert [line.plain for line in table(heads, rows, (0,), 40)] == [
        "collective  calls a step  median size",
        "all_gather           1.0       16 MiB",
    ]
    assert [line.plain for line in table(heads, rows, (0,), 28)] == [
        "             calls  median",
        "collective  a step    size",
        "all_gather     1.0  16 MiB",
    ]
    # A word that has no room is cut, not folded in two.
    assert [line.plain for line in table(heads, rows, (0,), 24)] == [
        "           calls  median",
        "collect…  a step    size",
        "all_gat…     1.0  16 MiB",
    ]


def test_a_comment_comes_nearer_before_its_line_is_folded() -> None:
    code = "x = 1            # why\nlonger = 1"
    assert [line.plain.rstrip() for line in code_block(code, "python", 18)] == [" x = 1  # why", " longer = 1"]
    assert [line.plain.rstrip() for line in code_block(code, "python", 40)] == [f" {part}" for part in code.split("\n")]


def test_text_without_any_room_is_drawn_one_cell_wide() -> None:
    said = "# Why\n\nIt waits.\n\n- one\n\n```python\nwait()\n```"
    assert markdown(said, 0).plain == markdown(said, -5).plain == markdown(said, 1).plain
    assert markdown(said, 0).plain != markdown(said, 2).plain
