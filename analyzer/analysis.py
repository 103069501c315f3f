"""The one document: everything the reports and the terminal UI show, as plain data.

Text, Markdown, HTML, JSON and the UI are functions of an `Analysis` and of nothing else. Integers are nanoseconds or counts,
shares are 0..1, nothing is rounded. All keys are always present; what is unknown is None or empty, never a sentinel.
The JSON Schema in `analyzer/report/schema.json` is generated from these classes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from analyzer.cause_names import Cause
from analyzer.since import Since

SCHEMA_VERSION = "1.0"

BoundBy = Literal[
    "input", "sync", "launch", "python", "communication", "copy", "allocator", "compile", "compute", "mixed", "unknown"
]
SeverityName = Literal["high", "medium", "low", "info"]
ConfidenceName = Literal["high", "medium", "low"]
StateName = Literal["fired", "clear", "not_applicable", "cannot_tell", "suppressed", "disabled", "crashed"]
UnitName = Literal["ns", "bytes", "ratio", "count", "text"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of the document."""


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
    """How steps were found. `source`: `ProfilerStep`, `inferred:<how>` or `whole-trace`; `noun`: what to call one."""

    source: str
    count: int
    used: int
    excluded: tuple[ExcludedStep, ...]
    noun: Literal["step", "request"] = "step"


class TraceInfo(Document, frozen=True, kw_only=True):
    """The input. `name` is a file name without folders; `bytes` its size on disk."""

    name: str
    sha256: str
    bytes: int
    events: int
    ranks: tuple[int, ...]
    device: DeviceInfo
    versions: Versions
    profiler: ProfilerOptions
    steps: Steps


class Reason(Document, frozen=True, kw_only=True):
    """One reason of the trust verdict, with the code of the rule page that explains it."""

    code: str | None
    message: str
    count: int


class Trust(Document, frozen=True, kw_only=True):
    """Whether the trace can be believed."""

    verdict: Literal["ok", "caution", "unusable"]
    reasons: tuple[Reason, ...]


class Repair(Document, frozen=True, kw_only=True):
    """Something the reader had to mend, counted; with the first one's byte in the text and number of the event, where known."""

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


class Verdict(Document, frozen=True, kw_only=True):
    """What the run is bound by. `ratio` is that cause's share of the window."""

    bound_by: BoundBy
    ratio: float
    text: str


class StepTimes(Document, frozen=True, kw_only=True):
    """Wall time of the used steps, nanoseconds."""

    mean: int
    median: int
    p95: int
    min: int
    max: int


class CauseTime(Document, frozen=True, kw_only=True):
    """What one cause owns of all used steps together: `ns`, and its share of `window_ns`."""

    cause: Cause
    ns: int
    ratio: float


class DeviceWaterfall(Document, frozen=True, kw_only=True):
    """The waterfall of one device of the process."""

    device: str
    busy_ratio: float
    waterfall: tuple[CauseTime, ...]


class Counts(Document, frozen=True, kw_only=True):
    """Findings by severity."""

    high: int
    medium: int
    low: int
    info: int


class Summary(Document, frozen=True, kw_only=True):
    """The headline figures. The waterfall's `ns` add up to `window_ns` exactly; per step is `ns` / `used_steps`."""

    verdict: Verdict
    step_ns: StepTimes
    unprofiled_step_ns: int | None
    reachable_step_ns: int
    window_ns: int
    used_steps: int
    gpu_busy_ratio: float | None
    compute_ratio: float
    launch_lead_ns_median: int | None
    representative_step: int | None
    waterfall: tuple[CauseTime, ...]
    devices: tuple[DeviceWaterfall, ...]
    counts: Counts


class StepRow(Document, frozen=True, kw_only=True):
    """One step: its wall time and what each cause owns of it (adds up to `dur_ns`)."""

    step: int
    start_ns: int
    dur_ns: int
    used: bool
    reason: str | None
    causes: tuple[CauseTime, ...]


class Span(Document, frozen=True, kw_only=True):
    """A piece of a lane. `cause` colours it; `label` may be empty."""

    start_ns: int
    dur_ns: int
    label: str
    cause: Cause


class Lane(Document, frozen=True, kw_only=True):
    """One row of the timeline: the step's thread, another thread, or a device. Spans do not overlap and are in order."""

    name: str
    kind: Literal["host", "device"]
    spans: tuple[Span, ...]


class Timeline(Document, frozen=True, kw_only=True):
    """One step drawn, times relative to its start; each lane is merged to at most 400 spans."""

    step: int | None
    dur_ns: int
    lanes: tuple[Lane, ...]


class BarItem(Document, frozen=True, kw_only=True):
    """One labelled bar."""

    label: str
    value: float


class BarsEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="bars"):
    """Quantities side by side."""

    title: str
    unit: UnitName
    bars: tuple[BarItem, ...]


class SeriesEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="series"):
    """A quantity over steps or calls."""

    title: str
    unit: UnitName
    values: tuple[float, ...]


class TableColumn(Document, frozen=True, kw_only=True):
    """A table's column."""

    title: str
    unit: UnitName


class TableEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="table"):
    """Rows of values."""

    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]


class IntervalsEvidence(Document, frozen=True, kw_only=True, tag_field="type", tag="intervals"):
    """Where on the timeline's step the finding's claimed time lies: (start, end) relative to the step, nanoseconds.

    `spans` are the longest pieces; `left_out` says how many more there are, of `left_out_ns` together.
    """

    title: str
    step: int
    spans: tuple[tuple[int, int], ...]
    left_out: int = 0
    left_out_ns: int = 0

    @property
    def pieces(self) -> int:
        """How many pieces there are, those left out among them."""
        return len(self.spans) + self.left_out

    @property
    def total_ns(self) -> int:
        """All their time."""
        return sum(end - start for start, end in self.spans) + self.left_out_ns


EvidenceDocument = BarsEvidence | SeriesEvidence | TableEvidence | IntervalsEvidence


class SavingDocument(Document, frozen=True, kw_only=True):
    """An upper bound, the rest of the step taken as recorded; savings do not add up.

    `overlaps_with` names the findings sharing its time.

    `ratio_max` is a share of the recorded step, which the profiler makes longer; `unprofiled_ratio_max` the same time as a share of
    a step without it, the most that a stopwatch can show while the rest stays as it is. None where that step was not timed.
    """

    ns_per_step_max: int
    ratio_max: float
    unprofiled_ratio_max: float | None = None
    basis: str
    overlaps_with: tuple[str, ...]


class SeenSteps(Document, frozen=True, kw_only=True):
    """In how many of the used steps the cause was seen."""

    seen: int
    of: int


class LocationDocument(Document, frozen=True, kw_only=True):
    """A place in the user's own code."""

    file: str
    line: int | None
    function: str | None


class FixDocument(Document, frozen=True, kw_only=True):
    """One thing to change."""

    language: Literal["diff", "python", "shell", "text"]
    code: str
    note: str


class FindingDocument(Document, frozen=True, kw_only=True):
    """One finding. `explained_by` names who stands for it on a card: more specific findings, or one with the same fix.

    `accepted` is the reason why the team lives with it (advisor.toml); such a finding fails no gate.
    """

    id: str
    rule: str
    name: str
    family: str
    title: str
    severity: SeverityName
    confidence: ConfidenceName
    saving: SavingDocument
    steps: SeenSteps
    rank: int
    explained_by: tuple[str, ...]
    location: LocationDocument | None
    why: str
    caveats: tuple[str, ...]
    evidence: tuple[EvidenceDocument, ...]
    fix: tuple[FixDocument, ...]
    verify: str
    references: tuple[str, ...]
    accepted: str | None = None


class CheckDocument(Document, frozen=True, kw_only=True):
    """What became of one rule."""

    rule: str
    name: str
    title: str
    family: str
    state: StateName
    reason: str


class RankRow(Document, frozen=True, kw_only=True):
    """One rank of the job: its step and what binds it.

    `in_collectives_ns` is its mean time a step inside collectives over the steps all ranks have; `late`: the others wait for it.
    """

    rank: int
    name: str
    step_ns: int
    bound_by: BoundBy
    verdict: str
    in_collectives_ns: int | None
    late: bool


class Analysis(Document, frozen=True, kw_only=True):
    """The whole answer for one trace; `ranks` is filled where several ranks of one job were given, this one among them.

    `timeline` draws the representative step; `slowest` the slowest used one where it is at least a tenth longer than the median.
    `since` says what changed where a baseline was named.
    `totals` holds the sums over the file that differ from those of the analysis.
    """

    schema_version: str
    tool: Tool
    trace: TraceInfo
    trust: Trust
    repairs: tuple[Repair, ...]
    summary: Summary
    findings: tuple[FindingDocument, ...]
    checks: tuple[CheckDocument, ...]
    steps: tuple[StepRow, ...]
    timeline: Timeline
    slowest: Timeline | None = None
    ranks: tuple[RankRow, ...] = ()
    since: Since | None = None
    totals: tuple[Total, ...] = ()

    @property
    def cards(self) -> tuple[FindingDocument, ...]:
        """The findings to show as cards: not explained by a more specific one and worth at least 2 % of the step.

        Below 2 % a finding is listed with the checks only (rules.md 2.0).
        """
        return tuple(
            finding for finding in self.findings if not finding.explained_by and finding.saving.ratio_max >= CARD_RATIO
        )


# Findings that save less than this share of the step at most stay off the cards (TraceLens drops below 0.5 % and 2 %).
CARD_RATIO = 0.02
