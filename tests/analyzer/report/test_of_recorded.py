"""A saving that a step without the profiler cannot hold is called one of a recorded step, by every format."""

import pytest
from msgspec.structs import replace

from analyzer.analysis import Assumed
from analyzer.page import assumed as words
from analyzer.page.findings.card import card_of
from analyzer.report import formats
from showing import analyses

FORMS = ["text", "markdown", "html", "sarif", "github", "svg"]


def recorded():
    """The example, of whose steps 142 ms are said to be saved where each takes 100 without the profiler."""
    base = analyses.example()
    found = tuple(
        replace(one, saving=replace(one.saving, of_recorded=one.saving.stated_ns > 100_000_000))
        for one in base.findings
    )
    return replace(base, findings=found, summary=replace(base.summary, unprofiled_step_ns=100_000_000))


def test_a_card_says_that_it_is_of_a_recorded_step():
    base = recorded()
    first = next(one for one in base.cards if one.saving.of_recorded)
    assert card_of(first, base).worth == "saves at most 142 ms of a recorded step"
    other = next(one for one in base.cards if not one.saving.of_recorded)
    assert card_of(other, base).amount.endswith(" a step")


@pytest.mark.parametrize("form", FORMS)
def test_every_format_says_so(form):
    said = ("as recorded", "as&nbsp;recorded", "of a recorded step")
    without, text = (formats.render(one, form).replace("\xa0", " ") for one in (analyses.example(), recorded()))
    assert any(one in text for one in said)
    assert not any(one in without for one in said)


@pytest.mark.parametrize(("unprofiled_ns", "is_said"), [(100_000_000, True), (400_000_000, False)])
def test_what_a_choice_gives_is_no_promise_either(unprofiled_ns, is_said):
    base = analyses.example(summary=replace(analyses.example().summary, unprofiled_step_ns=unprofiled_ns))
    fixed = Assumed(
        ids=("DL002-1",), rules=("DL002",), kind="bound", step_ns=150_000_000, likely_step_ns=150_000_000,
        saved_ratio=0.6, window_ns=900_000_000, waterfall=base.summary.waterfall, without_place=(),
    )  # fmt: skip
    text = " ".join(words.sentences(base, fixed))
    assert (words.PROFILERS in text) is is_said
    assert ("times as fast" in text) is not is_said
