"""Matrix work in single precision beside the tensor cores, and how we know."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import pick, pick_row
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.facts.kernels.number_formats import EIGHT_BITS, SHORT_FORMATS
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.columns import present
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.trace import Trace

# Ops that multiply matrices, or convolve.
MATRIX_OP = Pattern(
    r"aten::_*(?:mm|addmm|bmm|baddbmm|linear|matmul|addbmm|einsum|\w*convolution\w*|conv(?:_transpose)?[123]d"
    r"|scaled_dot_product\w*)$"
)
CONV_OP = Pattern(r"aten::\w*conv", re.IGNORECASE)
# As the profiler writes types of 16 bits and fewer.
_SHORT_TYPE = Pattern(r"(?:c10::)?(?:BFloat16|Half|Float8_\w+|signed char)$")
_SHAPES = msgspec.json.Decoder(list[list[int]])
# Types of arguments that are no tensors: lists of sizes, flags, absent ones.
_SCALARS = frozenset(
    ("", "Int", "Bool", "Double", "Scalar", "ScalarList", "GenericList", "TensorList", "None", "Device", "Layout")
)


class MatrixWork(msgspec.Struct, frozen=True):
    """GEMMs and convolutions of the used steps.

    Args:
        single: Kernels (rows of `Kernels.frame`) that compute in plain single precision, on AMD's matrix cores too, on NVIDIA's
            tensor cores never; shape (kernels,).
        tf32: Kernels whose 32-bit inputs tensor cores multiply as TF32; shape (kernels,).
        convolution: Kernels that belong to a convolution; shape (kernels,).
        by_types: Whether the formats of most of `single` and `tf32` come from recorded input types; else from kernel names alone.
        short_ratio: Share of all matrix time on tensor cores in 16 bits or fewer; 0 without matrix work.
        eight_bits_ratio: Share of it whose kernels' names say 8 bits or fewer; 0 without matrix work.
        unstated_ratio: Share of it in a format that neither a kernel's name nor an op's types tell; 0 without matrix work.
        matrix_ns: Device time of all matrix kernels.
        compute_major: Compute capability of the card; of the oldest card that could have run the kernels where the trace does not
            name it; None where nothing says so.
        card_known: Whether the trace names the card.
    """

    single: BoolArray
    tf32: BoolArray
    convolution: BoolArray
    by_types: bool
    short_ratio: float
    eight_bits_ratio: float
    unstated_ratio: float
    matrix_ns: int
    compute_major: int | None
    card_known: bool


def matrix_work(
    trace: Trace, device: DeviceFacts, host: HostFacts, kernels: Kernels, candidates: BoolArray
) -> MatrixWork:
    """Finds the matrix kernels and their number formats.

    Args:
        trace: The trace.
        device: Work of the devices.
        host: What the host's threads do.
        kernels: The kernels of the used steps.
        candidates: Kernels that a search tried: no work of the model; shape (kernels,).
    """
    found = kernels
    matrix = found.is_family(*MATRIX_FAMILIES) & ~candidates
    op = pick_row(host.ops.nearest(_named(host, MATRIX_OP)), found.frame["op"].to_numpy())
    types = trace.ops["input_types"]
    typed, as_float, as_short = ask_types(
        types, op, bool, lambda kinds: kinds[:1] == ["float"], lambda kinds: kinds and _SHORT_TYPE.match(kinds[0])
    )
    attention = found.is_family("attention")
    # An op given 16 bits multiplies in them, whatever its kernel is called.
    fast = matrix & (found.on_tensor_cores() | found.is_format("tf32", *SHORT_FORMATS) | (typed & as_short))
    # Matrix cores of AMD multiply floats as they are, and attention is fused on floats too: no 16-bit work, whatever its name.
    fast &= ~found.is_format("fp32")
    # Channel by channel there is no matrix to multiply, in whatever format.
    fast &= ~found.depthwise
    # A kernel on tensor cores that states no format, and whose op was given floats, can only be rounding them to TF32.
    unstated = ~present(found.frame["number_format"])
    tf32 = fast & (found.is_format("tf32") | (unstated & typed & as_float & ~attention))
    # A name that says nothing of tensor cores is believed only where the op is known to have been given floats.
    plain = (found.off_tensor_cores() | found.on_tensor_cores()) & found.is_format("fp32", "complex")
    # What a library's last resort takes follows from sizes and layout: nothing says that 16 bits bring a better kernel.
    single = matrix & ~attention & ~found.depthwise & ~found.last_resort & ~fast
    single &= np.where(typed, as_float, plain & ~found.is_format("complex"))
    known = fast | single | typed | ~unstated | found.on_tensor_cores() | found.off_tensor_cores()
    convolution = np.where(op == NONE, found.is_family("conv"), pick(_named(host, CONV_OP), op))
    matrix_ns = found.time_ns(matrix)
    major = _card_major(trace, device)
    return MatrixWork(
        single=single,
        tf32=tf32,
        convolution=convolution.astype(bool),
        by_types=found.time_ns((single | tf32) & typed) > found.time_ns((single | tf32) & ~typed),
        short_ratio=found.time_ns(fast & ~tf32 & ~found.is_format("fp64", "complex")) / matrix_ns if matrix_ns else 0.0,
        eight_bits_ratio=found.time_ns(matrix & found.is_format(*EIGHT_BITS)) / matrix_ns if matrix_ns else 0.0,
        unstated_ratio=found.time_ns(matrix & ~known) / matrix_ns if matrix_ns else 0.0,
        matrix_ns=matrix_ns,
        compute_major=found.min_compute_major if major is None else major,
        card_known=major is not None,
    )


def first_tensor_type(types: str) -> str | None:
    """The type of an op's first tensor argument, as the profiler writes it; None where there is none."""
    return next((kind for kind in decoded_list(types) if isinstance(kind, str) and kind not in _SCALARS), None)


