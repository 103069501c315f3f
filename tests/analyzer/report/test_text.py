import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from analyzer import analysis as doc
from analyzer.page import headline as wording
from analyzer.page.words.safe import columns
from analyzer.report import text
from analyzer.report.style import Style
from analyzer.report.text import chart, evidence_lines
from showing import analyses

GOLDEN = Path(__file__).with_name("example_100.txt")
RUFF_SHAPE = re.compile(
    r"^train\.py:88: DL002 \[high\] DataLoader has no workers \(at most 142 ms/step, 34 %\)$", re.MULTILINE
)


def test_example_reads_as_before():
    # To accept a change, delete the golden file and run this twice.
    rendered = text.render(analyses.example())
    if not GOLDEN.exists():
        GOLDEN.write_text(rendered, encoding="utf-8", newline="\n")
        pytest.fail("wrote the golden file anew: read it, then run again")
    assert rendered == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_in_brief_the_code_of_the_first_change_is_shown_on_a_narrow_screen_too(width):
    finding = analyses.example().cards[0]
    fix = replace(finding.fix[0], note="Needs this and that. " * 40)
    analysis = analyses.example(findings=(replace(finding, fix=(fix,)),))
    lines = text.render(analysis, Style(width=width), briefly=True).split("\n")
    assert set(f"            {line}" for line in fix.code.split("\n")) <= set(lines)
    (cut,) = [line for line in lines if line.endswith(" …")]
    assert columns(cut) <= width
    assert not any("more line" in line for line in lines)
    long = replace(fix, code="\n".join(f"line{number}" for number in range(30)))
    analysis = analyses.example(findings=(replace(finding, fix=(long,)),))
    shown = text.render(analysis, Style(width=width), briefly=True)
    assert "line4\n" in shown
    assert "line9\n" not in shown
    assert "more lines\n" in shown


def test_in_brief_a_cause_stands_beside_its_time():
    for width in range(30, 110):
        lines = text.render(analyses.example(), Style(width=width), briefly=True).split("\n")
        first = next(number for number, line in enumerate(lines) if "input wait 142 ms" in line)
        told = lines[first : lines.index("", first)]
        assert all(line.rstrip(",").split(" ")[-1] in ("ms", "smaller") for line in told), told
        assert all(columns(line) <= width for line in told)


def test_in_brief_an_unusable_trace_is_told_without_the_checks_that_it_suppresses():
    shown = text.render(analyses.unusable(), briefly=True)
    assert "cannot be the base of advice" in shown
    assert "What to record instead" in shown
    assert shown.rstrip().endswith("-o report.html")
    assert "Checks:" not in shown
    assert "Checks:" in text.render(analyses.unusable())


def test_headline_has_verdict_bound_and_unprofiled_time():
    head = text.render(analyses.example()).split("\n\n")[1]
    assert "Input-bound: the GPU waits for data in 34 % of the step." in head
    assert "412 ms → 148 ms a step at best" in head
    assert "at most 264 ms (64 %)" in head
    assert "Without the profiler a step took 388 ms" in " ".join(head.split())


def unprofiled(ns):
    summary = analyses.example().summary
    analysis = analyses.example(summary=replace(summary, unprofiled_step_ns=ns))
    return " ".join(text.render(analysis).split("\n\n")[1].split()), analysis


def test_a_saving_above_the_step_without_the_profiler_is_not_promised():
    head, analysis = unprofiled(200_000_000)
    assert "at best" not in head
    assert "264 ms" not in head
    assert "claim more of a recorded step than is left of it then" in head
    assert not wording.promises(analysis)
    assert " ".join(wording.outlook(analysis)).count("claim more") == 1


def test_a_saving_below_it_is():
    head, analysis = unprofiled(300_000_000)
    assert "412 ms → 148 ms a step at best" in head
    assert "claim more" not in head
    assert wording.promises(analysis)


def test_finding_line_has_the_shape_editors_parse():
    assert RUFF_SHAPE.search(text.render(analyses.example()))


def test_finding_without_a_place_names_the_trace():
    assert "\ntrace.json.gz: PR001 [low] " in text.render(analyses.example())


