"""A finding's words, derived once for all displays."""

from itertools import pairwise

import msgspec

from analyzer.analysis import Location
from analyzer.page.findings.card import card_of
from analyzer.page.findings.places import own_file, own_line
from analyzer.page.step.lanes import boxes, cells
from analyzer.page.step.waterfall import by_size, parts
from showing import analyses


def card(**changes):
    base = analyses.example()
    return card_of(msgspec.structs.replace(base.cards[0], **changes), base)


def test_a_card_says_what_it_saves_where_and_whom_it_stands_for():
    shown = card()
    assert (shown.rule, shown.word, shown.mark) == ("DL002", "High", "▲")
    assert (shown.amount, shown.share, shown.worth) == ("142 ms a step", "34 %", "saves at most 142 ms a step")
    assert (shown.place, shown.where, shown.sure, shown.seen) == (
        "train.py:88", "train.py:88", "high confidence", "in 6 of 6 steps",
    )  # fmt: skip
    assert shown.explains == ("DL001",)
    assert shown.basis.startswith("Upper bound: ")


def test_who_shares_its_time_is_not_whom_it_explains():
    general = next(one for one in analyses.example().findings if one.explained_by)
    saving = msgspec.structs.replace(analyses.example().cards[0].saving, overlaps_with=(general.id, "SY001-02aa"))
    shown = card(saving=saving)
    assert (shown.explains, shown.shares) == (("DL001",), ("SY001",))


def test_a_function_without_a_line_names_both():
    shown = card(location=Location("train.py", None, "step", 80))
    assert shown.where == "step in train.py, from line 80"


def test_no_saving_is_no_amount():
    saving = msgspec.structs.replace(
        analyses.example().cards[0].saving, ns_per_step_max=0, ratio_max=0.0, ns_per_step_expected=None
    )
    shown = card(saving=saving)
    assert (shown.amount, shown.share, shown.basis, shown.worth) == ("", "", "", "no saving of its own")


def test_only_the_users_files_may_be_pointed_at():
    for file in (
        "lib/python3.11/site-packages/torch/nn/linear.py", "…/torch/x.py", "/usr/x.py", "~/x.py", "<string>",
        "../x.py", "C:\\x.py", "opt/lib/python3.11/json/decoder.py", "dist-packages/torch/optim.py",
    ):  # fmt: skip
        assert own_file(Location(file, 3, None)) is None
        assert own_line(Location(file, 3, None)) is None
    assert own_file(Location("./src/train.py", 3, None)) == "src/train.py"
    assert own_line(Location("src/train.py", None, "step", 80)) == 80
    assert own_line(Location("src/train.py", 0, None)) is None


def test_the_bar_adds_up_and_its_legend_leaves_out_what_nobody_sees():
    base = analyses.example()
    summary = base.summary
    tiny, *others = (one for one in summary.waterfall if one.ns > 0)
    tiny = msgspec.structs.replace(tiny, ns=1, ratio=1 / summary.window_ns)
    changed = msgspec.structs.replace(base, summary=msgspec.structs.replace(summary, waterfall=(tiny, *others)))
    assert len(parts(changed)) == len(by_size(changed)) + 1
    assert tiny.cause not in {part.cause for part in by_size(changed)}
    whole = sum(part.ns for part in parts(base)) * summary.used_steps
    assert round(whole) == sum(one.ns for one in summary.waterfall)


def test_cells_and_boxes_of_a_lane_cover_what_it_does():
    timeline = analyses.example().timeline
    for lane in timeline.lanes:
        drawn = cells(lane, timeline.dur_ns, 64)
        assert len(drawn) == 64
        assert {id(cell.span) for cell in drawn if cell.span} <= {id(span) for span in lane.spans}
        drawn_boxes = boxes(lane, timeline.dur_ns, 900.0, 1.0)
        for box, following in pairwise(drawn_boxes):
            assert 0 <= box.start < box.end <= following.start <= 900
