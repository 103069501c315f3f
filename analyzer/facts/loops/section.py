"""Loops of the program."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.loops.backward_passes import Passes, many_passes
from analyzer.facts.loops.elements import ElementLoop, element_loops
from analyzer.facts.loops.expert_loss import expert_loss
from analyzer.facts.loops.find import find_loops
from analyzer.facts.loops.heads import HeadLoop, head_loops
from analyzer.facts.loops.loop import Loop
from analyzer.facts.loops.recurrence import Recurrence, recurrences
from analyzer.facts.loops.samples import SampleLoop, sample_loops
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.section import SyncFacts
from analyzer.facts.time.host_loss import HostLoss
from analyzer.facts.time.section import TimeFacts


class LoopFacts(Section):
    """Loops over tensors, and updates of many backward passes.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        sync: Calls that wait for the device.
        kernels: Kernels of the used steps.
    """

    NAME = "loops"

    def __init__(
        self,
        recording: RecordingFacts,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        sync: SyncFacts,
        kernels: KernelFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._recording = recording
        self._device, self._steps, self._host, self._time = device, steps, host, time
        self._sync, self._kernels = sync, kernels

    @fact
    def found(self) -> tuple[Loop, ...]:
        """Loops of the program over tensors, longest first."""
        return find_loops(self.trace, self._steps, self._host)

    @fact
    def backward_passes(self) -> Passes:
        """Updates that take many backward passes."""
        return many_passes(self.trace, self._steps)

    @fact
    def sample_loops(self) -> tuple[SampleLoop, ...]:
        """Loops that take samples through the model one by one, longest first."""
        return sample_loops(self.trace, self._host.tree, self.found)

    @fact
    def element_loops(self) -> tuple[ElementLoop, ...]:
        """Loops that send elements of a tensor through the same layers one by one, longest first."""
        return element_loops(self.trace, self._host.tree, self.found, self._host.trained_tensors)

    @fact
    def head_loops(self) -> tuple[HeadLoop, ...]:
        """Rows of attention heads computed one after another, longest first."""
        return head_loops(self.trace, self._steps, self._host)

    @fact
    def recurrences(self) -> tuple[Recurrence, ...]:
        """Loops that step a recurrent cell, longest first."""
        return recurrences(
            self.trace, self._device, self._time, self.found, self._kernels, self._recording.number_bytes
        )

    def expert_loss(self, loop: Loop) -> HostLoss:
        """What it costs to call groups one by one, without their products."""
        return expert_loss(self.trace, self._device, self._time, loop)
