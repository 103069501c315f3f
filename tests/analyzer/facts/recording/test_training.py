"""What tells training from serving and evaluation."""

from __future__ import annotations

import pytest

from analyzer.facts.recording.training import trains
from builders import TraceBuilder


@pytest.mark.parametrize(
    ("name", "category", "training"),
    [
        ("Optimizer.step#SGD.step", "user_annotation", True),
        ("Optimizer.zero_grad#SGD.zero_grad", "user_annotation", True),
        ("DistributedDataParallel.forward", "user_annotation", True),
        ("DistributedDataParallel.forward", "cpu_op", True),
        ("CudnnConvolutionBackward", "cpu_op", True),
        ("DataParallel.forward", "user_annotation", False),
        ("aten::linear", "cpu_op", False),
    ],
)
def test_what_shows_training(name: str, category: str, *, training: bool) -> None:
    builder = TraceBuilder()
    builder.op("aten::relu", 0, 10)
    builder.event(name, category, 20, 10)
    assert trains(builder.trace()) is training
