"""How ranks talk to each other."""

from __future__ import annotations

import pandas as pd

from analyzer.facts.communication.accumulated import (
    accumulated_passes,
    reduced_passes,
    reductions_a_step,
    scattered_passes,
)
from analyzer.facts.communication.behind_updates import behind_updates_ratio
from analyzer.facts.communication.buffers import buffer_broadcasts
from analyzer.facts.communication.collectives import Collectives, call_spans, calls_of_library, collectives
from analyzer.facts.communication.exchanged import Exchanged, exchanged
from analyzer.facts.communication.gathered_again import gathered_again
from analyzer.facts.communication.objects import ObjectCalls, object_calls
from analyzer.facts.communication.own_calls import OwnCalls, own_calls
from analyzer.facts.communication.passing import Passing, passing
from analyzer.facts.communication.queued import gathers_behind_sums
from analyzer.facts.communication.replicas import replicated_passes
from analyzer.facts.communication.searches import nan_checks_ns, unused_parameter_search
from analyzer.facts.communication.sent_behind import sent_behind_ns
from analyzer.facts.communication.sent_by_hand import SentByHand, sent_by_hand
from analyzer.facts.communication.served import Part, served_part
from analyzer.facts.communication.slowed import Slowed, slowed
from analyzer.facts.communication.synchronised_norms import SynchronisedNorms, synchronised_norms
from analyzer.facts.communication.units import Units, units
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import EMPTY, IntervalSet


class CommunicationFacts(Section):
    """Collectives.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        kernels: Kernels of the used steps.
    """

    NAME = "communication"

    def __init__(
        self,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        kernels: KernelFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time, self._kernels = device, steps, host, time, kernels

    @fact
    def collectives(self) -> Collectives:
        """Collectives: when they run, and what of it nothing hides."""
        return collectives(self.trace, self._device, self._steps, self._host, self._time, self._kernels)

    def spans_of(self, calls: pd.DataFrame) -> IntervalSet:
        """When some calls of `collectives` communicate: the device's kernels, on a CPU-only trace the calls themselves."""
        return call_spans(self._device, self._steps, self._kernels, IntervalSet.of_rows(calls))

    @fact
    def exchanged(self) -> Exchanged:
        """What the program sends between ranks, by its names."""
        return exchanged(self.trace)

    @fact
    def replicated_passes(self) -> IntervalSet:
        """When `torch.nn.DataParallel` runs its forward pass."""
        return replicated_passes(self.trace)

    @fact
    def gathers_behind_sums(self) -> IntervalSet:
        """What nothing hides of gathers that waited for a reduce-scatter on the same communicator, and of what they waited for."""
        return gathers_behind_sums(self._kernels.named.frame, self.collectives.exposed)

    @fact
    def gathered_again(self) -> IntervalSet:
        """When parameters are gathered that FSDP had gathered for the forward pass already."""
        return self.spans_of(gathered_again(self.trace, self._steps, self.collectives.calls))

    @fact
    def buffer_broadcasts(self) -> IntervalSet:
        """When DistributedDataParallel keeps the buffers of the ranks alike."""
        return buffer_broadcasts(self.trace, self._host)

    @fact
    def unused_parameter_search(self) -> IntervalSet:
        """Inside DDP's search for unused parameters, in the used steps."""
        return unused_parameter_search(self.trace, self._steps)

    def calls_of(self, library: str) -> IntervalSet:
        """When collectives of a library, `gloo` or `nccl`, are called on the host."""
        return calls_of_library(self.trace, library)

    def sent_by_gloo_ns(self, calls: pd.DataFrame) -> int:
        """How long the host is in those of some calls behind which gloo sends before the next kernel is launched."""
        launches = self._kernels.named.frame["launch_start_ns"].to_numpy()
        return sent_behind_ns(calls, self.calls_of("gloo").start_ns, launches)

    @fact
    def reductions_a_step(self) -> int:
        """How often FSDP2 reduces the gradients of a module in a step; 0 where it does not show."""
        return reductions_a_step(self.trace, self._steps)

    @fact
    def scattered_passes(self) -> int:
        """Backward passes before one update in each of which FSDP1 scatters gradients; 0 where it does not show."""
        return scattered_passes(self.trace, self._steps, self._host.ops) if self.collectives.fsdp1 else 0

    @fact
    def behind_updates_ratio(self) -> float:
        """Share of the collectives that come behind an update and before the next backward pass."""
        return behind_updates_ratio(self.trace, self._host.ops, self.collectives.calls)

    @fact
    def sent_by_hand(self) -> SentByHand:
        """Weights and gradients that the program sends itself; nothing where a module or a library sends."""
        found = self.collectives
        if found.data_parallel or found.sharded or found.library is not None:
            return SentByHand()
        return sent_by_hand(self.trace, self._host.ops, found.calls, self.spans_of)

    @fact
    def passing(self) -> Passing:
        """What messages between two ranks are, where most of the exposed time is in those."""
        return passing(self.trace, self._steps, self._host, self.collectives)

    @fact
    def served_part(self) -> Part | None:
        """Whether the rank may be a parameter server, or a worker of one."""
        return served_part(self.trace, self._steps)

    @fact
    def units(self) -> Units:
        """The modules that FSDP2 shards by themselves."""
        return units(self.trace)

    @fact
    def reduced_passes(self) -> int:
        """Backward passes before one update in each of which DDP reduces gradients; 0 where it does not show."""
        return reduced_passes(self.trace, self._steps, self._host.ops) if self.collectives.data_parallel else 0

    @fact
    def accumulated_passes(self) -> int:
        """Backward passes before one update whose gradients DDP reduces in one of them alone; 0 where it does not show."""
        return accumulated_passes(self.trace, self._steps, self._host.ops) if self.reduced_passes == 1 else 0

    @fact
    def own_calls(self) -> OwnCalls:
        """What a program with DDP sends beside the gradients, by where it is called."""
        return own_calls(
            self.trace, self._device, self._steps, self._host, self._kernels, self.collectives, self.buffer_broadcasts
        )

    @fact
    def objects(self) -> ObjectCalls:
        """Where Python objects are sent between ranks."""
        return object_calls(self.trace, self._steps, self._host.outermost, self._host.main_thread)

    @fact
    def nan_checks_ns(self) -> int:
        """Device time of looking for NaN in what is sent."""
        return nan_checks_ns(self.trace, self._steps)

    @fact
    def slowed(self) -> Slowed:
        """Kernels beside collectives against the same kernels alone."""
        main = self._device.main
        running = main.collective & self._steps.window if main is not None else EMPTY
        return slowed(self.trace, self._kernels.named, running)

    @fact
    def synchronised_norms(self) -> SynchronisedNorms:
        """Batch normalisation over all ranks."""
        return synchronised_norms(self._device, self._steps, self._host, self._kernels, self.collectives)
