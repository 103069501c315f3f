"""One promise held against its measurement, and what all of a rule's say together."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec

from analyzer.analysis import Calibrated
from analyzer.analysis.base import FigureName
from analyzer.estimates import most_ns

# A step, to take shares of.
_WHOLE = 10**9
# Less is promised by nobody, and what came of it as a share of it is no figure.
_LEAST_PROMISED = 1e-6
Source = Literal["zoo", "tune", "compare"]
# A file with pairs may come from anywhere; no change saves more than the step, or makes it a thousand times as long.
_Share = Annotated[float, msgspec.Meta(ge=-1_000, le=1)]
_Positive = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Code = Annotated[str, msgspec.Meta(max_length=20)]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A promise and its measurement, as shares of the step.

    Args:
        rule: Code.
        source: Where it was measured.
        name: The preset, or the change; no name of the user's.
        promised_ratio: What was stated.
        measured_ratio: What came.
        noise_ratio: Beyond what was stated by more than this it was exceeded.
        date: Day of the measurement, ISO 8601.
        kind: What kind of figure was stated.
        on_device: Whether the steps computed on a device.
    """

    rule: _Code
    source: Source
    name: str
    promised_ratio: _Positive
    measured_ratio: _Share
    noise_ratio: _Positive
    date: str
    kind: FigureName = "bound"
    on_device: bool = False

    @property
    def most_ratio(self) -> float:
        """The most that was stated: the bound, or the upper end of the range that is quoted beside an estimate."""
        if self.kind == "bound":
            return self.promised_ratio
        return most_ns(round(self.promised_ratio * _WHOLE), _WHOLE) / _WHOLE

    @property
    def is_exceeded(self) -> bool:
        """Whether more came than was stated, beyond the noise."""
        return self.measured_ratio > self.most_ratio + self.noise_ratio


def records(pairs: Iterable[Pair]) -> Iterator[Calibrated]:
    """What the pairs of each rule say, by code; those on a device and those without one apart."""
    by_rule: dict[tuple[str, bool], list[Pair]] = {}
    for pair in pairs:
        if pair.promised_ratio >= _LEAST_PROMISED:
            by_rule.setdefault((pair.rule, pair.on_device), []).append(pair)
    for (rule, on_device), found in sorted(by_rule.items()):
        yield Calibrated(
            rule=rule,
            pairs=len(found),
            within=sum(not pair.is_exceeded for pair in found),
            reached_ratio=statistics.median(pair.measured_ratio / pair.promised_ratio for pair in found),
            on_device=on_device,
        )
