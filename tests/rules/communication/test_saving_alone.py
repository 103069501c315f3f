"""CO003 of a rank that alone saves a state, or evaluates, in one step: each is called what it is, and told how to be done."""

from __future__ import annotations

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from building.builders import TraceBuilder
from jobs.among import among
from rules.communication.straggler import RULE

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_EXTRA = 200


def rank(number: int, size: int, *, computes: bool = False) -> Facts:
    """Eight steps of 10 ms; in the third rank 0 copies 200 tensors to the host in front of its work.

    Args:
        number: Of the rank.
        size: Bytes of a tensor.
        computes: Whether a kernel makes each of them, as where a model is evaluated.
    """
    builder = TraceBuilder(top={"distributedInfo": {"rank": number, "world_size": 2, "backend": "nccl"}})
    at = 0.0
    for index in range(8):
        more = 200.0 * _EXTRA if index == 2 else 0.0
        builder.step(index, at, 10_000 + more)
        builder.loader(at, 100)
        begin = at + 100 + (more if number == 0 else 0)
        for place in range(_EXTRA if more and number == 0 else 0):
            when = at + 100 + 200 * place
            if computes:
                builder.launch(when, kernel_start=when + 10, kernel_dur=80, name="gemm")
            builder.copy("DtoH", when + 100, 90, start=when + 105, dur=80, size=size)
        builder.launch(begin, kernel_start=begin + 10, kernel_dur=4_890, name="gemm")
        builder.op("autograd::engine::evaluate_function: MmBackward0", begin + 40, 100)
        start, ends = begin + 4_900, at + more + 10_000
        builder.launch(begin + 20, kernel_start=start, kernel_dur=ends - start, name=ALL_REDUCE, stream=20)
        at += 10_000 + more
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("size", "computes", "does", "fix"),
    [
        (2 << 20, False, "copies its state to the host in step 2, as before a checkpoint is written", "async_save"),
        (2 << 10, False, "runs another loop in step 2, such as an evaluation", "Do seldom, on all ranks"),
        (2 << 20, True, "runs another loop in step 2, such as an evaluation", "Do seldom, on all ranks"),
    ],
    ids=["a state", "small answers", "made by kernels"],
)
def test_a_step_that_one_rank_saves_in_is_called_that(size: int, computes: bool, does: str, fix: str) -> None:
    first, second = (rank(number, size, computes=computes) for number in range(2))
    facts = among(second, first)
    assert facts.job is not None
    assert facts.job.job.verdict.text.startswith(f"Rank 0 {does}: the others wait 40 ms for it")
    (result,) = run_rules(facts, (RULE,), grade(facts))
    (found,) = result.findings
    assert f"Rank 0 {does}, which this rank does not: it waits for it, 40 ms in all" in found.why
    assert fix in found.fix[0].code
