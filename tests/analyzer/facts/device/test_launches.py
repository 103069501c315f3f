"""Device work and the calls that launched it."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.facts.device.launches import BlockingLaunches, EarlyStarts, launches_with_work, lead_median_ns, leads_ns
from building.builders import AUTOGRAD, TraceBuilder


def test_each_kernel_finds_its_call() -> None:
    builder = TraceBuilder()
    builder.launch(100, kernel_start=120, kernel_dur=10, thread=AUTOGRAD)
    builder.launch(0, kernel_start=30, kernel_dur=10)
    facts = Facts(builder.trace())
    assert facts.device.launched["launch_start_ns"].tolist() == [0, 100_000]
    assert leads_ns(facts.device.launched).tolist() == [25_000, 15_000]
    tids = facts.trace.threads["tid"].iloc[facts.device.launched["launch_thread"]].tolist()
    assert tids == ["4242", str(AUTOGRAD)]


def test_kernels_of_one_graph_share_its_call_and_say_nothing_of_the_lead() -> None:
    builder = TraceBuilder()
    graph = builder.runtime("cudaGraphLaunch", 0, 10)
    for index in range(4):
        builder.kernel("k", 500 + index * 10, 10, correlation=graph)
    builder.launch(100, kernel_start=107, kernel_dur=3)
    facts = Facts(builder.trace())
    assert facts.device.launched["shared"].tolist() == [False, True, True, True, True]
    assert set(facts.device.launched["launch_kind"]) == {"launch", "graph_launch"}
    assert facts.time.lead_ns == 2_000


def test_a_lead_needs_a_kernel_launched_alone() -> None:
    builder = TraceBuilder()
    graph = builder.runtime("cudaGraphLaunch", 0, 10)
    for index in range(2):
        builder.kernel("k", 500 + index * 10, 10, correlation=graph)
    facts = Facts(builder.trace())
    assert facts.time.lead_ns is None
    assert lead_median_ns(facts.device.launched.iloc[:0]) is None


def test_of_calls_with_one_id_the_launch_counts() -> None:
    builder = TraceBuilder()
    builder.runtime("cudaStreamIsCapturing", 0, 5, correlation=77)
    builder.runtime("cudaLaunchKernel", 10, 5, correlation=77)
    builder.runtime("cudaFuncGetAttributes", 20, 5, correlation=77)
    builder.kernel("k", 30, 5, correlation=77)
    facts = Facts(builder.trace())
    assert facts.device.launched["launch_start_ns"].tolist() == [10_000]


@pytest.mark.parametrize("of_work", [None, -5])
def test_calls_without_ids_have_no_work_that_has_none_either(of_work: int | None) -> None:
    builder = TraceBuilder()
    for at in range(3):
        builder.event("cudaLaunchKernel", "cuda_runtime", 10 * at, 5, args={"correlation": 0})
        builder.kernel("k", 100 + 10 * at, 5, correlation=of_work)
    trace = builder.trace()
    start, known = launches_with_work(trace, Facts(trace).device.work)
    assert start.tolist() == [0, 10_000, 20_000]
    assert not known.any()


def test_orphans_are_work_without_a_launch() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=5)
    builder.kernel("k", 20, 5)
    builder.kernel("k", 30, 5, correlation=0)
    builder.kernel("k", 40, 5, correlation=999)
    facts = Facts(builder.trace())
    assert (len(facts.device.work), len(facts.device.launched)) == (4, 1)


def test_a_call_without_an_id_launches_nothing() -> None:
    builder = TraceBuilder()
    for index in range(3):
        builder.runtime("cudaLaunchKernel", index * 10, 5, correlation=0)
        builder.kernel("k", 100 + index * 10, 5, correlation=0)
    facts = Facts(builder.trace())
    assert (len(facts.device.work), len(facts.device.launched)) == (3, 0)


def calls(*kernels: tuple[float, float, float]) -> Facts:
    """Launches 1,000 us apart, one to a step: how long the call takes, when its kernel starts and ends after the call's start."""
    builder = TraceBuilder()
    for number, (call_dur, start, end) in enumerate(kernels):
        at = number * 1_000 + 100
        builder.step(number, at - 100, 1_000)
        builder.launch(at, kernel_start=at + start, kernel_dur=end - start, call_dur=call_dur)
    return Facts(builder.trace())


EARLY, SOUND = (10, -4, 20), (10, 12, 20)


def test_kernels_before_their_call_mean_two_clocks_from_five_on() -> None:
    assert calls(*[EARLY] * 4).time.early_starts is None
    early = calls(*[EARLY] * 5, (10, -6, 20), SOUND).time.early_starts
    assert early == EarlyStarts(kernels=6, launched=7, by_ns=4_000, most_ns=5_500)


