"""The waterfall: one small world per cause, who wins where two hold, and random traces whose parts add up exactly."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.cause_names import CAUSES, DEVICE_CAUSES, IDLE_CAUSES
from analyzer.facts import Facts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from building.builders import AUTOGRAD, TraceBuilder

STEP = 1_000


def owners(builder: TraceBuilder) -> dict[str, float]:
    """Microseconds by cause over the used steps, without the zeros; checks that they add up."""
    facts = Facts(builder.trace())
    parts = {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}
    assert sum(parts.values()) == facts.steps.total_ns
    return {cause: ns / 1_000 for cause, ns in parts.items() if ns}


def gap(start: float = 0, end: float = 800) -> TraceBuilder:
    """One step whose device is idle until `end`, when a kernel launched just before starts; the rest of the step is busy."""
    builder = TraceBuilder().step(0, 0, STEP)
    # An op of no length says that ops were recorded.
    builder.op("aten::detach", 0, 0)
    builder.launch(end - 10, kernel_start=end, kernel_dur=STEP - end, call_dur=10, op=None)
    return builder


def test_device_work_owns_its_time() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.launch(0, kernel_start=100, kernel_dur=300, call_dur=100, op=None)
    builder.launch(100, kernel_start=350, kernel_dur=250, name="ncclDevKernel_AllReduce_Sum", stream=9, op=None)
    builder.copy("DtoD", 110, 5, start=550, dur=200, stream=11, op=None)
    builder.event("Memset (Device)", "gpu_memset", 750, 250, pid=0, tid=7, args={"device": 0, "stream": 7})
    # Compute first, then what only the collective covers, then what only the copy covers; memsets compute.
    assert owners(builder) == {"launch": 100, "compute": 550, "communication": 200, "copy": 150}


def test_device_wait_is_between_the_end_of_the_launch_and_the_start_of_the_work() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.launch(0, kernel_start=600, kernel_dur=400, call_dur=100, op=None)
    assert owners(builder) == {"launch": 100, "device_wait": 500, "compute": 400}


def test_input() -> None:
    builder = gap()
    builder.loader(0, 500)
    # Ops inside the loader are the loader's.
    builder.op("aten::stack", 100, 50)
    assert owners(builder) == {"input": 500, "python": 290, "launch": 10, "compute": 200}


def test_allocator() -> None:
    builder = gap()
    builder.op("aten::empty", 0, 500)
    builder.runtime("cudaMalloc", 100, 300)
    assert owners(builder) == {"framework": 200, "allocator": 300, "python": 290, "launch": 10, "compute": 200}


def test_sync_owns_the_wait_and_the_run_ahead_it_destroyed() -> None:
    builder = gap()
    builder.op("aten::item", 0, 300)
    builder.runtime("cudaStreamSynchronize", 100, 200)
    # After the wait: ops until the next kernel are sync's; Python beside them stays Python's.
    builder.op("aten::add", 400, 100)
    assert owners(builder) == {"framework": 100, "sync": 310, "python": 390, "compute": 200}


def test_a_wait_destroys_no_more_run_ahead_than_it_lasted() -> None:
    builder = gap()
    # It finds next to nothing to wait for: what takes long behind it is dispatching.
    builder.runtime("cudaStreamSynchronize", 100, 5)
    builder.op("aten::add", 105, 500)
    assert owners(builder) == {"sync": 10, "framework": 495, "python": 285, "launch": 10, "compute": 200}


def test_the_run_ahead_ends_with_the_first_later_kernel() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.runtime("cudaDeviceSynchronize", 0, 100)
    builder.launch(100, kernel_start=200, kernel_dur=100, call_dur=100, op=None)
    builder.op("aten::add", 300, 600)
    builder.launch(890, kernel_start=900, kernel_dur=100, call_dur=10, op=None)
    assert owners(builder) == {"sync": 200, "compute": 200, "framework": 590, "launch": 10}


def test_a_copy_to_the_host_blocks() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.copy("DtoH", 0, 400, start=100, dur=50)
    builder.launch(400, kernel_start=500, kernel_dur=500, call_dur=100, op=None)
    # Until the copy starts, the call has not returned: the host is inside the blocking call.
    assert owners(builder) == {"sync": 450, "copy": 50, "compute": 500}


def test_transfer_call() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.copy("HtoD", 0, 400, start=450, dur=50)
    builder.launch(400, kernel_start=500, kernel_dur=500, call_dur=20, op=None)
    assert owners(builder) == {"transfer_call": 400, "device_wait": 50, "copy": 50, "compute": 500}


@pytest.mark.parametrize("zeroing", [False, True])
def test_optimizer(zeroing: bool) -> None:
    builder = gap()
    (builder.zero_grad if zeroing else builder.optimizer)(0, 500)
    builder.op("aten::_foreach_add_", 100, 50)
    assert owners(builder) == {"optimizer": 500, "python": 290, "launch": 10, "compute": 200}


def test_compile() -> None:
    builder = gap().annotation("_compile.compile_inner (dynamo_timed)", 0, 500)
    builder.op("aten::add", 100, 50)
    assert owners(builder) == {"compile": 500, "python": 290, "launch": 10, "compute": 200}


def test_launch_inside_an_op() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.op("aten::mm", 0, 600)
    builder.launch(400, kernel_start=600, kernel_dur=400, call_dur=200, op=None)
    assert owners(builder) == {"framework": 400, "launch": 200, "compute": 400}


def test_a_query_outside_any_op_is_host_work_for_the_device() -> None:
    builder = gap()
    builder.runtime("cudaEventQuery", 0, 100)
    assert owners(builder)["framework"] == 100


def test_python_where_no_thread_has_an_event() -> None:
    assert owners(gap()) == {"python": 790, "launch": 10, "compute": 200}


def test_without_any_op_recorded_silence_is_not_python() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.launch(790, kernel_start=800, kernel_dur=200, call_dur=10, op=None)
    assert owners(builder) == {"unexplained": 790, "launch": 10, "compute": 200}


def test_an_orphan_leaves_the_gap_before_it_unexplained() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.op("aten::mm", 0, 700)
    builder.kernel("k", 800, 100)
    builder.launch(880, kernel_start=950, kernel_dur=50, call_dur=20, op=None)
    assert owners(builder) == {"unexplained": 800, "compute": 150, "device_wait": 50}


def test_the_profilers_own_overhead_is_unexplained() -> None:
    builder = gap()
    builder.event("Activity Buffer Request", "overhead", 100, 300)
    assert owners(builder) == {"unexplained": 300, "python": 490, "launch": 10, "compute": 200}


def test_overhead_beside_a_busy_device_costs_nothing() -> None:
    builder = gap()
    builder.event("Activity Buffer Request", "overhead", 850, 100)
    assert "unexplained" not in owners(builder)


def test_the_issuing_thread_comes_first_then_the_main_thread() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    # The main thread waits in backward's op; the autograd thread copies to the device for a while, then launches.
    builder.op("aten::backward_waits", 0, 500)
    builder.copy("HtoD", 100, 200, start=290, dur=10, thread=AUTOGRAD)
    builder.launch(790, kernel_start=800, kernel_dur=200, call_dur=10, thread=AUTOGRAD, op=None)
    assert owners(builder) == {
        "transfer_call": 190,
        "framework": 300,
        "python": 290,
        "launch": 10,
        "copy": 10,
        "compute": 200,
    }


def test_another_thread_that_issues_nothing_owns_nothing() -> None:
    builder = gap()
    builder.runtime("cudaDeviceSynchronize", 0, 500, thread=AUTOGRAD)
    assert "sync" not in owners(builder)


def test_after_the_last_work_the_main_thread_tells() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.launch(0, kernel_start=10, kernel_dur=90, call_dur=10, op=None)
    builder.loader(500, 300)
    builder.op("aten::detach", 0, 0)
    assert owners(builder) == {"launch": 10, "compute": 90, "python": 600, "input": 300}


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("input", "allocator", "input"),
        ("allocator", "sync", "allocator"),
        ("sync", "optimizer", "sync"),
        ("optimizer", "compile", "compile"),
        ("compile", "framework", "compile"),
        ("input", "sync", "input"),
    ],
)
def test_the_first_match_wins(first: str, second: str, winner: str) -> None:
    builder = gap()
    make = {
        "input": lambda: builder.loader(100, 400),
        "allocator": lambda: builder.runtime("cudaMalloc", 100, 400),
        "sync": lambda: builder.runtime("cudaStreamSynchronize", 100, 400),
        "optimizer": lambda: builder.optimizer(100, 400),
        "compile": lambda: builder.annotation("x (dynamo_timed)", 100, 400),
        "framework": lambda: builder.op("aten::add", 100, 400),
    }
    make[second]()
    make[first]()
    found = owners(builder)
    assert found[winner] >= 400
    assert found.get(second if winner == first else first, 0) <= 10


def test_each_device_has_a_waterfall_of_its_own() -> None:
    builder = TraceBuilder().step(0, 0, STEP)
    builder.launch(0, kernel_start=100, kernel_dur=900, call_dur=100, op=None, device=0)
    builder.launch(100, kernel_start=500, kernel_dur=100, call_dur=10, op=None, device=1)
    facts = Facts(builder.trace())
    totals = []
    for device in facts.device.all:
        waterfall = facts.time.waterfall_of(device, facts.steps.window)
        assert sum(part.total_ns for part in waterfall.owners.values()) == facts.steps.total_ns
        totals.append(waterfall.owned("compute").total_ns)
    assert totals == [900_000, 100_000]


def test_cpu_only_the_steps_thread_is_cut_by_its_outermost_event() -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.loader(0, 200)
    builder.op("aten::stack", 50, 50)
    builder.op("aten::linear", 200, 300)
    builder.optimizer(600, 200)
    builder.op("aten::add_", 650, 50)
    assert owners(builder) == {"input": 200, "compute": 300, "optimizer": 200, "python": 300}


def test_cpu_only_a_collective_on_another_thread_fills_gaps_only() -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("aten::linear", 0, 300)
    builder.annotation("gloo:all_reduce", 200, 500, thread=AUTOGRAD)
    assert owners(builder) == {"compute": 300, "communication": 400, "python": 300}


def test_cpu_only_an_op_that_waits_for_a_collective_computes_nothing() -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("aten::linear", 0, 300)
    builder.op("_c10d_functional::wait_tensor", 300, 400)
    builder.annotation("gloo:all_reduce", 320, 300, thread=AUTOGRAD)
    assert owners(builder) == {"compute": 300, "communication": 400, "python": 300}


@pytest.mark.parametrize("sent", [True, False])
def test_cpu_only_a_node_whose_hook_waits_computes_what_its_ops_do(sent: bool) -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("autograd::engine::evaluate_function: AddmmBackward0", 0, 800)
    builder.op("aten::mm", 100, 300)
    if sent:
        builder.annotation("gloo:all_gather", 200, 500, thread=AUTOGRAD)
    alone = {"communication": 300} if sent else {}
    assert owners(builder) == {"compute": 500 if sent else 800, "python": 200, **alone}


@pytest.mark.parametrize("kind", ["send", "recv"])
def test_cpu_only_what_a_thread_does_while_a_message_is_on_its_way_is_no_wait(kind: str) -> None:
    # The range of a message begins where it is issued, and ends when somebody has waited for it.
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.annotation(f"c10d::{kind}", 100, 50)
    builder.annotation(f"gloo:{kind}", 140, 600)
    builder.op("aten::linear", 200, 100)
    builder.op("aten::relu", 400, 100)
    assert owners(builder) == {"compute": 200, "communication": 50 + 240, "python": 510}


def test_cpu_only_a_message_that_is_waited_for_at_once_is_a_wait() -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("aten::linear", 0, 100)
    builder.annotation("c10d::recv_", 100, 50)
    builder.annotation("gloo:recv", 140, 600)
    assert owners(builder) == {"compute": 100, "communication": 640, "python": 260}


@pytest.mark.parametrize("begins", [True, False])
def test_cpu_only_a_function_that_begins_a_collective_waits_for_it(begins: bool) -> None:
    # torch.distributed.nn.functional: what is exchanged in the forward pass, and its gradient in the backward pass.
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("_AlltoAllSingle", 0, 800)
    builder.op("aten::empty", 10, 40)
    builder.op("aten::cat", 500, 50)
    if begins:
        builder.annotation("c10d::alltoall_base_", 100, 20)
    builder.annotation("gloo:all_to_all", 110, 390, thread=AUTOGRAD)
    alone = {"communication": 400} if begins else {}
    assert owners(builder) == {"compute": 400 if begins else 800, "python": 200, **alone}


@pytest.mark.parametrize("sent", [True, False])
def test_cpu_only_an_optimizer_that_sends_what_it_updated_waits_for_that(sent: bool) -> None:
    builder = TraceBuilder(None).step(0, 0, STEP)
    builder.op("aten::linear", 0, 300)
    builder.optimizer(300, 700)
    builder.op("aten::add_", 300, 100)
    if sent:
        builder.annotation("gloo:broadcast", 350, 550, thread=AUTOGRAD)
    expected = {"compute": 300, "optimizer": 200, "communication": 500} if sent else {"compute": 300, "optimizer": 700}
    assert owners(builder) == expected


def test_idle_is_what_the_device_causes_leave() -> None:
    facts = Facts(gap().trace())
    idle = EMPTY
    for cause in IDLE_CAUSES:
        idle |= facts.time.waterfall.owned(cause)
    assert facts.time.idle == idle
    assert set(DEVICE_CAUSES) | set(IDLE_CAUSES) == set(CAUSES)


KINDS = ("launch", "orphan", "copy", "loader", "op", "sync", "malloc", "optimizer", "compile", "collective", "overhead")


def add(builder: TraceBuilder, kind: str, start: int, dur: int, thread: int, draw: st.DrawFn) -> None:
    """One event, or a call with its device work, of a kind; device kinds are left out without a device."""
    on_host = {
        "op": lambda: builder.op("aten::add", start, dur, thread=thread),
        "loader": lambda: builder.loader(start, dur),
        "optimizer": lambda: builder.optimizer(start, dur),
        "compile": lambda: builder.annotation("x (dynamo_timed)", start, dur, thread=thread),
        "collective": lambda: builder.annotation("gloo:all_reduce", start, dur, thread=thread),
        "overhead": lambda: builder.event("Buffer Flush", "overhead", start, dur),
    }
    on_device = {
        "launch": lambda: builder.launch(
            start,
            kernel_start=max(start + draw(st.integers(-50, 200)), 0),
            kernel_dur=dur,
            name=draw(st.sampled_from(["k", "ncclDevKernel_AllReduce_Sum"])),
            thread=thread,
            stream=draw(st.sampled_from([7, 8])),
            device=draw(st.sampled_from([0, 0, 1])),
        ),
        "orphan": lambda: builder.kernel("k", start, dur),
        "copy": lambda: builder.copy(
            draw(st.sampled_from(["HtoD", "DtoH", "DtoD"])), start, dur, start=start + 5, dur=20, thread=thread
        ),
        "sync": lambda: builder.runtime("cudaStreamSynchronize", start, dur, thread=thread),
        "malloc": lambda: builder.runtime("cudaMalloc", start, dur, thread=thread),
    }
    if kind in on_host:
        on_host[kind]()
    elif builder.device is not None:
        on_device[kind]()


@st.composite
def random_traces(draw: st.DrawFn) -> TraceBuilder:
    """Anything at any time: crossing, empty, reversed, orphaned, on two threads, streams and devices."""
    builder = TraceBuilder(draw(st.sampled_from(["cuda", "rocm", None])))
    for number in range(draw(st.integers(0, 3))):
        builder.step(number, number * 300, draw(st.integers(0, 300)))
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=12)):
        start, dur = draw(st.integers(0, 900)), draw(st.integers(0, 300))
        add(builder, kind, start, dur, draw(st.sampled_from([4242, AUTOGRAD])), draw)
    # A trace needs an event.
    builder.op("aten::relu", 0, 1)
    return builder


@pytest.mark.slow
@given(random_traces())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_parts_add_up_to_each_step_exactly_and_nothing_has_two_owners(builder: TraceBuilder) -> None:
    facts = Facts(builder.trace())
    assert facts.time.step_causes.sum(axis=1).tolist() == facts.steps.used["dur_ns"].tolist()
    assert facts.steps.total_ns == int(facts.steps.used["dur_ns"].sum())
    for device in facts.device.all or (None,):
        waterfall = facts.time.waterfall_of(device, facts.steps.window)
        union = EMPTY
        for part in waterfall.owners.values():
            assert not union & part
            union |= part
        assert union == facts.steps.window
        assert set(waterfall.owners) <= set(CAUSES)


def test_waiting_for_a_batch_is_input_whoever_launches() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000).loader(at, 400)
        builder.op("aten::add", at + 400, 600)
        builder.kernel("k", at + 500, 400)
    facts = Facts(builder.trace())
    assert facts.time.waterfall.owned("input").total_ns == 3 * 400_000
    # Of what is left nobody knows who launches; after the last kernel the main thread tells.
    assert facts.time.waterfall.owned("unexplained").total_ns == 5 * 100_000


def intervals_made(threads: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many intervals the sets hold that are made to divide a step: 2,048 gaps before work of so many threads, in turn."""
    each = 10
    builder = TraceBuilder().step(0, 0, 2_048 * each)
    for number in range(2_048):
        at = number * each
        builder.launch(at, kernel_start=at + 5, kernel_dur=3, call_dur=2, op=None, thread=AUTOGRAD + number % threads)
    facts = Facts(builder.trace())
    assert len(facts.host.threads.calls["thread"].unique()) == threads
    made = 0
    keep = IntervalSet._keep

    def counted(self: IntervalSet, start: Int64Array, end: Int64Array) -> None:
        nonlocal made
        made += len(start)
        keep(self, start, end)

    with monkeypatch.context() as patched:
        patched.setattr(IntervalSet, "_keep", counted)
        assert facts.time.waterfall.owned("launch").total_ns == 2_048 * 2_000
    return made


def test_the_work_does_not_grow_with_the_threads_that_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = intervals_made(8, monkeypatch), intervals_made(512, monkeypatch)
    assert many < 2 * few
