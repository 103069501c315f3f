"""Measurements of one trace: lazy, cached, pure. Rules and reports ask here and measure nothing themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from analyzer.facts.communication.ranks import JobPlace
from analyzer.facts.communication.section import CommunicationFacts
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.generation.section import GenerationFacts
from analyzer.facts.health.section import HealthFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.section import InputFacts
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.loops.section import LoopFacts
from analyzer.facts.memory.section import MemoryFacts
from analyzer.facts.model.section import ModelFacts
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps, find_steps, whole_trace
from analyzer.facts.sync.section import SyncFacts
from analyzer.facts.time.section import TimeFacts
from analyzer.facts.transfer.section import TransferFacts
from traces.trace import Trace

Made = TypeVar("Made")


class Facts(Section):
    """Everything measured on one trace, one section to a concept; each figure is computed once, when first asked for.

    One that cannot be computed raises `FactError`, and takes nothing else along: `steps`, `device.all` and `time.waterfall`, which
    every document is made of, then say that nothing is known, and the trace is graded by it.

    Attributes:
        failures: What could not be measured so far, by name.

    Args:
        trace: The trace.
        selected_steps: First and last step number to use, inclusive; None for all usable ones.
        job: This rank among the ranks of its job; None where it stands alone.
    """

    def __init__(
        self, trace: Trace, selected_steps: tuple[int, int] | None = None, job: JobPlace | None = None
    ) -> None:
        super().__init__(trace, {})
        self._selected_steps = selected_steps
        self.job = job
        self.recording = RecordingFacts(trace, self.failures)
        self.device = DeviceFacts(trace, self.failures)

    def apart(self) -> Facts:
        """The same trace, to be measured anew: what is changed in these frames, or in what is measured, changes nothing here."""
        return Facts(self.trace.apart(), self._selected_steps, self.job)

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What a layer above makes of the measurements, made when first asked for, then kept.

        Args:
            name: What to keep it as.
            make: Makes it.
        """
        kept: dict[str, Any] = self.__dict__.setdefault("_made", {})
        if name not in kept:
            kept[name] = make()
        made: Made = kept[name]
        return made

    @cached_property
    def steps(self) -> Steps:
        """The steps, used and left out; the whole trace is one where they cannot be found."""
        device = self.device
        found = self.attempt(
            "steps", lambda: find_steps(self.trace, device.work, device.launched, self._selected_steps), None
        )
        return found or whole_trace(self.trace)

    @cached_property
    def host(self) -> HostFacts:
        """What the host's threads do."""
        return HostFacts(self.recording, self.device, self.steps)

    @cached_property
    def time(self) -> TimeFacts:
        """Whose each nanosecond of the used steps is."""
        return TimeFacts(self.recording, self.device, self.steps, self.host)

    @cached_property
    def sync(self) -> SyncFacts:
        """Calls that make the host wait for the device."""
        return SyncFacts(self.device, self.steps, self.host, self.time)

    @cached_property
    def kernels(self) -> KernelFacts:
        """What kernels compute."""
        return KernelFacts(self.device, self.steps, self.host, self.time)

    @cached_property
    def generation(self) -> GenerationFacts:
        """Passes of a model that generates text token by token."""
        return GenerationFacts(self.recording, self.device, self.steps, self.host, self.time, self.kernels)

    @cached_property
    def loops(self) -> LoopFacts:
        """Loops of the program over tensors."""
        return LoopFacts(self.recording, self.device, self.steps, self.host, self.time, self.sync, self.kernels)

    @cached_property
    def communication(self) -> CommunicationFacts:
        """Collectives."""
        return CommunicationFacts(self.device, self.steps, self.host, self.time, self.kernels)

    @cached_property
    def model(self) -> ModelFacts:
        """How the program is made."""
        return ModelFacts(
            self.recording, self.device, self.steps, self.host, self.time, self.communication, self.generation
        )

    @cached_property
    def transfer(self) -> TransferFacts:
        """Copies between host and device."""
        return TransferFacts(self.device, self.steps, self.host, self.sync, self.kernels, self.model)

    @cached_property
    def input(self) -> InputFacts:
        """Waiting for batches, and what making one consists of."""
        return InputFacts(self.recording, self.device, self.steps, self.host, self.time, self.transfer)

    @cached_property
    def health(self) -> HealthFacts:
        """Reasons to doubt the trace."""
        return HealthFacts(self.recording, self.device, self.steps, self.host, self.time, self.input)

    @cached_property
    def memory(self) -> MemoryFacts:
        """How the memory of the device is used."""
        return MemoryFacts(self.device, self.steps, self.time, self.health)
