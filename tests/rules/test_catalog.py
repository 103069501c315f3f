"""What holds for every rule: listed, tested, documented as promised, harmless on any trace, and modest in its savings."""

from __future__ import annotations

import importlib
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import rules
from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.finding import Finding, State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules import FAMILIES, RETIRED_CODES, RULES
from running.recorded import recorded, trace_of
from traces.schema import SCHEMA
from traces.trace import Trace

HERE = Path(__file__).parent
FOLDER = Path(rules.__file__).parent
HEADINGS = [
    "What it finds",
    "Why it costs time",
    "How it is measured",
    "Example",
    "Fix",
    "Expected gain",
    "When it is wrong",
    "Thresholds",
    "References",
]
FILES = sorted(path for path in FOLDER.glob("*/*.py") if path.name != "__init__.py")
TITLE_LIMIT = 38

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.meta.code)


def module(path: Path) -> object:
    return importlib.import_module(f"rules.{path.parent.name}.{path.stem}")


RULE_FILES = [path for path in FILES if hasattr(module(path), "RULE") or hasattr(module(path), "META")]


def sections(rule: Rule) -> dict[str, str]:
    """The page's sections by heading, in order; text inside code is no heading."""
    found: dict[str, str] = {}
    heading, in_code = "", False
    for line in textwrap.dedent(rule.doc).splitlines():
        in_code ^= line.startswith("```")
        if line.startswith("## ") and not in_code:
            heading = line[3:]
            found[heading] = ""
        elif heading:
            found[heading] += line + "\n"
    return found


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


# The list


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)
def test_every_rule_file_is_listed_and_tested(path: Path) -> None:
    rule = module(path).RULE  # type: ignore[attr-defined]
    assert rule in RULES
    assert rule.meta.family == path.parent.name
    assert (HERE / path.parent.name / f"test_{path.name}").is_file()
    assert rule.doc == module(path).__doc__


def test_every_rule_has_a_file() -> None:
    assert len(RULE_FILES) == len(RULES)


def test_every_family_is_listed() -> None:
    listed = {family.__name__.partition(".")[2] for family in FAMILIES}
    assert listed == {path.parent.name for path in FOLDER.glob("*/__init__.py")}


