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
        rest_ns: The step without waiting for the loader to make them.
        shared_ns: The core time of a step, its loader's workers included, spread over all cores; None on a run with a device, where
            the host's part of it is not what lasts, and where nobody recorded the cores.
        cores: Cores the process may use; None where nobody recorded it.
    """

    step_ns: float
    load_ns: float
    rest_ns: float
    shared_ns: float | None
    cores: int | None

    @property
    def workers(self) -> int | None:
        """As many as there are cores beside training; None where nobody recorded the cores."""
        return None if self.cores is None else self.cores - 1

    @property
    def floor_ns(self) -> float:
        """No step can be shorter: the rest has to be done, and so has the loading, by the workers, on the cores there are."""
        if self.workers is None:
            return min(self.rest_ns, self.step_ns)
        if not self.workers:
            return self.step_ns
        return min(max(self.rest_ns, self.load_ns / self.workers, self.shared_ns or 0.0), self.step_ns)

    @property
    def saving_ns(self) -> float:
        """At most this much less a step."""
        return self.step_ns - self.floor_ns


def worker_bound(recording: RecordingFacts, device: DeviceFacts, steps: Steps, input_wait: InputWait) -> WorkerBound:
    """What the cores allow.

    The cores beside the training process load: no batch can take less than load / (cores - 1). On a CPU-only run the same cores
    train and load: no step takes less than its core time on all of them, which is that of the training thread at least.
    """
    known, step = recording.collected, steps.per_step(steps.total_ns)
    # Samples are chosen in the training process, whoever makes them.
    made = 1.0 - known.batch_parts.get("sampler", 0.0)
    load = made * steps.per_step(input_wait.host.total_ns)
    rest = step - made * steps.per_step(input_wait.owned.total_ns)
    used = (known.process_cores or 0.0) + (known.worker_cpu_ratio or 0.0) * (known.num_workers or 0)
    shared = None if known.cores is None or device.main is not None else max((rest + load), used * step) / known.cores
    return WorkerBound(step, load, rest, shared, known.cores)
