"""DL009: a batch of four samples of 10 to 40 tokens, padded to 40, in steps that compute for 60 of 100 ms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.data_loading.padded_batches import RULE
from running.one_rule import judged, run

LENGTHS = (10, 20, 30, 40)


def world(
    *,
    lengths: Sequence[int] = LENGTHS,
    tokens: Sequence[int] = (160,) * 4,
    pads: bool = True,
    shapes: bool = True,
    masked: float | None = None,
    more: dict[str, object] | None = None,
) -> TraceBuilder:
    """Four steps.

    Args:
        lengths: Of the samples of each batch.
        tokens: What the embedding of each step gets.
        pads: Whether batches are padded in this process.
        shapes: Whether shapes were recorded.
        masked: Share of the places that the attention masks of the first batches leave out.
        more: What else the collector recorded.
    """
    builder = TraceBuilder(advisor={"masked_ratio": masked} | (more or {}) if masked is not None else None)
    for number, size in enumerate(tokens):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        known = {"Input Dims": [[[length, 8] for length in lengths], [], []]} if shapes else {}
        if pads:
            builder.op("aten::pad_sequence", at + 10, 50, **known)
        looked_up = {"Input Dims": [[1000, 64], [4, size // 4], []]} if shapes else {}
        builder.op("aten::embedding", at + 100, 50, **looked_up)
        builder.launch(at + 200, kernel_start=at + 300, kernel_dur=60_000)
    return builder


def test_fires_with_the_padded_share_of_computing():
    found = judged(RULE, world())
    assert found.finding.saving.kernel_ns == int(4 * 60_000_000 * 0.375)
    assert found.finding.why.startswith("38 % of 4 padded batches is padding")


def test_fires_with_what_masks_leave_out_where_no_shape_shows_it():
    found = judged(RULE, world(masked=0.375, pads=False, shapes=False))
    assert found.finding.saving.kernel_ns == int(4 * 60_000_000 * 0.375)
    assert found.finding.why.startswith("38 % of the places in the first batches are left out by their attention masks")
    assert "DataCollatorWithPadding(tokenizer)" in found.finding.fix[0].code


def _trained_by(data: str = "transformers.data", **more: object) -> dict[str, object]:
    used = {"imported": {"transformers": "5.0.0"}, "loop": ["transformers.trainer"], "data": [data]}
    return {"frameworks": used | more, "masked_beyond_ratio": 0.02}


@pytest.mark.parametrize(
    ("more", "said", "never"),
    [
        # No text reaches the end of its batch: they were padded before.
        ({"masked_beyond_ratio": 0.3}, "DataCollatorWithPadding", "packing"),
        # The longest of each batch does: a collator that pads to it is there already.
        ({"masked_beyond_ratio": 0.02}, "batch_sampler=batches", "DataCollatorWithPadding"),
        (_trained_by(), '+args = TrainingArguments(..., train_sampling_strategy="group_by_length")', "DataLoader("),
        (
            _trained_by("trl.trainer", arguments="SFTConfig"),
            "+args = SFTConfig(..., packing=True)",
            "DataCollatorWithPadding",
        ),
        # Its data set has pairs of texts, of which it says no length.
        (_trained_by("trl.trainer", arguments="RewardConfig"), "of pairs by the longest", "packing=True"),
    ],
)
def test_what_is_padded_already_to_the_longest_is_told_of_similar_lengths(
    more: dict[str, object], said: str, never: str
) -> None:
    codes = "\n".join(
        fix.code for fix in judged(RULE, world(masked=0.375, pads=False, shapes=False, more=more)).finding.fix
    )
    assert said in codes
    assert never not in codes


def test_all_that_lies_beyond_the_longest_text_usually_goes() -> None:
    def usual(beyond: float | None) -> int:
        more = {"masked_beyond_ratio": beyond}
        return judged(RULE, world(masked=0.375, pads=False, shapes=False, more=more)).finding.saving.usual_ns

    assert usual(None) == usual(0.0)
    assert usual(0.375) > 1.5 * usual(0.0)


@pytest.mark.parametrize(("masked", "state"), [(0.21, State.FIRED), (0.19, State.CLEAR), (2.0, State.CANNOT_TELL)])
def test_boundary_of_masks(masked, state):
    assert run(RULE, world(masked=masked, pads=False, shapes=False)).state is state


def test_what_was_padded_in_the_steps_goes_before_masks_of_the_first_batches():
    assert run(RULE, world(lengths=(61, 100), masked=0.9)).state is State.CLEAR


@pytest.mark.parametrize(("lengths", "state"), [((59, 100), State.FIRED), ((61, 100), State.CLEAR)])
def test_boundary_of_padding(lengths, state):
    # 20 % of 200 elements are 40.
    assert run(RULE, world(lengths=lengths)).state is state


def test_lengths_that_lie_apart_are_told_without_a_saving():
    found = judged(RULE, world(tokens=(160, 160, 80, 40), pads=False))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "40 to 160 tokens, 75 % apart" in found.finding.why


@pytest.mark.parametrize(("least", "state"), [(120, State.FIRED), (124, State.CLEAR)])
def test_boundary_of_lengths(least, state):
    assert run(RULE, world(tokens=(160, 160, 160, least), pads=False)).state is state


def test_cannot_tell_without_shapes():
    assert run(RULE, world(shapes=False)).state is State.CANNOT_TELL


@pytest.mark.parametrize(
    "dims", [[[]], [[[4], [-2]]], [[[4, 2]]], ["x"], [[["y"]]], [[], [], []], [[[0, 4], [0, 4]], []]]
)
def test_shapes_that_tell_no_lengths(dims):
    builder = world(pads=False)
    builder.op("aten::pad_sequence", 10, 50, **{"Input Dims": dims})
    builder.op("aten::embedding", 90, 5, **{"Input Dims": dims})
    assert Facts(builder.trace()).input.padding.padding_ratio is None


def written(
    lengths: Sequence[int] = LENGTHS, *, length: int = 100, looked_up: tuple[int, int] = (4, 100), rows: int = 4
) -> TraceBuilder:
    """Four steps whose batch a loop writes into `rows` rows of a tensor of this length; then an embedding looks one up."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        for row, taken in enumerate(lengths[:rows]):
            for place, (name, dims) in enumerate(
                (("aten::select", [4, length]), ("aten::slice", [length]), ("aten::copy_", [taken]))
            ):
                when = at + 10 + 10 * (3 * row + place)
                builder.op(name, when, 6, **{"Input Dims": [dims, dims if name == "aten::copy_" else []]})
                if name != "aten::copy_":
                    builder.op("aten::as_strided", when + 1, 2)
        builder.op("aten::embedding", at + 200, 50, **{"Input Dims": [[1000, 64], list(looked_up), []]})
        builder.launch(at + 300, kernel_start=at + 400, kernel_dur=60_000)
    return builder


