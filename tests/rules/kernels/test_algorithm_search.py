"""KE011: batches of another size in each step, and convolutions that try ten algorithms for each; and worlds that look alike."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.clocked import Clocked
from rules import RULES
from rules.kernels.algorithm_search import RULE
from rules.memory.allocation_in_steps import RULE as ALLOCATION
from running.one_rule import judged, run
from stories.models import ADD, CONV_32

STEPS = 6
CANDIDATES = (
    (CONV_32, 300),
    ("void cudnn::cnn::conv2d_grouped_direct_kernel<float, float, float, float>", 2_500),
    ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int)", 900),
    ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int)", 700),
    ("ampere_sgemm_128x64_tn", 800),
    ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 1_100),
)


def world(
    *,
    searched: Iterable[int] = range(STEPS),
    waits: bool = True,
    tried: int = 6,
    marks: bool = True,
    op: str = "aten::cudnn_convolution",
    allocating: bool = False,
    slow: float = 1,
    device: str = "cuda",
) -> Clocked:
    """Steps of four convolutions and 60 pointwise kernels; in some steps each convolution tries candidates."""
    built = Clocked(device, marks=marks)
    chosen = set(searched)
    for number in built.steps(STEPS):
        for layer in range(4):
            dims = {"Input Dims": [[8, 64, 200 + number, 320], [64, 64, 3, 3]], "Input type": ["float", "float"]}
            with built.within(op, **dims):
                if number in chosen:
                    for name, dur in CANDIDATES[:tried]:
                        if allocating:
                            built.runtime("cudaMalloc", built.now, 200)
                            built.now += 202
                        built.kernel_of(None, name, dur * slow)
                        if waits:
                            built.synchronize("cudaEventSynchronize")
                built.kernel_of(None, *CANDIDATES[0])
            for _ in range(15):
                built.kernel_of("aten::add", ADD, 60)
            del layer
        with built.inside("Optimizer.step#SGD.step"):
            built.kernel_of("aten::_foreach_add_", ADD, 60)
    for event in built.events:
        # Halves of microseconds: times that stay what they are when they are moved by thirty years.
        event["ts"], event["dur"] = round(event["ts"] * 2) / 2, round(event["dur"] * 2) / 2
    return built


def test_fires_where_each_step_searches() -> None:
    found = judged(RULE, world())
    assert "Convolutions try 168 kernels in 24 calls" in found.finding.why
    assert "in 6 of 6 steps, for 6 sizes of operands" in found.finding.why
    # Six candidates of 6.3 ms in all and the one that is used, the shortest of 0.3 ms kept; four times a step.
    assert found.ns_per_step == pytest.approx(4 * 6.3e6, rel=0.05)
    assert "torch.backends.cudnn.benchmark = False" in found.finding.fix[0].code


def test_what_would_have_run_is_not_claimed() -> None:
    facts = Facts(world().trace())
    found = facts.kernels.searches
    assert (found.candidates.sum(), found.calls, found.first_only) == (168, 24, False)
    kept = facts.kernels.named.time_ns(found.candidates) - (found.spans - facts.time.idle).total_ns
    assert kept == pytest.approx(24 * 300_000, rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        # A short search in the first step is as it should be; a long one leaves the step out of those that are used.
        ({"searched": [0], "slow": 0.01}, State.CLEAR),
        ({"searched": [0]}, State.NOT_APPLICABLE),
        ({"searched": [0, 3]}, State.FIRED),
        ({"searched": []}, State.NOT_APPLICABLE),
        # An op of several kernels that waits for nothing is a convolution in parts, as transposes and products.
        ({"waits": False}, State.NOT_APPLICABLE),
        # A product and a second one, and a wait for another reason: no search.
        ({"tried": 1}, State.NOT_APPLICABLE),
        ({"op": "aten::nonzero"}, State.NOT_APPLICABLE),
    ],
)
def test_only_what_tries_and_waits_and_does_so_again(arguments: dict[str, object], state: State) -> None:
    assert run(RULE, world(**arguments)).state is state  # type: ignore[arg-type]


def test_the_verdict_and_no_advice_for_the_candidates() -> None:
    analysis = explain_facts(Facts(world().trace()), rules=RULES).analysis
    assert analysis.summary.verdict.bound_by == "compile"
    assert "try algorithms" in analysis.summary.verdict.text
    large = [finding.rule for finding in analysis.findings if finding.severity in ("high", "medium")]
    assert large[0] == "KE011"
    assert not {"PR001", "PR002", "KE003"} & set(large)


def test_usual_steps_are_computing() -> None:
    analysis = explain_facts(Facts(world(searched=[0]).trace()), rules=RULES).analysis
    assert analysis.summary.verdict.bound_by != "compile"


def test_workspaces_are_the_searches_own() -> None:
    built = world(allocating=True)
    result = run(ALLOCATION, built)
    assert result.state is State.CLEAR
    assert "KE011" in result.reason
    assert run(RULE, built).state is State.FIRED


def test_on_rocm_miopen_is_told() -> None:
    finding = judged(RULE, world(device="rocm")).finding
    assert any("MIOPEN_FIND_MODE" in fix.code for fix in finding.fix)


def test_products_are_tuned_once() -> None:
    finding = judged(RULE, world(op="aten::addmm")).finding
    assert finding.why.startswith("Products of matrices try")
    assert [fix.code for fix in finding.fix] == ["export PYTORCH_TUNABLEOP_TUNING=0"]
