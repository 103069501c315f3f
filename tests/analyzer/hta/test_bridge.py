"""HolisticTraceAnalysis as an oracle: handed our frames, and reading the same file itself, it agrees with our figures.

Known differences, each checked where it occurs: HTA rounds to microseconds when it reads (starts up, ends down); it takes kernels
it has no name for ("OTHER": MTIA's events) for neither compute nor communication; its queue lengths need one kernel per launch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analyzer.analysis import Table
from analyzer.explain import Options, analyse
from analyzer.facts import Facts
from analyzer.hta import bridge
from analyzer.hta.critical_path import critical_path, unavailable
from analyzer.hta.deepen import deepen
from analyzer.hta.kernel_sequences import MOST_OPS, kernel_sequences
from analyzer.hta.kernel_sequences import unavailable as no_sequences
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder
from building.dialects import rocm
from known.scenarios import facts_of, world
from running.recorded import trace_of
from traces.reader.read import read
from traces.trace import Trace

SHARED = Path(__file__).resolve().parents[4] / "shared" / "traces"
WITH_KERNELS = (
    "hta_a100_ddp_resnet",
    "hta_alexnet_cuda_sync",
    "hta_mi250_minitoy",
    "hta_two_ranks_0",
    "hta_v100_resnet_ns",
    "tracelens_mi300x_ddp_resnet",
)

pytest.importorskip("hta", reason="the extra `hta` is not installed")


def shared(name: str) -> Path:
    path = SHARED / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    return path


def our_times(trace: Trace) -> tuple[int, int, int]:
    """(idle, compute, total) between the first and the last piece of device work, ns."""
    work = Facts(trace).device.work
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    busy = IntervalSet(start, end)
    is_compute = (work["kind"] == "compute").to_numpy()
    total = int(end.max() - start.min())
    return total - busy.total_ns, IntervalSet(start[is_compute], end[is_compute]).total_ns, total


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_the_temporal_breakdown_of_our_frames_is_ours_to_the_nanosecond(name: str) -> None:
    trace = trace_of(shared(name))
    with bridge.quiet():
        from hta.analyzers.breakdown_analysis import BreakdownAnalysis

        # HTA's columns say "us"; it was handed nanoseconds.
        row = BreakdownAnalysis.get_temporal_breakdown(bridge.as_hta(trace), visualize=False).iloc[0]
    assert (row["idle_time(us)"], row["compute_time(us)"], row["kernel_time(us)"]) == our_times(trace)


# With pandas 3 HTA 0.5.0 cannot read the others itself (an int16 column is given larger row numbers).
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hta_a100_ddp_resnet", "hta_alexnet_cuda_sync", "hta_mi250_minitoy", "hta_two_ranks_0"]
)
def test_hta_reading_the_file_itself_agrees_within_a_hundredth(name: str) -> None:
    path = shared(name)
    with warnings.catch_warnings():
        # pandas' own deprecations inside HTA.
        warnings.simplefilter("ignore")
        from hta.analyzers.breakdown_analysis import BreakdownAnalysis
        from hta.common.trace import Trace as HtaTrace

        parsed = HtaTrace(trace_files={0: str(path)}, trace_dir=str(path.parent))
        parsed.parse_traces(use_multiprocessing=False)
        parsed.decode_symbol_ids()
        row = BreakdownAnalysis.get_temporal_breakdown(parsed, visualize=False).iloc[0]
    idle, compute, total = our_times(trace_of(path))
    assert row["kernel_time(us)"] * 1000 == pytest.approx(total, rel=0.01)
    assert row["idle_time(us)"] * 1000 == pytest.approx(idle, abs=0.01 * total)
    # Rounding starts up and ends down shortens every kernel by up to 2 us; ours are exact.
    assert row["compute_time(us)"] * 1000 == pytest.approx(compute, abs=0.01 * total)


@pytest.mark.parametrize("name", ["hta_a100_ddp_resnet", "hta_two_ranks_0", "tracelens_mi300x_ddp_resnet"])
def test_overlap_of_communication_and_compute_agrees(name: str) -> None:
    trace = trace_of(shared(name))
    work = Facts(trace).device.work
    sets = {kind: IntervalSet(part["start_ns"], part["end_ns"]) for kind, part in work.groupby("kind", observed=True)}
    ours = (sets["collective"] & sets["compute"]).total_ns / sets["collective"].total_ns
    assert bridge.overlap_ratio(trace) == pytest.approx(ours, abs=1e-4)


def launch_bound() -> TraceBuilder:
    """Every kernel starts 3 us after its launch: nothing ever waits in the queue but the one just launched."""
    builder = TraceBuilder()
    for step in range(4):
        at = step * 10_000
        builder.step(step, at, 10_000)
        for index in range(40):
            begin = at + index * 250
            builder.launch(begin, kernel_start=begin + 8, kernel_dur=100)
    return builder


def test_queue_and_launches_of_a_launch_bound_loop() -> None:
    trace = launch_bound().trace()
    (queue,) = bridge.queue_lengths(trace)
    assert (queue.stream, queue.longest, queue.blocked_ns) == (7, 1, 0)
    launches = bridge.launch_statistics(trace)
    assert launches is not None
    assert (launches.launches, launches.host_ns, launches.delay_ns, launches.device_ns) == (160, 5_000, 3_000, 100_000)


def test_a_graph_launch_has_no_queue_length() -> None:
    builder = TraceBuilder()
    correlation = builder.runtime("cudaGraphLaunch", 0, 10)
    for index in range(3):
        builder.kernel("gemm", 20 + index * 10, 9, correlation=correlation)
    assert bridge.queue_lengths(builder.trace()) == ()


def test_idle_time_of_a_stream_adds_up() -> None:
    trace = launch_bound().trace()
    with bridge.quiet():
        from hta.analyzers.breakdown_analysis import BreakdownAnalysis

        # Gaps up to 30 ns are the hardware's own delay between two kernels.
        found, _ = BreakdownAnalysis.get_idle_time_breakdown(
            bridge.as_hta(trace), 30, rank=bridge.RANK, visualize=False
        )
    idle, _, _ = our_times(trace)
    assert found["idle_time"].sum() == pytest.approx(idle)


def full_queue() -> TraceBuilder:
    """All kernels of a step are launched at its beginning and run back to back."""
    builder = TraceBuilder()
    for step in range(4):
        at = step * 10_000
        builder.step(step, at, 10_000)
        for index in range(40):
            builder.launch(at + index * 10, kernel_start=at + 500 + index * 237, kernel_dur=235)
    return builder


@pytest.mark.slow
def test_the_critical_path_is_the_hosts_where_launches_limit_and_the_devices_where_they_do_not() -> None:
    for made, largest in ((launch_bound, "cpu_bound"), (full_queue, "gpu_compute_bound")):
        found = critical_path(made().trace())
        assert found is not None
        assert max(found, key=lambda name: found[name]) == largest
        # One step of 10 ms, and nothing longer; host time outside any event has no weight on the path.
        assert 0 < sum(found.values()) <= 1.1e7


@pytest.mark.parametrize(
    ("name", "largest", "ratio"),
    [("hta_a100_ddp_resnet", "cpu_bound", 0.9), ("hta_v100_resnet_ns", "gpu_compute_bound", 0.9)],
)
def test_the_critical_path_of_recorded_traces(name: str, largest: str, ratio: float) -> None:
    found = critical_path(trace_of(shared(name)))
    assert found is not None
    assert found[largest] >= ratio * sum(found.values())


def test_pandas_is_left_as_it_was() -> None:
    before = dict(vars(pd.DataFrame))
    critical_path(launch_bound().trace())
    changed = [name for name, what in vars(pd.DataFrame).items() if before.get(name) is not what]
    assert changed == []


def test_where_there_is_no_critical_path_the_reason_is_given() -> None:
    assert unavailable(launch_bound().trace()) is None
    unmarked = TraceBuilder()
    unmarked.launch(0, kernel_start=10, kernel_dur=900)
    assert unavailable(unmarked.trace()) == "it needs step marks"
    assert "CUDA only" in str(unavailable(rocm(launch_bound()).trace()))


def moving_average(*, lead: float = 3) -> TraceBuilder:
    """Sixty tensors a step: `mul_` launches one kernel, `add_` two, and the device waits for each of them."""
    builder = TraceBuilder("cuda")
    for step in range(4):
        at = step * 10_000
        builder.step(step, at, 10_000)
        for index in range(60):
            when = at + index * 100
            builder.op("aten::mul_", when, 45)
            builder.launch(when + 5, name="scale", kernel_start=when + 10 + lead, kernel_dur=2, op=None, call_dur=4)
            builder.op("aten::add_", when + 50, 45)
            builder.launch(when + 55, name="first", kernel_start=when + 60 + lead, kernel_dur=2, op=None, call_dur=4)
            builder.launch(when + 70, name="then", kernel_start=when + 75 + lead, kernel_dur=3, op=None, call_dur=4)
    return builder


@pytest.mark.parametrize("change", [lambda builder: builder, rocm], ids=["cuda", "rocm"])
def test_the_kernels_of_each_op_are_found_in_order(change: Callable[[TraceBuilder], TraceBuilder]) -> None:
    found = kernel_sequences(change(moving_average()).trace(), frozenset({"aten::mul_", "aten::add_"}))
    assert found is not None
    half = MOST_OPS // 2
    assert {(one.op, len(one.kernels), one.count, one.op_ns, one.kernel_ns) for one in found} == {
        ("aten::mul_", 1, half, half * 45_000, half * 2_000),
        ("aten::add_", 2, half, half * 45_000, half * 5_000),
    }


def test_kernels_of_an_op_that_other_threads_run_are_found_as_well() -> None:
    """HTA keeps what it knows of a thread under minus the thread's number, and -1 and -2 are its words for "none"."""
    builder = TraceBuilder("cuda")
    builder.step(0, 0, 10_000)
    for thread in (1, 2, 3):
        builder.op("aten::relu", 1_000 * thread, 90, thread=thread)
        builder.launch(1_000 * thread + 5, kernel_start=1_000 * thread + 20, kernel_dur=9, op=None, thread=thread)
    found = kernel_sequences(builder.trace(), frozenset({"aten::relu"}))
    assert found is not None
    assert [one.count for one in found] == [3]


