"""ME001: every step frees and allocates 3 ms worth of device memory while the device idles."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import State, Table
from building.builders import TraceBuilder
from rules.memory.allocation_in_steps import RULE
from running.one_rule import judged, run


def world(
    *,
    call: float = 3_000,
    name: str = "cudaFree",
    steps: int = 6,
    only: frozenset[int] | None = None,
    marked: bool = True,
    op: str = "aten::empty",
    loaded: bool = False,
) -> TraceBuilder:
    """Steps of 100 ms: an allocator call, then one kernel that fills the rest; without marks the optimizer tells them apart."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * 100_000.0
        if marked:
            builder.step(number, at, 100_000)
        else:
            builder.optimizer(at + 99_900, 100)
        if loaded:
            builder.loader(at + call + 20, 100, workers=2)
        if only is None or number in only:
            builder.op(op, at, call)
            builder.runtime(name, at, call)
        builder.launch(at + call, kernel_start=at + call + 10, kernel_dur=99_990 - call)
    return builder


def test_fires_with_the_idle_time_inside_the_calls() -> None:
    found = judged(RULE, world())
    # Five steps after the first, 3 ms each, over six used steps.
    assert found.usual_ns_per_step == 2_500_000
    # The first one does the same.
    assert found.ns_per_step == 3_000_000
    assert found.finding.why.startswith("1.0 calls a step allocate or free memory of the device")
    assert found.finding.steps_seen == 5


def test_the_five_calls_that_take_longest_are_shown_the_costliest_first() -> None:
    builder = world(call=2_800)
    for number in range(6):
        for place in range(1, 8):
            builder.runtime(f"cudaMalloc{place}", number * 100_000.0 + 10_000 * place, 500 * place)
    (table,) = judged(RULE, builder).finding.evidence
    assert isinstance(table, Table)
    # 3.5 ms down to 2 ms, and the world's own of 2.8 ms between them: in five of the six steps.
    assert [(name, total) for name, _, total in table.rows] == [
        ("cudaMalloc7", 17_500_000),
        ("cudaMalloc6", 15_000_000),
        ("cudaFree", 14_000_000),
        ("cudaMalloc5", 12_500_000),
        ("cudaMalloc4", 10_000_000),
    ]


def test_a_call_beside_a_busy_device_costs_nothing() -> None:
    builder = world(call=3_000)
    for number in range(6):
        builder.kernel("busy", number * 100_000.0, 3_100)
    assert judged(RULE, builder).ns_per_step == 0


def test_quiet_when_only_the_first_step_allocates() -> None:
    assert run(RULE, world(only=frozenset({0}))).state is State.CLEAR


