"""A process group, as a rank's trace tells of it."""

from __future__ import annotations

from analyzer.ranks.summary_part import Part, Whole


class GroupPart(Part, frozen=True, kw_only=True, gc=False):
    """A process group that the rank is in.

    `name` is torch's name of it and `description` what the program says it is for. `ranks` are its members, empty where the trace
    does not say; `size` is their number.
    """

    name: str | None
    description: str | None = None
    ranks: tuple[Whole, ...] = ()
    size: Whole | None = None

    @property
    def told_by(self) -> tuple[str | None, tuple[int, ...]]:
        """Its name and its members in order, by which it is the same in the summaries of other ranks."""
        return self.name, tuple(sorted(self.ranks))
