"""Markdown that an issue tracker renders as meant, whatever the trace is called."""

import re
from html.parser import HTMLParser

import msgspec
import pytest
from markdown_it import MarkdownIt

from analyzer.report import markdown
from analyzer.report.markdown import escape
from analyzer.report.markdown.detail import BUDGET
from showing import analyses, comparisons

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
    comparisons.since_baseline, comparisons.since_hostile_baseline,
]  # fmt: skip
PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
ALLOWED_TAGS = {"details", "summary", "b", "sub", "code"}
# What GitHub turns into mentions, issue links, emoji and addresses outside code.
INTERPRETED = re.compile(r"(?<!\w)@\w|#\d|:\w+:|www\.|\bGH-\d|://")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.outside_code = ""
        self._inside_code = 0

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.attributes += attrs
        self._inside_code += tag == "code"

    def handle_endtag(self, tag):
        self._inside_code -= tag == "code"

    def handle_data(self, data):
        if not self._inside_code:
            self.outside_code += data


def parts(text):
    """Raw HTML of the document, and the text that is neither code nor HTML nor the address of a link."""
    html, words, linked = [], [], False
    for token in PARSER.parse(text):
        if token.type == "html_block":
            html.append(token.content)
        for child in token.children or []:
            linked = child.type == "link_open" or (linked and child.type != "link_close")
            if child.type == "html_inline":
                html.append(child.content)
            elif child.type == "text" and not linked:
                words.append(child.content)
    return html, words


@pytest.mark.parametrize("build", EXAMPLES)
def test_the_only_html_is_ours_and_carries_no_attribute_but_open(build):
    html, _ = parts(markdown.render(build()))
    tags = Tags()
    tags.feed("\n".join(html))
    assert set(tags.opened) <= ALLOWED_TAGS
    assert set(tags.attributes) <= {("open", None)}
    assert not INTERPRETED.search(tags.outside_code)


@pytest.mark.parametrize("build", EXAMPLES)
def test_nothing_outside_code_can_become_a_mention_a_link_or_an_emoji(build):
    _, words = parts(markdown.render(build()))
    assert [word for word in words if INTERPRETED.search(word)] == []


@pytest.mark.parametrize("build", EXAMPLES)
def test_links_are_those_of_the_rules(build):
    analysis = build()
    known = {reference for finding in analysis.findings for reference in finding.references}
    found = {
        child.attrs["href"]
        for token in PARSER.parse(markdown.render(analysis))
        for child in token.children or []
        if child.type == "link_open"
    }
    assert found <= known


@pytest.mark.parametrize("build", EXAMPLES)
def test_every_section_is_closed_and_separated_so_that_its_markdown_is_read(build):
    text = markdown.render(build())
    assert text.count("<details") == text.count("</details>") > 0
    assert not re.search(r"</summary>\n[^\n]", text)
    assert not re.search(r"[^\n]\n</details>", text)


@pytest.mark.parametrize("build", EXAMPLES)
def test_tables_keep_their_columns(build):
    tokens = PARSER.parse(markdown.render(build()))
    width, row = 0, 0
    for token in tokens:
        if token.type == "thead_open":
            width = 0
        elif token.type == "tr_open":
            row = 0
        elif token.type in ("th_open", "td_open"):
            row += 1
        elif token.type == "tr_close":
            width = width or row
            assert row == width


def test_order_is_that_of_a_reader_in_a_hurry():
    text = markdown.render(analyses.example())
    order = [
        "<!-- advisor-report", "### PyTorch performance report: 412 ms a step, 148 ms at best", "**Input-bound:",
        "```text", "| ▲&nbsp;High |", "<details open>", "cannot tell", "kind of repair", "Environment", "<sub>",
    ]  # fmt: skip
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_a_program_finds_its_report_again():
    first = markdown.render(analyses.example()).split("\n")[0]
    assert first.startswith("<!-- advisor-report schema=1.0 tool=0.1.0 trace-sha256=4be14be1")
    assert first.endswith("rules=DL002,SY001,PR001,ID001,XF001,OP001 -->")


