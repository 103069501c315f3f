"""How a loader's arguments, and data prepared once, are said in the framework that a program is written in.

Names of arguments are those of the frameworks' documentation: `TrainingArguments` (transformers), `LightningDataModule`,
`CacheDataset` (MONAI), `pre_transform` (PyTorch Geometric), `DataLoaders` (fastai), `model.train` (ultralytics), `cfg.DATALOADER`
(detectron2), `train_dataloader` (mmengine), `create_loader` (timm), `Dataset.map` (datasets); skorch hands on what begins with
`iterator_train__` to the loader (its FAQ); `PyDataset` (Keras 3) has `workers` and `use_multiprocessing`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.framework_words import arguments_class
from rules.own_loader import with_own

Arguments = Mapping[str, object]
# What a framework calls the whole around the arguments, how it writes one, and which of them it takes.
_ALL = frozenset({"num_workers", "persistent_workers", "prefetch_factor", "pin_memory", "in_order"})
_FEW = frozenset({"num_workers", "persistent_workers", "pin_memory"})


def framework_of(facts: Facts) -> str | None:
    """The framework whose words are the program's for its loader: the one that runs the loop, else the one whose the loader is."""
    found = facts.recording.frameworks
    # Keras takes a loader of torch's as well: only of one that it made itself are the arguments its own.
    drawn = (None, "accelerate") if _keras_makes_batches(facts) else (None, "accelerate", "keras")
    if found.of_loop not in drawn:
        return found.of_loop
    return found.of_loader or (None if found.of_loop == "keras" else found.of_loop)


def _keras_makes_batches(facts: Facts) -> bool:
    return any(module.partition(".")[0] == "keras" for module in facts.recording.frameworks.data)


def loader(facts: Facts, arguments: Arguments, note: str, removed: Arguments | None = None) -> Advice:
    """Arguments that the loader is to have, in the framework's words.

    Args:
        facts: The measurements.
        arguments: By their names in torch's DataLoader.
        note: What they bring.
        removed: Arguments with the values that go.
    """
    own = _own_line(facts, arguments, note)
    if own is not None:
        return own
    framework = framework_of(facts)
    said = _said(framework, {name: value for name, value in arguments.items() if name in _taken(framework)})
    gone = _said(framework, {name: value for name, value in (removed or {}).items() if name in arguments})
    head, tail, prefix, where = _around(facts, framework)
    if framework == "timm" and facts.device.main is not None:
        where = (
            " With `use_prefetcher=True`, its default, batches travel as bytes, and are normalised and erased on the device beside "
            "training."
        )
    lines = [f"-{prefix}{line}" for line in gone] + [f"+{prefix}{line}" for line in said]
    return Advice("diff", "\n".join([*head, *lines, *tail]), f"{note}{where}")


def _own_line(facts: Facts, arguments: Arguments, note: str) -> Advice | None:
    """The program's own line that makes the loader, as it is and with these arguments; None where nobody knows it."""
    maker, changed = facts.recording.loader_maker, with_own(facts, arguments)
    if maker is None or changed is None:
        return None
    return Advice("diff", changed, f"{note} The loader is made at {maker.place}.")


def _taken(framework: str | None) -> frozenset[str]:
    if framework in ("ultralytics", "detectron2", "pytorch_metric_learning", "keras"):
        return frozenset({"num_workers"})
    return _FEW if framework in ("fastai", "timm") else _ALL


def _said(framework: str | None, arguments: Arguments) -> list[str]:
    """Each argument as the framework writes it."""
    if framework in ("transformers", "sentence_transformers", "pytorch_metric_learning"):
        return [f"dataloader_{name}={value}," for name, value in arguments.items()]
    if framework == "ultralytics":
        return [f"workers={value}," for value in arguments.values()]
    if framework == "keras":
        return [f"workers={value}, use_multiprocessing=True," for value in arguments.values()]
    if framework == "detectron2":
        return [f"cfg.DATALOADER.NUM_WORKERS = {value}" for value in arguments.values()]
    if framework == "skorch":
        return [f"iterator_train__{name}={value}," for name, value in arguments.items()]
    return [f"{name}={value}," for name, value in arguments.items()]


