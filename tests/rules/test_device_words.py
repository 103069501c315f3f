"""Code in fixes names the module of the device that was recorded."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Advice
from building.builders import TraceBuilder
from building.other_devices import private_use, xpu
from rules.device_words import graphs, module, of_device, profiler
from rules.graph.graph_candidate import RULE as CANDIDATE
from running.one_rule import judged

CODE = Advice("python", "copied = torch.cuda.Event()\ntorch.cuda.synchronize()", "Note.")
ASIDE = Advice("python", "side = torch.cuda.Stream()\nwith torch.cuda.stream(side):\n    batch.to(device)")


def facts(kind: str) -> Facts:
    builder = TraceBuilder("rocm" if kind == "rocm" else "cuda")
    for number in range(4):
        builder.launch(number * 100, kernel_start=number * 100 + 20, kernel_dur=50)
    turned = {"xpu": xpu, "other": private_use}
    return Facts((turned[kind](builder) if kind in turned else builder).trace())


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("cuda", CODE.code, "CUDA graphs"),
        ("rocm", CODE.code, "HIP graphs"),
        ("xpu", "copied = torch.xpu.Event()\ntorch.xpu.synchronize()", "graphs"),
        ("other", "copied = torch.Event()\ntorch.accelerator.synchronize()", "graphs"),
    ],
)
def test_code_is_for_the_device_that_was_recorded(kind: str, code: str, words: str) -> None:
    measured = facts(kind)
    assert of_device(measured, CODE).code == code
    assert of_device(measured, CODE).note == CODE.note
    assert graphs(measured) == words
    assert f"torch.{module(measured)}.synchronize()" in code


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("cuda", ASIDE.code),
        ("xpu", "side = torch.xpu.Stream()\nwith torch.xpu.stream(side):\n    batch.to(device)"),
        # `torch.accelerator` has no `stream`.
        ("other", "side = torch.Stream()\nwith side:\n    batch.to(device)"),
    ],
)
def test_any_device_has_a_stream_to_go_aside(kind: str, code: str) -> None:
    assert of_device(facts(kind), ASIDE).code == code


@pytest.mark.parametrize(
    ("kind", "name"), [("cuda", "Nsight Compute"), ("rocm", "ROCm Compute Profiler"), ("xpu", "VTune"), ("other", None)]
)
def test_the_profiler_is_that_of_the_devices_maker(kind: str, name: str | None) -> None:
    assert profiler(facts(kind)) == "its maker's profiler" + (f" ({name})" if name else "")


@pytest.mark.parametrize(("kind", "title", "words"), [("cuda", None, "CUDA"), ("rocm", "HIP graph", "HIP")])
def test_graphs_are_called_as_on_the_device(kind: str, title: str | None, words: str) -> None:
    builder = TraceBuilder(kind)
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
        for place in range(10):
            at = number * 1_000 + place * 100
            builder.op("aten::add", at, 70)
            builder.launch(at + 60, kernel_start=at + 68, kernel_dur=20, name=f"kernel_{place}", op=None)
    found = judged(CANDIDATE, builder).finding
    assert found.title is None if title is None else title in (found.title or "")
    assert f"# {words} graphs: one launch" in found.fix[0].code
