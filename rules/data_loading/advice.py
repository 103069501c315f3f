"""Fixes several data-loading rules share, worded for what was seen: cores, workers, size of the data."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import count, size
from rules.changes import larger_batch
from rules.data_loading import handing_over, on_device, words
from rules.data_loading.cheaper import arrays, cheaper_samples, kept_open, known_causes
from rules.data_loading.kept import made_once_already
from rules.data_loading.packed import packed
from rules.data_loading.parts import (
    collate_stays,
    faster_sampler,
    librarys_collate_stays,
    made_once,
    prepared_before,
    sampler_leads,
)
from rules.data_loading.samples import random_samples, stored
from rules.data_loading.workers import (
    CHEAP_SAMPLE_NS,
    FEW_CORES,
    MAX_WORKERS,
    WAITING_RATIO,
    floor_ns,
    samples_wait,
    suggested_workers,
)
from rules.sent_by_loader import left_to_the_loop

# Share of a core from which SageMaker Debugger and gpuprof call the processor the limit.
COMPUTING_RATIO = 0.8
# A quarter of the memory of a machine with 8 GiB: what a training process may keep for its data without asking.
MEMORY_BYTES = 2 * 1024**3
# The smallest batch in PyTorch's own examples is 20 (word_language_model); so few are chosen where each is large, as volumes.
_TINY_BATCH = 4
_LARGE_SAMPLE_BYTES = 1024**2
# With fewer batches an epoch has nothing to put together.
_BATCHES_OF_AN_EPOCH = 10


def prefers_memory(facts: Facts) -> bool:
    """Whether keeping the data in memory comes before worker processes: no core is left for them, or a sample is all overhead."""
    if not may_fit(facts) or made_once_already(facts):
        return False
    cores, per_sample = facts.recording.collected.cores, facts.input.loading.per_sample_ns
    return (cores is not None and cores <= FEW_CORES) or (per_sample is not None and per_sample < CHEAP_SAMPLE_NS)


def may_fit(facts: Facts) -> bool:
    """Whether the samples may be kept in memory; an unknown size counts as fitting, and the advice then says so.

    Samples that draw random numbers differ in every epoch: kept, their augmentation would be frozen.
    """
    if random_samples(facts):
        return False
    known = facts.recording.collected.dataset_bytes
    return known is None or known <= MEMORY_BYTES


def ordered(facts: Facts) -> tuple[Advice, ...]:
    """All ways to load faster from the training process, the one that suits this run first."""
    if sampler_leads(facts):
        return (faster_sampler(facts),)
    if facts.input.on_device.holds:
        return on_device.at_once(facts)
    memory, offline = made_once(facts) if may_fit(facts) else (), prepare_offline(facts)
    workers = (more_workers(facts),) if suggested_workers(facts) else ()
    if _hide_little(facts):
        less = (*memory, *offline) or cheaper_samples(facts)
        # What is kept serves the next pass, and there is none.
        ways = (
            (*cheaper_samples(facts), *workers, *less)
            if made_once_already(facts)
            else (*arrays(facts), *less, *workers)
        )
        return united((*known_causes(facts), *tiny_batches(facts), *ways))
    first = (*memory, *arrays(facts), *workers) if prefers_memory(facts) else (*workers, *arrays(facts), *memory)
    return united((*known_causes(facts), *tiny_batches(facts), *first, *offline)) or cheaper_samples(facts)


def _hide_little(facts: Facts) -> bool:
    """Whether workers on the cores there are would leave most of the wait: then only less work helps much."""
    saved = facts.input.with_workers.step_ns - floor_ns(facts)
    return 2 * saved < facts.steps.per_step(facts.input.wait.owned.total_ns)


def united(fixes: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """The fixes without one that says the change of an earlier one again."""
    first: dict[str, Advice] = {}
    for advice in fixes:
        first.setdefault(advice.code, advice)
    return tuple(first.values())


def tiny_batches(facts: Facts) -> tuple[Advice, ...]:
    """Larger batches, where a batch is a few small samples: each step then pays for the loop, the loader and each op alone."""
    known = facts.recording.collected
    batch, each = (
        known.batch_size,
        known.dataset_bytes and known.dataset_length and known.dataset_bytes / known.dataset_length,
    )
    if not batch or batch > _TINY_BATCH or each is None or each > _LARGE_SAMPLE_BYTES:
        return ()
    if known.dataset_length is not None and known.dataset_length < _BATCHES_OF_AN_EPOCH * batch:
        return ()
    made = facts.input.loading.per_sample_ns
    if made is not None and made > CHEAP_SAMPLE_NS:  # work of the sample's own, of which a larger batch holds more
        return ()
    samples = count(batch, "sample")
    change = larger_batch(facts)
    return (
        replace(
            change,
            note=f"A batch has {samples} of {size(each)}: each step pays for the loop and every op once for so few. {change.note}",
        ),
    )


def feed_workers(facts: Facts) -> tuple[Advice, ...]:
    """Ways to get batches sooner from worker processes that exist already."""
    return packed(facts) or (*kept_open(facts), *_fed(facts))


def _fed(facts: Facts) -> tuple[Advice, ...]:
    now, cores, used = (
        facts.recording.collected.num_workers,
        facts.recording.collected.cores,
        facts.recording.collected.worker_wants_ratio,
    )
    full = now is not None and cores is not None and now >= cores - 1
    more = () if full else (_raise_workers(facts),)
    device = (decode_on_device(facts),) if facts.device.main is not None else ()
    if used is not None and used >= COMPUTING_RATIO:
        # The workers' cores are the limit: less work for them, where it can go.
        return (*more, *device, *prepare_offline(facts), single_threaded_workers(facts))
    if workers_wait_for_storage(facts):
        return (larger_files(), *more)
    if collate_stays(facts):  # known to be most of the work, not one of several things to try
        return (*prepare_offline(facts), *more, single_threaded_workers(facts), *device)
    return (*more, single_threaded_workers(facts), *prepare_offline(facts), *device)


def _raise_workers(facts: Facts) -> Advice:
    """More workers, while there are cores for them."""
    now, cores = facts.recording.collected.num_workers, facts.recording.collected.cores
    most = MAX_WORKERS if cores is None else max(1, cores - 1)
    workers = min(most, 2 * now) if now else most
    limit = f"this run may use {count(cores, 'core')}" if cores is not None else "never more than cores - 1"
    return words.loader(
        facts,
        {"num_workers": workers, "prefetch_factor": 4, "persistent_workers": True},
        f"As long as cores are idle ({limit}) and the storage keeps up, more workers deliver more batches."
        f"{_copies(facts, workers)}",
        removed={"num_workers": now} if now else None,
    )


def single_threaded_workers(facts: Facts) -> Advice:
    """Keep each worker to one core."""
    if not facts.recording.frameworks.may_use("cv2"):
        return Advice(
            "shell",
            "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1   # before the program starts; torch.set_num_threads(n) for training",
            "Libraries that start threads of their own in every worker make the workers fight for the same cores.",
        )
    return Advice(
        "python",
        "def one_thread(worker_id):\n    cv2.setNumThreads(0)   # where OpenCV is used; torch itself uses one thread\n\n"
        "loader = DataLoader(dataset, ..., worker_init_fn=one_thread)",
        "Libraries that start threads of their own in every worker make the workers fight for the same cores.",
    )


def more_workers(facts: Facts) -> Advice:
    """Load in worker processes."""
    workers, cores = suggested_workers(facts), facts.recording.collected.cores
    waiting = samples_wait(facts)
    known = (
        f"{workers}, however many cores there are: making a sample is mostly waiting, for storage or a network"
        if waiting
        else f"{workers} because this run may use {count(cores, 'core')}"
        if cores is not None
        else f"start at {workers} and tune; never more than cores - 1"
    )
    pinned = {"pin_memory": True} if facts.device.main is not None and not facts.recording.collected.pin_memory else {}
    note = f"Worker processes prepare the next batches beside training; {known}."
    if cores is not None and cores <= FEW_CORES and not waiting:
        note += " With so few cores workers compete with training and can make it slower: measure before keeping this."
    note += left_to_the_loop(facts) or handing_over.costs(facts)
    return words.loader(
        facts, {"num_workers": workers, "persistent_workers": True, **pinned}, f"{note}{_copies(facts, workers)}"
    )


def _copies(facts: Facts, workers: int) -> str:
    """What several workers do with a stream, where nothing shows that they share it out; with a space before it."""
    known = facts.recording.collected
    if words.framework_of(facts) == "webdataset":
        return f" Workers share out the shards, not the samples: {workers} of them need as many .tar files."
    if not known.stream or known.stream_splits or workers < 2:
        return ""
    sure = "yields" if known.stream_splits is False else "may yield"
    return (
        f" Each worker has a copy of an `IterableDataset` and {sure} every sample: without "
        "`info = torch.utils.data.get_worker_info()` and `itertools.islice(rows, info.id, None, info.num_workers)` in its "
        f"`__iter__` training sees each sample {workers} times."
    )


def workers_wait_for_storage(facts: Facts) -> bool:
    """Whether the loader's workers hardly compute, for want of files: neither of a core nor of something to do.

    Where they lacked a core, training may have lacked one as well, and the queue just have been full.
    """
    known = facts.recording.collected
    wants = known.worker_wants_ratio
    if wants is None or wants > WAITING_RATIO or known.workers_lack_cores:
        return False
    return not facts.input.code.workers_wait_for_training


def larger_files() -> Advice:
    """Make the storage faster: the workers wait for it."""
    return Advice(
        "shell",
        'rsync -a server:data/ "$LOCAL_DISK/data/"',
        "The workers hardly compute: they wait for storage or the network. Read from a local disk, or from few large files instead "
        "of many small ones (webdataset's .tar shards); more workers keep more reads under way.",
    )


def prepare_offline(facts: Facts) -> tuple[Advice, ...]:
    """Do once, before training, what every epoch repeats; nothing where samples come out different in each."""
    drawn = random_samples(facts)
    said = words.prepared_once(facts, random=drawn)
    if said is not None and not collate_stays(facts):
        return (said,)
    if drawn or librarys_collate_stays(facts):
        return ()
    return (prepared_before(facts),) if collate_stays(facts) else (stored(facts),)


def decode_on_device(facts: Facts) -> Advice:
    """Let the device augment, and decode where it is one that images are decoded on."""
    # nvJPEG and DALI are NVIDIA's.
    decodes = facts.device.kind == "cuda"
    jpeg = '\n# JPEG: torchvision.io.decode_jpeg(encoded, device="cuda"), or a DALI pipeline' if decodes else ""
    what, left = ("read bytes", "decode and augment") if decodes else ("read and decode", "augment")
    return Advice(
        "python",
        "batch = batch.to(device, non_blocking=True)          # uint8, as stored\n"
        "batch = v2.functional.to_dtype(batch, torch.float32, scale=True)\n"
        f"batch = augment(batch)                               # torchvision.transforms.v2, on the device{jpeg}",
        f"Where the workers' cores are the limit: let them only {what}, and {left} on the device. Transforms of "
        "torchvision draw once for a batch: all its images get the same crop and colours. Where each has to differ, "
        f"kornia{' or DALI draw' if decodes else ' draws'} for each.",
    )
