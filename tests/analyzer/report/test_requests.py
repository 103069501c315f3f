"""Where there is no optimizer, documents speak of requests."""

import msgspec
import pytest

from analyzer.page import headline as wording
from analyzer.page import recording
from analyzer.page.words.of_steps import label
from analyzer.report import html, markdown, svg, text
from analyzer.report.style import Style
from showing import analyses


def served():
    example = analyses.example()
    steps = msgspec.structs.replace(example.trace.steps, source="inferred:annotation execute_context", noun="request")
    return msgspec.structs.replace(example, trace=msgspec.structs.replace(example.trace, steps=steps))


def test_each_is_a_step_a_request_or_everything():
    assert wording.each(analyses.example()) == "a step"
    assert wording.each(served()) == "a request"
    assert "requests used" in recording.steps(served())


def test_the_text_counts_requests():
    rendered = text.render(served(), Style())
    assert "a request at best" in rendered
    assert "Where each request goes" in rendered
    assert "used requests" in rendered
    assert "\nRequests " in rendered


@pytest.mark.parametrize("render", [markdown.render, html.render, svg.render], ids=["markdown", "html", "svg"])
def test_the_one_that_is_drawn_is_a_request(render):
    drawn = f"equest {served().timeline.step}"
    assert drawn in render(served())
    assert drawn not in render(analyses.example())


def test_one_that_is_left_out_is_told_once():
    """Its reason for doubt says so already, in the words of the trace."""
    told = served()
    out = msgspec.structs.replace(told.trace.steps.excluded[0], step=41, reason="first step")
    reason = msgspec.structs.replace(analyses.example().trust.reasons[0], message="request 41 is left out: first step.")
    steps = msgspec.structs.replace(told.trace.steps, excluded=(out,), more_excluded=0)
    told = msgspec.structs.replace(
        told,
        trace=msgspec.structs.replace(told.trace, steps=steps),
        trust=msgspec.structs.replace(told.trust, reasons=(reason,)),
    )
    assert "left out: request 41" not in text.render(told, Style())


@pytest.mark.parametrize("render", [markdown.render, html.render], ids=["markdown", "html"])
def test_pages_count_requests(render):
    assert "a request" in render(served())
    assert "a request" not in render(analyses.example())


WITH_CODE = "the op `aten::convolution_backward` alone takes 36 %"


@pytest.mark.parametrize("render", [markdown.render, html.render, svg.render], ids=["markdown", "html", "svg"])
def test_names_in_the_verdict_are_code_where_a_format_has_it_and_plain_where_it_has_none(render):
    example = analyses.example()
    verdict = msgspec.structs.replace(example.summary.verdict, text=WITH_CODE)
    shown = render(msgspec.structs.replace(example, summary=msgspec.structs.replace(example.summary, verdict=verdict)))
    name = "aten::convolution_backward"
    marked = {markdown.render: f"`{name}`", html.render: f"<code>{name}</code>", svg.render: f"op {name} alone"}
    assert marked[render] in shown
    head = shown.partition('type="application/json"')[0]
    assert ("`" in head) is (render is markdown.render)


@pytest.mark.parametrize(
    ("text", "of_requests", "of_all"),
    [
        ("All steps", "All requests", "All steps"),
        ("Every operator, a step", "Every operator, a request", "Every operator, in all"),
        ("Whole step", "Whole request", "Whole recording"),
        (
            "What each lane does in this step",
            "What each lane does in this request",
            "What each lane does in the recording",
        ),
        ("Modules; a mean step", "Modules; a mean request", "Modules; the whole recording"),
        ("of the drawn step", "of the drawn request", "of the recording"),
        ("No ops in the used steps.", "No ops in the used requests.", "No ops in the recording."),
    ],
)
def test_labels_are_put_in_the_words_of_what_was_recorded(text, of_requests, of_all):
    assert (label(text, "step"), label(text, "request"), label(text, "recording")) == (text, of_requests, of_all)
