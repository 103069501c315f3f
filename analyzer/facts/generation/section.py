"""How text is generated."""

from __future__ import annotations

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.generation.gaps import DecodeGaps, decode_gaps
from analyzer.facts.generation.growing import Growing, growing
from analyzer.facts.generation.inside import inside_passes
from analyzer.facts.generation.padding import ReplayPadding, replay_padding
from analyzer.facts.generation.passes import Generation, generation
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import IntervalSet


class GenerationFacts(Section):
    """Passes of a model that generates text token by token.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: Ops.
        time: Whose each nanosecond is.
        kernels: What kernels compute.
    """

    NAME = "generation"

    def __init__(
        self,
        recording: RecordingFacts,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        kernels: KernelFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps = recording, device, steps
        self._host, self._time, self._kernels = host, time, kernels

    @fact
    def found(self) -> Generation:
        """The passes, or why none are known."""
        return generation(self.trace, self._recording, self._device, self._steps)

    @fact
    def gaps(self) -> DecodeGaps:
        """Idle time between passes that decode."""
        without = self._time.waiting_for_work | self._time.pauses.all
        return decode_gaps(self.found, self._device.main, self._steps, self._time.waterfall, without)

    @fact
    def growing(self) -> Growing:
        """Runs of the model that read a text again which grew by one token."""
        return growing(self._host, self._steps)

    @fact
    def inside(self) -> IntervalSet:
        """Time from the first to the last work of the device in each pass that an engine's range tells of."""
        return inside_passes(self.trace, self._device.main)

    @fact
    def padding(self) -> ReplayPadding:
        """Rows that replayed graphs compute for nobody."""
        return replay_padding(self.trace, self._device, self.found)

    def family_ns(self, kind: str, *families: str) -> int:
        """Device time of kernels of some families in passes of a kind; overlapping ones count once."""
        named = self._kernels.named
        return (named.spans(named.is_family(*families)) & self.found.spans(kind)).total_ns

    def narrow_weights_ratio(self, kind: str) -> float:
        """Share of the products' time, in passes of a kind, in kernels named after weights of 8 bits or fewer; 0 without any."""
        named = self._kernels.named
        products = named.is_family("gemm", "gemv", "triton")
        narrow = products & named.narrow
        spans = self.found.spans(kind)
        all_ns = (named.spans(products) & spans).total_ns
        return (named.spans(narrow) & spans).total_ns / all_ns if all_ns else 0.0

    def busy_ns(self, kind: str) -> int:
        """How long the device works in passes of a kind, inside the used steps."""
        return (self._kernels.named.busy & self.found.spans(kind)).total_ns
