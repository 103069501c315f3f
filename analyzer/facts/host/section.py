"""What the threads of the host do."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.among_ranks import among_ranks
from analyzer.facts.host.copied_rows import CopiedRows, copied_rows
from analyzer.facts.host.described_ops import DescribedOps, described_ops
from analyzer.facts.host.dispatch_owner import DispatchOwner, dispatch_owner
from analyzer.facts.host.engine_steps import engine_steps
from analyzer.facts.host.frame_of_most import FrameOfMost, frame_of_most
from analyzer.facts.host.frames_known import listing_buffers, merging
from analyzer.facts.host.library_calls import LibraryCall, library_call
from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.outermost import Outermost, outermost
from analyzer.facts.host.output import Output, output
from analyzer.facts.host.own_ranges import range_around
from analyzer.facts.host.profiler_calls import profiler_calls
from analyzer.facts.host.restarts import Restarts, restart_seen, restarts, seed_drawn_between
from analyzer.facts.host.stacks import Stacks
from analyzer.facts.host.state_taken import behind_state, trained_tensors
from analyzer.facts.host.threads import HostActivity, main_thread
from analyzer.facts.host.tree import HostTree, host_tree
from analyzer.facts.host.way_to_ops import WayToOps, way_to_ops
from analyzer.facts.isolation import attempt, fact, passing
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY, IntervalSet


class HostFacts(Section):
    """Ops, ranges, calls and stacks of the host's threads.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
    """

    NAME = "host"

    def __init__(self, recording: RecordingFacts, device: DeviceFacts, steps: Steps) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps = recording, device, steps

    @fact
    def main_thread(self) -> int | None:
        """Row in `trace.threads` of the thread that runs the training loop."""
        return main_thread(self.trace, self._steps.thread)

    @fact
    def threads(self) -> HostActivity:
        """What each host thread does when."""
        main = self.main_thread
        preparing = {} if main is None else {main: attempt(lambda: self.restarts.making_spans, EMPTY)}
        return HostActivity(self.trace, self._device.launched, preparing)

    @fact
    def restarts(self) -> Restarts:
        """Iterators of a loader with workers made in the trace, used steps or not."""
        return restarts(self.trace, self.main_thread)

    @fact
    def tree(self) -> HostTree:
        """Ops, ranges and calls of the host, nested."""
        return host_tree(self.trace)

    @fact
    def described_ops(self) -> DescribedOps | None:
        """What ops of the used steps take that only describe a tensor anew; None where few such are."""
        return described_ops(self.trace, self.tree, self._steps.host_window)

    @fact
    def ops(self) -> OpTree:
        """Which op encloses which."""
        return OpTree(self.trace.ops)

    @fact
    def among_ranks(self) -> IntervalSet:
        """When the training thread communicates, or waits for a collective; of runs without a device."""
        return among_ranks(self.trace, self.threads, self.ops, self.main_thread)

    @fact
    def outermost(self) -> Outermost:
        """What the training thread does that nothing is around."""
        return outermost(self.trace, self.main_thread)

    @fact
    def trained_tensors(self) -> int:
        """How many tensors receive a gradient in one backward pass; 0 where it does not show."""
        return trained_tensors(self.ops, self._steps, self.outermost)

    @fact
    def behind_state(self) -> IntervalSet:
        """What follows where the state of a model was taken, and before anything else is called: as writing it to a file does."""
        return behind_state(self.trained_tensors, self._steps, self.outermost)

    @fact
    def copied_rows(self) -> CopiedRows:
        """As many tensors as receive a gradient, copied into new ones in a row."""
        return copied_rows(self.trace, self.trained_tensors, self._steps, self.outermost, self.main_thread)

    @fact
    def output(self) -> Output:
        """What the loop writes inside its steps, where Python stacks were recorded."""
        return output(self.trace, self._steps, self.main_thread)

    @fact
    def stacks(self) -> Stacks:
        """The user's own lines, where Python stacks were recorded."""
        return Stacks(self.trace)

    @fact
    def restart_seen(self) -> bool:
        """Whether stacks show that an iterator of a loader with workers is made in the used steps."""
        return restart_seen(self.trace, self._steps)

    @fact
    def seed_drawn_between(self) -> bool:
        """Whether a seed for workers is drawn between two calls of a loader."""
        return seed_drawn_between(self.trace, self.main_thread)

    @fact
    def profiler_calls(self) -> IntervalSet:
        """Time inside calls of a profiler; empty without stacks."""
        return profiler_calls(self.trace, self.main_thread)

    @fact
    def listing_buffers(self) -> IntervalSet:
        """When DistributedDataParallel lists and sends the buffers of the model, as stacks tell."""
        return IntervalSet.of_rows(self.trace.python, listing_buffers(self.trace.python))

    @fact
    def merging_adapters(self) -> IntervalSet:
        """When low-rank adapters are loaded, merged into weights or taken out; empty without stacks."""
        return IntervalSet.of_rows(self.trace.python, merging(self.trace.python))

    @fact
    def engine_steps(self) -> IntervalSet:
        """The way of autograd's engine from one op of the backward pass to the next, on threads of its own."""
        return engine_steps(self.trace, self.threads, self.main_thread)

    @passing
    def dispatching(self) -> IntervalSet:
        """When any thread is inside an op or a call that neither waits for the device nor loads, copies or allocates."""
        threads = self.threads
        inside = threads.anywhere("ops") | threads.anywhere("calls")
        for what in ("blocking", "input", "transfer_call", "allocator", "compile"):
            inside -= threads.anywhere(what)
        return inside

    @passing
    def silent(self) -> IntervalSet:
        """When no thread is inside anything that was recorded of it: an op, a call, a loader, an optimizer or a compiler."""
        recorded = ("ops", "calls", "collectives", "input", "optimizer", "compile")
        left = self._steps.host_window | self._steps.window
        # One after the other: all of them together are as large as the ops once more.
        for what in recorded:
            left -= self.threads.anywhere(what)
        return left

    def dispatch_owner(self, idle: IntervalSet) -> DispatchOwner | None:
        """The op that owns more than half of some idle time, or the few that share it; None where none does."""
        return dispatch_owner(self.trace, self._device, self.ops, idle)

    def library_call(self, thread: int, time: IntervalSet) -> LibraryCall | None:
        """The innermost function in which most of a time is spent on a thread; None without stacks."""
        return library_call(self.trace.python, thread, time)

    def frame_of_most(self, time: IntervalSet, elsewhere: IntervalSet, ratio: float) -> FrameOfMost | None:
        """The innermost function that holds most of a time on the main thread, but not as much of another part of the loop."""
        main = self.main_thread
        return None if main is None else frame_of_most(self.trace.python, main, time, elsewhere, ratio)

    def way_to_ops(self, time: IntervalSet) -> WayToOps | None:
        """Whose code some time outside ops on the main thread is spent in; None without stacks."""
        main = self.main_thread
        return None if main is None else way_to_ops(self.trace, main, time)

    def range_around(self, time: IntervalSet) -> str | None:
        """The program's own range on the main thread around most of a time; None where none is, or it is the whole step."""
        main = self.main_thread
        return None if main is None else range_around(self.trace.annotations, main, time, self._steps.host_window)

    def calls_begun(self, time: IntervalSet) -> int:
        """How many calls of Python begin in some time; 0 without stacks."""
        return int(time.contains(self.trace.python["start_ns"].to_numpy()).sum())
