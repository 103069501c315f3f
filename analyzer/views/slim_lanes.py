"""A step's lanes small enough to travel in a page: the longest events of each, as many of one as of another, the rest counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from analyzer.cause_names import CAUSES
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.views.step_lanes import StepLanes, Track

# As text an event takes about 18 bytes and a name up to 120: the page stays below what a browser opens in two seconds.
MOST_BYTES = 2_000_000
_NAME_LENGTH = 120
_FEWER = 0.95


class SlimTrack(msgspec.Struct, frozen=True):
    """A lane in columns: for each event its start, its length, and where its label, cause and detail stand."""

    name: str
    kind: str
    level: int
    start: list[int]
    dur: list[int]
    label: list[int]
    cause: list[int]
    detail: list[int]


class SlimLanes(msgspec.Struct, frozen=True):
    """One step.

    Args:
        step: ProfilerStep number.
        dur_ns: Its length.
        labels: The distinct names.
        causes: The names of causes.
        details: What is known of events beside name and time, each text once.
        tracks: Host first, the main thread on top; then streams.
        left_out: How many events are not in them, the shortest.
        left_out_ns: How long these are together.
    """

    step: int
    dur_ns: int
    labels: list[str]
    causes: tuple[str, ...]
    details: list[str]
    tracks: list[SlimTrack]
    left_out: int
    left_out_ns: int


def slim(lanes: StepLanes, text: Callable[[str], str], most_bytes: int = MOST_BYTES) -> bytes:
    """The lanes as JSON, with as many events as fit: the longest of each lane, and of none more than of another that has them.

    One length for all lanes would leave those empty whose events are short: a million of ops beside longer kernels.

    Args:
        lanes: One step in full.
        text: Makes a name fit to be shown.
        most_bytes: What the JSON may take.
    """
    lengths = [track.end_ns - track.start_ns for track in lanes.tracks]
    most = max(map(len, lengths), default=0)
    while True:
        encoded = msgspec.json.encode(_longest(lanes, lengths, most, text))
        if len(encoded) <= most_bytes or not most:
            return encoded
        kept = sum(min(len(one), most) for one in lengths)
        most = min(most - 1, _most_of_each(lengths, int(kept * _FEWER * most_bytes / len(encoded))))


def _most_of_each(lengths: Sequence[Int64Array], events: int) -> int:
    """How many of each lane are no more than this many together, where shorter lanes leave the longer ones their room."""
    left, most = events, 0
    counts = sorted(map(len, lengths))
    for place, count in enumerate(counts):
        share = left // (len(counts) - place)
        if count > share:
            return share
        left, most = left - count, count
    return most


def _longest(lanes: StepLanes, lengths: Sequence[Int64Array], most: int, text: Callable[[str], str]) -> SlimLanes:
    labels, details = _Texts(text), _Texts(text)
    least = [_least_ns(one, most) for one in lengths]
    tracks = [
        _slim(track, one >= least_ns, labels, details)
        for track, one, least_ns in zip(lanes.tracks, lengths, least, strict=True)
    ]
    gone = [one[one < least_ns] for one, least_ns in zip(lengths, least, strict=True)]
    return SlimLanes(
        lanes.number,
        lanes.dur_ns,
        labels.found,
        CAUSES,
        details.found,
        tracks,
        sum(map(len, gone)),
        int(sum(one.sum() for one in gone)),
    )


def _least_ns(lengths: Int64Array, most: int) -> int:
    """The length from which on an event of a lane stays. Of equally long ones all go, or which stay would be chance."""
    if len(lengths) <= most:
        return 0
    return int(np.partition(lengths, -most - 1)[-most - 1]) + 1


class _Texts:
    """Texts of all lanes, each once."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self.fit = text
        self._places: dict[str, int] = {}

    @property
    def found(self) -> list[str]:
        """All of them, in the order of their numbers."""
        return list(self._places)

    def numbers(self, codes: Int64Array, texts: Sequence[str]) -> list[int]:
        """The number of each event's text, of which `codes` says where it stands in `texts`."""
        used = {
            code: self._places.setdefault(self.fit(texts[code])[:_NAME_LENGTH], len(self._places))
            for code in np.unique(codes).tolist()
        }
        return [used[code] for code in codes.tolist()]


def _slim(track: Track, kept: BoolArray, labels: _Texts, details: _Texts) -> SlimTrack:
    start = track.start_ns[kept]
    return SlimTrack(
        labels.fit(track.name),
        track.kind,
        track.level,
        start.tolist(),
        (track.end_ns[kept] - start).tolist(),
        labels.numbers(track.label[kept], track.labels),
        track.cause[kept].tolist(),
        details.numbers(track.detail[kept], track.details),
    )
