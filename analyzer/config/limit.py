"""One limit of a gate: `step_ns<=+3%`. How much a measure may grow, as a share of the step before."""

from __future__ import annotations

from typing import get_args

import msgspec

from analyzer.cause_names import Cause
from traces.patterns import Pattern

STEP = "step_ns"
# A part of the step is judged by its growth as a share of the step before: a cause that doubles from 1 % is no regression of 100 %.
CAUSE_SUFFIX = "_ns"
KNOWN = (STEP, *sorted(cause + CAUSE_SUFFIX for cause in get_args(Cause)))
_LINE = Pattern(r"^(?P<what>[a-z_]+)\s*<=\s*\+?(?P<limit>\d+(?:\.\d+)?)\s*%$")


class Limit(msgspec.Struct, frozen=True):
    """How much one measure may grow.

    Args:
        what: `step_ns`, or a cause of the waterfall with the suffix `_ns`.
        ratio: Allowed growth as a share of the step before.
    """

    what: str
    ratio: float

    def __str__(self) -> str:
        return f"{self.what}<=+{self.ratio * 100:g}%"


def limit_of(text: str) -> Limit | None:
    """The limit a text states; None where it states none."""
    match = _LINE.match(text.strip())
    return Limit(match["what"], float(match["limit"]) / 100) if match and match["what"] in KNOWN else None
