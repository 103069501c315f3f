"""What is moved."""

from __future__ import annotations

from collections.abc import Collection

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.isolation import fact
from analyzer.facts.kernels.section import KernelFacts
from analyzer.facts.model.section import ModelFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.section import SyncFacts
from analyzer.facts.transfer.answers import may_answer
from analyzer.facts.transfer.computed_on_host import Computed, computed_on_host, makes
from analyzer.facts.transfer.copies import (
    SMALL_BYTES,
    BlockedAfter,
    Copies,
    Transfers,
    blocked_after,
    piece_by_piece,
    pinned_bandwidth,
    transfers,
    whole_models,
)
from analyzer.facts.transfer.layout_work import LayoutWork, layout_work
from analyzer.facts.transfer.made_around import made_around
from analyzer.facts.transfer.made_on_host import MadeOnHost, made_on_host
from analyzer.facts.transfer.moves import moves
from analyzer.facts.transfer.round_trip import asked_for_backwards, there_and_back, updated_on_host
from analyzer.facts.transfer.sent_in_passes import sent_in_passes
from analyzer.facts.transfer.state_out import state_beside_bytes, state_out_bytes
from analyzer.facts.transfer.through_host import ThroughHost, through_host
from analyzer.spans.intervals import IntervalSet


class TransferFacts(Section):
    """Copies between host and device, and within it.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        sync: Calls that wait for the device.
        kernels: Kernels of the used steps.
        model: How the program is made.
    """

    NAME = "transfer"

    def __init__(
        self,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        sync: SyncFacts,
        kernels: KernelFacts,
        model: ModelFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host = device, steps, host
        self._sync, self._kernels, self._model = sync, kernels, model

    @fact
    def copies(self) -> Transfers:
        """Copies between host and device in the used steps."""
        return transfers(self.trace, self._device, self._steps)

    @fact
    def piece_by_piece(self) -> bool:
        """Whether large copies to the device take turns with kernels, as weights do that are kept on the host.

        What an op makes there just before each is not kept.
        """
        return not makes(self.computed_on_host) and piece_by_piece(self._device, self.trace, self.copies.to_device)

    @fact
    def whole_models(self) -> bool:
        """Whether more than a batch is sent at once, again and again: models that are kept on the host between calls."""
        return not makes(self.computed_on_host) and whole_models(self._device, self.trace, self.copies.to_device)

    @fact
    def there_and_back(self) -> bool:
        """Whether what is sent to the device comes back, tensor by tensor: it is kept on the host between its uses.

        In training activations and gradients travel so, which nobody can keep where they are.
        """
        if not self._model.infers:
            return False
        to_host = self.copies.all.of("DtoH").of_size(SMALL_BYTES)
        return there_and_back(self.copies.to_device.of_size(SMALL_BYTES), to_host, self._steps.count)

    @fact
    def activations_saved(self) -> bool:
        """Whether what is sent to the device is what the forward pass copied to the host, asked for by the backward pass."""
        to_device = self.copies.to_device.of_size(SMALL_BYTES)
        to_host = self.copies.all.of("DtoH").of_size(SMALL_BYTES)
        if not there_and_back(to_device, to_host, self._steps.count):
            return False
        return asked_for_backwards(self.trace, to_device)

    @fact
    def updated_on_host(self) -> bool:
        """Whether what is sent to the device are weights that are updated on the host, as an offloaded optimizer does."""
        to_host = self.copies.all.of("DtoH").of_size(SMALL_BYTES)
        return updated_on_host(self.copies.to_device.of_size(SMALL_BYTES), to_host, self._model.behind_passes)

    @fact
    def adapters(self) -> bool:
        """Whether most of what is sent to the device are weights of low-rank adapters, as stacks tell."""
        known = self.copies.to_device.with_call
        inside = self._host.merging_adapters.contains(known["call_start_ns"].to_numpy("int64"))
        return 2 * Copies(known[inside]).bytes > self.copies.to_device.bytes

    @fact
    def sent_in_passes(self) -> bool:
        """Whether most of what is sent from unpinned memory are tensors that the model keeps on the host; batches are pinned."""
        if self.of_weights or self.activations_saved or makes(self.computed_unpinned):
            return False
        return sent_in_passes(self._device, self._steps, self.copies.to_device)

    @property
    def of_weights(self) -> bool:
        """Whether what is sent is kept on the host for room, or until it is asked for, as adapters: it could stay on the device."""
        kept = self.piece_by_piece or self.whole_models or self.there_and_back
        return self.adapters or self.updated_on_host or kept

    @fact
    def pinned_bandwidth(self) -> tuple[float, str]:
        """What pinned copies to the device reach, bytes a ns, and how that is known."""
        return pinned_bandwidth(self.trace, self.copies)

    def blocked_after(self, copies: Copies) -> BlockedAfter:
        """Waiting that copies to the device cause after their call."""
        return blocked_after(self._steps, self._sync, self.copies, copies)

    def moves(self, copies: Copies) -> IntervalSet:
        """Host time of the ops that these copies are for; see `moves.moves`."""
        return moves(self.trace, self._host, copies)

    def made_around(self, copies: Copies) -> IntervalSet:
        """Host time in which what these copies send is made and handed over; see `made_around.made_around`."""
        return made_around(self._host, copies)

    def may_answer(self, read: IntervalSet) -> bool:
        """Whether something may answer the values that some host time follows; see `answers.may_answer`."""
        return may_answer(self.copies.all, self._sync.waits, read)

    def state_out_bytes(self, pauses: IntervalSet) -> int | None:
        """What the steps with these pauses copy to the host, and no others do, as before a checkpoint; None where they do not."""
        return state_out_bytes(self._steps, self.copies.all.of("DtoH"), pauses)

    def state_beside_bytes(self, numbers: Collection[int]) -> int | None:
        """What steps left out of the figures copy to the host, as before a checkpoint; see `state_out.state_beside_bytes`."""
        others = self._steps.frame["number"].isin(numbers).to_numpy()
        return state_beside_bytes(self.trace, self._device.launched, self._steps, others)

    def state_steps(self, pauses: IntervalSet) -> IntervalSet:
        """The steps with these pauses, where they copy to the host what no others do, as before a checkpoint; else none."""
        if self.state_out_bytes(pauses) is None:
            return IntervalSet()
        start, end = (self._steps.used[name].to_numpy() for name in ("host_start_ns", "host_end_ns"))
        paused = pauses.overlap_with(start, end) > 0
        return IntervalSet(start[paused], end[paused])

    def line_of(self, copies: Copies) -> CodeLine | None:
        """The user's line that asks for most of the host time of some copies; None without stacks."""
        known = copies.with_call
        if not len(known):
            return None
        start = known["call_start_ns"].to_numpy("int64")
        weight = known["call_end_ns"].to_numpy("int64") - start
        threads = known["call_thread"].to_numpy("int64")
        return self._host.stacks.commonest(threads, start, self._host.main_thread, weight)

    @fact
    def made_on_host(self) -> MadeOnHost:
        """Tensors filled on the host and moved at once."""
        return made_on_host(self.trace, self._host, self.copies)

    @property
    def computed_on_host(self) -> str | None:
        """The op that computes most of what is sent to the device, on the host and just before; None where none does."""
        computed = self._computed
        return computed.name if computed is not None and computed.is_most else None

    @property
    def computed_in_part(self) -> Computed | None:
        """What the host computes of what is sent, where that is a part of it beside what may be batches; else None."""
        computed = self._computed
        return computed if computed is not None and computed.is_a_part else None

    @property
    def computed_unpinned(self) -> str | None:
        """The same of what is sent from unpinned memory, which may be other things than what is sent as a whole."""
        computed = self._computed_unpinned
        return computed.name if computed is not None and computed.is_most else None

    @fact
    def _computed(self) -> Computed | None:
        return computed_on_host(self.trace, self._host, self.copies.to_device)

    @fact
    def _computed_unpinned(self) -> Computed | None:
        sent = self.copies.to_device
        return computed_on_host(self.trace, self._host, sent.of_memory("pageable") if sent.states_memory else sent)

    @fact
    def through_host(self) -> ThroughHost:
        """What the host computes on between a large copy to it and one back."""
        return through_host(self.trace, self._steps, self.copies)

    @fact
    def layout_work(self) -> LayoutWork:
        """Copies within the device that only change how a tensor lies there."""
        return layout_work(self.trace, self._steps, self._host, self._kernels, self._model, self.copies)