@pytest.mark.parametrize(("call", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_time(call: float, state: State) -> None:
    # One call in five steps: no habit; 1 % of 500 ms is 5 ms.
    assert run(RULE, world(call=call, only=frozenset({3}))).state is state


@pytest.mark.parametrize(
    ("only", "state"), [({1, 2}, State.CLEAR), ({1, 2, 3}, State.CLEAR), ({1, 2, 3, 4, 5}, State.FIRED)]
)
def test_boundary_of_habit(only: set[int], state: State) -> None:
    assert run(RULE, world(call=100, only=frozenset(only))).state is state


def test_cannot_tell_from_one_step() -> None:
    assert run(RULE, world(steps=1, call=100)).state is State.CANNOT_TELL


def test_warm_up_is_left_out() -> None:
    result = run(RULE, world(call=60_000, only=frozenset({1})))
    assert (result.state, result.reason) == (
        State.CLEAR,
        "0.0 allocator calls a step, 0 % of the time; 1 call of the warm-up (PG002) left out",
    )


def test_what_each_step_allocates_is_found_beside_warm_up_that_is_none_of_it() -> None:
    builder = world()
    builder.runtime("cuModuleLoadData", 4_000, 90_000)
    assert "PG002" in Facts(builder.trace()).health.doubted
    assert judged(RULE, builder).ns_per_step == judged(RULE, world()).ns_per_step


def test_steps_without_marks_that_each_allocate_are_found() -> None:
    assert run(RULE, world(call=30_000, marked=False)).state is State.FIRED
    assert run(RULE, world(call=30_000, marked=False, only=frozenset({0, 1}))).state is State.CLEAR


def test_cannot_tell_where_all_may_be_warm_up() -> None:
    result = run(RULE, world(call=30_000, steps=2, name="cudaMalloc"))
    assert result.state is State.CANNOT_TELL
    assert "may be warm-up (PG002)" in result.reason


@pytest.mark.parametrize(
    ("op", "loaded", "by_loader"),
    [("aten::pin_memory", True, True), ("aten::pin_memory", False, False), ("aten::empty", True, False)],
)
def test_batches_that_the_loop_pins_are_for_the_loader_to_pin(op: str, loaded: bool, by_loader: bool) -> None:
    fix = judged(RULE, world(name="cudaHostAlloc", op=op, loaded=loaded)).finding.fix
    assert ("DataLoader(" in fix[0].code) is by_loader
    assert "torch.empty(shape, pin_memory=True)" in fix[-1].code


def test_the_fix_fits_the_call() -> None:
    assert "expandable_segments" in judged(RULE, world()).finding.fix[0].code
    assert "pin_memory" in judged(RULE, world(name="cudaHostAlloc")).finding.fix[0].code
    builder = world()
    builder.python("torch/cuda/memory.py(161): empty_cache", 1, 10)
    assert judged(RULE, builder).finding.fix[0].code == "-torch.cuda.empty_cache()"


@pytest.mark.parametrize("caching", [True, False])
def test_a_variable_that_switches_the_cache_off_is_the_first_thing_to_change(caching: bool) -> None:
    builder = world()
    builder.top["advisor"] = {"environment": {} if caching else {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}}
    first = judged(RULE, builder).finding.fix[0]
    assert (first.code == "unset PYTORCH_NO_CUDA_MEMORY_CACHING") is not caching


@pytest.mark.parametrize("name", ["FullyShardedDataParallel.forward", "DistributedDataParallel.forward"])
def test_gathers_that_run_ahead_are_limited(name: str) -> None:
    builder = world()
    for number in range(6):
        builder.annotation(name, number * 100_000 + 5_000, 30_000)
    told = any("limit_all_gathers=True" in fix.code for fix in judged(RULE, builder).finding.fix)
    assert told is name.startswith("Fully")


def test_where_only_pinned_memory_is_allocated_the_devices_allocator_is_not_asked_for() -> None:
    found = judged(RULE, world(name="cudaHostAlloc")).finding
    assert found.title == "Pinned memory allocated in the loop"
    assert not any("expandable_segments" in fix.code or "empty_cache" in fix.code for fix in found.fix)
    assert "memory of the device" not in found.why


def test_beside_memory_of_the_device_it_is() -> None:
    found = judged(RULE, world(name="cudaMalloc")).finding
    assert any("expandable_segments" in fix.code for fix in found.fix)
    assert found.title is None


def asked(*, launched: bool, freed: bool = True) -> TraceBuilder:
    """Five steps that ask for memory, free some and ask again, with a launch between or none, or without freeing any."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.op("aten::empty", at, 6_000)
        builder.runtime("cudaMalloc", at, 500)
        if launched:
            builder.launch(at + 600, kernel_start=at + 650, kernel_dur=50)
        for place in range(4 if freed else 0):
            builder.runtime("cudaFree", at + 1_000 + 900 * place, 800)
        builder.runtime("cudaMalloc", at + 5_000, 900)
        builder.launch(at + 6_000, kernel_start=at + 6_010, kernel_dur=93_000)
    return builder


def test_memory_that_runs_out_is_told_by_asking_again() -> None:
    found = judged(RULE, asked(launched=False)).finding
    assert "1.0 times a step memory is asked for, some is freed and it is asked for again" in found.why
    text = "".join(advice.code for advice in found.fix)
    assert "checkpoint" in text
    assert "empty_cache" not in text
    assert Facts(asked(launched=False).trace()).memory.allocations.retries == 4


@pytest.mark.parametrize(
    "builder", [asked(launched=True), asked(launched=False, freed=False)], ids=["a cache emptied", "two asked for"]
)
def test_what_is_emptied_between_launches_and_what_is_only_asked_for_is_no_retry(builder: TraceBuilder) -> None:
    found = judged(RULE, builder).finding
    assert "asked for again" not in found.why
    assert "empty_cache" in "".join(advice.code for advice in found.fix)


@pytest.mark.parametrize(
    ("inside", "freed", "asked", "first"),
    [
        # What the program gives back is freed outside of ops; what runs out is freed while an op asks for more.
        (False, "cudaFree", "cudaMalloc", "-torch.cuda.empty_cache()"),
        (True, "cudaFree", "cudaMalloc", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        (True, "cuMemUnmap", "cuMemMap", "Segments expand here already"),
    ],
)
def test_who_frees_memory_tells_what_to_change(*, inside: bool, freed: str, asked: str, first: str) -> None:
    builder = TraceBuilder()
    for number in range(6):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for place in range(4):
            when = at + place * 4_000
            builder.op("aten::empty", when, 1_500 if not inside else 3_500)
            builder.runtime(asked, when + 100, 1_000)
            builder.runtime(freed, when + 2_000, 1_000)
            builder.launch(when + 3_600, kernel_start=when + 3_650, kernel_dur=300)
        builder.launch(at + 16_000, kernel_start=at + 16_010, kernel_dur=83_900)
    codes = [fix.code for fix in judged(RULE, builder).finding.fix]
    assert codes[0].startswith(first)
    assert any("expandable_segments:True" in code for code in codes) is not freed.startswith("cu" + "Mem")
