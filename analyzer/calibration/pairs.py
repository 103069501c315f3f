"""One promise held against its measurement, and what all of a rule's say together."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec

Source = Literal["zoo", "tune"]
# A file with pairs may come from anywhere; no change saves more than the step.
_Share = Annotated[float, msgspec.Meta(le=1)]
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
        noise_ratio: Beyond `promised_ratio` by more than this the promise was exceeded.
        date: Day of the measurement, ISO 8601.
    """

    rule: _Code
    source: Source
    name: str
    promised_ratio: _Positive
    measured_ratio: _Share
    noise_ratio: _Positive
    date: str

    @property
    def is_exceeded(self) -> bool:
        """Whether more came than was stated, beyond the noise."""
        return self.measured_ratio > self.promised_ratio + self.noise_ratio


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the pairs of one rule say.

    Args:
        rule: Code.
        pairs: How many there are.
        within: How many stayed within what was stated, or within the noise of it.
        reached_ratio: Median of realised over promised.
    """

    rule: str
    pairs: int
    within: int
    reached_ratio: float


def records(pairs: Iterable[Pair]) -> Iterator[Record]:
    """A record for each rule, by code."""
    by_rule: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.promised_ratio > 0:
            by_rule.setdefault(pair.rule, []).append(pair)
    for rule, found in sorted(by_rule.items()):
        yield Record(
            rule=rule,
            pairs=len(found),
            within=sum(not pair.is_exceeded for pair in found),
            reached_ratio=statistics.median(pair.measured_ratio / pair.promised_ratio for pair in found),
        )
