"""What an op computes on the host just before it is sent is no loader's batch: XF001 and XF002 say so, and advise otherwise."""

from __future__ import annotations

import pytest

from analyzer.rule import Rule
from building.builders import TraceBuilder
from building.clocked import Clocked
from rules.transfer.exposed_input_copies import RULE as EXPOSED
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged
from stories.models import layer, layers_back

STEP = 20_000.0


def world(
    *,
    computes: float = 6_000,
    launches: bool = False,
    loading: bool = False,
    op: str = "aten::randn",
    batch: bool = False,
) -> TraceBuilder:
    """An op works on the host for so long, or launches a kernel as well, or does so in the loader; then 8 MiB are sent.

    Behind them a pinned `batch` of 32 MiB may be sent.
    """
    builder = TraceBuilder()
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        if loading:
            builder.loader(at, computes + 20)
        builder.op(op, at + 5, computes)
        builder.op("aten::normal_", at + 10, computes - 20)
        if launches:
            builder.launch(at + 20, kernel_start=at + 30, kernel_dur=50, op=None)
        sent = at + computes + 40
        builder.op("aten::to", sent, 2_000)
        builder.op("aten::_to_copy", sent + 2, 1_990)
        builder.copy("HtoD", sent + 5, 1_980, start=sent + 10, dur=1_970, size=8 << 20)
        begin = sent + 2_005
        if batch:
            builder.copy("HtoD", begin, 6, start=begin + 10, dur=1_500, size=32 << 20, pinned=True)
            begin += 1_500
        builder.launch(begin, kernel_start=begin + 10, kernel_dur=at + STEP - begin - 10, name="gemm", op="aten::mm")
    return builder


@pytest.mark.parametrize("rule", [PAGEABLE, EXPOSED], ids=["XF001", "XF002"])
def test_what_an_op_computes_on_the_host_is_told(rule: object) -> None:
    finding = judged(rule, world()).finding  # type: ignore[arg-type]
    assert "computed on the host just before, by `aten::randn`" in finding.why
    assert "`aten::randn`" in finding.fix[0].code
    assert not any("loader" in fix.code.lower() for fix in finding.fix)


def test_beside_a_larger_batch_it_is_what_comes_from_unpinned_memory() -> None:
    of_unpinned, of_all = (judged(rule, world(batch=True)).finding for rule in (PAGEABLE, EXPOSED))
    assert "computed on the host just before, by `aten::randn`" in of_unpinned.why
    assert not any("loader" in fix.code.lower() for fix in of_unpinned.fix)
    assert "computed on the host" not in of_all.why


def taking_turns(*, op: str | None) -> Clocked:
    """Each of twelve layers is sent 4 MiB, which an op, or nothing, worked on just before."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(12):
            layer(world, 0.1)
            if op is not None:
                world.host_op(op, 1_500)
            world.copied("HtoD", 4 << 20)
        layers_back(world, 12, 0.2)
    return world


@pytest.mark.parametrize(("op", "made"), [("aten::bernoulli", True), (None, False), ("aten::copy_", False)])
def test_what_is_made_anew_for_each_layer_is_nothing_that_is_kept_on_the_host(op: str | None, *, made: bool) -> None:
    for rule in (PAGEABLE, EXPOSED):
        finding = judged(rule, taking_turns(op=op)).finding
        assert ("computed on the host just before" in finding.why, "cpu_offload" in finding.fix[0].code) == (
            made,
            not made,
        )


def test_what_is_converted_on_the_host_is_sent_as_it_is() -> None:
    finding = judged(PAGEABLE, world(op="aten::to")).finding
    assert "converted on the host just before" in finding.why
    assert "x.to(device, non_blocking=True).float()" in finding.fix[0].code


@pytest.mark.parametrize(
    "how",
    [{"computes": 250}, {"launches": True}, {"loading": True}, {"op": "aten::pin_memory"}],
    ids=["an instant", "it launches", "in the loader", "it is pinned"],
)
def test_what_follows_anything_else_may_be_a_batch(how: dict[str, object]) -> None:
    finding = judged(PAGEABLE, world(**how)).finding  # type: ignore[arg-type]
    assert "computed on the host" not in finding.why
    assert any("pin_memory=True" in fix.code for fix in finding.fix)


def in_the_loop(op: str, *, sent_before: bool = False) -> Clocked:
    """A batch of workers, an op of 4 ms on the host, and 37 MB that are sent; before the op something else may be sent."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(80, workers=8)
        if sent_before:
            world.copied("HtoD", 32 << 20, pinned=True)
        world.host_op(op, 4_000)
        world.copied("HtoD", 37 << 20)
        for _ in range(4):
            layer(world, 0.5)
        layers_back(world, 4, 1)
    return world


@pytest.mark.parametrize("rule", [PAGEABLE, EXPOSED], ids=["XF001", "XF002"])
@pytest.mark.parametrize(
    ("op", "sent_before", "batch"),
    [
        ("aten::div", False, True),
        ("aten::clamp", False, True),
        ("aten::randn", False, False),
        ("aten::div", True, False),
    ],
)
def test_a_loaders_batch_that_the_loop_changes_is_still_the_loaders(
    rule: Rule, op: str, *, sent_before: bool, batch: bool
) -> None:
    """It has to travel, whoever changes it; noise, and what is computed behind the batch's own copy, need not."""
    finding = judged(rule, in_the_loop(op, sent_before=sent_before)).finding
    assert ("the loader's batch, prepared in the loop" in finding.why) is batch
    assert any("as the loader gives it" in fix.code for fix in finding.fix) is batch
    assert any("sends nothing" in fix.code for fix in finding.fix) is not batch
