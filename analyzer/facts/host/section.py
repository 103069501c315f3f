"""What the threads of the host do."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import OpTree
from analyzer.facts.host.restarts import Restarts, restarts
from analyzer.facts.host.stacks import Stacks
from analyzer.facts.host.threads import HostActivity, main_thread
from analyzer.facts.host.tree import HostTree, host_tree
from analyzer.facts.isolation import attempt, fact
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY


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
    def ops(self) -> OpTree:
        """Which op encloses which."""
        return OpTree(self.trace.ops)

    @fact
    def stacks(self) -> Stacks:
        """The user's own lines, where Python stacks were recorded."""
        return Stacks(self.trace)
