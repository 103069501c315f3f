"""Samples that are made once and kept, as code that fits what a sample of this run is."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import size
from rules.data_loading import kept, words

_OF_IMAGES = ("torchvision", "cv2", "timm", "albumentations", "monai", "detectron2", "mmengine")
# How whole batches are taken of samples that torch's own collation has put together.
_TAKEN = {
    "tensor": "data[index]",
    "sequence": "[part[index] for part in data]",
    "mapping": "{name: part[index] for name, part in data.items()}",
}


def _once(facts: Facts, name: str = "samples") -> str:
    """The statement that makes all samples: one data set has indices, another only yields."""
    made = "list(dataset)" if facts.recording.collected.stream else "[dataset[index] for index in range(len(dataset))]"
    return f"{name} = {made}   # once, before training"


def random_samples(facts: Facts) -> bool:
    """Whether samples come out different in each epoch: as their ops show it, or as the collector saw it.

    A data set that seeds a generator for each sample, as torchvision's `FakeData` does, draws what it drew before.
    """
    known = facts.recording.collected
    return known.random_samples is True or (facts.input.loading.draws and not known.seeded_samples)


def stackable(facts: Facts) -> bool:
    """Whether torch's own collation puts samples together, as far as anybody knows."""
    known = facts.recording.collected
    return known.batch_kind is None or known.sample_form in _TAKEN


def takes_whole_batches(facts: Facts) -> bool:
    """Whether one of the remedies takes whole batches from memory: a loader that a framework makes is given samples."""
    if not stackable(facts) or words.makes_loader(facts):
        return words.takes_arrays_at_once(facts)
    return not replaces_sampler(facts)


def replaces_sampler(facts: Facts) -> bool:
    """Whether the framework puts a sampler of its own in the place of one that gives batches: Lightning on several ranks."""
    return facts.recording.frameworks.of_loop == "lightning" and facts.recording.world_size is not None


def keeps_samples(facts: Facts) -> bool:
    """Whether `in_memory` keeps samples, which the loader goes on to put together, and not whole batches."""
    if words.takes_arrays_at_once(facts):
        return False
    listed = facts.recording.frameworks.of_loop is not None or words.makes_loader(facts) or not stackable(facts)
    return listed or words.prepared_once(facts, random=random_samples(facts)) is not None


def in_memory(facts: Facts) -> Advice:
    """Load once, index whole batches."""
    known = facts.recording.collected.dataset_bytes
    memory = "memory (the GPU's, where `__getitem__` sends them)" if facts.input.on_device.sends else "memory"
    where = f"The data are {size(known)}" if known is not None else f"Where the data fit in {memory}"
    said = words.prepared_once(facts, random=random_samples(facts))
    if said is not None:
        return said
    if words.makes_loader(facts) or (facts.recording.frameworks.of_loop is not None and stackable(facts)):
        return Advice(
            "python",
            _once(facts, "dataset"),
            f"{where}: load and transform once, and give the framework this list: it is a data set too, whatever a sample is."
            f"{kept.sentence(facts)}",
        )
    if not stackable(facts):
        return Advice(
            "python",
            f"{_once(facts)}\nloader = DataLoader(samples, ..., collate_fn=loader.collate_fn)",
            f"{where}: a list of samples is a data set too, whatever a sample is; the step only puts batches together."
            f"{kept.sentence(facts)}",
        )
    if already_tensors(facts):
        return Advice(
            "diff",
            "-for batch in loader:\n+data = dataset.tensors\n"
            f"+for index in {'loader.batch_sampler' if infers_only(facts) else 'torch.randperm(len(dataset)).split(batch_size)'}:\n"
            "+    batch = [part[index] for part in data]",
            f"{where}, and tensors already: the loader takes them apart and puts them together again.{order_kept(facts)}",
        )
    return Advice(
        "python",
        f"{_once(facts)}\n"
        "data = torch.utils.data.default_collate(samples)\n"
        f"for index in {'torch.randperm(len(samples)).split(batch_size)' if _draws(facts) else 'loader.batch_sampler'}:\n"
        f"{_taken(facts, '    batch = ')}",
        f"{where}: load and transform once, then index whole batches; no per-sample Python is left in the step. "
        "Random augmentation then has to run on the batch (torchvision.transforms.v2; it draws once per batch)."
        f"{_parts(facts)}{order_kept(facts)}{kept.sentence(facts)}",
    )


