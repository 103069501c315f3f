"""Which frameworks the program is made of: as `advisor collect` saw them; else as frames and ranges of the trace show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from analyzer.facts.recording.stated import texts_of
from analyzer.facts.recording.versions import Version, parsed
from analyzer.spans.labels import distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# What drives a training loop, the outermost first: a trainer of Hugging Face runs on accelerate, PyTorch Lightning's has two names.
_LOOPS = (
    "sentence_transformers",
    "transformers",
    "lightning",
    "fastai",
    "ultralytics",
    "mmengine",
    "detectron2",
    "composer",
    "ignite",
    "keras",
    "skorch",
    "stable_baselines3",
    "poutyne",
    "pytorch_metric_learning",
    "accelerate",
)
# What makes batches, the most particular first.
_DATA = ("torch_geometric", "dgl", "monai", "webdataset", "datasets", "timm")
_ALIASES = {"pytorch_lightning": "lightning", "trl": "transformers"}
# A class of arguments; a file may say anything.
_CLASS = Pattern(r"[A-Z][A-Za-z0-9]{0,50}(?:Arguments|Config)\Z")
# torch cuts what is on `sys.path` from a file's name: an installed package's begins with the package.
_FRAME = Pattern(r"(?:.*[/\\](?:site|dist)-packages[/\\])?(?P<package>\w+)[/\\](?P<part>\w+)[^(]*\.py\(\d+\): ")
_RANGE = Pattern(r"\[pl\]|\[Strategy\]|\[LightningModule\]")


class Frameworks(msgspec.Struct, frozen=True):
    """What the program uses.

    Args:
        imported: By name of the module, with the version where it is stated; None where nobody recorded what is imported.
        loop: Modules that run the loop, two parts of their names.
        data: Modules that make the batches, two parts of their names.
        loader: Modules of the loader's class and of what puts batches together, likewise; None where nobody recorded them.
        arguments: Class of the arguments of a trainer of Hugging Face's, such as `SFTConfig`; None where nobody recorded it.
    """

    imported: Mapping[str, Version | None] | None
    loop: frozenset[str]
    data: frozenset[str]
    loader: frozenset[str] | None = None
    arguments: str | None = None

    @property
    def of_loop(self) -> str | None:
        """The framework whose words the program is written in, None where it is a loop of its own, or nothing tells.

        A trainer of sentence-transformers inherits the loop of Hugging Face's: what puts its batches together tells it.
        """
        found = _first(_LOOPS, self.loop)
        inherits = found == "transformers" and any(name.startswith("sentence_transformers.") for name in self.data)
        return "sentence_transformers" if inherits else found

    @property
    def uses_trl(self) -> bool:
        """Whether a trainer of trl's runs the loop, as far as what puts batches together tells it: the loop is inherited."""
        return any(name.startswith("trl.trainer") for name in (*self.loop, *self.data))

    @property
    def of_data(self) -> str | None:
        """The framework that makes the batches; None where it is torch itself, or nothing tells."""
        return _first(_DATA, self.data)

    @property
    def of_loader(self) -> str | None:
        """The framework whose class the loader is; None where it is torch's own, whoever made the data set, or nothing tells."""
        return _first(_DATA, self.data if self.loader is None else self.loader)

    def may_use(self, *names: str) -> bool:
        """Whether one of some frameworks may be in use: it was seen, or nobody recorded what is imported."""
        return self.imported is None or any(name in self.imported for name in names)

    def uses(self, *names: str) -> bool:
        """Whether one of some frameworks is surely in use."""
        seen = {*(self.imported or ()), *(module.split(".")[0] for module in (*self.loop, *self.data))}
        return any(name in seen for name in names)


def frameworks(trace: Trace) -> Frameworks:
    """Reads the collector's record, believing nothing about its shape; without one, what stacks and ranges show."""
    told = trace.meta.advisor.get("frameworks")
    if isinstance(told, dict):
        imported = told.get("imported")
        versions = imported if isinstance(imported, dict) else {}
        return Frameworks(
            {str(name): parsed(version) for name, version in versions.items()},
            texts_of(told.get("loop")) or frozenset(),
            texts_of(told.get("data")) or frozenset(),
            texts_of(told.get("loader")),
            _arguments(told.get("arguments")),
        )
    modules = set(_in_frames(distinct_texts(trace.python["name"])))
    if any(_RANGE.match(name) for name in distinct_texts(trace.annotations["name"])):
        modules.add("lightning.pytorch")
    loop = {module for module in modules if _first(_LOOPS, {module})}
    data = {module for module in modules if _first(_DATA, {module})}
    return Frameworks(None, frozenset(loop), frozenset(data))


def _in_frames(names: Iterable[Any]) -> Iterable[str]:
    for name in names:
        match = _FRAME.match(str(name))
        if match is not None:
            yield f"{match['package']}.{match['part']}"


# Parts of a framework that are used by programs whose loop is their own.
_NO_LOOP = Pattern(
    r"lightning\.fabric|transformers\.(?!trainer|training)|trl\.(?!trainer)|fastai\.(?!learner|callback|optimizer)"
    r"|ultralytics\.(?!engine|models)|sentence_transformers\.(?!trainer|fit|SentenceTransformer|sentence_transformer)"
    r"|mmengine\.(?!runner|optim|model)|detectron2\.(?!engine|modeling)|ignite\.(?!engine)"
)


def _first(order: tuple[str, ...], modules: Iterable[str]) -> str | None:
    own = {module.split(".")[0] for module in modules if not _NO_LOOP.match(module)}
    own |= {_ALIASES[name] for name in own & set(_ALIASES)}
    return next((name for name in order if name in own), None)


def _arguments(value: Any) -> str | None:
    return value if isinstance(value, str) and _CLASS.match(value) is not None else None