def _around(facts: Facts, framework: str | None) -> tuple[list[str], list[str], str, str]:
    """Lines before and after, what each line begins with, and where this stands in the program."""
    if framework == "lightning":
        head = [" def train_dataloader(self):", "     return DataLoader(", "         dataset, ...,"]
        return head, ["     )"], "        ", " In the LightningDataModule, or the LightningModule that has the loaders."
    if framework == "accelerate":
        tail = [" )", " loader = accelerator.prepare(loader)"]
        return [" loader = DataLoader(", "     dataset, ...,"], tail, "    ", ""
    if framework == "detectron2":
        return [], [], "", ""
    if framework == "keras":
        where = (
            " `PyDataset` takes them where its own `__init__` hands them on (`super().__init__(**options)`); batches of a "
            "generator or of arrays have no such argument."
        )
        return [" batches = Batches(            # a keras.utils.PyDataset", "     ...,"], [" )"], "    ", where
    calls = {
        "transformers": f"args = {arguments_class(facts)}(",
        "sentence_transformers": f"args = {arguments_class(facts)}(",
        "pytorch_metric_learning": "trainer = trainers.MetricLossOnly(",
        "fastai": "dls = block.dataloaders(",
        "ultralytics": "model.train(",
        "mmengine": "train_dataloader = dict(",
        "skorch": "net = NeuralNetClassifier(",
        "timm": "loader = timm.data.create_loader(",
        "torch_geometric": "loader = torch_geometric.loader.DataLoader(",
        "dgl": "loader = dgl.dataloading.GraphDataLoader(",
        "monai": "loader = monai.data.DataLoader(",
        "webdataset": "loader = webdataset.WebLoader(",
    }
    if framework in calls:
        kept = "     dataset, ...," if calls[framework].startswith("loader") else "     ...,"
        return [f" {calls[framework]}", kept], [" )"], "    ", ""
    return [" loader = DataLoader(", "     dataset, ...,"], [" )"], "    ", ""


_KEPT = {
    "monai": Advice(
        "python",
        "dataset = monai.data.CacheDataset(files, transform, cache_rate=1.0, num_workers=4)",
        "Keeps in memory what comes before the first random transform, which still runs for each sample; "
        "`PersistentDataset(files, transform, cache_dir)` keeps it on disk.",
    ),
    "torch_geometric": Advice(
        "python",
        "dataset = Graphs(root, pre_transform=transform)   # an InMemoryDataset: once, instead of transform=transform\n"
        "graphs = [dataset[index] for index in range(len(dataset))]\n"
        "loader = torch_geometric.loader.DataLoader(graphs, batch_size=batch_size, shuffle=True)",
        "`pre_transform` runs once and is kept on disk, `transform` for each graph in every epoch.",
    ),
    "datasets": Advice(
        "python",
        "dataset = dataset.map(prepare, batched=True)   # once, before training; kept on disk\n"
        'dataset = dataset.with_format("torch")',
        "Instead of `set_transform`, or of preparing samples in the collator: `prepare` gets many samples at a time.",
    ),
    "ultralytics": Advice(
        "diff", ' model.train(\n     ...,\n+    cache="ram",\n )', 'Or `cache="disk"` where memory is short.'
    ),
    "skorch": Advice(
        "python",
        "rows = [dataset[index] for index in range(len(dataset))]   # once, before training\n"
        "X, y = (numpy.stack([row[part] for row in rows]) for part in (0, 1))\n"
        "net.fit(X, y)   # of a net without `dataset=`",
        "skorch makes a data set of arrays itself, which only indexes them.",
    ),
    "fastai": Advice(
        "diff",
        " block = DataBlock(\n     ...,\n-    item_tfms=[Resize(460), *aug_transforms()],\n+    item_tfms=Resize(460),\n"
        "+    batch_tfms=aug_transforms(),\n )",
        "What runs on batches runs on the device, once for all samples, and still differs between them.",
    ),
}
# skorch's own data set of arrays gives one row at a time; torch's loader asks for a batch at once where it can.
_ARRAYS_AT_ONCE = Advice(
    "python",
    "class Rows(skorch.dataset.Dataset):\n"
    "    def __getitems__(self, indices):        # a batch at once, of arrays\n"
    "        y = numpy.zeros(len(indices)) if self.y is None else self.y[indices]\n"
    "        return torch.as_tensor(self.X[indices]), torch.as_tensor(y)\n\n"
    "def as_it_is(batch):\n    return batch\n\n"
    "net = NeuralNetClassifier(..., dataset=Rows, iterator_train__collate_fn=as_it_is, iterator_valid__collate_fn=as_it_is)",
    "skorch takes the rows of arrays one by one: this takes those of a batch at once.",
)
# Takes inputs and targets.
_OF_PAIRS = frozenset({"skorch"})
# They make the loader themselves, of arguments: there is none to hand whole batches to.
_OWN_LOADERS = frozenset(
    {
        "transformers",
        "sentence_transformers",
        "fastai",
        "ultralytics",
        "mmengine",
        "detectron2",
        "skorch",
        "pytorch_metric_learning",
    }
)
_STREAMED = Advice(
    "python",
    "dataset = load_dataset(...)   # without streaming=True; of a generator: Dataset.from_generator(rows)\n"
    "dataset = dataset.map(prepare, batched=True)   # once, before training; kept on disk\n"
    'dataset = dataset.with_format("torch")',
    "A streamed data set maps each sample in every epoch. Where it has to be streamed, `map(prepare, batched=True)` takes many "
    "samples at a time.",
)
# Keeps before what is random, so that nothing of the augmentation is frozen.
_KEEPS_RANDOM = frozenset({"monai", "fastai", "ultralytics"})