def whole_batches(facts: Facts) -> Advice:
    """Keep the loader, fetch a batch at a time."""
    if facts.recording.collected.stream:
        return _streamed_batches(facts)
    batch_size = facts.recording.collected.batch_size or "batch_size"
    taken = _taken(facts, "        return ").replace("data", "self.data")
    prepares = facts.recording.frameworks.of_loop == "accelerate"  # which gives each rank its part of any loader
    own = (prepares or takes_all_samples(facts)) and not infers_only(facts)
    sampler = (
        f"sampler = BatchSampler(RandomSampler(dataset), batch_size={batch_size}, drop_last=False)"
        if own
        else "sampler = loader.batch_sampler"
    )
    prepared = "\nloader = accelerator.prepare(loader)" if prepares else ""
    return Advice(
        "python",
        "class InMemory(Dataset):\n"
        "    def __getitem__(self, index):        # a list of indices: one batch\n"
        f"{taken}\n\n"
        f"{sampler}\n"
        f"loader = DataLoader(dataset, sampler=sampler, batch_size=None){prepared}",
        "Keeps the DataLoader and hands it whole batches; transforms then run on the batch. An `IterableDataset` does the same by "
        f"yielding batches itself, with `batch_size=None`.{order_kept(facts) if own else _parts(facts)}",
    )


def _streamed_batches(facts: Facts) -> Advice:
    """Batches that a stream makes itself: it has no indices that a sampler could give it."""
    rows = facts.recording.collected.batch_size or "batch_size"
    return Advice(
        "python",
        "class Batches(IterableDataset):\n"
        "    def __iter__(self):\n"
        f"        for rows in read(self.path, {rows}):            # as many rows at once: a slice of each column\n"
        "            yield [torch.as_tensor(column) for column in rows]\n\n"
        "loader = DataLoader(Batches(), batch_size=None)",
        "No Python for each sample: columns of a table, or one array for many samples, become tensors as they are. `read` stands "
        "for what reads now.",
    )


def already_tensors(facts: Facts) -> bool:
    """Whether all samples are held as tensors, of which batches can be taken at once."""
    return facts.recording.collected.dataset_name == "TensorDataset" and takes_all_samples(facts)


def takes_all_samples(facts: Facts) -> bool:
    """Whether each rank takes all samples of its data set: of several, each takes those that its sampler gives it.

    A stream has no sampler: what it yields to a rank is the rank's.
    """
    return facts.recording.world_size is None or facts.recording.collected.stream


def infers_only(facts: Facts) -> bool:
    """Whether the model is only run, for sure: its answers belong to the samples in their order, and none may be left out."""
    return facts.model.infers and not facts.model.may_train


def _draws(facts: Facts) -> bool:
    """Whether batches are drawn anew in each epoch."""
    return takes_all_samples(facts) and not infers_only(facts)


def order_kept(facts: Facts) -> str:
    """What keeps the order, where the trace does not tell whether that matters."""
    if not facts.model.infers or not _draws(facts):
        return ""
    return (
        " Batches are drawn anew for each pass; where results belong to the samples in their order, `loader.batch_sampler` "
        "keeps it."
    )


def _parts(facts: Facts) -> str:
    if takes_all_samples(facts):
        return ""
    return " `loader.batch_sampler` is that of the loader as it is now: it gives each rank its part of the samples."


def stored(facts: Facts) -> Advice:
    """Store once what every epoch repeats."""
    if facts.recording.collected.batch_kind is not None and not (words.are_pairs(facts) and may_be_images(facts)):
        samples = "dataset" if facts.recording.collected.stream else "(dataset[index] for index in range(len(dataset)))"
        return Advice(
            "python",
            f"for number, sample in enumerate({samples}):   # once, before training\n"
            '    torch.save(sample, folder / f"{number}.pt")   # read, tokenised, built: as the loader gets it',
            "What is the same in every epoch (reading, tokenising, building graphs) can be done once and stored."
            f"{kept.in_a_file(facts)}",
        )
    return Advice(
        "python",
        "for number, (image, label) in enumerate(raw_dataset):   # once, before training\n"
        '    torch.save((resize(image), label), folder / f"{number}.pt")   # uint8 tensor, already decoded and resized',
        f"What is the same in every epoch (decoding, resizing, tokenising) can be done once and stored.{kept.in_a_file(facts)}",
    )


def are_images(facts: Facts) -> bool:
    """Whether samples are images for sure: their ops show it, or what makes them is a library of images."""
    made_by = {name.split(".")[0] for name in facts.recording.frameworks.data}
    return facts.input.loading.converts_images or bool(made_by.intersection(_OF_IMAGES))


def may_be_images(facts: Facts) -> bool:
    """Whether anything that reads images is in use: numbers from a file are not decoded and resized.

    Other libraries import torchvision for reasons of their own, as metrics do: of images torch makes tensors, not objects.
    """
    if are_images(facts):
        return True
    return facts.recording.collected.batch_kind != "objects" and facts.recording.frameworks.may_use(*_OF_IMAGES)


def _taken(facts: Facts, begin: str) -> str:
    """The statement that takes a batch; behind what it does for other samples where nobody knows what a sample is."""
    form = facts.recording.collected.sample_form or ""
    if form in _TAKEN:
        return f"{begin}{_TAKEN[form]}"
    indent = " " * (len(begin) - len(begin.lstrip()))
    return (
        f"{indent}# a tensor alone: {_TAKEN['tensor']}\n"
        f"{indent}# a dictionary: {_TAKEN['mapping']}\n"
        f"{begin}{_TAKEN['sequence']}"
    )
