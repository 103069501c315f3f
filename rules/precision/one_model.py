"""Programs that run several models, one of them in 32 bits beside others in 16."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.arrays import BoolArray
from rules.precision.common import AMPERE, VOLTA

_CONVOLUTIONS, _PRODUCTS = "the convolutions", "the matrix products"


def of_kind(facts: Facts, kind: str) -> BoolArray:
    """Which kernels are of a kind of matrix work, shape (kernels,)."""
    rows: BoolArray = facts.kernels.matrix_work.convolution
    return rows if kind == _CONVOLUTIONS else ~rows


def kind_apart(facts: Facts, rows: BoolArray, max_short_ratio: float) -> str | None:
    """The kind of matrix work of which next to none is in 16 bits, where the other kind is, in a program that only runs its models.

    What one that trains leaves in 32 bits beside 16 it leaves so under autocast, op by op, and mostly on purpose.

    Args:
        facts: The measurements.
        rows: Matrix work on 32-bit floats, shape (kernels,).
        max_short_ratio: Share of a kind in 16 bits up to which none of it counts as such.
    """
    found = facts.kernels.named
    if not facts.model.infers:
        return None
    matrix = found.is_family("gemm", "conv", "attention") & ~found.depthwise
    for kind in (_CONVOLUTIONS, _PRODUCTS):
        mine = of_kind(facts, kind)
        if (rows & mine).any() and found.time_ns(rows & mine) >= (1 - max_short_ratio) * found.time_ns(matrix & mine):
            return kind
    return None


def of_one_model(facts: Facts, kind: str) -> tuple[Advice, ...]:
    """16 bits for the model that computes in 32."""
    bfloat16 = facts.device.kind == "rocm" or (facts.kernels.matrix_work.compute_major or VOLTA) >= AMPERE
    name = "bfloat16" if bfloat16 else "float16"
    return (
        Advice(
            "diff",
            f"+decoder = decoder.to(torch.{name})   # the model that holds {kind}, whatever it is called\n"
            f"-image = decoder(latents)\n+image = decoder(latents.to(torch.{name}))",
            "The program's other models have 16-bit weights already. "
            + (
                "Where this one was kept in 32 bits because it overflows in float16, as some decoders of images do: bfloat16 keeps "
                "the range of float32. Compare what it gives."
                if bfloat16
                else "Some decoders of images overflow in float16, and this card has no bfloat16 units: compare what it gives."
            ),
        ),
    )


# Nearly all of what is in 32 bits: autocast leaves some products of the model that is trained so, and mostly on purpose.
_MOSTLY = 0.9
FROZEN = "the forward passes without gradients"


def frozen_apart(facts: Facts, rows: BoolArray) -> bool:
    """Whether nearly all matrix work on 32-bit floats is of models that are only run beside one that is trained.

    Args:
        facts: The measurements.
        rows: Matrix work on 32-bit floats, shape (kernels,).
    """
    found, frozen = facts.kernels.named, facts.kernels.without_gradients
    if facts.model.infers or not rows.any() or not frozen:
        return False
    return found.time_ns(rows & found.beside(frozen)) >= _MOSTLY * found.time_ns(rows)


def of_frozen(facts: Facts) -> tuple[Advice, ...]:
    """16 bits for a model that is only run."""
    bfloat16 = facts.device.kind == "rocm" or (facts.kernels.matrix_work.compute_major or VOLTA) >= AMPERE
    name = "bfloat16" if bfloat16 else "float16"
    return (
        Advice(
            "diff",
            f'-with torch.no_grad():\n+with torch.no_grad(), torch.autocast("cuda", dtype=torch.{name}):\n'
            "     target = teacher(x)          # or a frozen encoder, a reference model, whatever it is called",
            "The model that is trained has 16 bits already. One that takes no gradients needs no loss scaling: its weights can be "
            f"in {name} for good (`teacher.to(torch.{name})`). Where its inputs come again, what it gives can be kept instead.",
        ),
    )
