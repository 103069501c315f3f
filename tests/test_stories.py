"""Published stories: what is documented of a trace is told, and nothing else.

`python tests/confusion.py` prints the share.
"""

from __future__ import annotations

import pytest

from stories.all_of_them import SILENT, STORIES
from stories.story import Story
from stories.twins import TWINS

# A kernel that is not launched leaves the microsecond to the next one as well, which is nobody's.
_GAPS_RATIO = 0.005


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_what_is_documented_of_a_story_is_told(story: Story) -> None:
    assert story.untrue == []
    assert bool(story.missing) is (story.name in SILENT)


@pytest.mark.parametrize(("slow", "fast", "rule"), TWINS, ids=lambda part: part)
def test_what_the_advised_change_brought_is_no_more_than_was_called_at_most(slow: str, fast: str, rule: str) -> None:
    before, after = (next(story for story in STORIES if story.name == name) for name in (slow, fast))
    lengths = [facts.steps.per_step(facts.steps.total_ns) for facts in (before.facts, after.facts)]
    brought = 1 - lengths[1] / lengths[0]
    (saving, *_) = [found.saving for found in before.analysis.findings if found.rule == rule]
    assert saving is not None
    assert brought <= saving.ratio_max + _GAPS_RATIO
    # Several times what came is no bound that helps anybody.
    assert saving.ratio_max <= 3 * brought


def test_stories_have_names_of_their_own_and_a_source() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES)
    assert {story.name for story in STORIES} >= set(SILENT)
    assert [story.name for story in STORIES if not story.source.startswith("https://")] == []
    # A story of which nothing is demanded could not fail.
    assert [story.name for story in STORIES if not (story.bound or story.told or story.never)] == []


def test_a_story_that_is_told_otherwise_is_wrong_and_one_that_is_not_told_silent() -> None:
    story = next(story for story in STORIES if story.name == "bound by memory")
    assert story.outcome == "right"
    parts = {"kind": story.kind, "source": story.source, "truth": story.truth, "make": story.make}
    assert Story("other verdict", bound=("input",), **parts).outcome == "wrong"
    assert Story("not to be found", never=("GR001",), **parts).outcome == "wrong"
    assert Story("not to be said", never=("~elementwise|pointwise",), **parts).outcome == "wrong"
    assert Story("not found", told=("DL001|DL002",), **parts).outcome == "silent"
    assert Story("not said", told=("~bucket_cap_mb",), **parts).outcome == "silent"
