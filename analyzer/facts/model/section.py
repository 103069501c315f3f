"""How the program is made."""

from __future__ import annotations

from analyzer.facts.communication.section import CommunicationFacts
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.generation.section import GenerationFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.isolation import fact, passing
from analyzer.facts.kernels.cpu_work import OwnTime, longest_op, own_by_name
from analyzer.facts.kernels.recorded_layers import RecordedLayers, recorded_beside
from analyzer.facts.model.before_updates import before_updates
from analyzer.facts.model.behind_passes import behind_passes
from analyzer.facts.model.compiled import CHECKS, Compiled, compiled
from analyzer.facts.model.decompositions import Decompositions, decompositions
from analyzer.facts.model.dense_tables import DenseTables, dense_tables
from analyzer.facts.model.modules import Modules, modules
from analyzer.facts.model.optimizing import Optimizing, optimizing
from analyzer.facts.model.outside_passes import beside_passes, outside_passes
from analyzer.facts.model.repetition import Repetition, Replayable, repetition, replayable
from analyzer.facts.model.timed_tables import TimedTables, timed_tables
from analyzer.facts.model.weight_norms import weight_norms
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import matching


class ModelFacts(Section):
    """Compiled regions, the optimizer, and whether steps repeat.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        communication: Collectives.
        generation: Passes of a model that generates text.
    """

    NAME = "model"

    def __init__(
        self,
        recording: RecordingFacts,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        communication: CommunicationFacts,
        generation: GenerationFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps, self._host, self._time, self._communication = (
            recording,
            device,
            steps,
            host,
            time,
            communication,
        )
        self._generation = generation

    @fact
    def compiled(self) -> Compiled:
        """Compiled regions, guards, and compiling itself."""
        return compiled(self.trace, self._steps, self._host)

    @fact
    def checked_in_ranges(self) -> IntervalSet:
        """When ranges are open that torch puts around what it checks in front of compiled code; its ops are in `compiled`."""
        ranges = self.trace.annotations
        return IntervalSet.of_rows(ranges, matching(ranges["name"], CHECKS.search))

    @fact
    def optimizing(self) -> Optimizing:
        """How the optimizer updates and zeroes, and what that costs."""
        return optimizing(self.trace, self._device, self._steps, self._host)

    @fact
    def decompositions(self) -> Decompositions:
        """Matrices that the optimizer's steps decompose."""
        return decompositions(self._host, self.optimizing.step_time)

    @fact
    def dense_tables(self) -> DenseTables:
        """Gradients as large as the table of an embedding, and what passes over it."""
        return dense_tables(self._host, self._steps, self.optimizing)

    @fact
    def timed_tables(self) -> TimedTables:
        """The same gradients where no shapes were recorded, by how long they take beside the lookups."""
        return timed_tables(self._host, self._steps, self.optimizing)

    @fact
    def before_updates(self) -> IntervalSet:
        """Host time between a backward pass and the end of the update behind it."""
        return before_updates(self.trace, self.optimizing.spans)

    @fact
    def behind_passes(self) -> IntervalSet:
        """Host time of each step behind its last backward pass; empty where nothing shows to be trained."""
        return behind_passes(self.trace, self._steps)

    @fact
    def outside_passes(self) -> IntervalSet:
        """Without a device, when the main thread computes in no pass of what is trained and in no update; else empty."""
        if self._device.main is not None:
            return EMPTY
        return outside_passes(self._host, self._steps, self.before_updates)

    @fact
    def _beside_passes(self) -> IntervalSet:
        """What of the steps lies in no pass of what is trained and in no update, with a device or without."""
        return beside_passes(self._host, self._steps, self.before_updates)

    @fact
    def beside_passes(self) -> IntervalSet:
        """Without a device, what of the steps lies in no pass of what is trained and in no update, ops or not; else empty."""
        return EMPTY if self._device.main is not None else self._beside_passes

    @fact
    def recorded_beside(self) -> RecordedLayers:
        """Layers that run in no pass of what is trained, and how many of them autograd records: of an evaluation, say."""
        return recorded_beside(self._host, self._beside_passes, self.before_updates)

    @fact
    def longest_outside(self) -> OwnTime | None:
        """The op in which the main thread spends most time of its own in those ops; None without any."""
        return longest_op(own_by_name(self.trace, self._steps, self._host, self.outside_passes))

    @fact
    def optimizer_line(self) -> CodeLine | None:
        """The user's line that calls the optimizer's step most often; None without stacks."""
        spans, stacks = self.optimizing.spans, self._host.stacks
        opened = stacks.opening(str(spans["name"].iloc[0]), ".step(") if len(spans) else None
        # Others call the ops of an update as well: an average of the weights, kept by hand, was named for the optimizer.
        return opened or stacks.commonest(
            spans["thread"], spans["start_ns"], self._host.main_thread, until_ns=spans["end_ns"]
        )

    @fact
    def repetition(self) -> Repetition:
        """Whether steps launch the same kernels."""
        return repetition(self.trace, self._device, self._steps, self._host, self._communication)

    @passing
    def replayable(self) -> Replayable:
        """What the device idles for that replaying the steps would end."""
        return replayable(self._device, self._steps, self._time)

    @fact
    def modules(self) -> Modules:
        """Time of the program's modules."""
        return modules(self.trace, self._device, self._steps, self._host)

    @fact
    def weight_norms(self) -> int:
        """How many weights are computed from their norm in the used steps."""
        return weight_norms(self.trace, self._steps, self._host)

    @property
    def infers(self) -> bool:
        """Whether only forward passes of the model show: words for training would not fit what was recorded."""
        return self._recording.infers

    @property
    def may_train(self) -> bool:
        """Whether it may be the forward pass of a program that trains: advice has to say for which of the two it is."""
        return self._recording.may_train and not self._generation.found.known

    @property
    def may_serve(self) -> bool:
        """Whether it may be a server, whose idle time may be waiting for requests: no marks, no training, no evaluation."""
        return not self._steps.marked and not self._recording.trains and not self._recording.evaluates
