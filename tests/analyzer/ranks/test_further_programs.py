"""GPipe, ZeRO 3, DiLoCo, products cut up, sharded experts: the rank at fault, its class, the step without it; or nobody."""

from __future__ import annotations

from typing import Any

import pytest

import jobs.further_programs  # noqa: F401
from analyzer.ranks.document import Job
from jobs.merged import blamed, told
from jobs.programs import MS

LAYOUTS: dict[str, dict[str, Any]] = {
    "gpipe pp4": {"program": "gpipe", "pp": 4, "microbatches": 6, "layers": 1, "buffered": True},
    "gpipe dp2 pp2": {"program": "gpipe", "dp": 2, "pp": 2, "microbatches": 6, "layers": 1, "buffered": True},
    "zero3 dp4": {"program": "zero3", "dp": 4},
    "diloco dp4": {"program": "diloco", "dp": 4, "steps": 9},
    "fsdp dp4 ep2": {"program": "fsdp", "dp": 4, "ep": 2},
    # Messages of a layer and sums of gradients lie on two streams: on the rank that is late they begin in another order.
    "asynctp dp2 tp2": {"program": "asynctp", "dp": 2, "tp": 2},
}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "device": ({"device": {1: 1.5}}, "device"),
    "tokens": ({"tokens": {1: 1.5}}, "imbalance"),
    "python": ({"python": {1: 12 * MS}}, "host"),
}
NOISE: dict[str, dict[str, Any]] = {
    "even": {},
    "noisy": {"jitter": 0.1, "lengths": 0.03, "hiccup": MS // 2},
}


def nobody(job: Job) -> bool:
    """Whether nobody is blamed, and no saving promised that is worth more than noise is."""
    return blamed(job) == [] and job.verdict.held_up_by in ("nobody", "several ranks") and job.verdict.ratio < 0.1


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nobody_is_blamed_in_a_healthy_job(layout: str, noise: str) -> None:
    job = told("titan", **LAYOUTS[layout], **NOISE[noise])
    assert nobody(job), job.verdict.text


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rank_at_fault_is_named_with_its_class_and_what_the_step_takes_without(layout: str, fault: str) -> None:
    plan, cause = FAULTS[fault]
    job, healthy = told("titan", **LAYOUTS[layout], **plan), told("titan", **LAYOUTS[layout])
    # Of a stage of one rank more work than the other stages' is the stage's: they take the work over.
    alone = layout.endswith(" pp4") and cause == "imbalance"
    assert blamed(job) == [(1, "stage" if alone else cause)], job.verdict.text
    if alone:
        healthy = told("titan", **LAYOUTS[layout], tokens=dict.fromkeys(range(4), 4.5 / 4))
    assert job.what_if[0].step_ns == pytest.approx(healthy.step_ns, rel=0.1)
