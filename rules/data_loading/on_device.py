"""Samples that are on the device before they are put together: no worker process makes their batches, one index does.

Worker processes share no CUDA tensors with the training process unless they are spawned, and keep alive, what they send
(https://docs.pytorch.org/docs/stable/notes/multiprocessing.html); `pin_memory` refuses a tensor of the device.
"""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.data_loading import words
from rules.data_loading.samples import (
    already_tensors,
    infers_only,
    order_kept,
    random_samples,
    replaces_sampler,
    takes_all_samples,
    whole_batches,
)

WHY_NO_WORKERS = "batches are made on the GPU, of what is there already: worker processes cannot simply take that over"
_NO_WORKERS = (
    "leave `num_workers=0` and `pin_memory=False`, as worker processes cannot simply share the GPU's tensors, and only the "
    "host's can be pinned."
)
_PUT_TOGETHER = f"The samples are on the GPU already, where batches are put together and nothing is sent: {_NO_WORKERS}"
_AT_ONCE = Advice(
    "text",
    "Keep what is the same in every epoch as tensors on the GPU, draw the order of a whole epoch there "
    "(`torch.randperm(n, device=device).split(batch_size)`), and index in the loop, without a loader.",
    f"The loader makes batches on the GPU and sends nothing: {_NO_WORKERS}",
)
_AUGMENTED = " Samples draw random numbers: draw them for a whole batch at once, on the GPU, behind the index."


def at_once(facts: Facts) -> tuple[Advice, ...]:
    """Whole batches by one index for each tensor, first without a loader, then with it; or how to do without the loader alone."""
    if not facts.input.on_device.one_by_one:
        return (_AT_ONCE,)
    note = f"{_PUT_TOGETHER}{_AUGMENTED if random_samples(facts) else ''}"
    if words.makes_loader(facts) or replaces_sampler(facts):
        return (_of_list(note),)
    kept = whole_batches(facts)
    if facts.recording.frameworks.of_loop is not None or facts.recording.collected.stream:
        return (Advice(kept.language, kept.code, f"{note} {kept.note}"),)
    return (_indexed(facts, note), kept)


def _indexed(facts: Facts, note: str) -> Advice:
    """The loop without a loader; without an index where batches are taken in order, as slices are views."""
    data = (
        "dataset.tensors"
        if already_tensors(facts)
        else "dataset.images, dataset.labels     # the tensors that it holds"
    )
    if not takes_all_samples(facts):
        loop, part = "for index in loader.batch_sampler:                     # this rank's part", "index"
    elif infers_only(facts):
        loop, part = "for begin in range(0, len(dataset), batch_size):", "begin : begin + batch_size"
    else:
        loop, part = "for index in torch.randperm(len(dataset), device=data[0].device).split(batch_size):", "index"
    return Advice(
        "python",
        f"data = {data}\n{loop}\n    batch = [part[{part}] for part in data]           # one kernel a tensor, nothing a sample",
        f"{note} What `__getitem__` does to a sample goes behind that, for the whole batch.{order_kept(facts)}",
    )


def _of_list(note: str) -> Advice:
    return Advice(
        "python",
        "class OnDevice(Dataset):\n"
        "    def __getitems__(self, indices):              # all of a batch at once, instead of `__getitem__` for each\n"
        "        return [part[indices] for part in self.data]\n\n"
        "collate_fn = lambda batch: batch                  # it is one already",
        f"{note} The framework makes the loader, which asks for all samples of a batch at once where the data set lets it.",
    )
