"""Ranks of a server: what is advised for the exchanges that stand in its trace, and nothing for those that do not."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.clocked import Clocked
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.wrong_backend import RULE as BACKEND
from rules.inference.decode_gaps import RULE as GAPS
from rules.profiling.unrepresentative_steps import RULE as UNLIKE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run
from stories.of_shards import COMBINE, DISPATCH

GEMM = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
FLASH = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32>>(p)"


def decoding(gloo_us: float, kernels: list[tuple[str, float]]) -> Clocked:
    """Passes of vLLM before which the host stands in gloo for so long."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_24(24)"):
            begin = world.now
            world.idle(max(gloo_us, 60))
            if gloo_us:
                world.annotation("gloo:all_reduce", begin, world.now - begin, 5001)
            world.graph(kernels * 20, host=100)
            world.kernel_of("aten::argmax", "argmax", 14)
            world.synchronize("cudaStreamSynchronize")
    return world


def said(world: Clocked, rule: object) -> str:
    finding = judged(rule, world).finding  # type: ignore[arg-type]
    return "\n".join(f"{fix.code}\n{fix.note}" for fix in finding.fix)


def test_what_gloo_does_on_the_host_launches_no_kernel() -> None:
    experts = decoding(4_000, [(GEMM, 60), (DISPATCH, 40), (GEMM, 60), (COMBINE, 40)])
    assert "experts" in said(experts, EXPOSED)
    assert "small messages" not in said(experts, EXPOSED)


def test_an_engine_whose_host_waits_in_gloo_is_not_told_to_schedule_ahead() -> None:
    world = decoding(4_000, [(GEMM, 60)])
    assert "before each pass" in said(world, BACKEND)
    assert run(GAPS, world).state is State.CLEAR
    assert "gloo" in run(GAPS, world).reason


@pytest.mark.parametrize(("gloo_us", "bound"), [(4_000, "communication"), (100, "compute")])
def test_time_in_gloo_is_communication_where_it_is_most_of_what_is_lost(gloo_us: float, bound: str) -> None:
    found = explain_facts(Facts(decoding(gloo_us, [(GEMM, 60)]).trace())).analysis
    assert found.summary.verdict.bound_by == bound


@pytest.mark.parametrize("experts", [False, True])
def test_exchanges_around_attention_may_be_of_sequences(experts: bool) -> None:
    world = Clocked(marks=False)
    for number in range(4):
        with world.marked(number), world.inside("denoising_step"):
            for _ in range(12):
                world.kernel_of("aten::linear/aten::addmm", GEMM, 300)
                for _ in range(2):
                    end = world.collective("all_to_allv", 400, kernel=SEND, after=world.busy_until[7])
                    world.busy_until[7] = end + 2
                    world.kernel_of(
                        "moe::permute_tokens" if experts else "aten::scaled_dot_product_attention", FLASH, 400
                    )
            world.synchronize()
    assert ("Ulysses" in said(world, EXPOSED)) is not experts


@pytest.mark.parametrize(("first_us", "left_out"), [(3_000, False), (90_000, True)])
def test_a_stage_that_receives_for_long_in_every_step_does_not_begin_with_a_wait(
    first_us: float, left_out: bool
) -> None:
    world = Clocked()
    for number in range(10):
        with world.marked(number), world.inside("execute_context_0(0)_generation_128(128)"):
            end = world.collective(
                "recv", first_us if number == 0 else 3_000, kernel=SEND, after=world.now + 60, size=4
            )
            world.busy_until[7] = end
            world.graph([(GEMM, 20)] * 60, host=100)
            end = world.collective("send", 40, kernel=SEND, after=world.busy_until[7], size=4)
            world.synchronize("cudaStreamSynchronize")
    assert (run(UNLIKE, world).state is State.FIRED) is left_out


@pytest.mark.parametrize(("inside", "told"), [(False, True), (True, False)])
def test_scheduling_ahead_is_advised_for_time_between_passes_alone(inside: bool, told: bool) -> None:
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("step[EXTEND bs=4 toks=900]"):
            for _ in range(12):
                world.kernel_of("aten::linear/aten::mm", GEMM, 60)
                world.kernel_of("aten::linear/aten::mm", GEMM, 60)
                if inside:
                    world.synchronize("cudaStreamSynchronize")
                    world.idle(300)
            world.synchronize("cudaStreamSynchronize")
            if not inside:
                world.idle(3_600)
    assert ("disable_overlap_schedule=False" in said(world, PYTHON)) is told
    assert "advisor collect" not in said(world, PYTHON)
