"""SY001, SY003 and SY004: waits that lose next to nothing themselves, and leave the device without work while the host goes on."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Bars, Confidence, State
from analyzer.rule import Rule
from building.clocked import Clocked
from rules.sync.dynamic_shape import RULE as SHAPE
from rules.sync.explicit_synchronize import RULE as EXPLICIT
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run
from stories.models import ADD, NVJET

RULES: dict[str, Rule] = {"scalar": SCALAR, "explicit": EXPLICIT, "shape": SHAPE}


def world(kind: str = "scalar", *, refill: str = "small ops", kernels: float = 4, waits: bool = True) -> Clocked:
    """Steps of 4 ms of products behind 30 small ops; where the last one ends, the host waits for it.

    Args:
        kind: What waits.
        refill: What the host does first in a step, for 0.9 ms: small ops, waiting for workers, making a batch, a function, or
            nothing that is seen.
        kernels: Of the small ops, microseconds.
        waits: Whether the host waits at all.
    """
    built = Clocked()
    for _ in built.steps(6):
        if refill == "small ops":
            for _ in range(30):
                built.kernel_of("aten::add", ADD, kernels, host=28)
        elif refill.endswith("): step"):
            with built.stack("train.py(20): main", refill):
                built.idle(900)
            built.kernel_of("aten::add", ADD, kernels)
        elif refill == "nothing seen":
            built.idle(900)
            built.kernel_of("aten::add", ADD, kernels)
        else:
            built.load(900, workers=2 if refill == "loader" else 0)
            built.kernel_of("aten::add", ADD, kernels)
        for _ in range(8):
            built.kernel_of("aten::linear/aten::addmm", NVJET, 500)
        if waits and kind == "scalar":
            built.read_value()
        elif waits and kind == "shape":
            built.read_value("aten::nonzero")
        elif waits:
            built.synchronize()
    return built


@pytest.mark.parametrize("kind", RULES)
def test_what_the_host_does_late_is_told(kind: str) -> None:
    found = judged(RULES[kind], world(kind))
    assert "until it was done, and had queued nothing behind" in found.finding.why
    # 29 launches of 29 us less kernels of 4 us, in all steps but the first; and up to 80 us until the first of them.
    late = 29 * 25_000 * 5 / 6
    assert 0.95 * late < found.ns_per_step < 1.05 * late + 80_000


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize(
    ("function", "state"), [("train.py(40): step", State.FIRED), ("torch/profiler/profiler.py(700): step", State.CLEAR)]
)
def test_what_a_profiler_does_behind_a_wait_is_no_loss(kind: str, function: str, state: State) -> None:
    assert run(RULES[kind], world(kind, refill=function)).state is state


@pytest.mark.parametrize("kind", RULES)
def test_a_batch_that_the_loop_makes_itself_could_be_made_beside_the_device(kind: str) -> None:
    """Evaluations of short passes read their accuracy in each: to keep it brought 7 %, and nothing was found."""
    slow, fast = (Facts(world(kind, refill="made here", waits=waits).trace()) for waits in (True, False))
    saved = slow.steps.per_step(slow.steps.total_ns) - fast.steps.per_step(fast.steps.total_ns)
    found = judged(RULES[kind], world(kind, refill="made here"))
    # In front of the first step nothing was waited for.
    assert found.usual_ns_per_step == pytest.approx(saved * 5 / 6, rel=0.05)
    assert run(RULES[kind], world(kind, refill="made here", waits=False)).state is not State.FIRED


@pytest.mark.parametrize("kind", RULES)
def test_what_is_shown_adds_up_to_what_is_told(kind: str) -> None:
    found = judged(RULES[kind], world(kind))
    bars = next(one for one in found.finding.evidence if isinstance(one, Bars))
    shown = {one.label: one.value for one in bars.bars}
    told = shown["device idle to the next kernel"] + shown["device idle after that"]
    assert found.finding.saving.usual_claims is not None
    assert told == pytest.approx(found.finding.saving.usual_claims.total_ns / 6, rel=0.001)
    assert shown["device idle after that"] > 2 * shown["device idle to the next kernel"]


@pytest.mark.parametrize("kind", RULES)
def test_what_the_host_does_unseen_may_be_another_wait(kind: str) -> None:
    unseen = judged(RULES[kind], world(kind, refill="nothing seen")).finding
    assert unseen.confidence is Confidence.MEDIUM
    assert any("waits there itself" in caveat for caveat in unseen.caveats)
    seen = judged(RULES[kind], world(kind)).finding
    assert seen.confidence is Confidence.HIGH
    assert not any("waits there itself" in caveat for caveat in seen.caveats)


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize(
    "arguments",
    [
        # The batch comes when it comes, whether the host waits for it earlier or later.
        {"refill": "loader"},
        # The device has work as long as the host needs to launch more.
        {"kernels": 40},
    ],
)
def test_quiet_where_the_device_would_idle_all_the_same_or_never(kind: str, arguments: dict[str, object]) -> None:
    result = run(RULES[kind], world(kind, **arguments))  # type: ignore[arg-type]
    assert result.state is State.CLEAR, result.findings


def test_quiet_without_the_wait() -> None:
    assert run(SCALAR, world(waits=False)).state is State.NOT_APPLICABLE
