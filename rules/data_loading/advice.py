"""Fixes several data-loading rules share, worded for what was seen: cores, workers, size of the data."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice

# On so few cores workers take the time from training: with 0/1/2/4 workers the seeds' baseline takes 7.4/10/10/10 ms a step.
FEW_CORES = 2
_DEFAULT_WORKERS = 4
_MAX_WORKERS = 8


def prefers_memory(facts: Facts) -> bool:
    """Whether keeping the data in memory comes before worker processes: there is no core left for them."""
    cores = facts.collected.cores
    return cores is not None and cores <= FEW_CORES


def suggested_workers(facts: Facts) -> int:
    """Workers to start tuning from: never more than the cores beside the training process."""
    cores = facts.collected.cores
    return _DEFAULT_WORKERS if cores is None else max(1, min(_MAX_WORKERS, cores - 1))


def more_workers(facts: Facts) -> Advice:
    """Load in worker processes."""
    workers = suggested_workers(facts)
    cores = facts.collected.cores
    known = f"this run may use {cores} cores" if cores is not None else "start at 4 and tune; never more than cores - 1"
    pinned = "\n+   pin_memory=True," if facts.device is not None and not facts.collected.pin_memory else ""
    note = f"Worker processes prepare the next batches beside training; {known}."
    if prefers_memory(facts):
        note += " With so few cores workers compete with training and can make it slower: measure before keeping this."
    return Advice(
        "diff",
        f" loader = DataLoader(\n     dataset, ...,\n+   num_workers={workers},\n+   persistent_workers=True,{pinned}\n )",
        note,
    )


def in_memory(facts: Facts) -> Advice:
    """Load once, index whole batches."""
    return Advice(
        "python",
        "images = torch.stack([sample for sample, _ in dataset])   # once, before training\n"
        "labels = torch.tensor([label for _, label in dataset])\n"
        "for index in torch.randperm(len(images)).split(batch_size):\n"
        "    batch, target = images[index], labels[index]",
        "Where the data fit in memory: load and transform once, then index whole batches; no per-sample Python is left. "
        "Random augmentation then has to run on the batch (torchvision.transforms.v2).",
    )