def test_explained_finding_is_no_card_but_named_on_its_explanation():
    rendered = text.render(analyses.example())
    assert "DL001 [high]" not in rendered
    assert "explains DL001" in rendered


def test_five_cards_then_a_table_then_what_is_minor():
    rendered = text.render(analyses.example())
    assert len(re.findall(r"^\S [A-Z]{2}\d{3} .*: at most ", rendered, re.MULTILINE)) == 5
    assert "Also found" in rendered
    assert rendered.index("Notes") > rendered.index("Also found")
    assert "PY001 [info] Garbage collection inside steps, at most 4.0 ms/step, 1.0 %" in rendered


@pytest.mark.parametrize(
    ("code", "ns", "line"),
    [
        (
            "-for one in ones:\n-    one.mul_(2)\n+torch._foreach_mul_(ones, 2)",
            4_000_000,
            "Fix: torch._foreach_mul_(ones, 2)",
        ),
        (
            " loader = DataLoader(\n     dataset,\n+    num_workers=4,\n+    pin_memory=True,\n )",
            4_000_000,
            "Fix: num_workers=4; pin_memory=True",
        ),
        ("-torch.cuda.empty_cache()", 4_000_000, "Fix: Leave it out."),
        ("-torch.cuda.empty_cache()", 0, None),
    ],
    ids=["what is added", "arguments", "nothing is added", "a symptom"],
)
def test_a_note_says_in_a_line_what_to_change(code: str, ns: int, line: str | None) -> None:
    example = analyses.example()
    note = next(one for one in example.findings if one.rule == "PY001")
    fix = (doc.Advice(language="diff", code=code, note="Leave it out."),)
    worth = replace(note.saving, ns_per_step_max=ns)
    small = replace(note, fix=fix, saving=worth, why=f"{'Many words. ' * 40}")
    others = tuple(small if one is note else one for one in example.findings)
    notes = (
        text.render(msgspec.structs.replace(example, findings=others)).partition("\nNotes")[2].partition("\nChecks")[0]
    )
    assert [one.strip() for one in notes.splitlines() if "Fix" in one] == ([line] if line else [])
    assert sum("Many words." in one for one in notes.splitlines()) == 2
    assert notes.count("…") == 1


def test_every_card_says_where_its_figure_comes_from():
    assert text.render(analyses.example()).count("  Basis     ") == 5


def test_checks_are_counted_and_missing_options_named():
    rendered = text.render(analyses.example())
    assert "8 found, 1 crashed, 2 cannot tell, 3 passed, 1 suppressed, 1 not applicable, 1 disabled" in rendered
    assert "cannot tell: needs profile_memory=True: ME001 ME002" in rendered


def test_healthy_trace_gets_a_positive_answer():
    rendered = text.render(analyses.healthy())
    assert "Compute-bound: the model itself is 94 % of the step." in rendered
    assert "✓ No finding is worth 2 % of the step or more." in rendered
    assert "→" not in rendered


def test_unusable_trace_shows_why_and_what_to_record_and_no_figures():
    rendered = text.render(analyses.unusable())
    assert "This trace cannot be the base of advice." in rendered
    assert "8,120 of 12,431 launches have no kernel." in rendered
    assert "prof.step()" in rendered
    assert "412 ms" not in rendered


def test_cpu_trace_speaks_of_no_gpu_figures():
    rendered = text.render(analyses.cpu_only())
    assert "no GPU events" in rendered
    assert "GPU busy" not in rendered
    assert "in an operator" in rendered


def test_trace_without_steps_is_called_one_step():
    assert "taken as one step" in text.render(analyses.no_steps())


@pytest.mark.parametrize("style", [Style(), Style(color=True), Style(width=40), Style(unicode=False)])
def test_hostile_names_send_no_control_character_of_their_own(style):
    rendered = text.render(analyses.hostile(), style)
    own = re.sub(r"\x1b\[[\d;]+m", "", rendered)
    assert all(line.isprintable() for line in own.split("\n"))
    assert len(rendered) < 60_000


