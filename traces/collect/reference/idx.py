"""MNIST's own file format (IDX): big-endian header, then raw bytes.

Written so that drawn digits are read by `torchvision.datasets.MNIST` itself, on the same path per
sample (PIL image, ToTensor, Normalize) as the real set.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

_UNSIGNED_BYTE = 0x08


def write_idx(path: Path, array: npt.NDArray[np.uint8]) -> None:
    """Write `array` (any number of dimensions, bytes) to `path`.

    Raises:
        OSError: the file cannot be written.
    """
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    path.write_bytes(header + np.ascontiguousarray(array).tobytes())


def is_whole_idx(path: Path) -> bool:
    """Whether `path` is an IDX file of bytes as long as its header promises.

    Reads only the header; a file that is missing or cannot be read is not whole.
    """
    try:
        size_bytes = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4)
            if len(head) < 4 or head[:3] != bytes((0, 0, _UNSIGNED_BYTE)):
                return False
            dimensions = file.read(4 * head[3])
    except OSError:
        return False
    if len(dimensions) < 4 * head[3]:
        return False
    shape: tuple[int, ...] = struct.unpack(f">{head[3]}I", dimensions)
    return size_bytes == 4 + len(dimensions) + math.prod(shape)
