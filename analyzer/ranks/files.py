"""Summaries as files: writing them small enough to travel, and telling them from other documents."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import nullcontext
from pathlib import Path

import msgspec

from analyzer.cause_names import CAUSES
from analyzer.ranks.summary import SUMMARY_KIND, SUMMARY_VERSION, CutPart, KernelRow, RankSummary
from traces.errors import UnreadableTraceError

# What 4,096 of may be sent to one machine and kept there: a summary is no larger, whatever the trace.
MOST_BYTES = 2_000_000
# gzip makes the largest of them ten times smaller.
_MOST_UNPACKED_BYTES = 64 << 20
_LEAST_KERNELS = 16
# A name of a template may be longer than all the rest of its row.
_NAME_CHARS = 160
_GZIP = b"\x1f\x8b"
# `kind` is the first key that is written.
_MARK = b'"' + SUMMARY_KIND.encode() + b'"'
# What a summary states of its rank stands at its beginning, and that it is one at the very first.
_LOOKED_AT, _MARK_WITHIN = 4_096, 200


def encode(summary: RankSummary, *, compress: bool = True, most_bytes: int = MOST_BYTES) -> bytes:
    """The summary as bytes, cut until it is small enough; what is cut is counted in it.

    Names of kernels are cut in any case. Kernel rows go first, those of the least time; then the splits of all-to-alls; then whole
    steps from the last on, with their collectives.

    Args:
        summary: The whole summary.
        compress: Whether to write gzip.
        most_bytes: The limit, on what is written.
    """
    summary = msgspec.structs.replace(summary, kernels=tuple(map(_short, summary.kernels)))
    data = _written(summary, compress)
    while len(data) > most_bytes:
        smaller = _cut(summary)
        if smaller is summary:
            break
        summary = smaller
        data = _written(summary, compress)
    return data


def _short(row: KernelRow) -> KernelRow:
    return msgspec.structs.replace(row, name=row.name[:_NAME_CHARS]) if len(row.name) > _NAME_CHARS else row


def _written(summary: RankSummary, compress: bool) -> bytes:
    data = msgspec.json.encode(summary)
    # The same summary gives the same bytes: no time, no name.
    return gzip.compress(data, compresslevel=6, mtime=0) if compress else data


def _cut(summary: RankSummary) -> RankSummary:
    """A smaller summary; the same one where nothing more can go."""
    cut, kernels = summary.cut, len(summary.kernels)
    if kernels > _LEAST_KERNELS:
        keep = max(kernels // 2, _LEAST_KERNELS)
        counted = msgspec.structs.replace(cut, kernels=cut.kernels + kernels - keep)
        return msgspec.structs.replace(summary, kernels=summary.kernels[:keep], cut=counted)
    if summary.collectives.splits:
        counted = msgspec.structs.replace(cut, splits=cut.splits + len(summary.collectives.splits))
        columns = msgspec.structs.replace(summary.collectives, splits={})
        return msgspec.structs.replace(summary, collectives=columns, cut=counted)
    return _without_last_steps(summary, cut) if len(summary.steps) > 1 else summary


def _without_last_steps(summary: RankSummary, cut: CutPart) -> RankSummary:
    keep = len(summary.steps) // 2
    columns = summary.collectives
    rows = sum(1 for step in columns.step if step < keep)
    lists = {
        name: getattr(columns, name)[:rows]
        for name in columns.__struct_fields__
        if isinstance(getattr(columns, name), list)
    }
    own = {cause: values[:rows] for cause, values in columns.own_ns.items()}
    counted = msgspec.structs.replace(
        cut,
        steps=cut.steps + len(summary.steps) - keep,
        collectives=cut.collectives + len(columns.start_ns) - rows,
    )
    return msgspec.structs.replace(
        summary,
        steps=summary.steps[:keep],
        collectives=msgspec.structs.replace(columns, **lists, own_ns=own),
        tail_ns={},
        cut=counted,
    )


def load(path: Path, where: str) -> RankSummary:
    """The summary in a file; of one that is larger than any no more is read than shows that.

    Args:
        path: The file.
        where: What to name in an error.

    Raises:
        OSError: It cannot be read.
        UnreadableTraceError: It holds no summary, is damaged, or another version wrote it.
    """
    with path.open("rb") as file:
        return decode(file.read(_MOST_UNPACKED_BYTES + 1), where)


def decode(data: bytes, where: str) -> RankSummary:
    """A summary from bytes, compressed or not.

    Args:
        data: As `encode` wrote it.
        where: What to name in an error.

    Raises:
        UnreadableTraceError: It is none, is damaged, or another version wrote it.
    """
    try:
        summary = msgspec.json.decode(_unpacked(data), type=RankSummary)
    except (OSError, EOFError, msgspec.DecodeError, ValueError, RecursionError, zlib.error) as error:
        raise UnreadableTraceError(
            "the summary of a rank cannot be read",
            where=where,
            why=f"{error}"[:200],
            fix="write it again: `advisor summarize TRACE -o rank.summary.json.gz`",
        ) from error
    if summary.kind != SUMMARY_KIND or summary.schema_version.partition(".")[0] != SUMMARY_VERSION.partition(".")[0]:
        raise UnreadableTraceError(
            f"the summary of a rank has version {summary.schema_version}, this advisor reads {SUMMARY_VERSION}",
            where=where,
            why=f"advisor {summary.tool_version} wrote it",
            fix="use one version of advisor on all nodes",
        )
    _check_columns(summary, where)
    return summary


def _unpacked(data: bytes) -> bytes:
    """The text of a summary, compressed or not.

    Raises:
        ValueError: It is larger than any, as a file is that was made to fill memory.
    """
    text = data
    if data.startswith(_GZIP):
        with gzip.open(io.BytesIO(data)) as unpacked:
            text = unpacked.read(_MOST_UNPACKED_BYTES + 1)
    if len(text) > _MOST_UNPACKED_BYTES:
        does = "is" if text is data else "expands to"
        raise ValueError(f"it {does} more than {_MOST_UNPACKED_BYTES >> 20} MB, which no summary is")
    return text


def _check_columns(summary: RankSummary, where: str) -> None:
    """Refuse lists that do not stand beside each other: a merge would read one collective's time as another's."""
    columns = summary.collectives
    rows = len(columns.start_ns)
    lists = [getattr(columns, name) for name in columns.__struct_fields__ if isinstance(getattr(columns, name), list)]
    places = (
        (columns.group, len(summary.groups)),
        (columns.kind, len(summary.kinds)),
        (columns.step, len(summary.steps)),
    )
    sound = all(len(one) == rows for one in (*lists, *columns.own_ns.values()))
    sound = sound and all(0 <= place < many for column, many in places for place in column)
    if not sound:
        raise _contradicts(
            where, "its columns are of different lengths, or name groups, kinds or steps that it does not have"
        )
    # They are shown as they are, as names of ours.
    if not {*columns.own_ns, *summary.tail_ns}.union(*(step.causes for step in summary.steps)) <= set(CAUSES):
        raise _contradicts(where, "it counts time of causes that there are not")


def _contradicts(where: str, why: str) -> UnreadableTraceError:
    return UnreadableTraceError(
        "the summary of a rank contradicts itself",
        where=where,
        why=why,
        fix="write it again: `advisor summarize TRACE -o rank.summary.json.gz`",
    )


def looks_like_summary(path: Path) -> bool:
    """Whether a file is a summary, by its first bytes; what a pipe gave would be gone afterwards, so it is none."""
    return head_of_summary(path) is not None


def head_of_summary(path: Path) -> bytes | None:
    """The beginning of a summary, unpacked, in which it states its rank; None of another file, or a pipe."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            with gzip.open(file) if packed else nullcontext(file) as text:
                head: bytes = text.read(_LOOKED_AT)
    except (OSError, EOFError, ValueError, zlib.error):
        return None
    return head if _MARK in head[:_MARK_WITHIN] else None
