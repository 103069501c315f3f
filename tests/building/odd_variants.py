"""One sound trace in every odd way that files are found in: for the test of advisor and for the comparison in bench/odd.py.

Rows follow the catalogue of oddities; `same` says that a reader who knows the oddity finds the times of the sound trace.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass

from building.odd_changes import (
    absurd_starts,
    base,
    changed,
    cross,
    device_alone,
    graphs,
    halves,
    jax,
    large_ids,
    legacy,
    lost_half,
    lost_steps,
    marked_twice,
    merge,
    merge_hosts,
    named,
    no_correlation,
    no_kernels,
    other_vendor,
    overlap,
    replaced,
    rounding,
    setting,
    shuffle,
    sparse,
    spin,
    stacks,
    stream_zero,
    string_threads,
    strings,
    syncs,
    tail_metadata,
    text,
    twice,
    two_devices,
    under_recorded,
    unknown_phases,
    unmarked,
)

CLOCK = '{"displayTimeUnit": "ns", "baseTimeNanoseconds": 17, "schema'


@dataclass(frozen=True)
class Variant:
    """One oddity.

    Args:
        row: Number of the oddity.
        name: What is odd, for the table.
        content: The file.
        same: Whether its times are those of the sound trace.
        file: Name of the file.
    """

    row: int
    name: str
    content: bytes
    same: bool = True
    file: str = "trace.json"


def variants() -> list[Variant]:
    """Every oddity; the first is the sound trace."""
    odd = [*_containers(), *_texts(), *_values(), *_recordings()]
    return [Variant(0, "sound", text().encode()), *sorted(odd, key=lambda one: one.row)]


def _containers() -> list[Variant]:
    whole = text().encode()
    packed = gzip.compress(whole, mtime=0)
    wrong = packed[:-8] + bytes(byte ^ 0xFF for byte in packed[-8:-4]) + packed[-4:]
    third = len(whole) // 3
    return [
        Variant(9, "UTF-8 with byte order mark", b"\xef\xbb\xbf" + whole),
        Variant(9, "UTF-16", text().encode("utf-16")),
        Variant(10, "empty file", b"", same=False),
        Variant(10, "HTML error page", b"<!DOCTYPE html><html><body>404</body></html>", same=False),
        Variant(10, "Git LFS pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", same=False),
        Variant(10, "Perfetto protobuf", b"\x0a\x10\x12\x05\x00\x01\x08\x02" * 9, same=False, file="t.json"),
        Variant(11, "plain JSON named .gz", whole, file="trace.json.gz"),
        Variant(11, "gzip named .json", packed),
        Variant(12, "gzip cut at 60 %", packed[: len(packed) * 6 // 10], same=False, file="trace.json.gz"),
        Variant(12, "gzip with bytes behind it", packed + b"garbage", file="trace.json.gz"),
        Variant(12, "gzip with a wrong checksum", wrong, file="trace.json.gz"),
        Variant(13, "several gzip members", gzip.compress(whole[:third]) + gzip.compress(whole[third:]), file="trace.json.gz"),
        Variant(13, "two ranks, one document after the other", whole + whole.replace(b'"rank": 0', b'"rank": 1')),
        Variant(13, "two ranks written into each other", whole[:third] + whole[: 2 * third] + whole[third:], same=False),
    ]  # fmt: skip


def _texts() -> list[Variant]:
    whole = text()
    listed = json.dumps(base().events)
    return [
        Variant(1, "cut at 60 %", whole[: len(whole) * 6 // 10].encode(), same=False),
        Variant(2, "bare list", listed.encode()),
        Variant(3, "unclosed list with a comma", (listed[:-1] + ",").encode()),
        Variant(4, "NaN and Infinity in arguments", replaced('"bytes": 1048576', '"bytes": NaN, "bandwidth": Infinity')),
        Variant(5, "Windows paths, unescaped", named(r"C:\code\torch\nn\functional.py(3): relu")),
        Variant(6, "raw control characters", named("a\x01b\nc")),
        Variant(7, "unescaped quote", named('operator"" _x')),
        Variant(8, "invalid UTF-8", named("caf\udce9")),
        Variant(29, "doubled keys", replaced('"cat": "kernel"', '"cat": "kernel", "cat": "kernel"')),
        Variant(31, "metadata behind the events", tail_metadata()),
        Variant(32, "very long and binary-looking names", named("\\u0000<script>[red]" + "x" * 50_000)),
        Variant(50, "terminal escapes in names", named("\\u001b[31m\\u001b]0;title\\u0007")),
        Variant(50, "10,000 nested lists in an argument", named('a", "x": ' + "[" * 10_000 + "]" * 10_000 + ', "y": "')),
    ]  # fmt: skip


def _values() -> list[Variant]:
    return [
        Variant(14, "negative duration", setting("dur", -5)),
        Variant(14, "duration -1 (unfinished)", setting("dur", -1)),
        Variant(15, "duration 0", setting("dur", 0), same=False),
        Variant(16, "one duration of 1e12 us", setting("dur", 1e12)),
        Variant(17, "three starts at 0", changed(absurd_starts)),
        Variant(18, "kernels overlap on one stream", changed(overlap), same=False),
        Variant(19, "spans that cross on one thread", changed(cross)),
        Variant(20, "children end after their parents", changed(rounding)),
        Variant(21, "displayTimeUnit and base time", replaced('{"schema', CLOCK, 1)),
        Variant(22, "times as text", changed(strings)),
        Variant(23, "streams as text", changed(string_threads)),
        Variant(24, "ids beyond 2^53", changed(large_ids)),
        Variant(25, "no phase", setting("ph", None)),
        Variant(26, "no duration", setting("dur", None)),
        Variant(27, "halves (B, E) for spans", changed(halves)),
        Variant(28, "null, {} and text for events", changed(sparse)),
        Variant(30, "unsorted", changed(shuffle)),
        Variant(44, "stream 0, and syncs on stream 4294967295", changed(lambda events: (stream_zero(events), syncs(events)))),
        Variant(45, "another vendor's runtime calls", changed(other_vendor)),
        Variant(46, "categories of torch 1.8", changed(legacy)),
        Variant(48, "Python stacks with broken ids", changed(stacks)),
        Variant(49, "phases nobody knows", changed(unknown_phases)),
    ]  # fmt: skip


def _recordings() -> list[Variant]:
    return [
        Variant(33, "no device events", changed(no_kernels), same=False),
        Variant(34, "device events only", changed(device_alone), same=False),
        Variant(35, "kernels of the first steps lost", changed(lost_steps), same=False),
        Variant(35, "65 % of all kernels lost", changed(lost_half), same=False),
        Variant(36, "graphs: one launch for many kernels", changed(graphs), same=True),
        Variant(36, "a graph replay recorded in part", changed(under_recorded), same=False),
        Variant(37, "correlation 0 everywhere", changed(no_correlation), same=True),
        Variant(38, "two ranks merged, other process numbers", changed(lambda events: merge(events, 1)), same=False),
        Variant(38, "two ranks merged, equal numbers", changed(merge), same=False),
        Variant(38, "two ranks without a device merged, equal numbers", changed(merge_hosts), same=False),
        Variant(38, "every event written twice", changed(twice)),
        Variant(39, "two devices in one process", changed(two_devices), same=False),
        Variant(40, "no step marks", changed(unmarked), same=False),
        Variant(41, "steps marked twice", changed(marked_twice)),
        Variant(42, "first collective waits 2 s", changed(spin), same=False),
        Variant(43, "no rank stated", text().replace('"distributedInfo"', '"other"').encode()),
        Variant(47, "trace of JAX", jax(), same=False),
    ]
