"""What the recording says beside the events."""

from __future__ import annotations

from analyzer.facts.isolation import fact
from analyzer.facts.recording.collected import Collected, collected
from analyzer.facts.recording.line_samples import LineSamples, training_lines
from analyzer.facts.recording.run_course import RunCourse, run_course
from analyzer.facts.recording.training import serves, trains
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
        """Whether only forward passes of the model show: words for training would not fit what was recorded."""
        return bool(len(self.trace.ops)) and not self.trains

    @fact
    def trains(self) -> bool:
        """Whether the trace shows training (see `training.trains`), or the collector saw the program's optimizer."""
        return self.collected.parameters is not None or trains(self.trace)

    @fact
    def may_train(self) -> bool:
        """Whether neither training nor serving shows: a forward pass alone may be a server's, or half of a training program."""
        return self.infers and not serves(self.trace)
