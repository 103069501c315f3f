"""Which tests a plain `pytest` runs: every function, of one with many cases some, and none that takes seconds by itself.

Who names files, marks or words gets all of them, and so does `pytest --all-cases`. `pytest --changed-since COMMIT`, which is what
`.ci/run` calls, looks closer where something changed: there it runs all, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
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


def looked_at(items: Iterable[pytest.Item], closer: frozenset[Path] = frozenset()) -> Iterator[pytest.Item]:
    """The tests of a plain `pytest`, in their order.

    Args:
        items: All tests.
        closer: Files and folders of which all are run.
    """
    kept = [item for item in items if item.get_closest_marker("slow") is None or within(item, closer)]
    for _, grouped in groupby(kept, key=_function):
        cases = list(grouped)
        yield from cases if within(cases[0], closer) else spread(cases)


def within(item: pytest.Item, closer: frozenset[Path]) -> bool:
    """Whether a test stands in one of the files and folders."""
    return not closer.isdisjoint((item.path, *item.path.parents))


def _function(item: pytest.Item) -> Hashable:
    return item.nodeid.partition("[")[0]
