"""How short a step can become when loading moves to worker processes."""

from __future__ import annotations

import msgspec

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.input.wait import InputWait
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps


class WorkerBound(msgspec.Struct, frozen=True):
    """What the cores allow, means per used step in nanoseconds.

    Args:
        step_ns: The step now.
        load_ns: Inside the loader's `__next__`, whatever the device does, but for choosing the samples.
        computing_ns: The part of it in which a core computes, the rest waiting for storage or a network; all of it where nobody
            measured what the process uses.
        rest_ns: The step without waiting for the loader to make them.
        shared_ns: The core time of a step, its loader's workers included, spread over all cores; None on a run with a device, where
            the host's part of it is not what lasts, and where nobody recorded the cores.
        cores: Cores the process may use; None where nobody recorded it.
        hand_over_ns: What it takes here to get a batch from another process, which training would wait for; None where that is not
            measured, and where it gets them so now.
    """

    step_ns: float
    load_ns: float
    computing_ns: float
    rest_ns: float
    shared_ns: float | None
    cores: int | None
    hand_over_ns: float | None = None

    @property
    def workers(self) -> int | None:
        """As many as there are cores beside training; None where nobody recorded the cores."""
        return None if self.cores is None else self.cores - 1

    @property
    def floor_ns(self) -> float:
        """No step can be shorter where training keeps a core: the rest has to be done, and so has the loading, on the others."""
        if self.workers is None:
            return min(self._received_ns, self.step_ns)
        if not self.workers:
            return min(self.rest_ns + self.computing_ns, self.step_ns)
        return self._at_least(self.workers)

    @property
    def yielding_floor_ns(self) -> float:
        """The same where training leaves its core to workers while it waits for them."""
        return self.floor_ns if not self.workers or self.cores is None else self._at_least(self.cores)

    def _at_least(self, cores: int) -> float:
        return min(max(self._received_ns, self.computing_ns / cores, self.shared_ns or 0.0), self.step_ns)

    @property
    def _received_ns(self) -> float:
        """The rest of the step, and getting a batch that is ready."""
        return self.rest_ns + (self.hand_over_ns or 0.0)


def worker_bound(recording: RecordingFacts, device: DeviceFacts, steps: Steps, input_wait: InputWait) -> WorkerBound:
    """What the cores allow.

    The cores load, and on a CPU-only run the same cores train: no step takes less than its core time on all of them. Where the
    process was seen to use less than a core and to wait for none, it sleeps in the loader, and that takes no core of anybody.
    """
    known, step = recording.collected, steps.per_step(steps.total_ns)
    # Samples are chosen in the training process, whoever makes them.
    made = 1.0 - known.batch_parts.get("sampler", 0.0)
    load = made * steps.per_step(input_wait.host.total_ns)
    rest = step - made * steps.per_step(input_wait.owned.total_ns)
    on_host = device.main is None
    computing = load
    if known.process_cores is not None and known.core_wait_ratio is not None:
        # What the device works on may cost the host nothing: then all that the process uses may be loading. Of a core that others
        # have meanwhile, unseen by the system as on a virtual machine, what an empty loop misses is no sleep either.
        elsewhere = rest if on_host else 0.0
        used = known.process_cores + known.core_wait_ratio
        computing = min(load, max(used / (known.core_steadiness or 1.0) * step - elsewhere, 0.0))
    cores_used = (known.process_cores or 0.0) + (known.worker_cpu_ratio or 0.0) * (known.num_workers or 0)
    shared = None if known.cores is None or not on_host else max(rest + computing, cores_used * step) / known.cores
    # A step may draw several batches, or one serve several steps.
    each = recording.hand_over_ns if input_wait.single_process else None
    handed = None if each is None else each * steps.per_step(len(input_wait))
    return WorkerBound(step, load, computing, rest, shared, known.cores, handed)
