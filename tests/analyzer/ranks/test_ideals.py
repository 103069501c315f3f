"""Which of the jobs that were played again are worth telling."""

from __future__ import annotations

from analyzer.ranks.waiting.ideals import worth
from analyzer.ranks.waiting.late import what_if_saved


def test_what_saves_next_to_nothing_is_not_told() -> None:
    played = [
        what_if_saved(name, "all ranks", 300_000_000, saved)
        for name, saved in (("91 us", 91_000), ("nothing", 0), ("longer", -5_000_000), ("3 ms", 3e6), ("30 ms", 30e6))
    ]
    assert [one.ideal for one in worth(played, at_most=True)] == ["30 ms", "3 ms"]
    assert all(one.at_most for one in worth(played, at_most=True))
