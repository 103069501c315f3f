"""What a loader's batches are, and whether making one draws random numbers: seen in batches that the loop takes anyway."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from ..common import FAILURES
from ..software.frameworks import module_of
from ..surroundings.random_states import random_states
from .batch_bytes import bytes_of, tensors_in
from .batch_parts import BatchParts
from .dataset_parts import data_sets, transforms_of

# The first batch of an iterator draws its seed; a few more tell what every one of them does.
_LOOKS = range(1, 4)
# Batches whose masks are counted, before a recording begins, and how large one may be.
_MASKED_BATCHES = 4
_MOST_PLACES = 1 << 22
_RANDOM = re.compile(r"Rand(?:om)?(?![a-z])|AutoAugment|TrivialAugment|AugMix|Jitter|MixUp|CutMix|Noise")
_DRAWS = frozenset(
    (
        "random",
        "randint",
        "rand",
        "randn",
        "randperm",
        "uniform",
        "choice",
        "choices",
        "shuffle",
        "normal",
        "default_rng",
    )
)

_SEEDS = frozenset(("manual_seed", "seed"))


class BatchLook:
    """Looks at the first batches of a run."""

    def __init__(self) -> None:
        self.bytes: int | None = None
        self.tensors: int | None = None
        self.kind: str | None = None
        self.form: dict[str, Any] | None = None
        self.modules: list[str] = []
        self.seen = 0
        self.iterator = 0
        self.drawn: bool | None = None
        self.states: tuple[Any, ...] | None = None
        self.parts = BatchParts()
        self.masked: list[tuple[int, int, int]] = []

    @property
    def masked_ratio(self) -> float | None:
        """Share of the places in the first batches that their attention masks leave out; None where they have none."""
        return self._share_of_places(0)

    @property
    def masked_beyond_ratio(self) -> float | None:
        """The same of places that the masks of all texts of a batch leave out: beyond the longest of them."""
        return self._share_of_places(1)

    def _share_of_places(self, which: int) -> float | None:
        places = sum(one[2] for one in self.masked)
        return sum(one[which] for one in self.masked) / places if places else None

    def before(self, iterator: Any) -> None:
        """The loader is about to make a batch; one made in a worker shows nothing here."""
        if id(iterator) != self.iterator:
            self.iterator, self.seen = id(iterator), 0
        single = getattr(iterator, "_num_workers", None) == 0
        looks = single and self.seen in _LOOKS
        self.states = random_states() if looks and not self.drawn else None
        if looks:
            self.parts.before(iterator)

    def after(self, batch: Any) -> None:
        """It has made one."""
        self.seen += 1
        self.parts.after()
        if self.states is not None:
            self.drawn, self.states = random_states() != self.states, None
        if len(self.masked) < _MASKED_BATCHES:
            self.masked.append(masked_places(batch))
        if self.kind is None:
            self.bytes, self.kind, self.form = bytes_of(batch), kind_of(batch), form_of(batch)
            self.tensors = tensors_in(batch)
            self.modules = [module_of(part) for part in (batch, *(batch if isinstance(batch, list | tuple) else ()))]


def masked_places(batch: Any) -> tuple[int, int, int]:
    """Places of a batch of texts that its attention mask leaves out, those of them beyond the longest text, and all.

    Of another batch there are none.
    """
    mask = batch.get("attention_mask") if isinstance(batch, Mapping) else None
    with contextlib.suppress(*FAILURES):
        if mask is not None and mask.dim() == 2 and mask.device.type == "cpu" and mask.numel() <= _MOST_PLACES:
            beyond = int((mask == 0).all(0).sum()) * mask.shape[0]
            return int((mask == 0).sum()), beyond, int(mask.numel())
    return 0, 0, 0


def kind_of(batch: Any) -> str:
    """`tensors` (one, or some side by side), `mapping`, `text`, or `objects` such as graphs."""
    if hasattr(batch, "element_size"):
        return "tensors"
    if isinstance(batch, Mapping):
        return "mapping"
    if isinstance(batch, str):
        return "text"
    if isinstance(batch, list | tuple) and batch:
        kinds = {kind_of(part) for part in batch[:64]}
        return kinds.pop() if len(kinds) == 1 else "text" if "text" in kinds else "objects"
    return "objects"


def form_of(batch: Any) -> dict[str, Any] | None:
    """A tensor, a sequence of tensors or a mapping to them, and of how many; None for anything else."""
    if hasattr(batch, "element_size"):
        return {"form": "tensor", "parts": 1}
    form = "mapping" if type(batch) is dict else "sequence" if type(batch) in (list, tuple) else None
    parts = list(batch.values() if form == "mapping" else batch) if form is not None else []
    return {"form": form, "parts": len(parts)} if parts and all(hasattr(one, "element_size") for one in parts) else None


def sample_form(loader: Any, form: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a sample is, by what a batch is; None where a function of its own puts samples together, to whatever form."""
    collate = getattr(loader, "collate_fn", None)
    torchs = getattr(collate, "__name__", "") == "default_collate" and str(
        getattr(collate, "__module__", "")
    ).startswith("torch.")
    return form if torchs else None


def draws(loader: Any, drawn: bool | None) -> bool | None:
    """Whether samples come out different each time; None where nothing tells.

    Args:
        loader: The loader; what its transforms are called, and what its data set's `__getitem__` calls, tells it too.
        drawn: Whether a random generator moved while a batch was made in this process; None where workers make them.
    """
    if drawn:
        return True
    with contextlib.suppress(*FAILURES):
        parts = list(data_sets(getattr(loader, "dataset", None)))
        if any(_random(transform) for data in parts for transform in transforms_of(data)):
            return True
        if drawn is None and any(map(_calls_random, parts)):
            return True
    return drawn


def seeds(loader: Any) -> bool:
    """Whether making a sample seeds a generator: what it draws then is the same in every epoch."""
    with contextlib.suppress(*FAILURES):
        return any(_SEEDS & _called(data) for data in data_sets(getattr(loader, "dataset", None)))
    return False


def _random(transform: Any) -> bool:
    names = [kind.__name__ for kind in type(transform).__mro__]
    return any(_RANDOM.search(name) for name in names) or bool(getattr(transform, "randomize", None))


def _calls_random(data: Any) -> bool:
    names = _called(data)
    # What seeds a generator for each sample draws the same numbers in every epoch.
    return bool(_DRAWS & names) and not _SEEDS & names


def _called(data: Any) -> set[str]:
    code = getattr(getattr(type(data), "__getitem__", None), "__code__", None)
    return set() if code is None else set(code.co_names)
