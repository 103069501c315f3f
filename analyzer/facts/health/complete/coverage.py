"""PG005 device events are missing, all of them or a part; or nothing was recorded at all."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.device.activity import is_elsewhere
from analyzer.facts.device.captures import captured_launches, made_anew
from analyzer.facts.device.launches import by_kernel_launch, launches_with_work
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.complete.repairs import CLOCKS, FEWER_STEPS, WHOLE_FILE, is_cut
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.grouping import rows_by
from analyzer.spans.intervals import EMPTY
from analyzer.spans.labels import is_any
from analyzer.units import count, share
from traces.trace import Capability, Trace

# Shares of launches without their kernel from which shares of idle time are doubtful, or worthless.
LOST_CAUTION = 0.1
_LOST_UNUSABLE = 0.5
# Fewer launches than this say nothing about loss.
_MIN_LAUNCHES = 20

_BOTH = "record with activities=[ProfilerActivity.CPU, ProfilerActivity.{activity}]"
_ALONE = "check that no other profiler is attached"
# What else keeps the device's events away, by the kind of device; ROCm answers to torch's name for CUDA.
_ACCESS = {
    "cuda": f"{_ALONE} and that CUPTI may be used (NVreg_RestrictProfilingToAdminUsers)",
    "rocm": f"{_ALONE} (rocprof, omnitrace) and that torch was built with roctracer",
}
_ONE_CYCLE = "use schedule(..., repeat=1) and export in on_trace_ready, not after the loop"
# Before torch 2 a mark makes a tensor of its own.
_OF_MARKS = ("aten::empty", "aten::zero_", "aten::zeros")
# The frames of what is judged.
_WORK = ("ops", "kernels", "copies")
_ACTIVITIES = {"xpu": "XPU", "mtia": "MTIA"}
_MAKERS = (
    "torch.profiler alone does not record the work of this device: use its maker's profiler (Apple: torch.mps.profiler with "
    "Instruments; Ascend: torch_npu.profiler)"
)

# What happened, and what to record instead.
_REPLAYED = (
    "The profiler read hardware counters (`profiler_metrics`): for that it runs each kernel again and again, holds up the host "
    "meanwhile, and records no kernel's time.",
    "leave profiler_metrics out of experimental_config: times and counters are two recordings. What the counters say is read by "
    "HolisticTraceAnalysis: TraceAnalysis.get_cupti_counter_data_with_operators()",
)


def check(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Iterator[Symptom]:
    """Symptoms that concern what was recorded at all."""
    found = trace.capabilities
    launches = int(is_any(trace.runtime["kind"], "launch").sum())
    has_device = Capability.DEVICE in found
    if not has_device and not len(trace.collectives) and not _computes(trace):
        yield _empty(trace)
        return
    if not has_device and launches - int(captured_launches(trace).sum()) >= _MIN_LAUNCHES:
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE,
            *(_REPLAYED if trace.meta.replayed else (_none_of(launches), _whole_or(trace, _both(trace)))),
            launches,
        )
    elif not has_device and trace.meta.device_kind not in ("cpu", "other"):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"The machine has a {trace.meta.device_kind} device, but no device work was recorded: only the CPU's side is judged.",
            _whole_or(trace, _both(trace)),
            len(trace.runtime),
        )
    elif not has_device and device.unrecorded:
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            "Ops of a device were recorded, but no work on it: only the CPU's side is judged, and it may be waiting.",
            _whole_or(trace, _MAKERS if trace.meta.device_kind == "other" or is_elsewhere(trace) else _both(trace)),
            len(trace.ops),
        )
    elif has_device and not _host_recorded(trace):
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"Only device work{' and the calls that launch it were' if Capability.LAUNCHES in found else ' was'} recorded: what "
            "the host does while the device idles is unknown.",
            _activities(trace),
            len(trace.kernels),
            touches=IDLE_CAUSES,
        )
    if has_device:
        yield from _lost(trace, device, steps)
    yield from _captured(trace, steps)
    yield from _sparse(trace, device, steps, host)


def _none_of(launches: int) -> str:
    return f"{launches:,} kernels were launched, none was recorded: the device looks idle, and is not."


def _host_recorded(trace: Trace) -> bool:
    """Whether the CPU's side was recorded: ops, or ranges, which torch records with them; a replayed graph needs no op."""
    return any(len(frame) for frame in (trace.ops, trace.collectives, trace.annotations))


