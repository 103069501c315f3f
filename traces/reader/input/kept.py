"""What a pipe gave, kept compressed: the places of some repairs are looked for afterwards, and only a file can be read again."""

from __future__ import annotations

import gzip
import io
from typing import IO, cast

from traces.reader.input.inflate import ZLIB

# Two gigabytes of trace, which compress 20 times; what is larger is given up.
_MOST_BYTES = 100 << 20
_FASTEST_LEVEL = 1
_GZIP_WINDOW = 31


class Kept:
    """A compressed copy, of bounded size, of bytes that can be read once."""

    def __init__(self) -> None:
        self._packer = ZLIB.compressobj(_FASTEST_LEVEL, ZLIB.DEFLATED, _GZIP_WINDOW)
        self._packed: io.BytesIO | None = io.BytesIO()

    def add(self, data: bytes) -> None:
        """Appends what was read."""
        if self._packed is None:
            return
        self._packed.write(self._packer.compress(data))
        if self._packed.tell() > _MOST_BYTES:
            self._packed = None

    def close(self) -> None:
        """Nothing more will be read."""
        if self._packed is not None:
            self._packed.write(self._packer.flush())

    def opened(self) -> IO[bytes] | None:
        """All that was added, from its beginning, once it is closed; None where it was too much."""
        if self._packed is None:
            return None
        return cast("IO[bytes]", gzip.GzipFile(fileobj=io.BytesIO(self._packed.getbuffer())))
