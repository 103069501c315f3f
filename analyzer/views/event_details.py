"""What is known of an event beside its name and its time: its shapes, or the op that launched it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.page.words.shapes import shapes
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.views.event_labels import host_label

if TYPE_CHECKING:
    from analyzer.facts import Facts

Texts = npt.NDArray[np.object_]


def of_ops(ops: pd.DataFrame) -> Texts:
    """`64x128, 128x256` for each op, empty where shapes were not recorded; shape (ops,)."""
    dims = ops["input_dims"]
    return _texts([shapes(one) for one in distinct_texts(dims)], codes_of(dims))


def of_device_work(facts: Facts, work: pd.DataFrame) -> Texts:
    """`launched by linear, 64x128, 128x256` for each piece of device work, empty where no op is known; shape (rows,).

    Args:
        facts: The measurements.
        work: Rows of `facts.device.work`.
    """
    ops, launched = facts.trace.ops, facts.device.launched
    place = launched.index.get_indexer(work.index)
    known = np.flatnonzero(place >= 0)
    found = np.full(len(work), "", dtype=object)
    if not len(known) or not len(ops):
        return found
    calls = launched.iloc[place[known]]
    rows = facts.host.ops.enclosing(calls["launch_thread"].to_numpy(), calls["launch_start_ns"].to_numpy())
    inside = rows >= 0
    mine = ops.iloc[rows[inside]]
    names = mine["name"]
    labels = _texts([f"launched by {host_label(name)}" for name in distinct_texts(names)], codes_of(names))
    sizes = of_ops(mine)
    found[known[inside]] = labels + np.where(sizes != "", ", ", "") + sizes
    return found


def _texts(distinct: list[str], codes: npt.NDArray[np.integer]) -> Texts:
    """The text of each code; -1 has none."""
    found: Texts = np.array([*distinct, ""], dtype=object)[codes]
    return found
