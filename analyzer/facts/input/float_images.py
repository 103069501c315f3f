"""Batches that are sent as floats although they were bytes: images of four bytes a value."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.loading import Loading
from analyzer.facts.kernels.precision import decoded_list
from analyzer.facts.transfer.copies import Copies
from analyzer.facts.transfer.section import TransferFacts
from analyzer.spans.arrays import Int64Array
from analyzer.spans.columns import present
from analyzer.spans.open_spans import NONE
from traces.trace import Capability, Trace

# Batch, channels, height, width; grey, colour, colour with alpha. Fewer values a side are no image.
_CHANNELS = (1, 3, 4)
_MIN_SIDE = 16
_BYTES_OF_FLOAT = 4


class FloatImages(msgspec.Struct, frozen=True):
    """Copies to the device that carry images as 32-bit floats.

    Args:
        copies: Those of `Transfers.to_device` concerned.
        known: Whether the trace tells at all: shapes were recorded, or the loader's own ops show the conversion.
        seen_converting: Whether the conversion from bytes was seen in the loader (ToTensor), not only the shape.
    """

    copies: Copies
    known: bool
    seen_converting: bool


def float_images(trace: Trace, host: HostFacts, transfer: TransferFacts, loading: Loading) -> FloatImages:
    """Finds them by shape and type of the copying op; without shapes by size, where the loader is seen converting images."""
    copies = transfer.copies.to_device
    converting = loading.converts_images
    if Capability.SHAPES in trace.capabilities:
        return FloatImages(Copies(copies.frame[_by_shape(trace, host, copies.frame)]), True, converting)
    if not converting:
        return FloatImages(copies.none(), False, False)
    # Images are the largest part of a batch; labels are bytes to them.
    return FloatImages(copies.of_size(copies.largest_bytes / 2), True, True)


def _by_shape(trace: Trace, host: HostFacts, copies: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the op that copies has a float image batch as an argument and moves just its bytes."""
    known = present(copies["call_start_ns"])
    op = np.full(len(copies), NONE, dtype=np.int64)
    op[known] = host.ops.enclosing(
        copies["call_thread"][known].to_numpy(np.int64), copies["call_start_ns"][known].to_numpy(np.int64)
    )
    ops = trace.ops
    dims, types = _texts(ops["input_dims"], op), _texts(ops["input_types"], op)
    sizes = copies["size_bytes"].fillna(0).to_numpy(np.int64)
    return np.array(
        [_is_image(shape, kind, int(size)) for shape, kind, size in zip(dims, types, sizes, strict=True)],
        dtype=np.bool_,
    )


def _texts(column: pd.Series[str], rows: Int64Array) -> list[object]:
    """The column's texts at the given rows; NA where there is none, or no row (-1)."""
    return list(column.array.take(rows, allow_fill=True))


def _is_image(dims: object, types: object, size_bytes: int) -> bool:
    if not isinstance(dims, str) or not isinstance(types, str):
        return False
    arguments = zip(decoded_list(dims), decoded_list(types), strict=False)
    return any(kind == "float" and _image_bytes(shape) == size_bytes for shape, kind in arguments)


def _image_bytes(shape: object) -> int:
    """Bytes of a float batch of this shape; -1 where it is no batch of images."""
    if not isinstance(shape, list) or len(shape) != 4 or not all(isinstance(side, int) for side in shape):
        return -1
    batch, *sides = shape
    first = sides[0] in _CHANNELS and min(sides[1:]) >= _MIN_SIDE
    last = sides[2] in _CHANNELS and min(sides[:2]) >= _MIN_SIDE
    return batch * sides[0] * sides[1] * sides[2] * _BYTES_OF_FLOAT if first or last else -1