@pytest.mark.parametrize(("end", "apart"), [(20, False), (900, False), (980, True), (990, True)])
def test_clocks_a_little_apart_matter_where_gaps_are_as_short(end: float, apart: bool) -> None:
    """Gaps of 1,000 us less the kernel; of each, 4 us may be attributed wrongly."""
    found = calls(*[(10, -4, end)] * 5)
    assert found.time.clocks_apart is apart
    assert found.time.skew_ns == 4_000
    assert found.time.lead_ns == (None if apart else 0), "without one clock a lead is no figure"


def test_what_the_clocks_surely_differ_by_is_added_to_the_lead() -> None:
    """Half of the kernels wait 300 us in the queue, the others start 4 us before their call."""
    assert calls(*[EARLY] * 5, *[(10, 306, 400)] * 6).time.lead_ns == 300_000
    assert calls(*[SOUND] * 5, *[(10, 306, 400)] * 6).time.lead_ns == 296_000


def test_a_lead_is_never_negative() -> None:
    """A kernel may start while its call still runs: that is no negative delay."""
    assert calls(*[(10, 4, 20)] * 5).time.lead_ns == 0


def test_few_early_starts_among_many_launches_mean_nothing() -> None:
    # One in twenty is a rounding of the clock, one more is not.
    assert calls(*[EARLY] * 5, *[SOUND] * 95).time.early_starts is None
    assert calls(*[EARLY] * 6, *[SOUND] * 94).time.early_starts is not None


def test_a_kernel_that_starts_with_its_call_is_not_early() -> None:
    assert calls(*[(10, 0, 20)] * 6).time.early_starts is None


def test_launches_that_end_with_their_kernel_or_later_wait_for_it() -> None:
    found = calls((30, 12, 20), (20, 12, 20), SOUND, EARLY).time.blocking_launches
    # A kernel that seems to start before its call says nothing of who waits for whom.
    assert found == BlockingLaunches(launches=3, outlasting=2)
    assert found.ratio == pytest.approx(2 / 3)


def test_on_clocks_a_little_apart_launches_are_compared_all_the_same() -> None:
    # The clock of the device is 4 us late: the first five start with their call, and end 2 us before it returns, or 14 us later.
    assert calls(*[(10, -4, 4)] * 5).time.blocking_launches == BlockingLaunches(launches=5, outlasting=5)
    assert calls(*[EARLY] * 5).time.blocking_launches == BlockingLaunches(launches=5, outlasting=0)


def test_only_launches_of_one_kernel_can_wait_for_it() -> None:
    builder = TraceBuilder().step(0, 0, 1_000)
    graph = builder.runtime("cudaGraphLaunch", 0, 900)
    for index in range(4):
        builder.kernel("k", 500 + index * 10, 10, correlation=graph)
    builder.copy("HtoD", 600, 100, start=620, dur=5)
    found = Facts(builder.trace()).time.blocking_launches
    assert (found, found.ratio) == (BlockingLaunches(0, 0), 0.0)


def test_kinds_of_work() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=5)
    builder.launch(10, kernel_start=20, kernel_dur=5, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    builder.copy("HtoD", 20, 5, start=30, dur=5)
    builder.event("Memset (Device)", "gpu_memset", 40, 5, pid=0, tid=7, args={"device": 0, "stream": 7})
    assert Facts(builder.trace()).device.work["kind"].tolist() == ["compute", "collective", "copy", "memset"]


def test_the_lead_is_that_of_the_used_steps() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=2_000, kernel_dur=5)
    for number in range(3):
        at = 10_000 + number * 1_000
        builder.step(number, at, 1_000)
        builder.launch(at + 10, kernel_start=at + 18, kernel_dur=5)
    assert Facts(builder.trace()).time.lead_ns == 3_000


def test_the_device_with_the_most_launches_stands_for_the_trace() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=500, device=0)
    builder.launch(10, kernel_start=20, kernel_dur=5, device=1)
    builder.launch(20, kernel_start=30, kernel_dur=5, device=1)
    facts = Facts(builder.trace())
    assert [device.device for device in facts.device.all] == [1, 0]
    assert facts.device.main is not None
    assert facts.device.main.busy.total_ns == 10_000


def test_streams_that_overlap_count_once() -> None:
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=100, stream=7)
    builder.launch(5, kernel_start=60, kernel_dur=100, stream=8)
    device = Facts(builder.trace()).device.main
    assert device is not None
    assert device.busy.pairs() == [(10_000, 160_000)]


def test_no_device_at_all() -> None:
    builder = TraceBuilder(None)
    builder.op("aten::mm", 0, 10)
    facts = Facts(builder.trace())
    assert (facts.device.all, facts.device.main, facts.time.lead_ns) == ((), None, None)
