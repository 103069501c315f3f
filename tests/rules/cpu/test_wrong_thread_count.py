"""CP001: half of each step is matrix work, on one thread, and four cores may be used."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.cpu.wrong_thread_count import RULE
from running.one_rule import judged, run


def world(
    *,
    threads: int | None = 1,
    cores: int = 4,
    matrix: float = 5_000,
    workers: int = 0,
    lacked: float = 0.0,
    ranks: Any = None,
) -> TraceBuilder:
    """Three steps of 10 ms: a linear layer, then something else; without a core for the share `lacked`."""
    known = {
        "usable_cores": cores,
        "threads": {"intra_op": threads},
        "loader": {"num_workers": workers},
        "core_wait_ratio": lacked,
        "local_ranks": ranks,
    }
    builder = TraceBuilder(None, advisor=known if threads is not None else None)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("aten::linear", at, matrix)
        builder.op("aten::addmm", at, matrix)
        builder.op("aten::relu", at + matrix, 10_000 - matrix)
    return builder


def test_fires_with_perfect_scaling_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 3_750_000
    assert found.finding.why == (
        "Matrix work takes 5.0 ms of each 10 ms step (50 %) on one thread; the process may use 4 cores."
    )
    assert "set_num_threads(4)" in found.finding.fix[0].code


def test_a_recurrent_layer_is_matrix_work() -> None:
    """An LSTM that oneDNN computes whole takes two thirds as long on two threads as on one (2026-11-28)."""
    builder = TraceBuilder(None, advisor={"usable_cores": 2, "threads": {"intra_op": 1}})
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("aten::mkldnn_rnn_layer", at, 3_000)
        builder.op("aten::mkldnn_rnn_layer_backward", at + 3_000, 5_000)
        builder.op("aten::relu", at + 8_000, 2_000)
    assert judged(RULE, builder).ns_per_step == 4_000_000


def test_too_many_threads_have_no_bound() -> None:
    found = judged(RULE, world(threads=16))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.title == "More threads than cores"


@pytest.mark.parametrize(("threads", "state"), [(1, State.FIRED), (2, State.CLEAR), (4, State.CLEAR), (5, State.FIRED)])
def test_boundary_of_threads(threads: int, state: State) -> None:
    assert run(RULE, world(threads=threads)).state is state


@pytest.mark.parametrize(("matrix", "state"), [(1_900, State.CLEAR), (2_100, State.FIRED)])
def test_boundary_of_the_matrix_work(matrix: float, state: State) -> None:
    assert run(RULE, world(matrix=matrix)).state is state


@pytest.mark.parametrize(("lacked", "state"), [(0.28, State.FIRED), (0.32, State.CANNOT_TELL)])
def test_cannot_tell_where_even_one_thread_had_no_core(lacked: float, state: State) -> None:
    assert run(RULE, world(lacked=lacked)).state is state


def test_quiet_on_one_core() -> None:
    assert run(RULE, world(cores=1)).state is State.CLEAR


def test_quiet_when_the_time_goes_elsewhere() -> None:
    assert run(RULE, world(matrix=100)).state is State.CLEAR


def test_cannot_tell_without_the_collectors_word() -> None:
    result = run(RULE, world(threads=None))
    assert result.state is State.CANNOT_TELL
    assert "advisor collect" in result.reason


def test_not_applicable_on_a_device() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("changed", [[], ["OMP_NUM_THREADS"]])
def test_threads_that_the_program_sets_itself_are_not_to_be_set_from_outside(changed: list[str]) -> None:
    builder = world()
    builder.top["advisor"] |= {"environment": {"OMP_NUM_THREADS": "1"}, "environment_changed": changed}
    codes = [advice.code for advice in judged(RULE, builder).finding.fix]
    assert ('-os.environ["OMP_NUM_THREADS"] = "1"' in codes) is bool(changed)
    assert any(code.startswith("OMP_NUM_THREADS=4") for code in codes) is not bool(changed)


@pytest.mark.parametrize(
    ("ranks", "threads", "state"),
    [
        (4, 1, State.CLEAR),
        (2, 1, State.FIRED),
        (4, 2, State.FIRED),
        (8, 1, State.CLEAR),
        (None, 1, State.FIRED),
        (0, 1, State.FIRED),
        ("four", 1, State.FIRED),
    ],
)
def test_ranks_of_one_machine_share_its_cores(ranks: Any, threads: int, state: State) -> None:
    """Four ranks on four cores have one each: a second thread takes turns with another rank's."""
    assert run(RULE, world(threads=threads, ranks=ranks)).state is state


def test_the_share_of_a_rank_is_what_its_threads_are_told() -> None:
    assert "set_num_threads(2)" in judged(RULE, world(ranks=2)).finding.fix[0].code


@pytest.mark.parametrize(("cores", "told"), [(4, False), (64, True)])
def test_of_many_cores_fewer_threads_are_tried_as_well(cores: int, told: bool) -> None:
    caveats = " ".join(judged(RULE, world(cores=cores)).finding.caveats)
    assert ("Hyper-threads count among the 64" in caveats, "time 32 and 16 as well" in caveats) == (told, told)
