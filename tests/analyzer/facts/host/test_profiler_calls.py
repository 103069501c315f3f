"""Which frames of a stack are a profiler's: torch's by file and function, the collector's by its folder, at any depth."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import MAIN, TraceBuilder


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("torch/profiler/profiler.py(900): step", True),
        ("site-packages/torch/autograd/profiler.py(400): __exit__", True),
        ("torch/profiler/profiler.py(70): supported_activities", False),
        ("traces/collect/trace_advisor_hook.py(12): finished", True),
        ("traces/collect/trace_advisor_hook/watcher.py(88): step", True),
        ("traces/collect/trace_advisor_hook/phases/phases.py(88): after_step", True),
        ("traces\\collect\\trace_advisor_hook\\phases\\phases.py(88): after_step", True),
        ("trace_advisor_hooks/phases.py(88): after_step", False),
        ("traces/collect/trace_advisor_hook/__main__.py(33): <module>", False),
        ("traces/collect/trace_advisor_hook/entry.py(55): run", False),
        ("traces/collect/trace_advisor_hook/wrapping.py(121): backward", False),
        ("traces\\collect\\trace_advisor_hook\\wrapping.py(79): step", False),
        ("traces/collect/trace_advisor_hook/wrappings.py(79): step", True),
        ("train.py(88): step", False),
    ],
)
def test_whose_a_frame_is(name: str, ours: bool) -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 10_000).op("aten::mm", 100, 5_000)
    builder.python("train.py(1): main", 0, 9_000).python(name, 6_000, 1_000)
    assert Facts(builder.trace()).host.profiler_calls.total_ns == (1_000_000 if ours else 0)


def test_what_the_collector_does_on_a_thread_of_its_own_is_not_in_the_loop() -> None:
    """Its sampler sleeps in a frame that is as long as the recording."""
    builder = TraceBuilder(None)
    builder.step(0, 0, 10_000).op("aten::mm", 100, 5_000)
    builder.python("train.py(1): main", 0, 9_000)
    builder.python("traces/collect/trace_advisor_hook/sampling/sampler.py(122): _run", 0, 9_000, thread=MAIN + 1)
    assert Facts(builder.trace()).host.profiler_calls.total_ns == 0
