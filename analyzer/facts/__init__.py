"""Measurements of one trace: lazy, cached, pure. Rules and reports ask here and measure nothing themselves."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from analyzer.facts.alignment import Alignment, alignment
from analyzer.facts.anomaly import AnomalyChecks, anomaly
from analyzer.facts.attention import Attention, attention
from analyzer.facts.causes import Waterfall, device_waterfall, host_waterfall
from analyzer.facts.collected import Collected, collected
from analyzer.facts.collectives import Collectives, collectives
from analyzer.facts.compiled import Compiled, compiled
from analyzer.facts.conv_bias import ConvBias, conv_bias
from analyzer.facts.devices import DeviceActivity, asks_for_device, device_activities
from analyzer.facts.fusion import Fusion, fusion
from analyzer.facts.health import Symptom, symptoms
from analyzer.facts.health.coverage import launches_without_op, sparse_host_events
from analyzer.facts.health.warmup import warmup_time
from analyzer.facts.host import HostActivity, main_thread
from analyzer.facts.host_tree import HostTree, host_tree
from analyzer.facts.input_wait import InputWait, input_wait
from analyzer.facts.kernels import Kernels, kernels
from analyzer.facts.launch_bound import launch_bound
from analyzer.facts.launches import (
    BlockingLaunches,
    EarlyStarts,
    blocking_launches,
    device_work,
    early_starts,
    launches,
    lead_median_ns,
)
from analyzer.facts.loading import Loading, loading
from analyzer.facts.loops import Loop, find_loops
from analyzer.facts.memory import Allocations, DeviceMemory, allocations, device_memory
from analyzer.facts.op_tree import BoolArray, OpTree
from analyzer.facts.optimizing import Optimizing, optimizing
from analyzer.facts.passes import Passes, many_passes
from analyzer.facts.pauses import Pauses, pauses
from analyzer.facts.precision import Casts, MatrixWork, casts, double_kernels, matrix_work
from analyzer.facts.ranks import RankSkew, rank_skew
from analyzer.facts.repetition import Repetition, repetition
from analyzer.facts.restarts import Restarts, restarts
from analyzer.facts.stacks import Stacks
from analyzer.facts.steps import Steps, find_steps
from analyzer.facts.training import trains
from analyzer.facts.transfers import Transfers, transfers
from analyzer.facts.unsteady import Unsteady, unsteady
from analyzer.facts.wait_pattern import WaitPattern, wait_pattern
from analyzer.facts.waits import Waits, waits
from analyzer.intervals import IntervalSet
from traces.trace import Trace

# What a device-aware step takes over from the one before is no occurrence of its own.
_SPILL_RATIO = 0.01


class Facts:
    """Everything measured on one trace; each figure is computed once, when first asked for.

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

    @cached_property
    def work(self) -> pd.DataFrame:
        """All device work; see `launches.device_work`."""
        return device_work(self.trace)

    @cached_property
    def launched(self) -> pd.DataFrame:
        """Device work with its launch call; see `launches.launches`."""
        return launches(self.trace, self.work)

    @cached_property
    def launched_inside(self) -> pd.DataFrame:
        """The rows of `launched` whose launch call begins in the used steps."""
        return self.launched[self.host_window().contains(self.launched["launch_start_ns"].to_numpy())]

    @cached_property
    def steps(self) -> Steps:
        """The steps, used and left out."""
        return find_steps(self.trace, self.work, self.launched, self._selected_steps)

    def window(self, *, raw: bool = False) -> IntervalSet:
        """The used steps (W), or with `raw` everything between the first and the last host step (W0 of rules.md)."""
        return self.steps.raw_window if raw else self.steps.window

    def host_window(self) -> IntervalSet:
        """When the host goes through the used steps; it may be whole steps ahead of the device, so count its events in here."""
        return self.steps.host_window

    @cached_property
    def warmup(self) -> tuple[IntervalSet, int]:
        """Time of start-up calls, and how many there are; see `health.warmup.warmup_time`."""
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

    @cached_property
    def devices(self) -> tuple[DeviceActivity, ...]:
        """Devices with work, the one that stands for the trace first."""
        return device_activities(self.work, self.launched)

    @property
    def device(self) -> DeviceActivity | None:
        """The device that stands for the trace; None on a CPU-only trace."""
        return self.devices[0] if self.devices else None

    @cached_property
    def main_thread(self) -> int | None:
        """Row in `trace.threads` of the thread that runs the training loop."""
        return main_thread(self.trace, self.steps.thread)

    @cached_property
    def host(self) -> HostActivity:
        """What each host thread does when."""
        main = self.main_thread
        preparing = {} if main is None else {main: self.restarts.making_spans}
        return HostActivity(self.trace, self.launched, preparing)

    @cached_property
    def restarts(self) -> Restarts:
        """Iterators of a loader with workers made in the trace, used steps or not."""
        return restarts(self.trace, self.main_thread)

    def waterfall_of(self, device: DeviceActivity | None, window: IntervalSet) -> Waterfall:
        """The exclusive causes of one device (or of the CPU, for None) over a window."""
        if device is None:
            return host_waterfall(self.host, self.main_thread, window)
        return device_waterfall(self.trace, device, self.launched, self.work, self.host, self.main_thread, window)

    @cached_property
    def waterfall(self) -> Waterfall:
        """The causes of the device that stands for the trace, over the used steps."""
        return self.waterfall_of(self.device, self.window())

    @cached_property
    def step_causes(self) -> pd.DataFrame:
        """Used step x cause, int64 ns; each row sums to the step's duration."""
        return self.waterfall.per_step(self.steps.used)

    @cached_property
    def idle(self) -> IntervalSet:
        """The part of the used steps in which the device does nothing; on a CPU-only trace, time outside compute."""
        if self.device is None:
            return self.window() - self.waterfall.owned("compute")
        return self.window() - self.device.busy

    @cached_property
    def lead_ns(self) -> int | None:
        """Median launch lead over the kernels launched in the used steps; see `launches.lead_median_ns`. None without one clock."""
        if self.early_starts is not None:
            return None
        return lead_median_ns(self.launched_inside)

    @cached_property
    def early_starts(self) -> EarlyStarts | None:
        """Kernels of the used steps that seem to start before their launch; None where the clocks agree."""
        return early_starts(self.launched_inside)

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Reasons to doubt the trace, gravest first; measured once for the verdict and for the hygiene rules."""
        return symptoms(self)

    @cached_property
    def host_tree(self) -> HostTree:
        """Ops, ranges and calls of the host, nested."""
        return host_tree(self.trace)

    @cached_property
    def stacks(self) -> Stacks:
        """The user's own lines, where Python stacks were recorded."""
        return Stacks(self.trace)

    @cached_property
    def waits(self) -> Waits:
        """Calls that make the host wait for the device."""
        return waits(self)

    @cached_property
    def passes(self) -> Passes:
        """Updates that take many backward passes."""
        return many_passes(self)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Loops of the program over tensors, longest first."""
        return find_loops(self)

    @cached_property
    def optimizing(self) -> Optimizing:
        """How the optimizer updates and zeroes, and what that costs."""
        return optimizing(self)

    @cached_property
    def sparse_host_events(self) -> int | None:
        """Ops and calls of the training thread where there is less than one a step; else None."""
        return sparse_host_events(self)

    @cached_property
    def launches_without_op(self) -> float:
        """Share of the kernels launched in the used steps whose launch lies inside no op; 0 without kernels."""
        return launches_without_op(self)

    @property
    def may_serve(self) -> bool:
        """Whether nothing tells training from a server, whose idle time may be waiting for requests: no marks, no training."""
        return not self.steps.marked and not trains(self.trace)

    @cached_property
    def infers(self) -> bool:
        """Whether the program only runs its model, as its ops show: advice for training would be none."""
        return bool(len(self.trace.ops)) and not trains(self.trace)

    @cached_property
    def unrecorded_device(self) -> bool:
        """Whether the program used a device of which the trace has no work: host gaps may then be waiting for it."""
        return self.device is None and asks_for_device(self.trace)

    @cached_property
    def pauses(self) -> Pauses:
        """Long stretches in which nothing runs."""
        return pauses(self)

    @cached_property
    def unsteady(self) -> Unsteady:
        """How evenly long the steps are."""
        return unsteady(self)

    @cached_property
    def anomaly(self) -> AnomalyChecks:
        """NaN checks of autograd's anomaly mode."""
        return anomaly(self)

    @cached_property
    def blocking_launches(self) -> BlockingLaunches:
        """Launches in the used steps that outlast their kernel."""
        return blocking_launches(self.launched_inside)

    @cached_property
    def launch_bound(self) -> bool:
        """Whether the device idles because it waits for each launch: a faster kernel then changes nothing."""
        return launch_bound(self)

    @cached_property
    def op_tree(self) -> OpTree:
        """Which op encloses which."""
        return OpTree(self.trace.ops)

    @cached_property
    def kernels(self) -> Kernels:
        """Kernels of the device that stands for the trace, with what their names say and the op that launched them."""
        return kernels(self)

    @cached_property
    def matrix_work(self) -> MatrixWork:
        """GEMMs and convolutions, their number formats, and whether tensor cores do them."""
        return matrix_work(self)

    @cached_property
    def conv_bias(self) -> ConvBias:
        """Convolutions whose bias a batch normalisation takes away."""
        return conv_bias(self)

    @cached_property
    def repetition(self) -> Repetition:
        """Whether steps launch the same kernels."""
        return repetition(self)

    @cached_property
    def casts(self) -> Casts:
        """Conversions between 32 and 16 bits."""
        return casts(self)

    @cached_property
    def double_kernels(self) -> tuple[BoolArray, bool]:
        """Kernels on 64-bit floats, and whether input types prove most of them."""
        return double_kernels(self)

    @cached_property
    def collectives(self) -> Collectives:
        """Collectives: when they run, and what of it nothing hides."""
        return collectives(self)

    @cached_property
    def alignment(self) -> Alignment:
        """GEMMs with operands that tensor cores cannot load at full width."""
        return alignment(self)

    @cached_property
    def fusion(self) -> Fusion:
        """Pointwise kernels that follow one another on the same data."""
        return fusion(self)

    @cached_property
    def compiled(self) -> Compiled:
        """Compiled regions, guards, and compiling itself."""
        return compiled(self)

    @cached_property
    def attention(self) -> Attention:
        """Attention written out, and fused attention."""
        return attention(self)

    @cached_property
    def allocations(self) -> Allocations:
        """Allocator calls in steady steps."""
        return allocations(self)

    @cached_property
    def device_memory(self) -> DeviceMemory:
        """How full the device's memory gets."""
        return device_memory(self)

    def kernel_gain_ns(self, kernel_ns: float) -> int:
        """What shortening kernels by `kernel_ns` in total can save on the clock: only where the device is what the step waits for.

        Kernel time x (1 - idle share), 0 when the trace is launch-bound (rules.md 2.0).
        """
        return 0 if self.launch_bound else int(kernel_ns * (1 - min(1.0, self.ratio(self.idle.total_ns))))

    @cached_property
    def rank_skew(self) -> RankSkew | None:
        """This rank and its peers held against each other; None without peers or common steps."""
        return rank_skew((self, *self.peers))

    @cached_property
    def collected(self) -> Collected:
        """What `advisor collect` recorded beside the events."""
        return collected(self.trace.meta)

    @property
    def without_core_ns(self) -> int:
        """For how long of the used steps the training thread could run and had no core; 0 where nobody asked the system.

        What is no more than this on the host's clock may be the work of other programs.
        """
        return int((self.collected.core_wait_ratio or 0.0) * self.window_ns)

    @cached_property
    def input_wait(self) -> InputWait:
        """Waiting for the data loader."""
        return input_wait(self)

    @cached_property
    def wait_pattern(self) -> WaitPattern:
        """How waiting for batches is spread over the loader's calls."""
        return wait_pattern(self)

    @cached_property
    def loading(self) -> Loading:
        """What loading a batch in the training process consists of."""
        return loading(self)

    @cached_property
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
