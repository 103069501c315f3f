"""Batches that a framework's own workers make: the loader of torch's only takes from their queue, without workers of its own."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT_BOUND
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from rules.data_loading.too_few_cores import RULE as TOO_FEW_CORES
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

THREADS = {"workers": 2, "processes": False}
PROCESSES = {"workers": 2, "processes": True}
KERAS = {"imported": {"keras": "3.15"}, "loop": ["keras.src"], "data": ["keras.src"], "loader": ["keras.src"]}


def world(own: Any, *, load: float = 40_000, cores: int = 16) -> TraceBuilder:
    """Three steps of 100 ms on the CPU: a loader's call, 30 ms of nothing recorded, and an op."""
    loader = {"num_workers": 0, "batch_size": None} | ({"own_workers": own} if own is not None else {})
    builder = TraceBuilder(None, advisor={"usable_cores": cores, "frameworks": KERAS, "loader": loader})
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, load, workers=0)
        builder.op("aten::linear", at + load, 70_000 - load)
    return builder


@pytest.mark.parametrize(("own", "state"), [(THREADS, State.CLEAR), (PROCESSES, State.CLEAR), (None, State.FIRED)])
def test_the_training_thread_makes_no_batch_where_others_do(own: dict[str, Any] | None, state: State) -> None:
    assert run(SINGLE_PROCESS, world(own)).state is state


def test_who_makes_them_is_said() -> None:
    assert run(SINGLE_PROCESS, world(THREADS)).reason == "batches come from 2 threads of the main process"
    assert run(SINGLE_PROCESS, world(PROCESSES)).reason == "batches come from 2 worker processes of the framework's own"
    assert "which takes what 2 threads of the main process make" in judged(INPUT_BOUND, world(THREADS)).finding.why


@pytest.mark.parametrize("rule", [SMALL_SAMPLES, TOO_FEW_CORES])
def test_what_a_sample_costs_is_not_told_by_waiting_for_it(rule: Any) -> None:
    assert run(rule, world(THREADS, cores=2)).state is State.CANNOT_TELL


@pytest.mark.parametrize(
    ("own", "cores", "said"),
    [
        (THREADS, 16, "workers=2, use_multiprocessing"),
        (THREADS, 2, "workers=1, use"),
        (PROCESSES, 16, "workers=15, use"),
    ],
)
def test_processes_instead_of_threads_and_more_of_them_where_cores_are_left(
    own: dict[str, Any], cores: int, said: str
) -> None:
    assert said in judged(INPUT_BOUND, world(own, cores=cores)).finding.fix[0].code


def test_no_more_processes_than_cores() -> None:
    fixes = judged(INPUT_BOUND, world(PROCESSES, cores=3)).finding.fix
    assert not any("use_multiprocessing" in fix.code for fix in fixes)


@pytest.mark.parametrize(("own", "shares"), [(THREADS, True), (PROCESSES, False), (None, False)])
def test_python_beside_threads_that_make_batches_waits_for_them(own: dict[str, Any] | None, shares: bool) -> None:
    found = judged(PYTHON, world(own, load=2_000)).finding
    assert any("2 threads of this process make batches" in caveat for caveat in found.caveats) is shares
    assert any("use_multiprocessing=True" in fix.code for fix in found.fix) is shares


@pytest.mark.parametrize("told", [7, [], {"workers": "x"}, {"workers": -1}, {"workers": 0}, {"processes": True}])
def test_nothing_is_believed_about_the_shape(told: Any) -> None:
    facts = Facts(world(told).trace())
    assert facts.recording.collected.own_workers is None
    assert explain_facts(facts).analysis.findings
