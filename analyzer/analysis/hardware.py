"""How far the operators are from what the device can do, as the document says it."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document

PeakSource = Literal["datasheet", "kernel-names", "calibrated", "unknown"]
Side = Literal["compute", "memory"]


class Peaks(Document, frozen=True, kw_only=True):
    """What the device can do at most, for dense matrices.

    Args:
        name: The device as the trace names it, or those that its kernels were built for; empty where neither is told.
        source: Where the figures are from; `kernel-names`, of the fastest device that the kernels were built for.
        document: The document they were read in; None where there is none.
        words: How it states them.
        flops_per_s: By number format (fp64, fp32, tf32, fp16, bf16, fp8).
        bytes_per_s: Of its memory; None where it is unknown.
    """

    name: str
    source: PeakSource
    document: str | None
    words: str | None
    flops_per_s: dict[str, float]
    bytes_per_s: float | None


class OperatorWork(Document, frozen=True, kw_only=True):
    """All calls of an op with the same inputs in the used steps; totals, not means.

    Args:
        op: Name.
        input_dims: Recorded shapes, JSON.
        input_types: Recorded types, JSON.
        calls: How many.
        recomputed_calls: How many of them compute again what was computed before, to save memory.
        kernel_ns: Their kernels' durations; of the calls themselves where no device was recorded.
        flops: Of products, as `torch.utils.flop_counter` counts them; None where it cannot be told.
        masked_flops: Those of `flops` that a recorded causal mask leaves out: they count in no rate and in no share.
        bytes: Inputs and outputs once; None where it cannot be told.
        flops_per_s: Achieved.
        bytes_per_s: Achieved.
        format: Number format whose peak it is compared with; None where it cannot be told.
        peak_ratio: The least time that its side of the roofline allows, as a share of `kernel_ns`; None where it cannot be told.
        side: Which peak limits it.
        above_roofline_ns: What `kernel_ns` is longer than that least time: no more can be saved.
        shortfall: Why it stays below its roofline, as far as its shapes tell it; empty where they do not, or it has none.
        reason: Why a figure is None; empty where none is.
    """

    op: str
    input_dims: str
    input_types: str
    calls: int
    recomputed_calls: int
    kernel_ns: int
    flops: int | None
    masked_flops: int
    bytes: int | None
    flops_per_s: float | None
    bytes_per_s: float | None
    format: str | None
    peak_ratio: float | None
    side: Side | None
    above_roofline_ns: int | None
    shortfall: tuple[str, ...]
    reason: str


class OtherOp(Document, frozen=True, kw_only=True):
    """An op whose work is not known by a formula; total over the used steps.

    Args:
        op: Name.
        kernel_ns: Durations of the kernels it launched itself; its own outside the ops it calls where no device was recorded.
    """

    op: str
    kernel_ns: int


class Ceiling(Document, frozen=True, kw_only=True):
    """How long a step would be if one thing were perfect and the rest as recorded; None where it cannot be told, with a reason."""

    name: Literal["overlap", "recomputation", "roofline"]
    step_ns: int | None
    reason: str


class CounterRow(Document, frozen=True, kw_only=True):
    """A counter of a device while it was busy in the used steps.

    Args:
        name: Without its unit.
        unit: As recorded; empty where none is.
        device: Device number.
        samples: How many.
        min: In the unit, as the next two.
        median: Of the samples.
        max: Likewise.
    """

    name: str
    unit: str
    device: int
    samples: int
    min: float
    median: float
    max: float


class ModuleRow(Document, frozen=True, kw_only=True):
    """A module of the program in the used steps, with those it calls; totals, not means.

    Args:
        path: Names from the outermost module to this one.
        calls: Of its forward pass.
        forward_ns: Host time of its calls.
        backward_ns: Host time of its backward pass, and of what is computed again in it.
        self_ns: Host time of both outside the modules it calls.
        kernel_ns: Device time of both; None where no device was recorded, as the next two.
        backward_kernel_ns: Device time of the backward pass.
        self_kernel_ns: Device time of both outside the modules it calls.
    """

    path: tuple[str, ...]
    calls: int
    forward_ns: int
    backward_ns: int
    self_ns: int
    kernel_ns: int | None
    backward_kernel_ns: int | None
    self_kernel_ns: int | None


class Hardware(Document, frozen=True, kw_only=True):
    """How far the operators are from what the device can do.

    Args:
        peaks: Of the device.
        operators: The longest first.
        operators_left_out: How many more there are.
        others: Ops without a formula, the longest first.
        known_ratio: Share of all kernel time in operators whose work is known; None where nothing ran.
        hfu_ratio: Hardware FLOPs utilisation: products, recomputed ones too, at their peaks as a share of the used steps;
            without what a recorded causal mask leaves out, half of which many count as well.
        mfu_ratio: Model FLOPs utilisation: the same without recomputed ones.
        utilisation_reason: Why one of the two is None; empty where none is.
        ceilings: What perfection would bring.
        recomputed_ratio: Share of the used steps in which the device computes again what it computed before; None where it
            cannot be told.
        modules: A module before those it calls, in the order of their first calls.
        modules_left_out: How many more there are; they take the least time.
        modules_source: Whether they are calls of `nn.Module` or ranges of the program's author; None where there are none.
        counters: What was sampled of the devices.
        reason: Why there are no operators; empty where there are.
    """

    peaks: Peaks
    operators: tuple[OperatorWork, ...]
    operators_left_out: int
    others: tuple[OtherOp, ...]
    known_ratio: float | None
    hfu_ratio: float | None
    mfu_ratio: float | None
    utilisation_reason: str
    ceilings: tuple[Ceiling, ...]
    recomputed_ratio: float | None
    modules: tuple[ModuleRow, ...]
    modules_left_out: int
    modules_source: Literal["modules", "ranges"] | None
    counters: tuple[CounterRow, ...]
    reason: str
