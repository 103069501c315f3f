"""Which tests a plain `pytest` runs: every function, of one with many cases some, and none that takes seconds by itself.

Who names files, marks or words gets all of them, and so does `pytest --all-cases`, which is what `.ci/run` calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

import pytest

# Up to so many cases all are run; of more a sixth, but no fewer than these.
FEW = 6
_PART = 6
T = TypeVar("T")


def spread(cases: list[T]) -> list[T]:
    """Some of many cases, first and last among them, the others as far from one another as can be; the same each time."""
    wanted = max(FEW, -(-len(cases) // _PART))
    if len(cases) <= wanted:
        return cases
    return [cases[round(place * (len(cases) - 1) / (wanted - 1))] for place in range(wanted)]


def looked_at(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests of a plain `pytest`, in their order."""
    quick = [item for item in items if item.get_closest_marker("slow") is None]
    for _, cases in groupby(quick, key=_function):
        yield from spread(list(cases))


def _function(item: pytest.Item) -> Hashable:
    return item.nodeid.partition("[")[0]