def ask_types(
    types: pd.Series[Any], rows: Int64Array, *questions: Callable[[list[str]], object]
) -> tuple[BoolArray, ...]:
    """What each question says of the types of tensors among the inputs of some ops; no of one without an op. Shape of `rows`.

    Args:
        types: `input_types` of all ops.
        rows: Rows of ops; -1 for none.
        questions: Asked once per distinct text.
    """
    kinds = [_tensor_types(text) for text in distinct_texts(types)]
    code = np.append(codes_of(types), NONE)[rows]
    return tuple(np.array([*(bool(ask(one)) for one in kinds), False])[code] for ask in questions)


def decoded_list(text: str) -> list[object]:
    """The JSON list in a text; an empty one where it holds anything else."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def tensor_dims(dims: str) -> list[list[int]]:
    """The shapes of an op's arguments in order; an argument that is no tensor has an empty one."""
    try:
        # Most texts are nothing but shapes, which the decoder alone can tell.
        return _SHAPES.decode(dims)
    except (msgspec.DecodeError, RecursionError):
        return [_flat(item) for item in decoded_list(dims)]


def _flat(item: object) -> list[int]:
    """A list of whole numbers as it is; an empty one for anything else."""
    if not isinstance(item, list) or not all(isinstance(size, int) for size in item):
        return []
    return [int(size) for size in item] if bool in map(type, item) else item


def _named(host: HostFacts, pattern: Pattern[str]) -> BoolArray:
    return host.ops.named(lambda name: pattern.match(name) is not None)


def _card_major(trace: Trace, device: DeviceFacts) -> int | None:
    """Compute capability of the device that stands for the trace."""
    listed = trace.meta.devices
    number = device.main.device if device.main else 0
    named = [item for item in listed if item.get("id") == number] or listed
    major = named[0].get("computeMajor") if named else None
    return major if isinstance(major, int) else None


class Casts(msgspec.Struct, frozen=True):
    """Conversions between 32 and 16 bits in the used steps, the optimizer's left out.

    Args:
        rows: Kernels that convert; shape (kernels,).
        by_types: Whether input types prove most of them; else kernel names.
        short_formats: Whether anything here works in 16 bits at all.
    """

    rows: BoolArray
    by_types: bool
    short_formats: bool


def casts(trace: Trace, host: HostFacts, kernels: Kernels) -> Casts:
    """Finds conversions, by the types of the copy's two tensors, else by the kernel's name, as that of a generated one."""
    found = kernels
    at = found.frame["op"].to_numpy()
    below = host.ops.nearest(_named(host, _CAST_OP)) != NONE
    types = trace.ops["input_types"]
    typed, mixed = ask_types(types, at, lambda kinds: len(kinds) > 1, _converts)
    copies = found.is_family("copy", "elementwise") & pick(below, at)
    named = found.is_family("copy") & found.frame["cast"].to_numpy() & ~found.like(_OTHER_FORMATS) & pick(below, at)
    rows = (np.where(typed, copies & mixed, named) | found.like(_GENERATED)) & ~found.frame["in_optimizer"].to_numpy()
    short = found.is_format("fp16", "bf16").any() or any(
        "c10::Half" in text or "BFloat16" in text for text in distinct_texts(types)
    )
    return Casts(
        rows=rows.astype(bool),
        by_types=found.time_ns(rows & typed) > found.time_ns(rows & ~typed),
        short_formats=bool(short),
    )


def double_kernels(trace: Trace, kernels: Kernels) -> tuple[BoolArray, bool]:
    """Kernels on 64-bit floats; and whether input types prove most of them, else kernel names.

    A Python number that multiplies a float tensor is recorded as a `double` input too: only the first tensor counts, and only where
    the kernel's own name does not state another format.
    """
    found = kernels
    at = found.frame["op"].to_numpy()
    types = trace.ops["input_types"]
    (doubles,) = ask_types(types, at, lambda kinds: kinds[:1] == ["double"])
    named = found.is_format("fp64")
    rows = named | (doubles & ~present(found.frame["number_format"]))
    return rows, found.time_ns(rows & doubles) * 2 > found.time_ns(rows)


_CAST_OP = Pattern(r"aten::(?:to|_to_copy|float|half|bfloat16|type_as)$")
# Kernels of Inductor bear the names of what they fuse, in the order of the alphabet: these convert, and lay out at most.
_GENERATED = Pattern(
    r"triton_poi_fused__to_copy(?:_(?:_unsafe_view|permute|slice|squeeze|t|transpose|unsqueeze|view))*_\d+$"
)
# What states both formats in its name, as numbers of a mask do that become floats.
_OTHER_FORMATS = Pattern(r"converting_copy_kernel\w*<(?:(?!Half|BFloat16|Float8)[^()])*\(")
_SHORT_TYPES = frozenset(("c10::Half", "c10::BFloat16", "Half", "BFloat16"))


def _tensor_types(types: str) -> list[str]:
    """Types of an op's tensor arguments, in order."""
    return [kind for kind in decoded_list(types) if isinstance(kind, str) and kind not in _SCALARS]


def _converts(types: list[str]) -> bool:
    """Whether a copy's result and source are a 32-bit and a 16-bit float, either way round."""
    return len(types) > 1 and "float" in types[:2] and bool(_SHORT_TYPES & set(types[:2]))
