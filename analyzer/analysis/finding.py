"""Findings, and what became of each rule."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document, FigureName, TrialVerdict
from analyzer.analysis.evidence import Evidence

SeverityName = Literal["high", "medium", "low", "info"]
ConfidenceName = Literal["high", "medium", "low"]
FindingUnit = Literal["step", "request", "recording"]
# Pairs that are exceeded beyond noise by chance are one in forty, so that one in ten are none.
_EXCEEDED = 10
StateName = Literal["fired", "clear", "not_applicable", "cannot_tell", "suppressed", "disabled", "crashed"]


class SavingDocument(Document, frozen=True, kw_only=True):
    """What a fix saves, the rest of the step taken as recorded; savings do not add up. `kind` says what `ns_per_step_max` is.

    Of a `bound` no more comes. An `estimate` is `ns_per_step_expected`, and `ns_per_step_min` to `ns_per_step_max` is what measured
    pairs brought of such ones; where none were measured, `ns_per_step_min` is None and `ns_per_step_max` the estimate itself.

    `ns_per_step_expected` is what usually comes true, by which findings are graded and ranked; None where that is no less than
    `ns_per_step_max`. `overlaps_with` names the findings sharing its time.

    `ratio_max` and `ratio_expected` are shares of the recorded step, which the profiler makes longer; `unprofiled_ratio` the
    bound or the estimate as a share of a step without it: of a bound the most that a stopwatch can show while the rest stays as it
    is, of an estimate without what the profiler adds to the time saved. None where that step was not timed, or cannot hold the
    saving. `of_recorded` is true where none is known, or it takes less than is stated: the figures are then a recorded step's.
    """

    kind: FigureName = "bound"
    ns_per_step_max: int
    ratio_max: float
    ns_per_step_expected: int | None = None
    ratio_expected: float | None = None
    ns_per_step_min: int | None = None
    unprofiled_ratio: float | None = None
    of_recorded: bool = False
    basis: str
    overlaps_with: tuple[str, ...]

    @property
    def expected_ns(self) -> int:
        """What usually comes true."""
        return self.ns_per_step_max if self.ns_per_step_expected is None else self.ns_per_step_expected

    @property
    def expected_ratio(self) -> float:
        """The same as a share of the step."""
        return self.ratio_max if self.ratio_expected is None else self.ratio_expected

    @property
    def stated_ns(self) -> int:
        """The figure that `kind` names: the bound, or the estimate."""
        return self.ns_per_step_max if self.kind == "bound" else self.expected_ns

    @property
    def stated_ratio(self) -> float:
        """The same as a share of the step."""
        return self.ratio_max if self.kind == "bound" else self.expected_ratio


class Calibrated(Document, frozen=True, kw_only=True):
    """What measured pairs say of the figures that a rule states, on a device or without one.

    `pairs` were measured, of which in `within` no more came than was stated (of an estimate: than the upper end of its range), or
    than noise makes of it. `reached_ratio` is the median of what came over what was stated.
    """

    rule: str
    pairs: int
    within: int
    reached_ratio: float
    on_device: bool = False

    @property
    def is_exceeded(self) -> bool:
        """Whether more than one in ten was exceeded."""
        return _EXCEEDED * (self.pairs - self.within) > self.pairs


class Tried(Document, frozen=True, kw_only=True):
    """What a change that a finding advises brought on this very program, by `advisor tune`.

    `measured_ratio` is the share of the step that went, `low_ratio` to `high_ratio` its 95 % interval. `pays_after_steps` are the
    steps after which a run is ahead that starts more slowly by it; None where it is from the first one on.
    """

    change: str
    verdict: TrialVerdict
    measured_ratio: float
    low_ratio: float
    high_ratio: float
    pays_after_steps: int | None = None


class SeenSteps(Document, frozen=True, kw_only=True):
    """In how many of the used steps the cause was seen; `noun` is what to call one, `recording` where the whole trace is one."""

    seen: int
    of: int
    noun: FindingUnit = "step"


class Location(Document, frozen=True):
    """A place in the user's own code: from a recorded Python stack, sampled lines, what a loader was made with, or the optimizer's.

    Args:
        file: Path relative to the project.
        line: The line that ran; None where only the function is known.
        function: Function name.
        begins: The line where the function begins, where that is known and the line that ran is not.
    """

    file: str
    line: int | None
    function: str | None
    begins: int | None = None

    @property
    def line_text(self) -> str:
        """`:88`; nothing where the line that ran is unknown."""
        return "" if self.line is None else f":{self.line}"

    @property
    def begins_text(self) -> str:
        """`, from line 80`, to stand behind a function; nothing where the line that ran is known."""
        return "" if self.line is not None or self.begins is None else f", from line {self.begins}"

    @property
    def jump_line(self) -> int | None:
        """The line to open an editor at, or to annotate: the one that ran, else where the function begins."""
        return self.line if self.line is not None else self.begins


class Advice(Document, frozen=True):
    """One thing to change.

    Args:
        language: What `code` is: a unified diff body, Python, a shell command, or prose.
        code: The change itself.
        note: When to use it, or what to watch; one or two sentences.
    """

    language: Literal["diff", "python", "shell", "text"]
    code: str
    note: str = ""


class FindingDocument(Document, frozen=True, kw_only=True):
    """One finding. `explained_by` names who stands for it on a card: more specific findings, or one with the same fix.

    `severity` follows the saving; where it is lower than that alone would make it, `lowered_from` says what that would be and
    `lowered_because` why.

    `accepted` is the reason why the team lives with it (advisor.toml); such a finding fails no gate.

    `calibrated` is what measured pairs say of its rule's figures, where there are some; bounds that were exceeded lower the
    confidence. `tried` is what `advisor tune` measured of it on this program.
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
    location: Location | None
    why: str
    caveats: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    fix: tuple[Advice, ...]
    verify: str
    references: tuple[str, ...]
    accepted: str | None = None
    lowered_from: SeverityName | None = None
    lowered_because: str | None = None
    calibrated: Calibrated | None = None
    tried: tuple[Tried, ...] = ()


class CheckDocument(Document, frozen=True, kw_only=True):
    """What became of one rule."""

    rule: str
    name: str
    title: str
    family: str
    state: StateName
    reason: str
