"""The page of a trace in a real browser, with real keys, clicks and turns of the wheel: what it offers, and what it asks for."""

from __future__ import annotations

import re

import msgspec
import pytest

from analyzer.analysis import ModuleRow
from analyzer.analysis.tuning import TrialDocument, Tuning
from analyzer.explain import analyse_with_facts
from analyzer.report import html
from analyzer.report.comparison import html as comparison_page
from analyzer.report.from_trace import FromTrace
from analyzer.report.tuning import html as tuning_page
from analyzer.views.slim_lanes import slim
from running.recorded import ROOT
from showing import analyses, comparisons
from showing.browser import axe, needs_chromium
from showing.devtools import browser
from showing.traced import many_events

SAMPLE = ROOT / "traces/samples/baseline.json.gz"
pytestmark = [needs_chromium, pytest.mark.slow]
# What a page of a million events may take; a browser opens it in a part of two seconds, which tests/bench/page.py measures.
MOST_BYTES = 5_000_000


def many_pieces():
    """The example, whose first finding has more pieces than are listed, and is lowered."""
    made = analyses.example()
    card = made.cards[0]
    evidence = tuple(
        msgspec.structs.replace(one, left_out=1_998, left_out_ns=8_000_000) if hasattr(one, "spans") else one
        for one in card.evidence
    )
    because = "trust is caution, as nothing sure tells steps apart"
    told = msgspec.structs.replace(card, evidence=evidence, lowered_from="high", lowered_because=because)
    return analyses.example(findings=tuple(told if one.id == card.id else one for one in made.findings))


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A browser with a page of a million events, and the page."""
    folder = tmp_path_factory.mktemp("pressed")
    lanes = many_events(1_000_000)
    page = folder / "page.html"
    page.write_text(html.render(many_pieces(), FromTrace(lanes=slim(lanes, str))), encoding="utf-8")
    with browser(folder / "profile") as shown:
        yield shown, page


@pytest.fixture
def shown(opened):
    """The page in a window, as it is when it has been opened."""
    one, page = opened
    one.size(1200, 900)
    one.open(page)
    return one


def span(shown):
    return shown.says("(d => [Number(d.from), Number(d.to)])(document.getElementById('viewer').dataset)")


def text(shown, selector):
    return shown.says(f"document.querySelector('{selector}').textContent")


def test_a_million_events_fit_into_the_page(opened):
    _, page = opened
    assert 1_000_000 < page.stat().st_size < MOST_BYTES


def test_it_asks_for_nothing_but_itself(opened, shown):
    _, page = opened
    shown.click(*shown.place("#viewer-lanes"))
    assert set(shown.requests) == {page.as_uri()}


def test_the_wheel_zooms_once_the_lanes_were_clicked(shown):
    x, y = shown.place("#viewer-lanes")
    whole = span(shown)
    shown.wheel(x, y, 0.0)
    assert span(shown) == whole
    shown.click(x, y)
    shown.wheel(x, y, -500.0)
    begin, end = span(shown)
    assert whole[0] < begin < end < whole[1]
    shown.type("0")
    assert span(shown) == whole


def test_the_search_goes_from_match_to_match(shown):
    shown.click(*shown.place("#viewer-search"))
    shown.type("OP 7\n")
    assert "together; Enter: the next" in text(shown, "#viewer-matches")
    first = text(shown, "#viewer-told")
    assert re.match(r"op [1-4]?7: ", first)
    shown.type("\n")
    assert re.match(r"op [1-4]?7: ", text(shown, "#viewer-told"))
    assert text(shown, "#viewer-told") != first


def test_a_finding_shows_itself_and_says_how_many_pieces_it_has(shown):
    shown.click(*shown.place(".finding[open] .show"))
    card = many_pieces().cards[0]
    told = "142 ms of this step in 2,000 pieces, the longest 2 of which are drawn"
    assert text(shown, "#viewer-told") == f"{card.rule} {card.title}: {told}"
    assert shown.says("document.activeElement.id") == "viewer-lanes"


def test_ticking_what_would_be_fixed_says_what_it_brings(opened, tmp_path):
    one, _ = opened
    page = tmp_path / "page.html"
    page.write_text(html.render(analyse_with_facts(SAMPLE).analysis), encoding="utf-8")
    one.open(page)
    assert text(one, "#what-if output") == "Tick what you would fix."
    one.click(*one.place("#what-if input"))
    assert "saves up to about" in text(one, "#what-if output")


def violations(shown):
    shown.says(axe().read_text(encoding="utf-8"))
    return shown.says("axe.run().then(told => told.violations.map(one => one.id))")


def test_axe_finds_nothing_wrong_with_what_is_open(shown):
    assert violations(shown) == []


def module(*path, time_ns):
    none = {"kernel_ns": None, "backward_kernel_ns": None, "self_kernel_ns": None}
    return ModuleRow(path=path, calls=1, forward_ns=time_ns, backward_ns=0, self_ns=time_ns, **none)


def test_a_module_is_made_as_wide_as_the_page_and_its_boxes_are_buttons(opened, tmp_path):
    one, _ = opened
    analysis = analyse_with_facts(SAMPLE).analysis
    modules = (
        module("Net_0", time_ns=4_000_000),
        *(module("Net_0", f"Linear_{n}", time_ns=2_000_000) for n in range(2)),
    )
    hardware = msgspec.structs.replace(analysis.hardware, modules=modules, modules_source="modules")
    page = tmp_path / "page.html"
    page.write_text(html.render(msgspec.structs.replace(analysis, hardware=hardware)), encoding="utf-8")
    one.size(1200, 900)
    one.open(page)
    boxes = "Array.from(document.querySelectorAll('#flame .box')).filter(box => box.style.display !== 'none').length"
    assert one.says(boxes) == 3
    assert violations(one) == []
    one.click(*one.place("#flame .box:nth-of-type(2)"))
    assert one.says(boxes) == 2
    one.click(*one.place("#flame-back"))
    assert one.says(boxes) == 3


def test_it_is_as_wide_as_a_telephone(opened):
    one, page = opened
    one.size(390, 844, telephone=True)
    one.open(page)
    assert one.says("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]


def test_a_long_name_pushes_no_figures_off_a_telephone(opened, tmp_path):
    one, _ = opened
    page = tmp_path / "page.html"
    long = '<th scope="row">volta_scudnn_128x128_stridedB_splitK_medium_nn_v1<'
    text_of_page = comparison_page.render(comparisons.pair())
    assert '<th scope="row" class="short">aten::mm<' in text_of_page
    page.write_text(text_of_page.replace('<th scope="row" class="short">aten::mm<', long), encoding="utf-8")
    one.size(390, 844, telephone=True)
    one.open(page)
    table = "Array.from(document.querySelectorAll('.scroll')).find(box => box.textContent.includes('volta_scudnn'))"
    assert one.says(f"(box => box.scrollWidth - box.clientWidth)({table})") == 0


def _tuned(*changes: str) -> Tuning:
    """Trials whose names and promises are as long as any."""
    trials = tuple(
        TrialDocument(
            change=change, title="", rules=("DL001", "DL006"), numerics="same", promised_ratio=0.96, promised_kind="estimate",
            promised_of_recorded=True, measured_ratio=0.6, low_ratio=0.58, high_ratio=0.62, verdict="helps",
        )
        for change in changes
    )  # fmt: skip
    return Tuning(
        tool="0", script="train.py", arguments=(), machine="2 cores", torch=None, date="2026-11-29", seed=0, steps=40, warmup=9,
        baseline_step_ns=10**8, baseline_runs=5, noise_ratio=0.01, trials=trials, recommended=(), together=None, by_hand=(),
        seconds=60.0, complete=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "render",
    [
        lambda: comparison_page.render(comparisons.pair()),
        lambda: tuning_page.render(_tuned("workers=4", "persistent-workers", "in-memory=batches")),
    ],
)
def test_no_table_has_to_be_pushed_sideways_on_a_telephone(opened, tmp_path, render):
    """The last columns of findings and of trials, whether it came true and whether it helps, lay beyond the edge."""
    one, _ = opened
    page = tmp_path / "page.html"
    page.write_text(render(), encoding="utf-8")
    one.size(390, 844, telephone=True)
    one.open(page)
    boxes = "Array.from(document.querySelectorAll('.scroll > table')).map(table => table.parentElement)"
    assert one.says(f"{boxes}.filter(box => box.scrollWidth > box.clientWidth).map(box => box.ariaLabel)") == []
    head = "getComputedStyle(document.querySelector('.stacked td'), '::before').content"
    assert one.says(head) not in ("none", "normal"), "each cell says what it is"
    one.size(1200, 900)
    one.open(page)
    assert one.says(head) in ("none", "normal"), "where there is room it is a table with its heads"


@pytest.mark.parametrize(("width", "shown"), [(390, True), (1200, False)])
def test_a_table_is_sorted_on_a_telephone_too(opened, tmp_path, width, shown):
    """Its headings, which are the buttons for it, were not there."""
    one, _ = opened
    page = tmp_path / "page.html"
    page.write_text(tuning_page.render(_tuned("workers=4", "fused", "in-memory", "channels-last")), encoding="utf-8")
    one.size(width, 844, telephone=shown)
    one.open(page)
    label = "getComputedStyle(document.querySelector('.stacked thead tr'), '::before').content"
    assert ("Sort by" in one.says(label)) is shown
    one.click(*one.place(".stacked .sort"))
    names = "Array.from(document.querySelectorAll('.stacked tbody th')).map(cell => cell.textContent)"
    assert one.says(names) == ["channels-last", "fused", "in-memory", "workers=4"]
    box = "document.querySelector('.stacked').parentElement"
    assert one.says(f"{box}.scrollWidth <= {box}.clientWidth")
    assert violations(one) == []
