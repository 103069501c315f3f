"""Traces with shapes on devices whose peaks are known, and the documents made of them."""

from __future__ import annotations

from pathlib import Path

from analyzer.explain import Explained, analyse_with_facts
from building.builders import TraceBuilder

MATRIX = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1_SN"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>"


def layer(
    builder: TraceBuilder,
    at: float,
    *,
    sizes: tuple[int, int, int] = (4096, 4096, 4096),
    dur: float = 400,
    kind: str = "c10::BFloat16",
    name: str = MATRIX,
) -> None:
    """A product [M, K] x [K, N] and its kernel.

    Args:
        builder: Where it goes.
        at: When its op begins, us.
        sizes: M, K, N.
        dur: Of its kernel, us.
        kind: Type of its inputs.
        name: Of its kernel.
    """
    rows, depth, columns = sizes
    builder.op("aten::mm", at, 20, **{"Input Dims": [[rows, depth], [depth, columns]], "Input type": [kind] * 2})
    builder.launch(at + 5, kernel_start=at + 30, kernel_dur=dur, name=name, op=None)


def products(steps: int = 3, device: str | None = "rocm", dur: float = 400) -> TraceBuilder:
    """Steps of two products and an addition, on an MI300X where nothing else is asked for."""
    builder = TraceBuilder(device=device)
    for number in range(steps):
        at = number * 2_000
        builder.step(number, at, 1_900)
        layer(builder, at + 10, dur=dur)
        layer(builder, at + 500, sizes=(4096, 1024, 4096), dur=dur / 2)
        sizes = {"Input Dims": [[4096, 4096], [4096, 4096], []], "Input type": ["c10::BFloat16"] * 2 + ["Scalar"]}
        builder.op("aten::add", at + 900, 20, **sizes)
        builder.launch(at + 905, kernel_start=at + 930, kernel_dur=50, name=POINTWISE, op=None)
    return builder


def explained(builder: TraceBuilder, folder: Path) -> Explained:
    """The document of a built trace, with what it was made from."""
    return analyse_with_facts(builder.write(folder / "trace.json"))
