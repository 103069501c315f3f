"""Ranges of the program among the operators: before torch 1.13 both have one category, and only what is inside tells them apart.

Left among the operators, a range around a whole forward pass makes all Python in it look like the work of one operator.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from traces.ordering import holds_start, outer_first
from traces.reader.names.vocabulary import annotation_kind, is_backward_node


def split_ranges(ops: pd.DataFrame, annotations: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The operators without the ranges among them, and the annotations with these.

    A range has no namespace in its name, is no node of the backward pass, and most of its kind hold operators that have one. So
    does the forward pass of an autograd function written in Python, whose time between operators is Python's as well.

    Args:
        ops: Operators, sorted by start, the longer first.
        annotations: Ranges, with their kind.
    """
    names = [str(name) for name in ops["name"].cat.categories]
    plain = np.array(["::" not in name and not is_backward_node(name) for name in names], dtype=bool)
    codes = ops["name"].cat.codes.to_numpy()
    rows = np.flatnonzero(plain[codes])
    if not len(rows):
        return ops, annotations
    thread, start, end = (ops[column].to_numpy() for column in ("thread", "start_ns", "end_ns"))
    named = ~plain[codes]
    around = rows[holds_start(thread[rows], start[rows], end[rows], thread[named], start[named])]
    mostly = 2 * np.bincount(codes[around], minlength=len(names)) > np.bincount(codes[rows], minlength=len(names))
    ranges = np.isin(codes, np.flatnonzero(mostly))
    if not ranges.any():
        return ops, annotations
    kinds = annotations["kind"].cat.categories
    found = ops.loc[ranges, [column for column in annotations.columns if column != "kind"]]
    labels = np.array([annotation_kind(name) for name in names], dtype=object)[codes[ranges]]
    parts = [part.astype({"name": "str", "kind": "str"}) for part in (annotations, found.assign(kind=labels))]
    joined = pd.concat(parts, ignore_index=True)[list(annotations.columns)]
    order = outer_first(joined["start_ns"].to_numpy(), joined["end_ns"].to_numpy())
    joined = joined.iloc[order].reset_index(drop=True)
    joined["name"] = joined["name"].astype("category")
    joined["kind"] = pd.Categorical(joined["kind"], categories=kinds)
    left = ops[~ranges].reset_index(drop=True)
    return left.assign(name=left["name"].cat.remove_unused_categories()), joined
