"""Worker processes that take samples out of tensors in memory: training could take whole batches of them itself."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Bar, Bars, Confidence, Finding, Saving
from analyzer.units import count, duration, share, size
from rules.data_loading.samples import already_tensors, in_memory, stackable, whole_batches


def sent_back(facts: Facts) -> bool:
    """Whether workers take samples one by one out of a `TensorDataset`, and torch's own collation puts them together.

    A sample of one costs next to nothing; to send it from process to process does.
    """
    known = facts.recording.collected
    one_by_one = not known.whole_batches and known.batch_kind is not None
    return facts.input.wait.multi_process and one_by_one and already_tensors(facts) and stackable(facts)


def finding(facts: Facts) -> Finding:
    """What waiting for them costs."""
    wait, known = facts.input.wait, facts.recording.collected
    data = f" The whole data set is {size(known.dataset_bytes)}." if known.dataset_bytes is not None else ""
    number = known.num_workers
    end = "s" if number == 1 else ""
    workers = count(number, "worker process", "worker processes") if number else "Worker processes"
    batches = whole_batches(facts)
    return Finding(
        why=f"{workers} take{end} samples one by one out of tensors that the training process holds as well, put{end} them "
        f"together, and send{end} them back: training waits for {duration(facts.steps.per_step(wait.owned.total_ns))} of "
        f"{facts.steps.each} ({share(facts.steps.ratio(wait.owned.total_ns))}).{data}",
        saving=Saving(
            wait.owned,
            behind=facts.sync.behind(wait.inside),
            basis="idle time inside `__next__`: indexing a batch in memory takes next to nothing of it",
        ),
        # What a framework draws from stays a loader.
        fix=(batches,) if facts.recording.frameworks.of_loop is not None else (in_memory(facts), batches),
        verify="Record again: `__next__` should be gone, or next to nothing; DL001 should be clear.",
        steps_seen=wait.steps_seen,
        confidence=Confidence.HIGH,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("waiting for workers", facts.steps.per_step(wait.owned.total_ns)),
                    Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - wait.owned.total_ns)),
                ),
            ),
        ),
        caveats=("Random augmentation has to differ between samples: on a batch it is drawn once.",)
        if known.random_samples
        else (),
    )
