"""The log of everything that was mended while reading: by kind, with its count and its first place."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from traces.errors import UnreadableTraceError
from traces.trace import Repair

# Kind -> what happened, for people. A test holds that nothing is counted under another name.
MESSAGES = {
    "truncated": "the file ends before its last event: what came after is lost",
    "truncated-metadata": "the file ends in the keys after its events: some of them are lost",
    "truncated-gzip": "the compressed data ends in the middle: what came after is lost",
    "damaged-gzip": "the compressed data is damaged: what came after the damage is lost",
    "wrong-checksum": "the checksum of the compressed data is wrong: some bytes may have changed",
    "trailing-bytes": "bytes after the end of the compressed data were ignored",
    "leading-text": "text before the beginning of the trace was ignored",
    "trailing-text": "text after the end of the trace was ignored",
    "several-documents": "the file holds several traces, written one after another; only the first was read",
    "second-list": "the file states its list of events twice; only the first was read",
    "damaged-metadata": "the keys beside the events could not be read",
    "lost-event": "an event could not be read and was left out",
    "missing-bracket": "the list of events was not closed",
    "stray-text": "text between two events was left out",
    "missing-comma": "no comma stood between two events; one was thought there",
    "trailing-comma": "a comma before a closing bracket was ignored",
    "not-an-event": "something in the list of events was no event (null, a list, a text, a number) and was left out",
    "empty-event": "an event without any content was left out",
    "nested-too-deep": "an event was nested deeper than any real one and was left out",
    "invalid-escape": "a text held single backslashes, as in Windows paths; they were doubled",
    "swallowed-escape": "a path held backslashes that read as control characters; they were restored",
    "control-character": "a text held raw control characters; they were escaped",
    "invalid-utf8": "bytes that are no UTF-8 were replaced",
    "invalid-surrogate": "half a surrogate pair in a text was replaced",
    "invalid-number": "a number was NaN, infinite or beyond any range; it was read as missing",
    "wrong-type": "a value had another type than the format states; it was converted or read as missing",
    "duplicate-key": "an event stated a key twice; the last one counts",
    "repeated-event": "an event stood in the file twice, with equal times and ids, and was counted once",
    "missing-phase": "an event did not state its kind (`ph`); with a duration it was read as complete",
    "missing-start": "an event did not state when it began and was left out",
    "unfinished": "an event had no end (`dur` missing or -1); it was ended where its surroundings end",
    "unmatched-end": "the end of an event had no beginning and was left out",
    "negative-duration": "an event had a negative duration and was set aside",
    "absurd-duration": "an event lasted longer than the trace allows and was set aside",
    "absurd-start": "an event lay far outside the recorded window and was set aside",
    "partial-step": "a step was cut off, of which a part may be lost, and left out",
}
# The same in a word or two, for a sentence that counts several kinds.
BRIEFLY = {
    "truncated": "the end is missing",
    "truncated-metadata": "the last keys are missing",
    "truncated-gzip": "compressed data cut off",
    "damaged-gzip": "compressed data damaged",
    "wrong-checksum": "wrong checksum",
    "trailing-bytes": "bytes after the compressed data",
    "leading-text": "text before the trace",
    "trailing-text": "text after the trace",
    "several-documents": "several traces in one file",
    "second-list": "a second list of events",
    "damaged-metadata": "unreadable keys beside the events",
    "lost-event": "events that cannot be read",
    "missing-bracket": "list of events not closed",
    "stray-text": "text between events",
    "missing-comma": "commas missing",
    "trailing-comma": "commas too many",
    "not-an-event": "entries that are no events",
    "empty-event": "empty events",
    "nested-too-deep": "events nested too deep",
    "invalid-escape": "single backslashes",
    "swallowed-escape": "paths that lost their backslashes",
    "control-character": "raw control characters",
    "invalid-utf8": "bytes that are no UTF-8",
    "invalid-surrogate": "halves of characters",
    "invalid-number": "numbers that are none",
    "wrong-type": "values of another type",
    "duplicate-key": "events that state a key twice",
    "repeated-event": "events that stand there twice",
    "missing-phase": "events that do not state their kind",
    "missing-start": "events without a start",
    "unfinished": "events without an end",
    "unmatched-end": "ends without a beginning",
    "negative-duration": "negative durations",
    "absurd-duration": "durations beyond the recording",
    "absurd-start": "starts outside the recording",
    "partial-step": "steps cut off",
}
# Nothing is wrong with the text: what an event states is not believed. A copy keeps such an event as it was written.
OF_EVENTS = frozenset(
    {
        "empty-event", "swallowed-escape", "wrong-type", "duplicate-key", "repeated-event", "missing-phase", "missing-start",
        "unfinished", "unmatched-end", "negative-duration", "absurd-duration", "absurd-start", "partial-step",
    }
)  # fmt: skip


class _Count(msgspec.Struct):
    count: int
    first_offset: int | None
    first_event: int | None
    detail: str


class Repairs:
    """Counts repairs; with `strict`, the first one is an error.

    Args:
        name: File name, for messages.
        strict: Whether a file that needs mending is unreadable.
    """

    def __init__(self, name: str, *, strict: bool = False) -> None:
        self._name = name
        self._strict = strict
        self._counts: dict[str, _Count] = {}

    def add(
        self, kind: str, offset: int | None = None, *, event: int | None = None, count: int = 1, detail: str = ""
    ) -> None:
        """Counts `count` repairs of one kind.

        Args:
            kind: A key of `MESSAGES`.
            offset: Byte of the (first) one in the uncompressed text, as UTF-8; of damage to compressed data, of the file as it is
                stored.
            event: Its number in the file, from 0.
            count: How many.
            detail: Appended to the message of the first one.

        Raises:
            UnreadableTraceError: Reading is strict.
        """
        message = MESSAGES[kind]
        if self._strict:
            raise UnreadableTraceError(
                f"{self._name} is damaged: {message}{detail}",
                where=_place(offset, event),
                why="--strict refuses a trace that has to be repaired",
                fix="read it without --strict, or write a repaired copy with `advisor repair`",
            )
        known = self._counts.get(kind)
        if known is None:
            self._counts[kind] = _Count(count, offset, event, detail)
            return
        known.count += count
        if event is not None and known.first_event is not None and event < known.first_event:
            # Columns are mended kind by kind of event, not in the order of the file.
            known.first_offset, known.first_event = offset, event

    def follow(self, kind: str, count: int, *, event: int | None = None, detail: str = "") -> None:
        """Counts what is no damage of this file itself, but follows from damage, here or of another file: never an error."""
        known = self._counts.setdefault(kind, _Count(0, None, event, detail))
        known.count += count

    def count(self, kind: str) -> int:
        """How many of one kind so far."""
        known = self._counts.get(kind)
        return known.count if known else 0

    def unplaced(self) -> set[int]:
        """Events that are the first of a kind of repair, and whose byte is not known."""
        firsts = (c.first_event for c in self._counts.values() if c.first_offset is None)
        return {event for event in firsts if event is not None}

    def place(self, offsets: Mapping[int, int]) -> None:
        """Takes over at which byte events begin, by their number."""
        for known in self._counts.values():
            if known.first_offset is None and known.first_event is not None:
                known.first_offset = offsets.get(known.first_event)

    def listed(self) -> tuple[Repair, ...]:
        """All of them, the most frequent first."""
        return tuple(
            Repair(kind, c.count, c.first_offset, MESSAGES[kind] + c.detail, c.first_event)
            for kind, c in sorted(self._counts.items(), key=lambda item: (-item[1].count, item[0]))
        )


def _place(offset: int | None, event: int | None) -> str | None:
    parts = [f"byte {offset:,}"] if offset is not None else []
    parts += [f"event {event:,}"] if event is not None else []
    return ", ".join(parts) or None
