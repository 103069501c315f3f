"""Fixes several data-loading rules share, worded for what was seen: cores, workers, size of the data."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import size

# On so few cores workers take the time from training: with 0/1/2/4 workers the seeds' baseline takes 7.4/10/10/10 ms a step.
FEW_CORES = 2
_DEFAULT_WORKERS = 4
_MAX_WORKERS = 8
# Less work a sample than this is mostly overhead, which a worker process repeats (rules.md DL002).
CHEAP_SAMPLE_NS = 200_000
# Share of a core from which SageMaker Debugger and gpuprof call the processor the limit, and below which a worker mostly waits.
COMPUTING_RATIO = 0.8
WAITING_RATIO = 0.4
# A quarter of the memory of a machine with 8 GiB: what a training process may keep for its data without asking.
MEMORY_BYTES = 2 * 1024**3


def prefers_memory(facts: Facts) -> bool:
    """Whether keeping the data in memory comes before worker processes: no core is left for them, or a sample is all overhead."""
    if not may_fit(facts):
        return False
    cores, per_sample = facts.collected.cores, facts.loading.per_sample_ns
    return (cores is not None and cores <= FEW_CORES) or (per_sample is not None and per_sample < CHEAP_SAMPLE_NS)


def may_fit(facts: Facts) -> bool:
    """Whether the samples may be kept in memory; an unknown size counts as fitting, and the advice then says so.

    Samples that draw random numbers differ in every epoch: kept, their augmentation would be frozen.
    """
    if facts.loading.draws:
        return False
    known = facts.collected.dataset_bytes
    return known is None or known <= MEMORY_BYTES


def suggested_workers(facts: Facts) -> int:
    """Workers to start tuning from: never more than the cores beside the training process."""
    cores = facts.collected.cores
    return _DEFAULT_WORKERS if cores is None else max(0, min(_MAX_WORKERS, cores - 1))


def ordered(facts: Facts) -> tuple[Advice, ...]:
    """All ways to load faster from the training process, the one that suits this run first."""
    memory = [in_memory(facts)] if may_fit(facts) else []
    workers = [more_workers(facts)] if suggested_workers(facts) else []
    first = memory + workers if prefers_memory(facts) else workers + memory
    return (*first, prepare_offline())


def feed_workers(facts: Facts) -> tuple[Advice, ...]:
    """Ways to get batches sooner from worker processes that exist already."""
    now, cores, used = facts.collected.num_workers, facts.collected.cores, facts.collected.worker_cpu_ratio
    full = now is not None and cores is not None and now >= cores - 1
    more = () if full else (_raise_workers(facts),)
    device = (decode_on_device(),) if facts.device is not None else ()
    if used is not None and used >= COMPUTING_RATIO:
        # The workers' cores are the limit: less work for them, where it can go.
        return (*more, *device, prepare_offline(), single_threaded_workers())
    if used is not None and used <= WAITING_RATIO:
        return (larger_files(), *more)
    return (*more, single_threaded_workers(), prepare_offline(), *device)


def _raise_workers(facts: Facts) -> Advice:
    """More workers, while there are cores for them."""
    now, cores = facts.collected.num_workers, facts.collected.cores
    most = _MAX_WORKERS if cores is None else max(1, cores - 1)
    workers = min(most, 2 * now) if now else most
    removed = f"-   num_workers={now},\n" if now else ""
    limit = f"this run may use {cores} cores" if cores is not None else "never more than cores - 1"
    return Advice(
        "diff",
        f" loader = DataLoader(\n     dataset, ...,\n{removed}+   num_workers={workers},\n+   prefetch_factor=4,\n"
        "+   persistent_workers=True,\n )",
        f"As long as cores are idle ({limit}) and the storage keeps up, more workers deliver more batches.",
    )


def single_threaded_workers() -> Advice:
    """Keep each worker to one core."""
    return Advice(
        "python",
        "def one_thread(worker_id):\n    cv2.setNumThreads(0)   # where OpenCV is used; torch itself uses one thread\n\n"
        "loader = DataLoader(dataset, ..., worker_init_fn=one_thread)",
        "Libraries that start threads of their own in every worker make the workers fight for the same cores.",
    )


def more_workers(facts: Facts) -> Advice:
    """Load in worker processes."""
    workers, cores = suggested_workers(facts), facts.collected.cores
    known = (
        f"{workers} because this run may use {cores} cores"
        if cores is not None
        else f"start at {workers} and tune; never more than cores - 1"
    )
    pinned = "\n+   pin_memory=True," if facts.device is not None and not facts.collected.pin_memory else ""
    note = f"Worker processes prepare the next batches beside training; {known}."
    if cores is not None and cores <= FEW_CORES:
        note += " With so few cores workers compete with training and can make it slower: measure before keeping this."
    return Advice(
        "diff",
        f" loader = DataLoader(\n     dataset, ...,\n+   num_workers={workers},\n+   persistent_workers=True,{pinned}\n )",
        note,
    )


def in_memory(facts: Facts) -> Advice:
    """Load once, index whole batches."""
    known = facts.collected.dataset_bytes
    where = f"The data are {size(known)}" if known is not None else "Where the data fit in memory"
    return Advice(
        "python",
        "images = torch.stack([sample for sample, _ in dataset])   # once, before training\n"
        "labels = torch.tensor([label for _, label in dataset])\n"
        "for index in torch.randperm(len(images)).split(batch_size):\n"
        "    batch, target = images[index], labels[index]",
        f"{where}: load and transform once, then index whole batches; no per-sample Python is left in the step. "
        "Random augmentation then has to run on the batch (torchvision.transforms.v2; it draws once per batch).",
    )


def whole_batches(facts: Facts) -> Advice:
    """Keep the loader, fetch a batch at a time."""
    batch_size = facts.collected.batch_size or "batch_size"
    return Advice(
        "python",
        "class Images(Dataset):\n"
        "    def __getitem__(self, index):        # a list of indices: one batch\n"
        "        return self.images[index], self.labels[index]\n\n"
        f"sampler = BatchSampler(RandomSampler(dataset), batch_size={batch_size}, drop_last=True)\n"
        "loader = DataLoader(dataset, sampler=sampler, batch_size=None)",
        "Keeps the DataLoader and hands it whole batches; transforms then run on the batch. An `IterableDataset` does the same by "
        "yielding batches itself, with `batch_size=None`.",
    )


def larger_files() -> Advice:
    """Make the storage faster: the workers wait for it."""
    return Advice(
        "shell",
        'rsync -a server:/data/ "$LOCAL_DISK/data/"',
        "The workers hardly compute: they wait for storage or the network. Read from a local disk, or from few large files instead "
        "of many small ones (webdataset's .tar shards); more workers keep more reads under way.",
    )


def prepare_offline() -> Advice:
    """Do once, before training, what every epoch repeats."""
    return Advice(
        "python",
        "for number, (image, label) in enumerate(raw_dataset):   # once, before training\n"
        '    torch.save((resize(image), label), folder / f"{number}.pt")   # uint8 tensor, already decoded and resized',
        "What is the same in every epoch (decoding, resizing, tokenising) can be done once and stored.",
    )


def decode_on_device() -> Advice:
    """Let the device decode and augment."""
    return Advice(
        "python",
        "batch = batch.to(device, non_blocking=True)          # uint8, as stored\n"
        "batch = v2.functional.to_dtype(batch, torch.float32, scale=True)\n"
        "batch = augment(batch)                               # torchvision.transforms.v2, on the device\n"
        '# JPEG: torchvision.io.decode_jpeg(encoded, device="cuda"), or a DALI pipeline',
        "Where the workers' cores are the limit: let them only read bytes, and decode and augment on the device.",
    )
