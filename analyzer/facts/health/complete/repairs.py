"""What the reader had to mend, as a reason for caution, and what avoids it: each kind of damage has a cause of its own."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.recording.collected import by_command
from traces.reader.about.provenance import stated
from traces.reader.mend.repairs import BRIEFLY, OF_EVENTS
from traces.trace import Trace

# As of launches without their kernel: what is left says nothing about the whole.
_LOST_UNUSABLE = 0.5
# The file ends early: device events, which the profiler writes last, are what is lost.
_CUT = frozenset({"truncated", "truncated-gzip", "missing-bracket"})
WHOLE_FILE = "wait until export_chrome_trace has returned, copy the file again whole, and see that its disk has room"
_COPY = "copy the file again, as binary, and compare the checksums of both (sha256sum)"
_OWN_FILE = "give every export a file name of its own, which nothing else writes to"
_ESCAPES = "update torch: old versions write some names and paths without escaping them"
UNTOUCHED = "name the file as the profiler wrote it, not one that another tool has changed"
FEWER_STEPS = "record fewer steps, or raise the profiler's buffer size; do not run another profiler beside it"
_SCHEDULED = "schedule(wait=5, warmup=2, active=6, repeat=1)"
_LET_END = "let the schedule end the recording at prof.step(), not the end of the program"
CLOCKS = "record it again; if it stays, update torch and the device's driver"
# How names and lists are written, not what they say: every event is there with its times.
_OF_TEXT = frozenset(
    {"invalid-escape", "control-character", "invalid-utf8", "invalid-surrogate", "leading-text", "trailing-comma"}
)
_BEFORE = "This is a copy of a damaged file"
_TEXT = "The file had to be repaired"
_EVENTS = "Events were corrected or left out"
_ADVICE = {
    **dict.fromkeys((*_CUT, "truncated-metadata"), WHOLE_FILE),
    **dict.fromkeys(("damaged-gzip", "wrong-checksum", "lost-event", "stray-text"), _COPY),
    **dict.fromkeys(("trailing-bytes", "trailing-text", "several-documents", "second-list"), _OWN_FILE),
    **dict.fromkeys(
        ("invalid-escape", "swallowed-escape", "control-character", "invalid-utf8", "invalid-surrogate"), _ESCAPES
    ),
    **dict.fromkeys(
        ("damaged-metadata", "leading-text", "missing-comma", "trailing-comma", "not-an-event", "empty-event", "nested-too-deep",
         "invalid-number", "wrong-type", "duplicate-key", "repeated-event", "missing-phase", "missing-start"),
        UNTOUCHED,
    ),
    **dict.fromkeys(("unfinished", "unmatched-end", "partial-step"), _LET_END),
    **dict.fromkeys(("negative-duration", "absurd-duration", "absurd-start"), CLOCKS),
}  # fmt: skip


def is_cut(trace: Trace) -> bool:
    """Whether the file ends before the trace does, so that what is missing was recorded and is not in the file."""
    return any(repair.kind in _CUT for repair in trace.repairs)


def check(trace: Trace) -> Iterator[Symptom]:
    """One symptom for all repairs together; the list itself stands under `repairs`."""
    repairs = trace.repairs
    if repairs:
        total = sum(repair.count for repair in repairs)
        lost = sum(repair.count for repair in repairs if repair.kind == "lost-event")
        grave = lost >= _LOST_UNUSABLE * (trace.meta.events + lost)
        harmless = all(repair.kind in _OF_TEXT for repair in repairs)
        gravity = Gravity.UNUSABLE if grave else Gravity.NOTE if harmless else Gravity.CAUTION
        yield Symptom(None, gravity, _said(trace), "; ".join(_advice(trace)), total)


def _said(trace: Trace) -> str:
    """What `advisor repair` would mend, what no copy of the file lacks, and what this copy of another file lacks already."""
    before = stated(trace.meta.top)
    parts: dict[str, list[str]] = {_BEFORE: [], _TEXT: [], _EVENTS: []}
    for repair in trace.repairs:
        kept = repair.count <= before.get(repair.kind, 0)
        head = _BEFORE if kept else _EVENTS if repair.kind in OF_EVENTS else _TEXT
        parts[head].append(f"{BRIEFLY[repair.kind]} ({repair.count:,})")
    return " ".join(f"{head}: {', '.join(kinds)}." for head, kinds in parts.items() if kinds)


def _advice(trace: Trace) -> list[str]:
    """What avoids each kind, the most frequent first; where the file is cut, the last step is for that reason too."""
    found = dict.fromkeys(_ADVICE[repair.kind] for repair in trace.repairs)
    if is_cut(trace):
        return [WHOLE_FILE, *(one for one in found if one not in (WHOLE_FILE, _LET_END))]
    return list(found)


def recorded_later(trace: Trace) -> str:
    """How a recording begins behind the start-up, in the words of what recorded it."""
    return "record later: `advisor collect --wait 40`" if by_command(trace.meta) else f"record later: {_SCHEDULED}"


def more_steps(trace: Trace) -> str:
    """How a recording gets as many steps as a judgement asks for, in the words of what recorded it."""
    how = "`advisor collect --active 6`, of a run that is long enough" if by_command(trace.meta) else _SCHEDULED
    return f"record at least 3 complete steps, better 6: {how}"