def test_codes_are_unique_sorted_and_never_reused() -> None:
    codes = [rule.meta.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert not set(codes) & RETIRED_CODES
    assert all(re.fullmatch(r"[A-Z]{2}\d{3}", code) for code in codes)
    names = [rule.meta.name for rule in RULES]
    assert len(set(names)) == len(names)


@every_rule
def test_metadata(rule: Rule) -> None:
    meta = rule.meta
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", meta.name)
    assert 0 < len(meta.title) <= TITLE_LIMIT
    assert not meta.title.endswith(".")
    assert all(re.fullmatch(r"[A-Z]{2}\d{3}", code) and code != meta.code for code in meta.explains)
    assert all(code.startswith("PG") for code in meta.suppressed_by)
    for limit in meta.thresholds:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", limit.name)
        assert limit.why.strip()
    assert len(rule.limits) == len(meta.thresholds)


def test_a_range_is_quoted_where_pairs_of_the_rule_itself_were_measured() -> None:
    table = (FOLDER.parent / "traces" / "README.md").read_text(encoding="utf-8").partition("| preset | found |")[2]
    rows = [row.split("|") for row in table.partition("<!-- zoo: end -->")[0].splitlines()[2:] if row.startswith("|")]
    measured = {code for row in rows for code in re.findall(r"[A-Z]{2}\d{3}", row[2])}
    assert len(measured) > 10
    assert {rule.meta.code for rule in RULES if rule.meta.measured} == measured


def test_the_page_of_a_general_rule_names_those_that_speak_before_it() -> None:
    pages = {rule.meta.code: sections(rule)["How it is measured"] for rule in RULES}
    unsaid = [
        (rule.meta.code, general)
        for rule in RULES
        for general in rule.meta.before
        if rule.meta.code not in pages[general]
    ]
    assert unsaid == []


def test_no_two_rules_stand_for_each_other() -> None:
    explains = {rule.meta.code: set(rule.meta.explains) for rule in RULES}
    for code, general in explains.items():
        assert not any(code in explains.get(other, ()) for other in general)


# The page


@every_rule
def test_the_page_opens_with_code_and_name(rule: Rule) -> None:
    first = rule.doc.splitlines()[0]
    assert first.startswith(f"{rule.meta.code} {rule.meta.name}: ")
    assert first.endswith(".")


@every_rule
def test_the_page_has_every_heading_in_order_with_text(rule: Rule) -> None:
    found = sections(rule)
    assert list(found) == HEADINGS
    assert all(text.strip() for text in found.values())


@every_rule
def test_the_example_shows_slow_then_faster_code_that_compiles(rule: Rule) -> None:
    example = sections(rule)["Example"]
    blocks = code_blocks(example)
    assert len(blocks) >= 2
    # Pages on recordings and on the hardware have nothing slow to show; theirs are told apart by other words.
    if rule.meta.family != "profiling" and rule.meta.code != "KE004":
        assert example.index("Slow") < example.index("Faster")
    for block in code_blocks(rule.doc):
        compile(block, rule.meta.code, "exec")


@every_rule
def test_the_page_names_the_thresholds_there_are(rule: Rule) -> None:
    named = re.findall(r"^- `(\w+)`: \S", sections(rule)["Thresholds"], re.MULTILINE)
    assert sorted(named) == sorted(limit.name for limit in rule.meta.thresholds)


@every_rule
def test_the_page_fits_a_terminal(rule: Rule) -> None:
    assert all(len(line) <= 132 for line in rule.doc.splitlines())
    assert rule.doc.isascii(), [line for line in rule.doc.splitlines() if not line.isascii()]


# The check


def empty_traces() -> Iterator[object]:
    """Traces that hold next to nothing, each in its own way."""
    for device in ("cuda", "rocm", None):
        yield pytest.param(TraceBuilder(device).step(0, 0, 0), id=f"{device}-empty-step")
        marks = TraceBuilder(device)
        for number in range(4):
            marks.step(number, number * 100, 100)
        yield pytest.param(marks, id=f"{device}-marks-only")
        lone = TraceBuilder(device)
        lone.op("aten::relu", 0, 1)
        yield pytest.param(lone, id=f"{device}-one-op")
    kernel = TraceBuilder()
    kernel.kernel("k", 0, 10)
    yield pytest.param(kernel, id="one-kernel")


def checked(facts: Facts) -> tuple[RuleRun, ...]:
    """Every rule whose data the trace has, whether or not trust would let it speak."""
    runs = run_rules(facts, RULES, TrustGrade((), True, facts.steps.count))
    crashed = [f"{run.rule.meta.code}: {run.reason}" for run in runs if run.state is State.CRASHED]
    assert not crashed
    return runs


def fingerprint(trace: Trace) -> dict[str, int]:
    """A number per frame that changes with any value of it."""
    found = {}
    for name in SCHEMA:
        frame = getattr(trace, name)
        hashed = pd.util.hash_pandas_object(frame.astype({c: "str" for c in frame.select_dtypes("category")}))
        found[name] = hash((tuple(frame.columns), int(hashed.to_numpy().sum()), len(frame)))
    return found


@pytest.mark.parametrize("builder", list(empty_traces()))
def test_next_to_nothing_crashes_no_rule_and_makes_none_fire(builder: TraceBuilder) -> None:
    fired = [run.rule for run in checked(Facts(builder.trace())) if run.state is State.FIRED]
    assert {rule.meta.family for rule in fired} <= {"profiling"}


def test_a_lone_copy_crashes_no_rule() -> None:
    builder = TraceBuilder().step(0, 0, 100)
    builder.copy("HtoD", 0, 10, start=20, dur=10)
    checked(Facts(builder.trace()))


@pytest.mark.parametrize("path", recorded())
def test_on_a_recorded_trace(path: Path) -> None:
    trace = trace_of(path)
    before = fingerprint(trace)
    facts = Facts(trace)
    runs = checked(facts)
    assert fingerprint(trace) == before, "a rule changed a frame"
    for run, finding in itertools.chain.from_iterable(((run, found) for found in run.findings) for run in runs):
        assert_is_sound(run.rule, finding, facts)
    assert all(run.reason.strip() for run in runs)


def assert_is_sound(rule: Rule, finding: Finding, facts: Facts) -> None:
    """A finding that can be shown, and saves no more than there is."""
    code = rule.meta.code
    saving = finding.saving
    assert 0 <= saving.total_ns <= facts.steps.total_ns, code
    assert saving.kernel_ns >= 0, code
    if facts.device.main is not None:
        assert not saving.claims & facts.time.waterfall.owned("compute"), (
            f"{code} claims time in which the device computes"
        )
    if saving.total_ns:
        assert saving.basis, code
    assert 0 <= finding.steps_seen <= facts.steps.count, code
    assert len(finding.title or "") <= TITLE_LIMIT, code
    assert finding.why.strip(), code
    assert finding.verify.strip(), code
    assert finding.fix, code
    for fix in finding.fix:
        assert fix.code.strip(), code
        if fix.language == "python":
            compile(fix.code, code, "exec")