def test_no_sequences_where_nothing_can_be_followed() -> None:
    assert kernel_sequences(world("PY003").trace(), frozenset({"aten::mul_"})) is None
    assert kernel_sequences(moving_average().trace(), frozenset({"aten::absent"})) is None
    assert no_sequences(moving_average().trace()) is None
    assert no_sequences(world("PY003").trace()) == "the trace has no launches"


def test_a_loop_over_tensors_shows_the_kernels_it_launches(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    path = moving_average().write(tmp_path / "trace.json")
    (finding,) = [one for one in analyse(path, Options(deep=True)).findings if one.rule == "PY003"]
    tables = [one for one in finding.evidence if isinstance(one, Table)]
    (found,) = [one for one in tables if one.title.startswith("frequent kernel sequences")]
    assert {(row[0], row[1], row[3]) for row in found.rows} == {
        ("aten::mul_", "scale", 45_000),
        ("aten::add_", "first, then", 45_000),
    }
    # HTA's own way would have left a trace file with the sequences laid over it.
    assert sorted(tmp_path.iterdir()) == [*before, path]


def test_a_loop_on_the_cpu_says_why_there_are_no_sequences(tmp_path: Path) -> None:
    path = world("PY003").write(tmp_path / "trace.json")
    (finding,) = [one for one in analyse(path, Options(deep=True)).findings if one.rule == "PY003"]
    assert "No frequent kernel sequences: the trace has no launches." in finding.caveats
    assert any(caveat.startswith("No critical path: ") for caveat in finding.caveats)


def test_deeper_evidence_is_added_on_request_only(tmp_path: Path) -> None:
    path = launch_bound().write(tmp_path / "trace.json")
    plain, deep = analyse(path), analyse(path, Options(deep=True))
    titles = [piece.title for finding in deep.findings for piece in finding.evidence if isinstance(piece, Table)]
    concerned = {finding.rule for finding in plain.findings} & {"ID001", "ID002"}
    assert any("(HTA)" in title for title in titles) is bool(concerned)
    assert not any("(HTA)" in piece.title for finding in plain.findings for piece in finding.evidence)


def test_without_hta_the_findings_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bridge, "missing", lambda: "HolisticTraceAnalysis is not installed: pip install HolisticTraceAnalysis"
    )
    path = launch_bound().write(tmp_path / "trace.json")
    plain = analyse(path)
    deep = deepen(plain, read(path))
    assert {"ID001", "ID002"} & {finding.rule for finding in plain.findings}
    for before, after in zip(plain.findings, deep.findings, strict=True):
        said = any("pip install HolisticTraceAnalysis" in caveat for caveat in after.caveats)
        assert said is (before.rule in ("ID001", "ID002", "PY003", "CO001", "CO002"))


def test_hta_is_imported_only_when_used() -> None:
    import subprocess

    code = "import analyzer.explain, sys; raise SystemExit(any(name.split('.')[0] == 'hta' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_events_lie_in_the_steps_that_hta_finds_them_in(name: str) -> None:
    handed = bridge.as_hta(trace_of(shared(name)))
    frame = handed.traces[bridge.RANK]
    ours = frame["iteration"].to_numpy().copy()
    with bridge.quiet():
        from hta.common.trace import add_iteration

        frame["iteration"] = -1
        add_iteration(frame, handed.symbol_table)
    assert ours.tolist() == frame["iteration"].to_numpy().tolist()


def test_steps_are_found_without_asking_each_event_about_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    with bridge.quiet():
        import hta.common.trace

    monkeypatch.setattr(hta.common.trace, "add_iteration", lambda *_: pytest.fail("minutes on a million of events"))
    frame = bridge.as_hta(facts_of("DL001").trace).traces[bridge.RANK]
    assert (frame["iteration"] >= 0).any()
