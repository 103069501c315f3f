"""How often the whole run passes through its data set: what is made once and kept saves nothing of the first time."""

from __future__ import annotations

from analyzer.facts.recording.collected import Collected
from analyzer.facts.recording.run_course import RunCourse


def data_passes(collected: Collected, run: RunCourse | None, ranks: int) -> float | None:
    """Samples that all steps of the run take, over those there are; None where it was stopped, or either is not known.

    Args:
        collected: What the collector recorded.
        run: The whole run.
        ranks: Processes that share the data.
    """
    length, batch, batches = collected.dataset_length, collected.batch_size, collected.batches_per_step
    if run is None or run.stopped or not (length and batch and batches):
        return None
    return (run.steps + run.profiled_steps) * batches * batch * ranks / length