def test_hostile_names_stay_readable_and_uninterpreted():
    rendered = text.render(analyses.hostile())
    assert "kernel<4>[float][/half]" in rendered
    assert r"\x1b[31mred\x1b[0m" in rendered
    assert r"\u202egnp.exe" in rendered


def test_no_line_can_be_taken_for_a_command_by_a_ci_runner():
    rendered = text.render(analyses.hostile())
    assert not re.search(r"^\s*(::|##\[)", rendered, re.MULTILINE)


@pytest.mark.parametrize("build", [analyses.example, analyses.healthy, analyses.cpu_only, analyses.unusable])
@pytest.mark.parametrize("width", [80, 100, 140])
def test_lines_fit_the_width(build, width):
    too_wide = [
        line for line in text.render(build(), Style(width=width)).split("\n")
        if columns(line) > width and not re.match(r"^\S+: [A-Z]{2}\d{3} ", line) and "profiler.schedule" not in line
    ]  # fmt: skip
    assert too_wide == []


def test_plain_style_sends_no_escape_and_colour_changes_no_character():
    plain = text.render(analyses.example())
    coloured = text.render(analyses.example(), Style(color=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]+m", "", coloured) == plain


def test_ascii_style_is_ascii():
    assert text.render(analyses.hostile(), Style(unicode=False)).isascii()


def test_stacked_bar_fills_its_width_exactly():
    rendered = text.render(analyses.example(), Style(width=80)).split("\n")
    bars = [line for line in rendered if " compute " in line and line.startswith("  █")]
    assert [columns(line) for line in bars] == [78]


@pytest.mark.parametrize(
    ("ratio", "drawn"), [(0.0, ""), (0.0001, "▏"), (0.5, "█████"), (1.0, "██████████"), (7, "█" * 10)]
)
def test_bar_shows_nothing_only_for_nothing(ratio, drawn):
    assert chart.bar(ratio, 10) == drawn


def test_sparkline_survives_zeroes():
    assert chart.sparkline([0, 0]) == "▁▁"
    assert chart.sparkline([]) == ""
    assert chart.sparkline([1, 8]) == "▂█"


def test_empty_waterfall_still_renders():
    base = analyses.healthy()
    summary = msgspec.structs.replace(base.summary, waterfall=(), used_steps=0, window_ns=0)
    assert "Where each step goes" in text.render(msgspec.structs.replace(base, summary=summary, steps=()))


def test_inferred_steps_are_said_to_be_inferred():
    steps = msgspec.structs.replace(analyses.trace_info().steps, source="inferred:Optimizer.step")
    rendered = text.render(analyses.example(trace=analyses.trace_info(steps=steps)))
    assert "mean of 6 used steps inferred from Optimizer.step" in rendered


def test_no_finding_is_no_clean_bill_where_the_run_is_not_compute_bound():
    summary = analyses.example().summary
    rendered = text.render(analyses.healthy(summary=summary))
    assert "✓ No finding" not in rendered
    assert "no check names a cause" in rendered


def test_a_tables_names_give_way_to_its_figures():
    columns_ = (doc.Column(title="kernel", unit="text"), doc.Column(title="time", unit="ns"))
    table = doc.Table(title="slowest", columns=columns_, rows=(("a" * 30 + "z" * 28, 4_500_000),))
    *_, row = evidence_lines.lines(table, Style(width=44))
    assert columns(row) == 44
    assert row.startswith("    aaaa")
    assert row.endswith("zzzz  4.5 ms")


def test_headings_take_as_many_lines_as_a_narrow_screen_needs():
    analysis = analyses.example()
    wide, narrow = (text.render(analysis, Style(width=width), briefly=True).split("\n") for width in (100, 40))
    assert any(line.startswith("Where each step goes  mean of ") for line in wide)
    at = narrow.index("Where each step goes")
    assert narrow[at + 1].startswith("  mean of ")
    # A finding is a line, as tools read it; a line of code stays whole, to be copied.
    told = [line for line in narrow if columns(line) > 40 and not line.startswith(" " * 12)]
    assert all(RUFF_SHAPE.match(line) or "] " in line for line in told)