def sparse_host_events(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> int | None:
    """Number of ops and calls of the training thread in the used steps where there is less than one a step; else None.

    On a CPU-only trace those of the optimizer do not count: where there is nothing else, the forward and the backward pass ran on
    threads that the profiler does not see.
    """
    trace, main = trace, host.main_thread
    if not len(trace.ops) or main is None:
        return None
    window = steps.host_window - (host.threads.during("optimizer", main) if device.main is None else EMPTY)
    events = 0
    for frame in (trace.ops, trace.runtime):
        starts = frame["start_ns"].to_numpy()[frame["thread"].to_numpy() == main]
        events += int(window.contains(starts).sum())
    return events if events < steps.count else None


def _sparse(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Iterator[Symptom]:
    """Next to nothing of the training thread, so that its silence means nothing."""
    events = sparse_host_events(trace, device, steps, host)
    if events is None:
        return
    alone = device.main is None and is_any(trace.annotations["kind"], "optimizer_step").any()
    beside = " beside the optimizer's" if alone else ""
    yield Symptom(
        "PG005",
        Gravity.CAUTION,
        f"The training thread has {count(events, 'op or call', 'ops and calls')} in {count(steps.count, 'step')}{beside}: "
        "the trace was filtered or cut, or other threads do the work, so time outside ops means nothing.",
        _whole_or(
            trace,
            "record CPU activity whole, do not filter the file, and start the profiler in the thread that trains",
        ),
        events,
        touches=IDLE_CAUSES,
    )


def launches_without_op(host: HostFacts, time: TimeFacts) -> float:
    """Share of the kernels launched in the used steps whose launch lies inside no op of its thread; 0 without kernels.

    In traces recorded whole it is at most 2 %. Where it is more, ops were not recorded, or an extension launches by itself.
    """
    launched = time.launched
    kernels = by_kernel_launch(launched)
    thread, at = launched["launch_thread"].to_numpy()[kernels], launched["launch_start_ns"].to_numpy()[kernels]
    outside = 0
    for one, rows in rows_by(thread).items():
        outside += int((~host.threads.during("ops", one).contains(at[rows])).sum())
    return outside / len(thread) if len(thread) else 0.0


def _computes(trace: Trace) -> bool:
    """Whether any op does more than make memory ready."""
    return not is_any(trace.ops["name"], *_OF_MARKS).all()


def _empty(trace: Trace) -> Symptom:
    """Nothing to judge: why, as far as the file tells."""
    absurd = int(is_any(trace.quarantined["kind"], *_WORK).sum())
    if is_cut(trace):
        why, fix = ": the file ends early.", WHOLE_FILE
    elif absurd:
        why, fix = f" whose times can be: {count(absurd, 'event')} of them had to be set aside.", CLOCKS
    elif len(trace.steps) == 1:
        # What records marks records ops, too: they were not cleared.
        why = ": the loop ended as it began to record, or runs nothing of torch in this process."
        fix = f"{_ONE_CYCLE}: a further cycle of the schedule, cut short, writes over the first"
    elif len(trace.steps):
        why = f": the {len(trace.steps):,} marked steps run nothing of torch in this process."
        fix = "start the profiler in the process that runs the model"
    elif len(trace.python):
        why, fix = ", only Python calls.", _activities(trace)
    else:
        why, fix = ": its events were cleared before the export.", _ONE_CYCLE
    ready = " but for memory made ready" if len(trace.ops) else ""
    message = f"The trace holds neither ops nor device work{ready}{why}"
    return Symptom("PG005", Gravity.UNUSABLE, message, fix, trace.meta.events)


def _activities(trace: Trace) -> str:
    return _BOTH.format(activity=_ACTIVITIES.get(trace.meta.device_kind, "CUDA"))


def _both(trace: Trace) -> str:
    """How to record the host and this kind of device together."""
    kind = trace.meta.device_kind
    return f"{_activities(trace)}; {_ACCESS.get(kind, _ALONE)}"


def _whole_or(trace: Trace, otherwise: str) -> str:
    """What is missing from a file that was cut may have been recorded."""
    return WHOLE_FILE if is_cut(trace) else otherwise


def _captured(trace: Trace, steps: Steps) -> Iterator[Symptom]:
    """Launches that a graph's capture takes in: where they are many, what was recorded is a start, not the program's work.

    Graphs that are captured for one replay each are the program's work (GR003).
    """
    calls = trace.runtime
    mine = is_any(calls["kind"], "launch") & steps.host_window.contains(calls["start_ns"].to_numpy())
    captured = int((mine & captured_launches(trace)).sum())
    ratio = captured / max(int(mine.sum()), 1)
    if captured >= _MIN_LAUNCHES and ratio >= LOST_CAUTION and not len(made_anew(trace)):
        yield Symptom(
            "PG002",
            Gravity.UNUSABLE if ratio >= _LOST_UNUSABLE else Gravity.CAUTION,
            f"{captured:,} of {int(mine.sum()):,} launches ({share(ratio)}) are captured into graphs and run nothing: what the "
            "program does once they are replayed is not in this part of the recording.",
            "record later, when the graphs are replayed",
            captured,
        )


def _lost(trace: Trace, device: DeviceFacts, steps: Steps) -> Iterator[Symptom]:
    """Launches whose kernel is missing, by the launches inside the used steps."""
    start, known = launches_with_work(trace, device.work)
    inside = steps.host_window.contains(start)
    total = int(inside.sum())
    lost = int((inside & ~known).sum())
    if not known.any():
        # The ids may be broken (PG007): then every kernel is that of some launch.
        lost = max(lost - len(trace.kernels), 0)
    if total >= _MIN_LAUNCHES and lost / total >= LOST_CAUTION:
        # What a cut file lost is not spread over the steps.
        grave = lost / total >= _LOST_UNUSABLE or trace.whole_until_ns is not None
        yield Symptom(
            "PG005",
            Gravity.UNUSABLE if grave else Gravity.CAUTION,
            f"{lost:,} of {total:,} launches ({share(lost / total)}) have no kernel: "
            f"device activity {'is missing from the cut file' if is_cut(trace) else 'was lost'}, idle time is overstated.",
            _whole_or(trace, FEWER_STEPS),
            lost,
        )
