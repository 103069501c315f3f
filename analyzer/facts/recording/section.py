"""What the recording says beside the events."""

from __future__ import annotations

from analyzer.facts.isolation import fact
from analyzer.facts.recording.collected import Collected, collected
from analyzer.facts.recording.line_samples import LineSamples, training_lines
from analyzer.facts.recording.run_course import RunCourse, run_course
from analyzer.facts.recording.training import trains
from analyzer.facts.section import Section


class RecordingFacts(Section):
    """What is known of the program and of the run beside the events."""

    NAME = "recording"

    @fact
    def collected(self) -> Collected:
        """What `advisor collect` recorded beside the events."""
        return collected(self.trace.meta)

    @fact
    def run_course(self) -> RunCourse | None:
        """The whole run; None where the recording says nothing of it."""
        return run_course(self.trace.meta)

    @fact
    def training_lines(self) -> LineSamples:
        """Lines of the training thread, sampled in a pass of their own; empty where none were."""
        return training_lines(self.trace.meta)

    @fact
    def infers(self) -> bool:
        """Whether the program only runs its model, as its ops show: advice for training would be none."""
        return bool(len(self.trace.ops)) and not self.trains

    @fact
    def trains(self) -> bool:
        """Whether the trace shows training; see `training.trains`."""
        return trains(self.trace)
