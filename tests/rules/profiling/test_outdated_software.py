"""PG011: an old torch, or a CUDA runtime older than the device."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Severity, State
from building.builders import CUDA_DEVICE, TraceBuilder
from building.dialects import torch_1_9
from rules.profiling.outdated_software import RULE
from running.one_rule import judged, run


def world(
    torch: str | None = "2.9.0+cu126",
    cuda: int = 12060,
    major: int = 9,
    minor: int = 0,
    device: str | None = "cuda",
    op: str = "aten::_softmax",
) -> TraceBuilder:
    top: dict[str, Any] = {}
    if device == "cuda":
        top = {
            "cuda_runtime_version": cuda,
            "deviceProperties": [{**CUDA_DEVICE, "computeMajor": major, "computeMinor": minor}],
        }
    builder = TraceBuilder(device, advisor={"versions": {"torch": torch}} if torch else None, top=top)
    builder.step(0, 0, 1_000)
    if device:
        builder.launch(10, kernel_start=20, kernel_dur=900, op=op)
    else:
        builder.op("aten::linear", 0, 900)
    return builder


def test_fires_with_what_is_lacking() -> None:
    found = judged(RULE, world("1.13.1"))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "torch 1.13 lacks `torch.compile`" in found.finding.why


@pytest.mark.parametrize(
    ("op", "told"), [("aten::_softmax", True), ("aten::lstm", False), ("aten::_log_softmax", False)]
)
def test_attention_is_no_word_for_a_program_without(op: str, *, told: bool) -> None:
    why = judged(RULE, world("1.13.1", op=op)).finding.why
    assert ("fused attention" in why) is told
    assert "`torch.compile`" in why


@pytest.mark.parametrize(
    ("torch", "state"),
    [("1.13.1", State.FIRED), ("2.1.2", State.FIRED), ("2.2.0", State.CLEAR), ("2.15.0+cu132", State.CLEAR)],
)
def test_boundary_of_torch(torch: str, state: State) -> None:
    assert run(RULE, world(torch)).state is state


@pytest.mark.parametrize(
    ("cuda", "major", "minor", "state"),
    [
        (11070, 9, 0, State.FIRED),
        (11080, 9, 0, State.CLEAR),
        (12060, 10, 0, State.FIRED),
        (12080, 10, 0, State.CLEAR),
        (10020, 7, 0, State.CLEAR),
    ],
)
def test_boundary_of_cuda(cuda: int, major: int, minor: int, state: State) -> None:
    assert run(RULE, world(None, cuda, major, minor)).state is state


def test_an_old_file_tells_that_torch_is_old() -> None:
    found = judged(RULE, torch_1_9(world(None)))
    assert found.finding.why.startswith("This torch, older than 1.13 by how the file is written, lacks `torch.compile`")
    # What the collector states is better than a bound.
    assert run(RULE, torch_1_9(world("2.9.0"))).state is State.CLEAR


def test_cannot_tell_without_versions() -> None:
    result = run(RULE, world(None, device=None))
    assert result.state is State.CANNOT_TELL
    assert "advisor collect" in result.reason
