"""Where there is no optimizer, documents speak of requests."""

import msgspec
import pytest

from analyzer.page import headline as wording
from analyzer.page import recording
from analyzer.report import html, markdown, text
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


@pytest.mark.parametrize("render", [markdown.render, html.render], ids=["markdown", "html"])
def test_pages_count_requests(render):
    assert "a request" in render(served())
    assert "a request" not in render(analyses.example())
