"""Adding to what a recording says of itself."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.output.files import write_atomically


def attach(path: Path, name: str, value: Any) -> None:
    """Set an entry of a recording's metadata; its events stay byte for byte.

    Args:
        path: A recording of ours, which may be compressed whatever its name.
        name: The key.
        value: JSON-able.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
        UsageError: It cannot be written.
    """
    document = _document(path)
    advisor = msgspec.json.decode(document.get("advisor", msgspec.Raw(b"{}")), type=dict[str, Any])
    document["advisor"] = msgspec.Raw(msgspec.json.encode(advisor | {name: value}))
    write_atomically(path, msgspec.json.encode(document))


def is_whole(path: Path) -> bool:
    """Whether a recording can be read to its end; one that was cut would be explained as a shorter one.

    Args:
        path: A recording of ours.
    """
    try:
        _document(path)
    except (OSError, ValueError):
        return False
    return True


def _document(path: Path) -> dict[str, msgspec.Raw]:
    """Its top level, undecoded.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
    """
    content = path.read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    # gzip says EOFError of what was cut, and OSError of what was changed.
    except (EOFError, gzip.BadGzipFile, zlib.error, msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
