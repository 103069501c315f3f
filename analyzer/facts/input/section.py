"""How training waits for data."""

from __future__ import annotations

import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.restarts import Restarts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.before_sent import BeforeSent, before_sent
from analyzer.facts.input.code import InputCode, input_code
from analyzer.facts.input.filling import filling
from analyzer.facts.input.float_images import FloatImages, float_images
from analyzer.facts.input.loading import Loading, loading, ops_inside
from analyzer.facts.input.on_device import OnDevice, on_device
from analyzer.facts.input.padding import Padding, padding
from analyzer.facts.input.prepared import Prepared, prepared
from analyzer.facts.input.receiving import Receiving, receiving
from analyzer.facts.input.sample_loop import SampleLoop, sample_loop
from analyzer.facts.input.wait import InputWait, input_wait
from analyzer.facts.input.wait_pattern import WaitPattern, wait_pattern
from analyzer.facts.input.worker_bound import WorkerBound, worker_bound
from analyzer.facts.isolation import fact
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.facts.transfer.section import TransferFacts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.grouping import chosen
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import is_any


class InputFacts(Section):
    """Waiting for batches, and what making one consists of.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        transfer: What is moved.
    """

    NAME = "input"

    def __init__(
        self,
        recording: RecordingFacts,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        transfer: TransferFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps = recording, device, steps
        self._host, self._time, self._transfer = host, time, transfer

    @fact
    def wait(self) -> InputWait:
        """Waiting for the data loader."""
        return input_wait(
            self.trace, self._steps, self._host, self._time, own_workers=bool(self._recording.collected.own_workers)
        )

    @fact
    def code(self) -> InputCode:
        """The user's functions and lines that make the batches."""
        return input_code(self.trace, self._host, self.wait)

    @fact
    def without_loader(self) -> bool:
        """Whether a program was seen to draw from nothing: no range shows it, and the collector saw no loader of torch's."""
        return self._no_loader_seen and not len(self.wait)

    @fact
    def by_no_loader(self) -> bool:
        """Whether ranges show that batches are drawn, in a run in which the collector saw no loader of torch's draw one."""
        torchs = self.wait.single_process or self.wait.multi_process or self.wait.own_workers
        return self._no_loader_seen and bool(len(self.wait)) and not torchs

    @property
    def _no_loader_seen(self) -> bool:
        return self._recording.by_command and self._recording.collected.num_workers is None

    @fact
    def receiving(self) -> Receiving:
        """How long the loop receives the tensors of batches from workers, where stacks show it."""
        return receiving(self.trace, self.wait)

    @fact
    def pattern(self) -> WaitPattern:
        """How waiting for batches is spread over the loader's calls."""
        return wait_pattern(self._host, self.wait)

    @property
    def settled(self) -> WaitPattern:
        """The same without the calls that fill the queue behind a start of the workers."""
        return self.pattern.without(self._filling)

    @fact
    def starting(self) -> IntervalSet:
        """While workers start: from an epoch's end to the first batch behind, and beyond usual calls until the queue is full."""
        return self._starts.spans | self.pattern.beyond(self._filling, self.pattern.median_ns)

    @property
    def _starts(self) -> Restarts:
        return self._host.restarts.within(self._steps.host_window)

    @fact
    def _filling(self) -> Int64Array:
        return filling(self.pattern, self._starts, self._recording.collected.num_workers)

    @fact
    def loading(self) -> Loading:
        """What loading a batch in the training process consists of."""
        return loading(self.trace, self._recording, self._host, self.wait, self.loader_ops)

    @fact
    def loader_ops(self) -> pd.DataFrame:
        """Outermost ops of the training thread in the loader's calls."""
        return ops_inside(self.trace.ops, self._host.main_thread, self.wait.calls)

    @fact
    def on_device(self) -> OnDevice:
        """What the loader's calls do on the device."""
        return on_device(self.trace, self._device, self._transfer.copies.to_device, self.wait, self._host.main_thread)

    @fact
    def with_workers(self) -> WorkerBound:
        """How short a step can become when worker processes load."""
        return worker_bound(self._recording, self._device, self._steps, self.wait)

    @fact
    def padding(self) -> Padding:
        """Padding of batches, and how their length changes, by recorded shapes."""
        return padding(self.trace, self._steps, self._host)

    @fact
    def prepared(self) -> Prepared:
        """What the training loop does with a batch before the model gets it."""
        return prepared(self.trace, self._steps, self._host.ops, self._host.main_thread)

    @fact
    def before_sent(self) -> BeforeSent:
        """What the host does before it sends the next large tensor to the device."""
        return before_sent(self.trace, self._transfer.copies.to_device, self._host.main_thread)

    def prepares(self, op: str) -> bool:
        """Whether an op works between most of the loader's batches and the copies that send them, with nothing launched there."""
        way, ops = self.before_sent.behind_loader, self.trace.ops
        mine = is_any(ops["name"], op) & (ops["thread"].to_numpy() == self._host.main_thread)
        return 2 * len(way.touching(IntervalSet.of_rows(chosen(ops, mine)))) > len(way)

    @fact
    def float_images(self) -> FloatImages:
        """Batches of images that travel as 32-bit floats."""
        return float_images(self.trace, self._host, self._transfer, self.loading)

    @fact
    def sample_loop(self) -> SampleLoop | None:
        """The loop through a tensor that takes most of making samples; None where none is known."""
        return sample_loop(self.loader_ops, self.wait, self.loading)
