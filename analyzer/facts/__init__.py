"""Measurements of one trace: lazy, cached, pure. Rules and reports ask here and measure nothing themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import pandas as pd

from analyzer.facts.communication.collectives import Collectives, collectives
from analyzer.facts.communication.ranks import RankSkew, rank_skew
from analyzer.facts.device.activity import DeviceActivity, asks_for_device, device_activities
from analyzer.facts.device.launches import (
    BlockingLaunches,
    EarlyStarts,
    blocking_launches,
    device_work,
    early_starts,
    launches,
    lead_median_ns,
    skew_matters,
)
from analyzer.facts.health import Gravity, Symptom, symptoms
from analyzer.facts.health.complete.coverage import launches_without_op, sparse_host_events
from analyzer.facts.health.steps.warmup import WarmUp, warmup_time
from analyzer.facts.host.ops import BoolArray, OpTree
from analyzer.facts.host.restarts import Restarts, restarts
from analyzer.facts.host.stacks import Stacks
from analyzer.facts.host.threads import HostActivity, main_thread
from analyzer.facts.host.tree import HostTree, host_tree
from analyzer.facts.input.code import InputCode, input_code
from analyzer.facts.input.loading import Loading, loading
from analyzer.facts.input.wait import InputWait, input_wait
from analyzer.facts.input.wait_pattern import WaitPattern, wait_pattern
from analyzer.facts.isolation import FactError, Measured, attempt, fact, measured
from analyzer.facts.kernels.alignment import Alignment, alignment
from analyzer.facts.kernels.attention import Attention, attention
from analyzer.facts.kernels.conv_bias import ConvBias, conv_bias
from analyzer.facts.kernels.filling import Filling, filling
from analyzer.facts.kernels.find import Kernels, kernels
from analyzer.facts.kernels.fusion import Fusion, fusion
from analyzer.facts.kernels.precision import Casts, MatrixWork, casts, double_kernels, matrix_work
from analyzer.facts.loops.find import Loop, find_loops
from analyzer.facts.memory.allocator import Allocations, DeviceMemory, allocations, device_memory
from analyzer.facts.model.backward_passes import Passes, many_passes
from analyzer.facts.model.compiled import Compiled, compiled
from analyzer.facts.model.optimizing import Optimizing, optimizing
from analyzer.facts.model.repetition import Repetition, repetition
from analyzer.facts.recording.collected import Collected, collected
from analyzer.facts.recording.run_course import RunCourse, run_course
from analyzer.facts.recording.training import trains
from analyzer.facts.steps.find import Steps, find_steps, whole_trace
from analyzer.facts.sync.anomaly import AnomalyChecks, anomaly
from analyzer.facts.sync.waits import Waits, waits
from analyzer.facts.time.device_waits import DeviceWaits, device_waits
from analyzer.facts.time.kernel_reach import kernel_reach_ratio
from analyzer.facts.time.launch_bound import launch_bound
from analyzer.facts.time.pauses import Pauses, pauses
from analyzer.facts.time.unsteady import Unsteady, unsteady
from analyzer.facts.time.waterfall import Waterfall, device_waterfall, host_waterfall, unexplained
from analyzer.facts.transfer.copies import Transfers, transfers
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration
from traces.trace import Trace

# What a device-aware step takes over from the one before is no occurrence of its own.
_SPILL_RATIO = 0.01


class Facts:
    """Everything measured on one trace; each figure is computed once, when first asked for.

    One that cannot be computed raises `FactError`, and takes nothing else along: `steps`, `devices`, `host` and `waterfall`, which
    every document is made of, then say that nothing is known, and `health.failed` grades the trace by it.

    Attributes:
        failures: What could not be measured so far, by name.

    Args:
        trace: The trace.
        selected_steps: First and last step number to use, inclusive; None for all usable ones.
        peers: The other ranks of the same job.
    """

    def __init__(
        self, trace: Trace, selected_steps: tuple[int, int] | None = None, peers: tuple[Facts, ...] = ()
    ) -> None:
        self.trace = trace
        self._selected_steps = selected_steps
        self.peers = peers
        self.failures: dict[str, FactError] = {}

    def attempt(self, name: str, measure: Callable[[], Measured], instead: Measured) -> Measured:
        """What can be measured beside the figures here, or something instead; a failure is kept under its name."""
        return attempt(lambda: measured(self.failures, name, measure), instead)

    @fact
    def work(self) -> pd.DataFrame:
        """All device work; see `launches.device_work`."""
        return device_work(self.trace)

    @fact
    def launched(self) -> pd.DataFrame:
        """Device work with its launch call; see `launches.launches`."""
        return launches(self.trace, self.work)

    @fact
    def launched_inside(self) -> pd.DataFrame:
        """The rows of `launched` whose launch call begins in the used steps."""
        return self.launched[self.host_window().contains(self.launched["launch_start_ns"].to_numpy())]

    @fact
    def found_steps(self) -> Steps:
        """The steps as they are found; see `steps`."""
        return find_steps(self.trace, self.work, self.launched, self._selected_steps)

    @cached_property
    def steps(self) -> Steps:
        """The steps, used and left out; the whole trace is one where they cannot be found."""
        return attempt(lambda: self.found_steps, None) or whole_trace(self.trace)

    def window(self, *, raw: bool = False) -> IntervalSet:
        """The used steps (W), or with `raw` everything between the first and the last host step (W0 of rules.md)."""
        return self.steps.raw_window if raw else self.steps.window

    def host_window(self) -> IntervalSet:
        """When the host goes through the used steps; it may be whole steps ahead of the device, so count its events in here."""
        return self.steps.host_window

    @fact
    def warmup(self) -> WarmUp:
        """Start-up work inside the used steps; see `health.warmup.warmup_time`."""
        return warmup_time(self)

    @cached_property
    def whole(self) -> IntervalSet:
        """All steps, used or not."""
        frame = self.steps.frame
        return IntervalSet(frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())

    @cached_property
    def window_ns(self) -> int:
        """Length of all used steps together."""
        return self.window().total_ns

    @cached_property
    def used_steps(self) -> int:
        """How many steps figures are made from."""
        return len(self.steps.used)

    @fact
    def found_devices(self) -> tuple[DeviceActivity, ...]:
        """Devices as they are found; see `devices`."""
        return device_activities(self.work, self.launched)

    @cached_property
    def devices(self) -> tuple[DeviceActivity, ...]:
        """Devices with work, the one that stands for the trace first; none where that cannot be told."""
        return attempt(lambda: self.found_devices, ())

    @property
    def device(self) -> DeviceActivity | None:
        """The device that stands for the trace; None on a CPU-only trace."""
        return self.devices[0] if self.devices else None

    @fact
    def main_thread(self) -> int | None:
        """Row in `trace.threads` of the thread that runs the training loop."""
        return main_thread(self.trace, self.steps.thread)

    @fact
    def host(self) -> HostActivity:
        """What each host thread does when."""
        main = self.main_thread
        preparing = {} if main is None else {main: attempt(lambda: self.restarts.making_spans, EMPTY)}
        return HostActivity(self.trace, self.launched, preparing)

    @fact
    def restarts(self) -> Restarts:
        """Iterators of a loader with workers made in the trace, used steps or not."""
        return restarts(self.trace, self.main_thread)

    def waterfall_of(self, device: DeviceActivity | None, window: IntervalSet) -> Waterfall:
        """The exclusive causes of one device (or of the CPU, for None) over a window; all unexplained where they cannot be told."""
        return self.attempt("waterfall", lambda: self._divided(device, window), unexplained(window))

    def _divided(self, device: DeviceActivity | None, window: IntervalSet) -> Waterfall:
        if device is None and not self.found_devices:
            return host_waterfall(self.host, self.main_thread, window)
        assert device is not None
        return device_waterfall(self.trace, device, self.launched, self.work, self.host, self.main_thread, window)

    @cached_property
    def waterfall(self) -> Waterfall:
        """The causes of the device that stands for the trace, over the used steps."""
        return self.waterfall_of(self.device, self.window())

    @fact
    def step_causes(self) -> pd.DataFrame:
        """Used step x cause, int64 ns; each row sums to the step's duration."""
        return self.waterfall.per_step(self.steps.used)

    @fact
    def idle(self) -> IntervalSet:
        """The part of the used steps in which the device does nothing; on a CPU-only trace, time outside compute."""
        if self.device is None:
            return self.window() - self.waterfall.owned("compute")
        return self.window() - self.device.busy

    @fact
    def device_waits(self) -> DeviceWaits:
        """What launched work waits for while the device idles."""
        return device_waits(self)

    @fact
    def lead_ns(self) -> int | None:
        """Median launch lead over the kernels launched in the used steps; see `launches.lead_median_ns`. None without one clock."""
        return None if self.clocks_apart else lead_median_ns(self.launched_inside, self.skew_ns)

    @fact
    def early_starts(self) -> EarlyStarts | None:
        """Kernels of the used steps that seem to start before their launch; None where the clocks agree."""
        return early_starts(self.launched_inside)

    @property
    def skew_ns(self) -> int:
        """By how much the device's clock is behind the host's at least; 0 where they agree."""
        return self.early_starts.most_ns if self.early_starts is not None else 0

    @fact
    def clocks_apart(self) -> bool:
        """Whether host and device differ by so much that nothing which rests on both holds; see `launches.skew_matters`."""
        return skew_matters(self.early_starts, self.idle)

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Reasons to doubt the trace, gravest first; measured once for the verdict and for the hygiene rules."""
        return symptoms(self)

    @fact
    def doubted(self) -> frozenset[str]:
        """Codes of the symptoms that make figures of the used steps doubtful."""
        return frozenset(one.code for one in self.symptoms if one.code and one.gravity >= Gravity.CAUTION)

    @fact
    def host_tree(self) -> HostTree:
        """Ops, ranges and calls of the host, nested."""
        return host_tree(self.trace)

    @fact
    def stacks(self) -> Stacks:
        """The user's own lines, where Python stacks were recorded."""
        return Stacks(self.trace)

    @fact
    def waits(self) -> Waits:
        """Calls that make the host wait for the device."""
        return waits(self)

    @fact
    def passes(self) -> Passes:
        """Updates that take many backward passes."""
        return many_passes(self)

    @fact
    def loops(self) -> tuple[Loop, ...]:
        """Loops of the program over tensors, longest first."""
        return find_loops(self)

    @fact
    def optimizing(self) -> Optimizing:
        """How the optimizer updates and zeroes, and what that costs."""
        return optimizing(self)

    @fact
    def sparse_host_events(self) -> int | None:
        """Ops and calls of the training thread where there is less than one a step; else None."""
        return sparse_host_events(self)

    @fact
    def launches_without_op(self) -> float:
        """Share of the kernels launched in the used steps whose launch lies inside no op; 0 without kernels."""
        return launches_without_op(self)

    @property
    def noun(self) -> Literal["step", "request", "recording"]:
        """What to call one of the used steps: where nothing marks any, it is the whole recording."""
        if self.steps.source == "whole-trace":
            return "recording"
        return "request" if self.steps.requests else "step"

    @property
    def each(self) -> str:
        """`each 100 ms step`, `each 80 ms request`, or `the 43 s recording` where it is taken as one: what parts are parts of."""
        return f"{'the' if self.noun == 'recording' else 'each'} {duration(self.per_step(self.window_ns))} {self.noun}"

    @property
    def a_unit(self) -> str:
        """`a step`, `a request`, or `in all` where the recording is taken as one: what stands behind a rate."""
        return "in all" if self.noun == "recording" else f"a {self.noun}"

    @property
    def may_serve(self) -> bool:
        """Whether nothing tells training from a server, whose idle time may be waiting for requests: no marks, no training."""
        return not self.steps.marked and not trains(self.trace)

    @fact
    def infers(self) -> bool:
        """Whether the program only runs its model, as its ops show: advice for training would be none."""
        return bool(len(self.trace.ops)) and not trains(self.trace)

    @fact
    def unrecorded_device(self) -> bool:
        """Whether the program used a device of which the trace has no work: host gaps may then be waiting for it."""
        return self.device is None and asks_for_device(self.trace)

    @fact
    def pauses(self) -> Pauses:
        """Long stretches in which nothing runs."""
        return pauses(self)

    @fact
    def unsteady(self) -> Unsteady:
        """How evenly long the steps are."""
        return unsteady(self)

    @fact
    def run_course(self) -> RunCourse | None:
        """The whole run; None where the recording says nothing of it."""
        return run_course(self.trace.meta)

    @fact
    def anomaly(self) -> AnomalyChecks:
        """NaN checks of autograd's anomaly mode."""
        return anomaly(self)

    @fact
    def blocking_launches(self) -> BlockingLaunches:
        """Launches in the used steps that outlast their kernel."""
        return blocking_launches(self.launched_inside, self.skew_ns)

    @fact
    def launch_bound(self) -> bool:
        """Whether the device idles because it waits for each launch: a faster kernel then changes nothing."""
        return launch_bound(self)

    @fact
    def op_tree(self) -> OpTree:
        """Which op encloses which."""
        return OpTree(self.trace.ops)

    @fact
    def kernels(self) -> Kernels:
        """Kernels of the device that stands for the trace, with what their names say and the op that launched them."""
        return kernels(self)

    @fact
    def filling(self) -> Filling:
        """How full the device as a whole is while kernels compute."""
        return filling(self.kernels)

    @fact
    def matrix_work(self) -> MatrixWork:
        """GEMMs and convolutions, their number formats, and whether tensor cores do them."""
        return matrix_work(self)

    @fact
    def conv_bias(self) -> ConvBias:
        """Convolutions whose bias a batch normalisation takes away."""
        return conv_bias(self)

    @fact
    def repetition(self) -> Repetition:
        """Whether steps launch the same kernels."""
        return repetition(self)

    @fact
    def casts(self) -> Casts:
        """Conversions between 32 and 16 bits."""
        return casts(self)

    @fact
    def double_kernels(self) -> tuple[BoolArray, bool]:
        """Kernels on 64-bit floats, and whether input types prove most of them."""
        return double_kernels(self)

    @fact
    def collectives(self) -> Collectives:
        """Collectives: when they run, and what of it nothing hides."""
        return collectives(self)

    @fact
    def alignment(self) -> Alignment:
        """GEMMs with operands that tensor cores cannot load at full width."""
        return alignment(self)

    @fact
    def fusion(self) -> Fusion:
        """Pointwise kernels that follow one another on the same data."""
        return fusion(self)

    @fact
    def compiled(self) -> Compiled:
        """Compiled regions, guards, and compiling itself."""
        return compiled(self)

    @fact
    def attention(self) -> Attention:
        """Attention written out, and fused attention."""
        return attention(self)

    @fact
    def allocations(self) -> Allocations:
        """Allocator calls in steady steps."""
        return allocations(self)

    @fact
    def device_memory(self) -> DeviceMemory:
        """How full the device's memory gets."""
        return device_memory(self)

    def kernel_gain_ns(self, kernel_ns: float) -> int:
        """What of shortening kernels by `kernel_ns` in total usually reaches the clock; an expectation, see `kernel_reach`."""
        return int(kernel_ns * self.kernel_reach_ratio)

    @fact
    def kernel_reach_ratio(self) -> float:
        """Share of the time by which kernels get shorter that the step usually gets shorter by; see `kernel_reach`."""
        return kernel_reach_ratio(self)

    @fact
    def rank_skew(self) -> RankSkew | None:
        """This rank and its peers held against each other; None without peers or common steps."""
        return rank_skew((self, *self.peers))

    @fact
    def collected(self) -> Collected:
        """What `advisor collect` recorded beside the events."""
        return collected(self.trace.meta)

    @property
    def without_core_ns(self) -> int:
        """For how long of the used steps the training thread could run and had no core; 0 where nobody asked the system.

        What is no more than this on the host's clock may be the work of other programs.
        """
        return int((self.collected.core_wait_ratio or 0.0) * self.window_ns)

    @fact
    def input_wait(self) -> InputWait:
        """Waiting for the data loader."""
        return input_wait(self)

    @fact
    def input_code(self) -> InputCode:
        """The user's functions and lines that make the batches."""
        return input_code(self)

    @fact
    def wait_pattern(self) -> WaitPattern:
        """How waiting for batches is spread over the loader's calls."""
        return wait_pattern(self)

    @fact
    def loading(self) -> Loading:
        """What loading a batch in the training process consists of."""
        return loading(self)

    @fact
    def transfers(self) -> Transfers:
        """Copies between host and device in the used steps."""
        return transfers(self)

    def steps_with(self, time: IntervalSet) -> int:
        """In how many used steps a time lies; a hundredth of what lies in the fullest one is but the end of another step's."""
        used = self.steps.used
        part = time.overlap_with(used["start_ns"].to_numpy(), used["end_ns"].to_numpy())
        return int((part > part.max(initial=0) * _SPILL_RATIO).sum())

    def per_step(self, ns: float) -> float:
        """A time over the whole window as a mean per used step; 0 without used steps."""
        return ns / self.used_steps if self.used_steps else 0.0

    def ratio(self, ns: float) -> float:
        """A time as a share of the window; 0 for an empty window."""
        return ns / self.window_ns if self.window_ns else 0.0
