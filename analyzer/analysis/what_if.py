"""What any choice of fixes gives together: the time that findings claim, cut where their claims begin and end."""

from __future__ import annotations

from analyzer.analysis.base import Document, FigureName
from analyzer.analysis.summary import CauseTime
from analyzer.cause_names import Cause


class ClaimedTime(Document, frozen=True, kw_only=True):
    """Time of one cause that the same findings claim: `ns` over all used steps, gone where one of `by` is fixed.

    `by` holds places in `WhatIf.ids`. `cause` is None where the time lies outside what is divided.
    """

    by: tuple[int, ...]
    cause: Cause | None
    ns: int


class Shortening(Document, frozen=True, kw_only=True):
    """By what share, 0..1, the fix of finding `by` shortens kernels; of fixes of one `way` the largest share counts."""

    by: int
    way: int
    ratio: float


class ShorterTime(Document, frozen=True, kw_only=True):
    """Time of one cause in which kernels run that the same fixes shorten: `ns` over all used steps."""

    parts: tuple[Shortening, ...]
    cause: Cause | None
    ns: int


class UnplacedTime(Document, frozen=True, kw_only=True):
    """Nanoseconds over all used steps by which the fix of finding `by` shortens kernels that are not named."""

    by: int
    ns: float


class Together(Document, frozen=True, kw_only=True):
    """All that the findings take from the step, each nanosecond with those that claim it.

    `shrinking` names the causes in which kernels lie that can get shorter: a fix takes no more from them than they own.
    """

    claims: tuple[ClaimedTime, ...]
    shorter: tuple[ShorterTime, ...]
    unplaced: tuple[UnplacedTime, ...]
    shrinking: tuple[Cause, ...]


class WhatIf(Document, frozen=True, kw_only=True):
    """What a choice of findings gives. `ids` are those with a saving inside the step, best first.

    `stated` holds what the findings state, `likely` what usually comes true of it; None where that is the same.
    """

    ids: tuple[str, ...]
    kinds: tuple[FigureName, ...]
    stated: Together
    likely: Together | None = None


class Assumed(Document, frozen=True, kw_only=True):
    """The mean step with the findings `ids` fixed, the rest staying as it is.

    `step_ns` is what is left of it, at least where `kind` is `bound`, about that where it is `estimate`; `likely_step_ns` where
    what usually comes true does. `waterfall` divides the used steps that are left, `window_ns` together; `saved_ratio` is the
    share of the step that goes. `without_place` names findings whose saving lies between the steps or in none, and adds nothing.
    """

    ids: tuple[str, ...]
    rules: tuple[str, ...]
    kind: FigureName
    step_ns: int
    likely_step_ns: int
    saved_ratio: float
    window_ns: int
    waterfall: tuple[CauseTime, ...]
    without_place: tuple[str, ...] = ()
