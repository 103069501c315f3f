"""Pointwise work that follows pointwise work on the same data: what a compiler would do in one pass over memory."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.names import POINTWISE_FAMILIES
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from analyzer.spans.open_spans import NONE
from analyzer.spans.stretches import stretches
from traces.patterns import Pattern
from traces.trace import Trace

_COMPILED = Pattern(r"Torch-Compiled Region|CompiledFunction|## Call CompiledFxGraph|CompiledFxGraph")


def is_compiled(name: str) -> bool:
    """Whether a span is a region that torch.compile made."""
    return _COMPILED.match(name) is not None


class Fusion(msgspec.Struct, frozen=True):
    """Pointwise kernels of the used steps, the optimizer's left out (its own rules judge those).

    Args:
        pointwise: Elementwise, copy, cat, reduce, softmax and norm kernels; shape (kernels,).
        chained: Those that directly follow, or are followed by, another one of the same shape on their stream in the same step;
            shape (kernels,).
        passing: Of each run all but the shortest, which stands for the one pass over the data that a fused kernel has to make;
            shape (kernels,).
        shorter: Of each run all but the longest, which may take its time for another reason than its data; shape (kernels,).
        shapes_known: Whether the shapes of most chained kernels were recorded; where they were not, only the order is known.
        compiled: Whether a compiler already fuses here: Triton kernels, or regions of torch.compile.
        regions: Whether regions of torch.compile show: Triton kernels alone may be written by hand, or of a model exported ahead.
        longest_chain: Kernels in the longest run.
    """

    pointwise: BoolArray
    chained: BoolArray
    passing: BoolArray
    shorter: BoolArray
    shapes_known: bool
    compiled: bool
    regions: bool
    longest_chain: int


def fusion(trace: Trace, kernels: Kernels, steps: Steps) -> Fusion:
    """Finds runs of pointwise kernels.

    A run ends with its step: what the next step computes is another call of the model, and no compiler fuses two of them.
    """
    found = kernels
    frame = found.frame
    pointwise = found.is_family(*POINTWISE_FAMILIES) & ~frame["in_optimizer"].to_numpy()
    if is_any(trace.annotations["kind"], "optimizer_step", "zero_grad").any():
        # Without its launch a kernel may as well be the optimizer's.
        pointwise &= present(frame["launch_start_ns"])
    size = _elements(trace, kernels)
    order = np.lexsort((frame["start_ns"].to_numpy(), frame["stream"].to_numpy()))
    stream, able, elements = frame["stream"].to_numpy()[order], pointwise[order], size[order]
    same = (elements[1:] == elements[:-1]) | (elements[1:] == NONE) | (elements[:-1] == NONE)
    step, name = _step(kernels, steps)[order], codes_of(frame["name"])[order]
    reduces = found.is_family("reduce")[order]
    # Twice the same in a row sums two tensors, as the norms of all gradients: the one's result is not the other's input.
    same &= ~(reduces[1:] & (name[1:] == name[:-1]))
    # So do concatenations in a row, as of keys and of values.
    joins = found.is_family("cat")[order]
    same &= ~(joins[1:] & joins[:-1])
    joined = able[1:] & able[:-1] & (stream[1:] == stream[:-1]) & same & (step[1:] == step[:-1])
    chained = np.zeros(len(frame), dtype=bool)
    chained[order[1:][joined]] = True
    chained[order[:-1][joined]] = True
    passing, shorter, dur = chained.copy(), chained.copy(), frame["dur_ns"].to_numpy()[order]
    passing[order[_shortest(joined, dur)]] = False
    shorter[order[_shortest(joined, -dur)]] = False
    names = [name for part in (trace.ops, trace.annotations) for name in distinct_texts(part["name"])]
    regions = any(map(is_compiled, names))
    return Fusion(
        pointwise=pointwise,
        chained=chained,
        passing=passing,
        shorter=shorter,
        shapes_known=found.time_ns(chained & (size != NONE)) * 2 > found.time_ns(chained),
        compiled=regions or any(name.startswith("triton_") for name in found.names["name"]),
        regions=regions,
        longest_chain=_longest_run(joined) + 1 if joined.any() else 0,
    )


def _elements(trace: Trace, kernels: Kernels) -> Int64Array:
    """Elements of the first tensor of each kernel's op; -1 where shapes are unknown. Decoded once per distinct shape."""
    dims = trace.ops["input_dims"]
    code = np.append(codes_of(dims), NONE)[kernels.frame["op"].to_numpy()]
    # Most ops are not the innermost around any kernel: their shapes are not looked at.
    asked, texts = np.zeros(len(dims.cat.categories) + 1, dtype=np.bool_), [*distinct_texts(dims), ""]
    asked[code] = True
    known = np.full(len(asked), NONE)
    for one in np.flatnonzero(asked[:-1]).tolist():
        known[one] = _first_size(texts[one])
    result: Int64Array = known[code]
    return result


def _first_size(dims: str) -> int:
    shape = next((shape for shape in tensor_dims(dims) if shape), None)
    # Sizes come from a file: a product that does not fit is no size.
    size = math.prod(shape) if shape else NONE
    return size if 0 <= size < 2**62 else NONE


def _step(kernels: Kernels, steps: Steps) -> Int64Array:
    """Which used step each kernel is of, by its launch; without one, by when it runs."""
    launched = kernels.frame["launch_start_ns"].to_numpy()
    known = ~np.isnan(launched)
    of_host = steps.of_host(np.where(known, launched, 0).astype(np.int64))
    return np.where(known, of_host, steps.of_device(kernels.frame["start_ns"].to_numpy()))


def _shortest(joined: BoolArray, dur_ns: Int64Array) -> Int64Array:
    """The shortest of each run of two and more, as positions.

    Args:
        joined: Whether each but the first belongs to the run of the one before it, shape (kernels - 1,).
        dur_ns: How long each takes, shape (kernels,).
    """
    if not joined.any():
        return np.empty(0, dtype=np.int64)
    run = np.concatenate([[0], np.cumsum(~joined)])
    first = np.flatnonzero(np.diff(run, prepend=-1))
    size = np.diff(np.append(first, len(run)))
    least = np.minimum.reduceat(dur_ns, first)
    # Of equally short ones the first.
    short = np.flatnonzero(dur_ns == np.repeat(least, size))
    found: Int64Array = short[np.flatnonzero(np.diff(run[short], prepend=-1))][size > 1]
    return found


def _longest_run(flags: BoolArray) -> int:
    """Length of the longest run of True."""
    first, end = stretches(flags)
    return int((end - first).max(initial=0))
