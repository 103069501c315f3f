"""What was read: the program, the file, what it was recorded with, and whether it can be believed."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document


class Tool(Document, frozen=True, kw_only=True):
    """The program that wrote the document."""

    name: str
    version: str


class DeviceInfo(Document, frozen=True, kw_only=True):
    """The accelerator of the trace. `kind`: cuda, rocm, xpu, mtia, cpu (no device) or unknown."""

    kind: str
    name: str | None
    count: int


class Versions(Document, frozen=True, kw_only=True):
    """Versions the trace states."""

    torch: str | None
    cuda: str | None
    rocm: str | None
    python: str | None


class ProfilerOptions(Document, frozen=True, kw_only=True):
    """What was recorded besides times."""

    stacks: bool
    shapes: bool
    memory: bool
    flops: bool


class ExcludedStep(Document, frozen=True, kw_only=True):
    """A step that is not used for figures, and why."""

    step: int
    reason: str


class Steps(Document, frozen=True, kw_only=True):
    """How steps were found. `source`: `ProfilerStep`, `inferred:<how>` or `whole-trace`; `noun`: what to call one.

    `more_excluded`: Steps left out beside those in `excluded`, which has room for a thousand.
    """

    source: str
    count: int
    used: int
    excluded: tuple[ExcludedStep, ...]
    noun: Literal["step", "request"] = "step"
    more_excluded: int = 0


class TraceInfo(Document, frozen=True, kw_only=True):
    """The input. `name` is a file name without folders; `bytes` its size on disk; `notes` are sentences on how it is written."""

    name: str
    sha256: str
    bytes: int
    events: int
    ranks: tuple[int, ...]
    device: DeviceInfo
    versions: Versions
    profiler: ProfilerOptions
    steps: Steps
    notes: tuple[str, ...] = ()


class Reason(Document, frozen=True, kw_only=True):
    """One reason of the trust verdict, with the code of the rule page that explains it.

    `doubts` says whether it makes a finding doubtful, or what binds the run; others are worth knowing.
    """

    code: str | None
    message: str
    count: int
    doubts: bool = True


class Trust(Document, frozen=True, kw_only=True):
    """Whether the trace can be believed, as far as the findings and the verdict of the summary rest on what is doubtful."""

    verdict: Literal["ok", "caution", "unusable"]
    reasons: tuple[Reason, ...]


class Repair(Document, frozen=True, kw_only=True):
    """Something the reader had to mend, counted; with the first one's byte in the text and number of the event, where known.

    The byte of damage to compressed data is that of the file as it is stored.
    """

    kind: str
    count: int
    first_offset: int | None
    first_event: int | None = None
    message: str


class Total(Document, frozen=True, kw_only=True):
    """A sum over the whole file that the analysis does not take as it stands there.

    `events` is a frame, or `recording` for the time from the first event to the last end. `raw_ns` adds up what the file states;
    `cleaned_ns` leaves out what was set aside, and counts once what overlaps on one stream of a device.
    """

    events: str
    set_aside: int
    raw_ns: int
    cleaned_ns: int