def _formatted(advice: Advice, facts: Facts) -> Advice:
    """Without the line that makes tensors, where a function of the program's own puts samples together: it may take lists."""
    known = facts.recording.collected
    if known.batch_kind is None or known.sample_form is not None:
        return advice
    lines = [line for line in advice.code.splitlines() if "with_format" not in line]
    return replace(advice, code="\n".join(lines))


def are_pairs(facts: Facts) -> bool:
    """Whether a sample is an input and its target, as far as the collector saw."""
    known = facts.recording.collected
    return (known.sample_form, known.sample_parts) == ("sequence", 2)


def makes_loader(facts: Facts) -> bool:
    """Whether the framework that runs the loop makes the loader, which the program has only arguments of."""
    loop = facts.recording.frameworks.of_loop
    return loop in _OWN_LOADERS or (loop == "keras" and _keras_makes_batches(facts))


def takes_arrays_at_once(facts: Facts) -> bool:
    """Whether what `prepared_once` says takes whole batches of arrays, so that nothing is left to put together."""
    return prepared_once(facts, random=False) is _ARRAYS_AT_ONCE


def prepared_once(facts: Facts, *, random: bool) -> Advice | None:
    """How the framework keeps samples that are prepared once; None where it has no word for that, or samples are random.

    Args:
        facts: The measurements.
        random: Whether samples come out different in each epoch.
    """
    found = facts.recording.frameworks
    for name in (found.of_data, found.of_loop):
        # A graph that a collate function of the program's own made of samples is no graph that a data set keeps.
        if name == "torch_geometric" and found.of_loader != name:
            continue
        if name == "datasets" and any("iterable" in module for module in found.data) and not random:
            return _formatted(_STREAMED, facts)
        if name == "skorch" and "skorch.dataset" in found.data:
            return _ARRAYS_AT_ONCE if are_pairs(facts) else None
        # Without a device what fastai does with batches is done by the thread that trains.
        if name == "fastai" and facts.device.main is None:
            continue
        if name in _KEPT and (not random or name in _KEEPS_RANDOM) and (name not in _OF_PAIRS or are_pairs(facts)):
            return _formatted(_KEPT[name], facts)
    return None
