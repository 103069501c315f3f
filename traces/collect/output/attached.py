"""Adding to what a recording says of itself."""

from __future__ import annotations

import gzip
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
        UsageError: It cannot be written.
    """
    content = path.read_bytes()
    packed = content.startswith(b"\x1f\x8b")
    document = msgspec.json.decode(gzip.decompress(content) if packed else content, type=dict[str, msgspec.Raw])
    advisor = msgspec.json.decode(document.get("advisor", msgspec.Raw(b"{}")), type=dict[str, Any])
    document["advisor"] = msgspec.Raw(msgspec.json.encode(advisor | {name: value}))
    write_atomically(path, msgspec.json.encode(document))
