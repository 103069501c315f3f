"""What rules say of steps is put in a trace's own words: of a request, or of the whole recording."""

from __future__ import annotations

import re

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.page.words.of_steps import put
from building.builders import TraceBuilder
from rules import RULES
from traces.trace import Trace

_SAID = {
    "own 3 % of the step, below 5 %": ("own 3 % of the request, below 5 %", "own 3 % of the recording, below 5 %"),
    "no call in the used steps": ("no call in the used requests", "no call in the recording"),
    "0 tensors in 1 steps are filled": ("0 tensors in 1 requests are filled", "0 tensors in the recording are filled"),
    "in 4 of 1,230 steps the host stops": (
        "in 4 of 1,230 requests the host stops",
        "in the recording the host stops",
    ),
    "93 % of the recorded steps": ("93 % of the recorded requests", "93 % of the recording"),
    "34 ms of each 1.2 s step are": ("34 ms of each 1.2 s request are", "34 ms of the 1.2 s recording are"),
    "for 5 % of a step or more": ("for 5 % of a request or more", "for 5 % of the recording or more"),
    "fewer kernels a step.": ("fewer kernels a request.", "fewer kernels in all."),
    "what the step waits for": ("what the request waits for", "what the recording waits for"),
    # What another recording needs, and the program's own code.
    "record at least two steps": ("record at least two steps",) * 2,
    "remove `torch.cuda.synchronize()` from the step of `a step`": (
        "remove `torch.cuda.synchronize()` from the request of `a step`",
        "remove `torch.cuda.synchronize()` from the recording of `a step`",
    ),
    "which may be the steps themselves: none is marked": ("which may be the steps themselves: none is marked",) * 2,
    "after the first step": ("after the first step",) * 2,
    # What serves requests does not train.
    "training waits for the training process, beside training": (
        "the program waits for the main process, beside the program",
        "training waits for the training process, beside training",
    ),
}


@pytest.mark.parametrize("text", _SAID)
def test_only_the_measured_steps_change_their_name(text: str) -> None:
    assert (put(text, "step"), put(text, "request"), put(text, "recording")) == (text, *_SAID[text])


def _world(*, marked: bool) -> Trace:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        if marked:
            builder.step(number, at, 10_000)
        builder.op(f"aten::op_{number}", at, 2_000)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=3_000 + 100 * number)
    return builder.trace()


@pytest.mark.parametrize("marked", [True, False])
def test_no_check_speaks_of_a_step_where_everything_is_one_recording(marked: bool) -> None:
    analysis = explain_facts(Facts(_world(marked=marked)), rules=RULES).analysis
    said = [check.reason for check in analysis.checks] + [finding.why for finding in analysis.findings]
    said.append(analysis.summary.verdict.text)
    of_a_step = [text for text in said if re.search(r"% of (the|each) steps?\b|the used steps|\din \d steps", text)]
    assert bool(of_a_step) is marked


def test_a_loader_of_what_serves_requests_is_told_in_its_words() -> None:
    """The training thread of a step, it was, in a trace that holds neither."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * 10_000
        builder.annotation(f"request {number}", at, 9_990)
        builder.loader(at, 4_000)
        builder.launch(at + 4_000, kernel_start=at + 4_010, kernel_dur=5_980, name="gemm", op="aten::mm")
    analysis = explain_facts(Facts(builder.trace()), rules=RULES).analysis
    (one,) = (finding for finding in analysis.findings if finding.rule == "DL002")
    assert one.title == "Main process loads the data"
    assert one.why.startswith("The main thread spends 4.0 ms of each 10 ms request (40 %) making batches itself")
    assert not any("training" in finding.why or re.search(r"\bms step\b", finding.why) for finding in analysis.findings)
