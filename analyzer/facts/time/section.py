"""Whose each nanosecond of the used steps is."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from analyzer.facts.device.activity import DeviceActivity
from analyzer.facts.device.launches import (
    BlockingLaunches,
    EarlyStarts,
    blocking_launches,
    early_starts,
    lead_median_ns,
    skew_matters,
)
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.collected_in_run import collected_in_run_ns, counted_in_run_ns
from analyzer.facts.time.device_waits import DeviceWaits, device_waits
from analyzer.facts.time.dispatching import dispatch_ratio, ways_between
from analyzer.facts.time.host_loss import DISPATCH_BOUND_OP_NS, HostLoss, host_loss
from analyzer.facts.time.kernel_reach import kernel_reach_ratio
from analyzer.facts.time.lacked_core import LackedCore, lacked_core
from analyzer.facts.time.launch_bound import UsualLaunch, launch_bound, starved_gaps, usual_launch
from analyzer.facts.time.launched_in import LaunchedIn, launched_in
from analyzer.facts.time.pauses import Pauses, known_activity, pauses
from analyzer.facts.time.stalled_gaps import Stalls, stalls
from analyzer.facts.time.stalled_ops import StalledOps, stalled_ops
from analyzer.facts.time.turns import take_turns
from analyzer.facts.time.unsteady import Unsteady, unsteady
from analyzer.facts.time.waterfall import Waterfall, device_waterfall, host_waterfall, unexplained
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import share
from traces.fixed_frame import FixedFrame

# What a thread without a core is late at by itself; in all else it waits.
_AT_WORK = ("compute", "optimizer", "python")


class TimeFacts(Section):
    """The waterfall of the used steps, and what follows from host and device seen together.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
    """

    NAME = "time"

    def __init__(self, recording: RecordingFacts, device: DeviceFacts, steps: Steps, host: HostFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps, self._host = recording, device, steps, host

    def waterfall_of(self, device: DeviceActivity | None, window: IntervalSet) -> Waterfall:
        """The exclusive causes of one device (or of the CPU, for None) over a window; all unexplained where they cannot be told."""
        return self.attempt("waterfall", lambda: self._divided(device, window), unexplained(window))

    def _divided(self, device: DeviceActivity | None, window: IntervalSet) -> Waterfall:
        host, main = self._host.threads, self._host.main_thread
        if device is None and not self._device.found:
            return host_waterfall(host, main, window, self._host.among_ranks)
        assert device is not None
        return device_waterfall(self.trace, device, self._device.launched, self._device.work, host, main, window)

    @cached_property
    def waterfall(self) -> Waterfall:
        """The causes of the device that stands for the trace, over the used steps."""
        return self.waterfall_of(self._device.main, self._steps.window)

    @fact
    def step_causes(self) -> pd.DataFrame:
        """Used step x cause, int64 ns; each row sums to the step's duration."""
        return self.waterfall.per_step(self._steps.used)

    @fact
    def idle(self) -> IntervalSet:
        """The part of the used steps in which the device does nothing; on a CPU-only trace, time outside compute."""
        device = self._device.main
        return self._steps.window - (self.waterfall.owned("compute") if device is None else device.busy)

    @fact
    def waiting_for_work(self) -> IntervalSet:
        """When the device idles and the main thread waits for what others hand over, as a server does without requests.

        Without stacks nobody knows. Where a program trains, what it takes from a queue are batches, and their lack is a loss.
        """
        main = self._host.main_thread
        if main is None or self._steps.marked or self._recording.trains:
            return EMPTY
        return self.waterfall.owned("python", "unexplained") & self._host.threads.during("waiting", main)

    @fact
    def device_waits(self) -> DeviceWaits:
        """What launched work waits for while the device idles."""
        return device_waits(self.trace, self._device, self.waterfall)

    @fact
    def devices_take_turns(self) -> bool:
        """Whether the devices of the process work one after the other."""
        return take_turns(self._device, self.device_waits, self._steps.window)

    @fact
    def launched(self) -> pd.DataFrame:
        """Device work whose launch call begins in the used steps, with that call; see `launches.launches`."""
        launched = self._device.launched
        return FixedFrame(chosen(launched, self._steps.host_window.contains(launched["launch_start_ns"].to_numpy())))

    def launched_in(self, spans: IntervalSet) -> LaunchedIn:
        """The kernels that are launched in some time of the host."""
        return launched_in(self.launched, spans)

    @fact
    def lead_ns(self) -> int | None:
        """Median launch lead over the kernels launched in the used steps; see `launches.lead_median_ns`. None without one clock."""
        return None if self.clocks_apart else lead_median_ns(self.launched, self.skew_ns)

    @property
    def dispatch_bound_op_ns(self) -> float:
        """Below this an op on the CPU is mostly dispatch, ns: as on a quiet core, times as slow as this one was."""
        return DISPATCH_BOUND_OP_NS * max(1.0, self._recording.collected.core_slowness or 1.0)

    def dispatch_ratio(self, spans: IntervalSet) -> float:
        """Share of the time of the CPU's ops in some spans that is dispatch, 0..1; see `dispatching.dispatch_ratio`."""
        return dispatch_ratio(self._host.tree, spans, self.dispatch_bound_op_ns)

    @fact
    def ways_between_ops(self) -> IntervalSet:
        """On the CPU, the way from each op of the used steps to the next, at most as long as an op that is mostly dispatch."""
        return ways_between(self.waterfall.owned("python"), self.dispatch_bound_op_ns)

    def host_loss(self, spans: IntervalSet, usual_op_ns: float) -> HostLoss:
        """What host work costs; on the CPU of its ops' time all where they are short, else what of it is dispatch.

        Args:
            spans: Where the host does it.
            usual_op_ns: What one of its ops usually takes.
        """
        ratio = 1.0 if usual_op_ns < self.dispatch_bound_op_ns else self.dispatch_ratio(spans)
        return host_loss(self._device, self.device_waits, self.waterfall, spans, dispatch_ratio=ratio)

    @fact
    def early_starts(self) -> EarlyStarts | None:
        """Kernels of the used steps that seem to start before their launch; None where the clocks agree."""
        return early_starts(self.launched)

    @property
    def skew_ns(self) -> int:
        """By how much the device's clock is behind the host's at least; 0 where they agree."""
        return self.early_starts.most_ns if self.early_starts is not None else 0

    @fact
    def clocks_apart(self) -> bool:
        """Whether host and device differ by so much that nothing which rests on both holds; see `launches.skew_matters`."""
        return skew_matters(self.early_starts, self.idle)

    @fact
    def blocking_launches(self) -> BlockingLaunches:
        """Launches in the used steps that outlast their kernel."""
        return blocking_launches(self.launched, self.skew_ns)

    @fact
    def launch_bound(self) -> bool:
        """Whether the device idles because it waits for each launch: a faster kernel then changes nothing."""
        return launch_bound(
            self.trace, self._steps, self.blocking_launches, self.device_waits, self.idle, self.lead_ns, self.waterfall
        )

    @fact
    def usual_launch(self) -> UsualLaunch:
        """The kernels of the used steps, and a median one with its launch."""
        return usual_launch(self.trace, self._steps)

    @fact
    def kernel_reach_ratio(self) -> float:
        """Share of the time by which kernels get shorter that the step usually gets shorter by; see `kernel_reach`."""
        return kernel_reach_ratio(self._steps, self._host, self.idle, self.launch_bound, self.waterfall)

    def kernel_gain_ns(self, kernel_ns: float) -> int:
        """What of shortening kernels by `kernel_ns` in total usually reaches the clock; an expectation, see `kernel_reach`."""
        return int(kernel_ns * self.kernel_reach_ratio)

    @fact
    def pauses(self) -> Pauses:
        """Long stretches in which nothing runs."""
        waiting = self.waiting_for_work
        return pauses(
            self.trace, self._recording, self._device, self._steps, self._host, self.idle, self.waterfall, waiting
        )

    @fact
    def collected_in_run_ns(self) -> float | None:
        """What garbage collections can take of a step without the profiler; None where nobody knows, or as much as recorded."""
        return collected_in_run_ns(self._recording, self._steps, self.pauses.collected, self.counted_in_run_ns)

    @fact
    def counted_in_run_ns(self) -> float | None:
        """What the passes of the collector that were counted in the run take of a step; None where nobody counted any."""
        return counted_in_run_ns(self._recording, self.pauses.collected)

    @fact
    def stalled_ops(self) -> StalledOps:
        """Ops that took far longer than in other steps, as they do where other programs have the core."""
        return stalled_ops(self._steps, self._host)

    @fact
    def stalls(self) -> Stalls:
        """Ops and stretches between them that took longer than at the same place in other steps."""
        return stalls(self._steps, self._host, self.waterfall.owned("python"))

    def known_activity(self, time: IntervalSet) -> str | None:
        """What frames or ranges say a pause is, in one word; None where they say nothing."""
        return known_activity(self.trace, time)

    @fact
    def unsteady(self) -> Unsteady:
        """How evenly long the steps are."""
        return unsteady(self._steps, self.step_causes)

    def starved(self, limit_ns: float) -> IntervalSet:
        """The gaps that end with a kernel just launched, its lead below a limit; none without one clock."""
        return EMPTY if self.clocks_apart else starved_gaps(self.launched, self.idle, limit_ns, self.skew_ns)

    @fact
    def lacked_core(self) -> LackedCore | None:
        """That ops show a lack of a core, of a trace without a device where nobody asked the system; None where they do not."""
        asked = self._recording.collected.core_wait_ratio is not None
        return None if asked or self._device.main is not None else lacked_core(self._steps, self._host)

    @property
    def without_core_ns(self) -> int:
        """For how long of the used steps the training thread could run and had no core.

        Where nobody asked the system, as far as ops show it: of the time in which the thread was at work. 0 where nothing does.
        What is no more than this on the host's clock may be the work of other programs.
        """
        asked = self._recording.collected.core_wait_ratio
        if asked is not None:
            return int(asked * self._steps.total_ns)
        at_work = self.waterfall.owned(*_AT_WORK).total_ns if self.lacked_core else 0
        return int(self.lacked_core.ratio * at_work) if self.lacked_core else 0

    @property
    def core_words(self) -> str:
        """`without_core_ns` as a share of the steps, behind "the thread": measured, or as far as ops show it."""
        lacked = f"no core for {share(self._steps.ratio(self.without_core_ns))}"
        return f"seems to have had {lacked}" if self.lacked_core else f"had {lacked}"
