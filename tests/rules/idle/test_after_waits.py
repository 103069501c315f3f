"""Launches that the device waits for because the host waited for the device before; and those that it would wait for anyway."""

from __future__ import annotations

import random

import pytest

from analyzer.finding import State
from building.clocked import Clocked
from known.sayings import explained
from programs.late_hosts import GEMM
from rules.idle.launch_bound import RULE
from running.one_rule import judged, run

_SMALL = "vectorized_elementwise_kernel<4, float>"


def world(*, reads: str, long: float = 4_000, device: str = "cuda") -> Clocked:
    """A long kernel, a wait for it, then small ones that each wait for their launch; or no such wait."""
    builder = Clocked(device)
    for _ in builder.steps(5):
        builder.kernel_of("aten::mm", GEMM, long)
        if reads == "value":
            builder.read_value()
        elif reads == "all":
            builder.synchronize()
        chosen = random.Random(1)
        for _ in range(110):
            op = chosen.choice(("add", "mul", "relu", "exp", "sub", "div", "tanh", "cat"))
            builder.kernel_of(f"aten::{op}", _SMALL, 6, host=33)
        if reads == "last":
            builder.read_value()
    return builder


@pytest.mark.parametrize(("reads", "named"), [("value", "`aten::item`"), ("all", "`cudaDeviceSynchronize`")])
def test_what_the_host_could_launch_beside_the_device_is_told_as_such(reads: str, named: str) -> None:
    """Such a run was told to capture graphs and to enlarge its batch; without the wait it is faster by two fifths."""
    found = judged(RULE, world(reads=reads)).finding
    assert f"comes after the host waited for the GPU ({named})" in found.why
    assert found.fix[0].code.startswith(f"Let the host run ahead: take the waits for the GPU out of the step ({named})")
    text = explained(world(reads=reads)).summary.verdict.text
    assert text.startswith("Launch-bound: for ")
    assert "dispatches its next work, most of it after it waited for the GPU" in text


def test_on_hip_as_well() -> None:
    # The lead of this world's launches is that of CUDA, below what HIP's are.
    assert "(`hipDeviceSynchronize`)" in judged(RULE, world(reads="all", device="rocm")).finding.why


@pytest.mark.parametrize(("reads", "long"), [("no", 4_000), ("last", 4_000), ("value", 20)])
def test_where_the_device_had_little_to_do_before_the_wait_the_host_is_what_is_slow(reads: str, long: float) -> None:
    builder = world(reads=reads, long=long)
    assert "waited for the GPU" not in explained(builder).summary.verdict.text
    result = run(RULE, builder)
    assert result.state is not State.FIRED or "waited for the GPU" not in result.findings[0].why
