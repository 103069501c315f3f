"""How large a batch is: all it holds, and nothing said where a part hides what it holds."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from traces.collect.trace_advisor_hook.loader.batch_bytes import bytes_of, tensors_in
from traces.collect.trace_advisor_hook.loader.batches import kind_of


class Graph:
    """As PyTorch Geometric's: tensors by name, behind a method."""

    def to_dict(self) -> dict[str, Any]:
        return {"x": torch.zeros(4), "edge_index": torch.zeros(2, 9)}


class Molecules:
    """As chemprop's: tensors in the fields of an object, which knows more than its tensors."""

    def __init__(self) -> None:
        self.atoms, self.bonds, self.names = torch.zeros(4), (torch.zeros(9), torch.zeros(2)), ["C"] * 1000
        self.others = [[torch.zeros(10_000)] for _ in range(1000)]
        self.parent = object()


@dataclass(slots=True)
class Slotted:
    """As chemprop 2's batches: no `__dict__`."""

    atoms: torch.Tensor
    bonds: np.ndarray[Any, Any]


class OneSlot:
    __slots__ = "atoms"

    def __init__(self) -> None:
        self.atoms = torch.zeros(3)


class Hidden:
    """What it holds lies in C code, as an image's."""


Pair = namedtuple("Pair", ["graph", "label"])


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        (torch.zeros(4), 16),
        ({"x": [torch.zeros(4)], "y": torch.zeros(9)}, 52),
        ([torch.zeros(9), np.zeros(2)], 52),
        ([np.float32(1), 3, None, "text", torch.zeros(1)], 8),
        ("text", 0),
        (Graph(), 88),
        ((Molecules(), torch.zeros(2)), 68),
        (Slotted(torch.zeros(4), np.zeros(2)), 32),
        (OneSlot(), 12),
        (Pair(Slotted(torch.zeros(4), np.zeros(2)), torch.zeros(1)), 36),
        ([], 0),
    ],
)
def test_bytes_are_those_of_all_it_holds(batch: Any, size: int) -> None:
    assert bytes_of(batch) == size


@pytest.mark.parametrize("batch", [Hidden(), [Hidden(), torch.zeros(9)], {"graph": object(), "label": torch.zeros(9)}])
def test_a_part_that_hides_what_it_holds_leaves_the_size_unknown(batch: Any) -> None:
    """Of a molecule and its label, the label's four bytes are not the size of the data."""
    assert bytes_of(batch) is None


def test_what_lies_too_deep_is_unknown() -> None:
    deep: Any = torch.zeros(1)
    for _ in range(5):
        deep = [deep]
    assert bytes_of(deep) == 4
    assert bytes_of([[deep]]) is None


def test_an_object_with_tensors_is_no_batch_of_tensors() -> None:
    assert {kind_of(one) for one in (Graph(), Molecules(), Slotted(torch.zeros(1), np.zeros(1)))} == {"objects"}


@pytest.mark.parametrize(
    ("batch", "tensors"),
    [
        (torch.zeros(2), 1), ([torch.zeros(2), torch.ones(3)], 2), ({"x": torch.zeros(2), "y": [torch.ones(1)] * 3, "z": "a"}, 4),
        (np.zeros(3), 0), ("text", 0), (object(), None), ([torch.zeros(1), object()], None),
    ],
)  # fmt: skip
def test_the_tensors_of_a_batch_are_counted(batch: object, tensors: int | None) -> None:
    assert tensors_in(batch) == tensors