def test_first_finding_is_open_and_five_are_shown():
    text = markdown.render(analyses.example())
    assert text.count("<details open>") == 1
    assert len(re.findall(r"<summary><b>", text)) == 5


def many(number, severity=None):
    """As many findings as nobody should have, all with long texts."""
    base = analyses.example()
    one = base.findings[1]
    findings = tuple(
        msgspec.structs.replace(
            one, id=f"DL002-{index:04x}", rule=f"DL{index:03}", rank=index, why=one.why * 20, title=f"Cause {index:04}",
            severity=severity or ("high", "medium", "low")[index % 3], explained_by=(),
        )
        for index in range(number)
    )  # fmt: skip
    return msgspec.structs.replace(base, findings=findings)


@pytest.mark.parametrize("severity", [None, "high", "low"])
@pytest.mark.parametrize("number", [60, 500, 3000])
def test_many_findings_stay_within_the_budget_and_say_what_was_left_out(number, severity):
    text = markdown.render(many(number, severity))
    assert len(text) <= BUDGET
    assert text.count("<details") == text.count("</details>")
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0
    if number >= 500:
        assert "Left out so that this fits into a comment" in text
        assert "-o report.html" in text


@pytest.mark.slow
def test_evidence_goes_before_small_findings_and_small_findings_before_code():
    full = len(markdown.render(many(12), budget=10**9))
    texts = [markdown.render(many(12), budget=budget) for budget in range(full, 12_000, -100)]
    lost = ["GPU busy |", "Cause 0002", "num_workers=8"]
    first_without = [next(i for i, text in enumerate(texts) if word not in text) for word in lost]
    assert first_without == sorted(first_without)
    assert len(set(first_without)) == 3


def test_healthy_run_gets_no_table_and_no_promise():
    text = markdown.render(analyses.healthy())
    assert "### PyTorch performance report: 243 ms a step\n" in text
    assert "No finding is worth 2 % of the step or more." in text
    assert "reachable" not in text


def test_unusable_trace_gets_no_figures_but_what_to_record():
    text = markdown.render(analyses.unusable())
    assert "cannot be the base of advice" in text
    assert "prof.step()" in text
    assert "412 ms" not in text.partition("Environment")[0]


def test_chart_marks_where_a_finding_lies():
    chart = markdown.render(analyses.example()).split("```")[1]
    assert "└─ DL002 ─" in chart
    assert max(map(len, chart.split("\n"))) <= 78


def test_chart_fills_as_much_of_a_device_as_it_is_busy():
    filled = []
    for build in (analyses.example, analyses.half_idle):
        chart = markdown.render(build()).split("```")[1].splitlines()
        host, device = (next(line for line in chart if line.startswith(name)) for name in ("CPU", "GPU"))
        assert "▒▒▒▒" in host
        filled.append(device.count("█"))
    assert filled[1] == pytest.approx(filled[0] / 4, abs=1.5)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a `b` c", "a `b` c"),
        ("run __next__ now", "run `__next__` now"),
        ("(see @torch.compile)", "(see `@torch.compile`)"),
        ("fixes #123", "fixes `#123`"),
        ("1. not a list", "1\\. not a list"),
        ("- not a list", "\\- not a list"),
        ("lone ` tick", "lone `` ` `` tick"),
        ("<lambda>", "`<lambda>`"),
        ("https://evil.example", "`https://evil.example`"),
    ],
)
def test_prose(text, shown):
    assert escape.prose(text) == shown


def test_a_fence_is_longer_than_any_inside():
    assert escape.block("a\n```\nb").startswith("````\n")
    assert escape.code("a``b") == "```a``b```"


def test_a_bar_in_a_cell_never_ends_it():
    assert escape.cell("a|b") == "a\\|b"
    assert escape.cell("a\\|b") == "a\\ \\|b"


def test_same_analysis_same_text():
    assert markdown.render(analyses.example()) == markdown.render(analyses.example())
