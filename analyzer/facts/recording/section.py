"""What the recording says beside the events."""

from __future__ import annotations

from analyzer.facts.isolation import fact
from analyzer.facts.recording.asked_collections import AskedCollections, asked_collections
from analyzer.facts.recording.collected import Collected, by_command, collected
from analyzer.facts.recording.data_passes import data_passes
from analyzer.facts.recording.engines import onnx_runtime, serving_engine, transformer_engine
from analyzer.facts.recording.forward_inputs import ForwardInputs, forward_inputs
from analyzer.facts.recording.frameworks import Frameworks, frameworks
from analyzer.facts.recording.hand_over import hand_over_ns
from analyzer.facts.recording.known_results import KnownResult, known_results
from analyzer.facts.recording.line_samples import LineSamples, StepLine, step_line, training_lines
from analyzer.facts.recording.makers import Maker, loader_maker, optimizer_makers
from analyzer.facts.recording.privacy import Privacy, privacy
from analyzer.facts.recording.run_course import RunCourse, run_course
from analyzer.facts.recording.stated import dict_of
from analyzer.facts.recording.training import evaluates, serves, trains
from analyzer.facts.recording.untrained import Untrained, untrained
from analyzer.facts.recording.usual_work import UsualWork, usual_work
from analyzer.facts.recording.versions import Version, Versions, cuda_runtime, versions
from analyzer.facts.section import Section
from traces.trace import Capability


class RecordingFacts(Section):
    """What is known of the program and of the run beside the events."""

    NAME = "recording"

    @fact
    def collected(self) -> Collected:
        """What `advisor collect` recorded beside the events."""
        return collected(self.trace.meta)

    @property
    def number_bytes(self) -> float | None:
        """Bytes of each number that the optimizers update, in the mean; None where nobody told."""
        known = self.collected
        return known.parameters_bytes / known.parameters if known.parameters and known.parameters_bytes else None

    @fact
    def hand_over_ns(self) -> int | None:
        """What it would take to get a batch from another process; None where nobody measured it."""
        return hand_over_ns(self.trace.meta)

    @fact
    def asked_collections(self) -> AskedCollections:
        """Passes of the garbage collector that the program asks for."""
        return asked_collections(self.trace.meta)

    @fact
    def frameworks(self) -> Frameworks:
        """Which frameworks the program is made of."""
        return frameworks(self.trace)

    @fact
    def serving_engine(self) -> str | None:
        """Which engine serves the model; None where none does."""
        return serving_engine(self.trace)

    @fact
    def onnx_runtime(self) -> bool:
        """Whether ONNX Runtime computes on the device."""
        return onnx_runtime(self.trace)

    @fact
    def transformer_engine(self) -> bool:
        """Whether layers of NVIDIA's Transformer Engine compute."""
        return transformer_engine(self.trace)

    @fact
    def has_shapes(self) -> bool:
        """Whether shapes of ops were recorded."""
        return Capability.SHAPES in self.trace.capabilities

    @fact
    def versions(self) -> Versions:
        """Which versions the program ran with."""
        return versions(self.trace.meta)

    @property
    def torch_before(self) -> Version | None:
        """The first version of torch that does not write as this trace is written; None where nothing tells."""
        return self.trace.meta.torch_before

    @property
    def cuda_runtime(self) -> int | None:
        """CUDA's own number, 12060 for 12.6; None on other platforms, and where the trace does not say."""
        return cuda_runtime(self.trace.meta)

    @property
    def world_size(self) -> int | None:
        """Ranks of the job, where the trace states more than one."""
        size = self.trace.meta.world_size
        return size if size is not None and size > 1 else None

    @property
    def alone(self) -> bool:
        """Whether the trace states that the job has one rank."""
        return self.trace.meta.world_size == 1

    @property
    def by_command(self) -> bool:
        """Whether a command of `advisor` made the recording, and says so in it."""
        return by_command(self.trace.meta)

    @fact
    def privacy(self) -> Privacy:
        """What should be removed before the trace is handed around."""
        return privacy(self.trace)

    @property
    def has_stacks(self) -> bool:
        """Whether calls of Python are in the trace."""
        return bool(len(self.trace.python))

    @fact
    def usual_work(self) -> UsualWork | None:
        """What usual steps were seen in most, beside training; None where too few were looked at, or its names tell nothing."""
        return usual_work(dict_of(dict_of(self.trace.meta.advisor.get("run")).get("between")))

    @fact
    def step_line(self) -> StepLine | None:
        """The user's line at which steps end; None where lines were not sampled."""
        return step_line(self.trace.meta)

    @fact
    def forward_inputs(self) -> ForwardInputs | None:
        """How many samples a model that is only run gets in a call; None where nobody looked."""
        return forward_inputs(self.trace.meta)

    @fact
    def untrained(self) -> Untrained | None:
        """Parameters that get gradients and no update, which may be none; None where nobody looked."""
        return untrained(self.trace.meta)

    @fact
    def known_results(self) -> tuple[KnownResult, ...] | None:
        """Calls of modules that compute what is known, which may be none; None where nobody looked."""
        return known_results(self.trace.meta)

    @fact
    def optimizer_makers(self) -> tuple[Maker, ...]:
        """Where the program makes its optimizers; empty where nobody looked."""
        return optimizer_makers(self.trace.meta)

    @fact
    def loader_maker(self) -> Maker | None:
        """Where the program makes the loader in use; None where nobody looked."""
        return loader_maker(self.trace.meta)

    @fact
    def run_course(self) -> RunCourse | None:
        """The whole run; None where the recording says nothing of it."""
        return run_course(self.trace.meta)

    @fact
    def data_passes(self) -> float | None:
        """How often the whole run passes through its data set; None where nobody knows."""
        return data_passes(self.collected, self.run_course, self.world_size or 1)

    @fact
    def training_lines(self) -> LineSamples:
        """Lines of the training thread, sampled in a pass of their own; empty where none were."""
        return training_lines(self.trace.meta)

    @fact
    def infers(self) -> bool:
        """Whether only forward passes of the model show: words for training would not fit what was recorded."""
        return (bool(len(self.trace.ops)) or serves(self.trace)) and not self.trains

    @fact
    def trains(self) -> bool:
        """Whether the trace shows training (see `training.trains`), or the collector saw the program's optimizer."""
        return self.collected.parameters is not None or trains(self.trace)

    @fact
    def evaluates(self) -> bool:
        """Whether a model is run over a data set; see `training.evaluates`."""
        return not self.trains and evaluates(self.trace)

    @fact
    def may_train(self) -> bool:
        """Whether neither training nor serving shows: a forward pass alone may be a server's, or half of a training program."""
        return self.infers and not serves(self.trace)
