"""What was said of a large trace, kept for the next time it is asked: then nothing is decoded, and nothing measured.

Used only where nothing differs that the answer depends on: the digest of the whole file, its name, the options, this package's own
files and what is installed beside it. What rules of other packages say is not kept, since their files are not looked at.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

import analyzer
import traces
from analyzer.analysis import Analysis
from analyzer.options import Options
from traces.reader.cache import folder
from traces.reader.input.digest import digest
from traces.replacing import replacing

Found = TypeVar("Found", bound=msgspec.Struct)
_OWN_RULES = "rules"
_DIGEST_BYTES = hashlib.sha256().digest_size


class _Kept(msgspec.Struct, array_like=True):
    """What is kept.

    Args:
        sha256: Digest of the trace.
        found: What was found of it.
    """

    sha256: str
    found: msgspec.Raw


def load(path: Path, options: Options, shape: type[Found]) -> Found | None:
    """What was kept; None where there is nothing, or something differs or is damaged.

    Args:
        path: A trace.
        options: As they are asked for now.
        shape: What is asked for: an `Analysis`, or what was made of one.
    """
    place = _place(path, options, shape)
    with suppress(OSError, msgspec.MsgspecError):
        if place is None or not folder.is_own(place):
            return None
        content = place.read_bytes()
        text = content[:-_DIGEST_BYTES]
        if hashlib.sha256(text).digest() == content[-_DIGEST_BYTES:]:
            kept = msgspec.msgpack.decode(text, type=_Kept)
            if kept.sha256 == digest(path):
                os.utime(place)  # used now: the longest unused goes first
                return msgspec.msgpack.decode(kept.found, type=shape)
        place.unlink()
    return None


def keep(path: Path, options: Options, analysis: Analysis, found: msgspec.Struct) -> None:
    """Keeps what was found; a folder that cannot be written costs nothing but time.

    Args:
        path: The trace.
        options: What was asked for.
        analysis: What was said of the trace.
        found: That, or what was made of it.
    """
    from analyzer.engine.plugins import only_ours

    place = _place(path, options, type(found))
    # What came back too late may come in time.
    if place is None or not only_ours() or any(one.state == "crashed" for one in analysis.checks):
        return
    with suppress(OSError, msgspec.MsgspecError, OverflowError):  # no room, a number beyond 64 bits
        text = msgspec.msgpack.encode(_Kept(analysis.trace.sha256, msgspec.Raw(msgspec.msgpack.encode(found))))
        # It holds names and paths of the user's own.
        folder.made()
        if folder.make_room(len(text)):
            with replacing(place) as file:
                file.write(text + hashlib.sha256(text).digest())


def _place(path: Path, options: Options, shape: type[msgspec.Struct]) -> Path | None:
    # What all files of the package are like takes 10 ms to ask, as long as a small trace takes to decode.
    if not options.cached or not folder.is_large(path):
        return None
    with suppress(OSError):
        # Of `rules` only the folder is asked for: to import it takes longer than all the rest.
        roots = [Path(one.__file__ or "").parent for one in (analyzer, traces)]
        roots.append(roots[0].parent / _OWN_RULES)
        asked = [
            shape.__name__,
            path.name,
            repr(msgspec.to_builtins(options)),
            sys.version,
            *map(folder.state_of, roots),
            *_installed(),
        ]
        return folder.answer_of(path, hashlib.sha256("\0".join(asked).encode("utf-8", "surrogateescape")).hexdigest())
    return None


def _installed() -> Iterable[str]:
    """Changes with what is installed: other versions may measure otherwise, and other packages may bring rules."""
    # The first entry is the folder of the program that runs.
    for entry in sys.path[1:]:
        with suppress(OSError):
            yield f"{entry} {os.stat(entry).st_mtime_ns}"