@pytest.mark.parametrize(
    ("lengths", "length", "share", "fixed"),
    [(LENGTHS, 100, "75 %", True), (LENGTHS, 40, "38 %", False), ((90, 100, 10, 10), 100, "48 %", False)],
    ids=["to a length for all", "to the longest", "to what is the longest"],
)
def test_rows_that_are_written_tell_how_much_is_padding(
    lengths: tuple[int, ...], length: int, share: str, fixed: bool
) -> None:
    found = judged(RULE, written(lengths, length=length, looked_up=(4, length)))
    assert found.finding.why.startswith(f"{share} of 4 padded batches is padding")
    assert any("MAX_LENGTH" in advice.code for advice in found.finding.fix) is fixed
    padding = 1 - sum(lengths) / (4 * length)
    beyond = 1 - max(lengths) / length
    # Kernels take 60 of the 100 ms, and so much of what gets shorter reaches the clock.
    usual = 0.6 * 4 * 60_000_000 * (beyond + (padding - beyond) / 2)
    assert found.finding.saving.usual_ns == pytest.approx(usual, rel=0.01)


@pytest.mark.parametrize(
    "builder", [written(looked_up=(4, 90)), written(rows=3)], ids=["no embedding of that shape", "no whole batch"]
)
def test_rows_of_another_tensor_are_no_batch(builder: TraceBuilder) -> None:
    assert run(RULE, builder).state is State.CLEAR
