"""What kernels compute."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.alignment import Alignment, alignment
from analyzer.facts.kernels.attention import Attention, attention
from analyzer.facts.kernels.autocasts import Autocasts, autocasts
from analyzer.facts.kernels.computed_again import ComputedAgain, computed_again
from analyzer.facts.kernels.conv_bias import ConvBias, conv_bias
from analyzer.facts.kernels.converted_weights import converted_weights_ratio
from analyzer.facts.kernels.counters import Counters, counters
from analyzer.facts.kernels.cpu_work import (
    CpuWork,
    OwnTime,
    cpu_work,
    function_time,
    longest_op,
    own_by_name,
    written_function,
)
from analyzer.facts.kernels.filling import Filling, filling
from analyzer.facts.kernels.find import Kernels, kernels
from analyzer.facts.kernels.for_nothing import ForNothing, for_nothing
from analyzer.facts.kernels.fusion import Fusion, fusion
from analyzer.facts.kernels.graph_paths import GraphPaths, graph_paths
from analyzer.facts.kernels.not_computed import NotComputed, not_computed
from analyzer.facts.kernels.patterns import KernelPattern, patterns
from analyzer.facts.kernels.pieces import Pieces, pieces_of_calls
from analyzer.facts.kernels.precision import Casts, MatrixWork, casts, double_kernels, matrix_work
from analyzer.facts.kernels.recomputation import Recomputation, recomputation
from analyzer.facts.kernels.recorded_layers import RecordedLayers, recorded_layers
from analyzer.facts.kernels.residency import Residency, residency
from analyzer.facts.kernels.row_selects import row_selects
from analyzer.facts.kernels.searches import Searches, searches
from analyzer.facts.kernels.set_memory import SetMemory, set_memory
from analyzer.facts.kernels.slowing import Slowing, slowing
from analyzer.facts.kernels.timed_runs import TimedRuns, timed_runs
from analyzer.facts.kernels.unpacked_in_ops import unpacked_by_op, unpacked_in_ops
from analyzer.facts.kernels.without_gradients import without_gradients
from analyzer.facts.recording.known_results import known_results
from analyzer.facts.recording.untrained import untrained
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern

# Dao-AILab/causal-conv1d and its Triton forms.
_OF_SEQUENCES = Pattern(r"conv_?1d")


class KernelFacts(Section):
    """Kernels of the device that stands for the trace, and the ops that ask for them.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
    """

    NAME = "kernels"

    def __init__(self, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time = device, steps, host, time

    @fact
    def named(self) -> Kernels:
        """The kernels, with what their names say and the op that launched them."""
        return kernels(self.trace, self._device, self._steps, self._host)

    @fact
    def _own_by_name(self) -> pd.Series[Any]:
        """Own time of that thread's ops by name."""
        return own_by_name(self.trace, self._steps, self._host)

    @fact
    def longest_op(self) -> OwnTime | None:
        """The op in which the step's thread spends most time of its own; None without any."""
        return longest_op(self._own_by_name)

    @fact
    def longest_besides(self) -> OwnTime | None:
        """The same of ops that multiply no matrices."""
        return longest_op(self._own_by_name, products=False)

    @fact
    def written_function(self) -> OwnTime | None:
        """The `torch.autograd.Function` written in Python in which that thread spends most time of its own; None without any."""
        return written_function(self._own_by_name)

    @fact
    def written_time(self) -> IntervalSet:
        """Time in that function and in no op that it calls; empty where there is none."""
        found = self.written_function
        return EMPTY if found is None else function_time(self.trace, self._steps, self._host, found.name)

    @fact
    def instance_norms(self) -> int:
        """How many instance norms run in the used steps: torch 2 has no channels-last kernel for them (its issue 59168)."""
        ops = self.trace.ops
        inside = self._steps.host_window.contains(ops["start_ns"].to_numpy())
        return int((inside & is_any(ops["name"], "aten::instance_norm")).sum())

    @fact
    def unpacking(self) -> BoolArray:
        """Which kernels only unpack quantised weights: made for that, or ops in front of a product; shape (kernels,)."""
        made = self.named.is_family("dequantize") | unpacked_by_op(self._host, self.named)
        unpacking: BoolArray = made | self.unpacked_in_ops
        return unpacking

    @fact
    def unpacked_in_ops(self) -> BoolArray:
        """Those that ops of torch launch, bits masked and shifted one kernel at a time."""
        return unpacked_in_ops(self._host, self.named)

    @fact
    def filling(self) -> Filling:
        """How full the device as a whole is while kernels compute."""
        return filling(self.named)

    def residency(self, below: float) -> Residency:
        """What limits kernels that occupy less than `below` of the warps a multiprocessor could hold."""
        return residency(self.named, below)

    @fact
    def counters(self) -> Counters:
        """Samples of the devices' own counters while they are busy."""
        return counters(self.trace, self._device, self._steps)

    @fact
    def cpu_work(self) -> CpuWork:
        """What the CPU computes on the training thread."""
        return cpu_work(self.trace, self._steps, self._host)

    @fact
    def converted_weights_ratio(self) -> float | None:
        """Share of the gradients that a conversion of their weights gives back; None where no gradient is added up."""
        return converted_weights_ratio(self.trace, self._steps)

    @fact
    def recomputation(self) -> Recomputation:
        """What the backward pass computes again."""
        return recomputation(self._host, self.named, self._steps, on_device=self._device.main is not None)

    @fact
    def for_nothing(self) -> ForNothing:
        """What of the backward pass leads to no parameter that an optimizer updates; nothing where nobody looked."""
        found = untrained(self.trace.meta)
        marks = found.marks if found is not None else ()
        return for_nothing(self._host, self.named, self._steps, marks, on_device=self._device.main is not None)

    @fact
    def computed_again(self) -> tuple[ComputedAgain, ...]:
        """Calls of modules whose result is known; none where nobody looked."""
        told = known_results(self.trace.meta) or ()
        return computed_again(self.trace, self._host, self.named, self._steps, told)

    @fact
    def not_computed(self) -> NotComputed:
        """What the backward pass opens again and does not compute."""
        return not_computed(self._host.ops, self.recomputation.ops)

    @fact
    def recorded_layers(self) -> RecordedLayers:
        """How many layers a backward pass is recorded for."""
        return recorded_layers(self._host, self._steps)

    @fact
    def without_gradients(self) -> IntervalSet:
        """When layers are computed of which no gradient is taken, beside others of which one is; empty without a device."""
        return without_gradients(self._host, self.named) if self._device.main is not None else EMPTY

    @fact
    def patterns(self) -> tuple[KernelPattern, ...]:
        """Pieces of models that one fused operator does, written out op by op."""
        return patterns(self._host, self.named, self._steps)

    @fact
    def slowing(self) -> Slowing:
        """Whether the same kernels take longer later in the recording."""
        return slowing(self.named, self._steps)

    @fact
    def matrix_work(self) -> MatrixWork:
        """GEMMs and convolutions, their number formats, and whether tensor cores do them."""
        return matrix_work(self.trace, self._device, self._host, self.named, self.searches.candidates)

    @fact
    def convolves_images(self) -> bool:
        """Whether there are convolutions that have a memory format: those of sequences, as of state-space models, have none."""
        convolutions = self.named.is_family("conv") | self.matrix_work.convolution
        return bool((convolutions & ~self.named.like(_OF_SEQUENCES)).any())

    @fact
    def searches(self) -> Searches:
        """Matrix ops that try algorithms inside the steps."""
        return searches(self.trace, self._steps, self._host, self.named, self._time.idle)

    @fact
    def timed_runs(self) -> TimedRuns:
        """Runs by which an autotuner measures kernels inside the steps."""
        return timed_runs(self.trace, self._device, self._host.ops, self._steps, self._time.idle)

    @fact
    def row_selects(self) -> BoolArray:
        """Which kernels select rows for the program itself, and look up no embedding; shape (kernels,)."""
        return row_selects(self._host, self.named)

    @fact
    def set_memory(self) -> SetMemory:
        """Setting memory to a value, by kernels and by the driver."""
        work, main = self._device.launched, self._device.main
        memsets = work[
            is_any(work["kind"], "memset") & (work["device"].to_numpy() == (NONE if main is None else main.device))
        ]
        return set_memory(memsets, self.named.frame, self._host.ops, self._time.waterfall.owned("compute"))

    @fact
    def conv_bias(self) -> ConvBias:
        """Convolutions whose bias a batch normalisation takes away."""
        return conv_bias(self._host, self.named)

    @fact
    def casts(self) -> Casts:
        """Conversions between 32 and 16 bits."""
        return casts(self.trace, self._host, self.named)

    def pieces(self, rows: BoolArray) -> Pieces | None:
        """The op that launches most of some kernels, many in each call; None where none does."""
        return pieces_of_calls(self._host, self.named, rows)

    @fact
    def autocasts(self) -> Autocasts:
        """Conversions that autocast asks for."""
        return autocasts(self._host, self.named, self.casts)

    @fact
    def double_kernels(self) -> tuple[BoolArray, bool]:
        """Kernels on 64-bit floats, and whether input types prove most of them."""
        return double_kernels(self.trace, self.named)

    @fact
    def alignment(self) -> Alignment:
        """GEMMs with operands that tensor cores cannot load at full width."""
        return alignment(self.trace, self._host, self.named)

    @fact
    def fusion(self) -> Fusion:
        """Pointwise kernels that follow one another on the same data."""
        return fusion(self.trace, self.named, self._steps)

    @fact
    def graph_paths(self) -> GraphPaths:
        """The longest way through replays of graphs, where dependencies of their nodes are recorded."""
        return graph_paths(self.trace, self._device, self.named)

    @fact
    def attention(self) -> Attention:
        """Attention written out, and fused attention."""
        return attention(self._host, self.named)
