"""The one document: everything the reports and the terminal UI show, as plain data.

Text, Markdown, HTML, JSON and the UI are functions of an `Analysis` and of nothing else. Integers are nanoseconds or counts,
shares are 0..1, nothing is rounded. All keys are always present; what is unknown is None or empty, never a sentinel.
The JSON Schema in `analyzer/report/schema.json` is generated from these classes.
"""

from __future__ import annotations

from analyzer.analysis.base import Document
from analyzer.analysis.changes import Since
from analyzer.analysis.evidence import (
    Bar,
    Bars,
    Column,
    Evidence,
    Intervals,
    Series,
    Table,
    Unit,
)
from analyzer.analysis.finding import (
    Advice,
    Calibrated,
    CheckDocument,
    ConfidenceName,
    FindingDocument,
    FindingUnit,
    Location,
    SavingDocument,
    SeenSteps,
    SeverityName,
    StateName,
    Tried,
)
from analyzer.analysis.hardware import Ceiling, CounterRow, Hardware, ModuleRow, OperatorWork, Peaks
from analyzer.analysis.summary import (
    BoundBy,
    CauseTime,
    Counts,
    DeviceWaterfall,
    RankRow,
    StepRow,
    StepTimes,
    Summary,
    Verdict,
)
from analyzer.analysis.timeline import Lane, Span, Timeline
from analyzer.analysis.trace import (
    DeviceInfo,
    ExcludedStep,
    ProfilerOptions,
    Reason,
    Repair,
    Steps,
    Tool,
    Total,
    TraceInfo,
    Trust,
    Versions,
)
from analyzer.analysis.what_if import Assumed, ClaimedTime, Shortening, ShorterTime, Together, UnplacedTime, WhatIf
from analyzer.cause_names import Cause
from analyzer.ranks.document import Job

__all__ = [
    "CARD_RATIO",
    "COMPARISON_ID",
    "ELEMENT_ID",
    "SCHEMA_VERSION",
    "TUNING_ID",
    "Advice",
    "Analysis",
    "Assumed",
    "Bar",
    "Bars",
    "BoundBy",
    "Calibrated",
    "Cause",
    "CauseTime",
    "Ceiling",
    "CheckDocument",
    "ClaimedTime",
    "Column",
    "ConfidenceName",
    "CounterRow",
    "Counts",
    "DeviceInfo",
    "DeviceWaterfall",
    "Document",
    "Evidence",
    "ExcludedStep",
    "FindingDocument",
    "FindingUnit",
    "Hardware",
    "Intervals",
    "Lane",
    "Location",
    "ModuleRow",
    "OperatorWork",
    "Peaks",
    "ProfilerOptions",
    "RankRow",
    "Reason",
    "Repair",
    "SavingDocument",
    "SeenSteps",
    "Series",
    "SeverityName",
    "Shortening",
    "ShorterTime",
    "Span",
    "StateName",
    "StepRow",
    "StepTimes",
    "Steps",
    "Summary",
    "Table",
    "Timeline",
    "Together",
    "Tool",
    "Total",
    "TraceInfo",
    "Tried",
    "Trust",
    "Unit",
    "UnplacedTime",
    "Verdict",
    "Versions",
    "WhatIf",
]

SCHEMA_VERSION = "1.0"
# The elements in which an HTML report holds its document, and the pages of a comparison and a tuning theirs.
ELEMENT_ID = "advisor-analysis"
COMPARISON_ID = "advisor-comparison"
TUNING_ID = "advisor-tuning"
# Findings that are expected to save less than this share of the step stay off the cards (TraceLens drops below 0.5 % and 2 %).
CARD_RATIO = 0.02


class Analysis(Document, frozen=True, kw_only=True):
    """The whole answer for one trace; `ranks` is filled where several ranks of one job were given, this one among them.

    `timeline` draws the representative step; `slowest` the slowest used one where it is at least a tenth longer than the median.
    `job` holds all ranks of the job together.
    `since` says what changed where a baseline was named.
    `totals` holds the sums over the file that differ from those of the analysis.
    `hardware` says how far each operator is from what the device can do; None where measuring it failed.
    `what_if` says what any choice of the findings gives together; `assumed` what the choice that was asked for gives.
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
    job: Job | None = None
    since: Since | None = None
    totals: tuple[Total, ...] = ()
    hardware: Hardware | None = None
    what_if: WhatIf | None = None
    assumed: Assumed | None = None

    @property
    def cards(self) -> tuple[FindingDocument, ...]:
        """The findings to show as cards: not explained by a more specific one and worth at least 2 % of the step.

        Below 2 % a finding is listed with the checks only (rules.md 2.0).
        """
        return tuple(
            finding
            for finding in self.findings
            if not finding.explained_by and finding.saving.expected_ratio >= CARD_RATIO
        )

    @property
    def minor(self) -> tuple[FindingDocument, ...]:
        """The findings to list below the cards: not explained by others, and not a reason of trust already, which says the same."""
        cards = {finding.id for finding in self.cards}
        return tuple(
            finding
            for finding in self.findings
            if finding.id not in cards and not finding.explained_by and not self._told_with_trust(finding)
        )

    def _told_with_trust(self, finding: FindingDocument) -> bool:
        """Whether a reason of trust says all that a finding says; one that is accepted says that too."""
        return finding.accepted is None and any(
            reason.code == finding.rule and reason.message.startswith(finding.why) for reason in self.trust.reasons
        )
