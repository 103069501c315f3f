"""How large each collective is: by its tensors' shapes where they were recorded, else by what torch states of its message."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.kernels.precision import decoded_list, tensor_dims
from analyzer.spans.arrays import FloatArray
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen, rows_by
from analyzer.spans.labels import codes_of, distinct_texts, matching
from traces.messages import ELEMENT_BYTES

# Bytes of an element by the names of C++ types, as an op's inputs have them; what is no tensor has none of these.
_TYPE_BYTES = {
    "double": 8, "long": 8, "long int": 8, "int": 4, "float": 4, "short": 2, "short int": 2, "c10::Half": 2, "c10::BFloat16": 2,
    "unsigned char": 1, "signed char": 1, "char": 1, "bool": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
    "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1, "c10::Float8_e5m2fnuz": 1,
}  # fmt: skip
# More bytes than any machine holds: what states more is damaged or made up.
_MOST_BYTES = 2**53
_NARROW_BYTES = 2


class FirstTensor(msgspec.Struct, frozen=True):
    """The first tensor that an op is given: all its bytes, and those of an element."""

    size_bytes: int
    width_bytes: int


class Sent(msgspec.Struct, frozen=True):
    """Bytes of each collective, and of one of its elements; NaN where nothing says it. Shape (collectives,) each."""

    size_bytes: FloatArray
    width_bytes: FloatArray

    def narrow(self, rows: slice | np.ndarray[tuple[int], np.dtype[np.bool_]] = slice(None)) -> bool:
        """Whether most of the bytes of some collectives have 16 bits an element, or fewer."""
        known = ~np.isnan(self.size_bytes[rows])
        size, width = self.size_bytes[rows][known], self.width_bytes[rows][known]
        return bool(2 * size[width <= _NARROW_BYTES].sum() > size.sum())


def narrow(sends: Sent, ranges: pd.DataFrame) -> bool:
    """Whether most of the bytes sent have 16 bits an element, or fewer; where no size is known, most of the stated types."""
    if not np.isnan(sends.size_bytes).all():
        return sends.narrow()
    stated = ranges["message_type"][present(ranges["message_type"])]
    widths = matching(stated, lambda text: ELEMENT_BYTES.get(text.strip('"'), np.inf) <= _NARROW_BYTES)
    return bool(2 * widths.sum() > len(widths))


def sent(rows: pd.DataFrame, ranges: pd.DataFrame) -> Sent:
    """What each collective sends: its first tensor where shapes were recorded, else as `record_param_comms` around it states."""
    if not len(rows):
        return Sent(np.empty(0), np.empty(0))
    sizes, widths = _recorded(rows)
    unknown = np.isnan(sizes)
    if unknown.any():
        sizes[unknown], widths[unknown] = _stated(chosen(rows, unknown), ranges)
    return Sent(sizes, widths)


def _stated(rows: pd.DataFrame, ranges: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """What this rank sends by the range that states it: the last to begin before the call, if it lasts as long; else NaN."""
    sizes, widths = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    stated = chosen(ranges, present(ranges["message_elements"]))
    known = [float(ELEMENT_BYTES.get(text.strip('"'), np.nan)) for text in distinct_texts(stated["message_type"])]
    stated_widths = np.array([*known, np.nan])[codes_of(stated["message_type"])]
    stated_bytes = stated_widths * stated["message_elements"].to_numpy(dtype=np.float64, na_value=np.nan)
    thread, start, until = (stated[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    called, begins, ends = (rows[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    for one, mine in rows_by(thread).items():
        mine = mine[np.argsort(start[mine], kind="stable")]
        here = np.flatnonzero(called == one)
        last = np.searchsorted(start[mine], begins[here], side="right") - 1
        around = mine[last]
        inside = (last >= 0) & (ends[here] <= until[around])
        sizes[here] = np.where(inside, stated_bytes[around], np.nan)
        widths[here] = np.where(inside, stated_widths[around], np.nan)
    return sizes, widths


def _recorded(rows: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Bytes of the first tensor of each collective and of its elements, decoded once per distinct pair of shape and type."""
    dims, types = ([*distinct_texts(rows[name]), ""] for name in ("input_dims", "input_types"))
    pairs = codes_of(rows["input_dims"]).astype(np.int64) % len(dims) * len(types)
    pairs += codes_of(rows["input_types"]).astype(np.int64) % len(types)
    distinct, place = np.unique(pairs, return_inverse=True)
    first = [first_tensor(dims[pair // len(types)], types[pair % len(types)]) for pair in distinct.tolist()]
    sizes = np.array([np.nan if one is None else one.size_bytes for one in first], dtype=np.float64)
    widths = np.array([np.nan if one is None else one.width_bytes for one in first], dtype=np.float64)
    return sizes[place], widths[place]


@lru_cache(maxsize=1024)
def first_tensor(dims: str, types: str) -> FirstTensor | None:
    """The first argument of a known type, by the texts of the columns `input_dims` and `input_types`; None where there is none.

    A tensor of one number has no dimensions.
    """
    for shape, kind in zip(tensor_dims(dims), decoded_list(types), strict=False):
        width = _TYPE_BYTES.get(kind) if isinstance(kind, str) else None
        if width is None:
            continue
        size = math.prod(shape) * width
        return FirstTensor(size, width) if min(shape, default=0) >= 0 and size <= _MOST_BYTES else None
    return None


def wide_sums(kinds: Iterable[str], sends: Sent) -> bool:
    """Whether gathers are narrow and sums are not: gloo scatters sums as all-reduces.

    Args:
        kinds: What each collective does.
        sends: What each sends.
    """
    each = list(kinds)
    gathers, sums = (np.array([part in kind for kind in each], dtype=np.bool_) for part in ("gather", "reduce"))
    known = sums & ~np.isnan(sends.size_bytes)
    return sends.narrow(gathers) and bool(known.any()) and not sends.narrow(sums)
