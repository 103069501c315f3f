"""How large each collective is: by its tensors' shapes where they were recorded, else by what torch states of its message."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.kernels.precision import tensor_dims
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen, rows_by
from analyzer.spans.labels import codes_of, distinct_texts

_BYTES = {"double": 8, "long": 8, "long int": 8, "int": 4, "float": 4, "short": 2, "c10::Half": 2, "c10::BFloat16": 2}
# Bytes of an element by the names of `c10::ScalarType`, as `record_param_comms` states the type.
_MESSAGE_BYTES = {
    "Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1,
    "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}  # fmt: skip


def sizes_bytes(rows: pd.DataFrame, ranges: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Bytes of each collective: of its first tensor where shapes were recorded, else as `record_param_comms` around it states."""
    if not len(rows):
        return np.empty(0)
    sizes = _recorded_sizes(rows)
    unknown = np.isnan(sizes)
    if unknown.any():
        sizes[unknown] = _stated_sizes(chosen(rows, unknown), ranges)
    return sizes


def _stated_sizes(rows: pd.DataFrame, ranges: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What this rank sends by the range that states it: the last to begin before the call, if it lasts as long; else NaN."""
    sizes = np.full(len(rows), np.nan)
    stated = chosen(ranges, present(ranges["message_elements"]))
    widths = [float(_MESSAGE_BYTES.get(text.strip('"'), np.nan)) for text in distinct_texts(stated["message_type"])]
    stated_bytes = np.array([*widths, np.nan])[codes_of(stated["message_type"])]
    stated_bytes = stated_bytes * stated["message_elements"].to_numpy(dtype=np.float64, na_value=np.nan)
    thread, start, until = (stated[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    called, begins, ends = (rows[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    for one, mine in rows_by(thread).items():
        mine = mine[np.argsort(start[mine], kind="stable")]
        here = np.flatnonzero(called == one)
        last = np.searchsorted(start[mine], begins[here], side="right") - 1
        around = mine[last]
        sizes[here] = np.where((last >= 0) & (ends[here] <= until[around]), stated_bytes[around], np.nan)
    return sizes


def _recorded_sizes(rows: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Bytes of the first tensor of each collective, decoded once per distinct pair of shape and type."""
    dims, types = ([*distinct_texts(rows[name]), ""] for name in ("input_dims", "input_types"))
    pairs = codes_of(rows["input_dims"]).astype(np.int64) % len(dims) * len(types)
    pairs += codes_of(rows["input_types"]).astype(np.int64) % len(types)
    distinct, place = np.unique(pairs, return_inverse=True)
    known = [_size(dims[pair // len(types)], types[pair % len(types)]) for pair in distinct.tolist()]
    return np.array(known, dtype=np.float64)[place]


def _size(dims: str, types: str) -> float:
    shapes = [shape for shape in tensor_dims(dims) if shape]
    width = next((size for name, size in _BYTES.items() if f'"{name}"' in types), 1 if '"' in types else None)
    if not shapes:
        # A tensor of one number has no dimensions; what is no tensor has no such type.
        return next((float(size) for name, size in _BYTES.items() if types.startswith(f'["{name}"')), float("nan"))
    return float(np.prod(shapes[0], dtype=np.float64)) * width if shapes and width else float("nan")
