"""Why operators stay below their roofline, as far as their shapes tell it."""

from __future__ import annotations

import math

import msgspec

from analyzer.facts import Facts
from analyzer.hardware.call import Call, Shape, UnknownWorkError, Work, decode_call
from analyzer.hardware.datasheet import Limits
from analyzer.hardware.limits import device_peaks, multiprocessors_of
from analyzer.hardware.operators import Operator, operators
from analyzer.hardware.roofline import BRIEF_NS, Place, first_type, place
from analyzer.hardware.work import PRODUCTS
from analyzer.units import count

# Tensor cores load 16 bytes at once: 8 numbers of 16 bits (NVIDIA, Matrix Multiplication Background: tensor core requirements).
_WIDTH = 8
_SHORT_TYPES = ("Half", "BFloat16")
# TF32 comes as 32 bits: 4 at once.
_WIDTH_OF_FLOATS = 4
# The usual tile of a product, of which each multiprocessor computes one at a time (same source, tile quantization).
_TILE = 128
# A side of a quarter of a tile leaves most of it empty, and few operations for each byte.
_NARROW = 32
# Of two or three rounds the last may be nearly empty; of many it hardly matters.
_MOST_WAVES = 4
_FULL_RATIO = 0.8
# Flash attention is built for head dimensions in steps of 32 (flash_attn, `round_multiple(head_size, 32)`).
_HEAD = 32
_PADDED_RATIO = 1.15
_NAIVE = (
    "MIOpen computes it naively, its last resort: no other kernel of its fits the sizes, number format and layout",
)
_LEFT = {
    "aten::mm": 0, "aten::bmm": 0, "aten::_scaled_mm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::addmm_": 1,
    "aten::baddbmm_": 1, "aten::_addmm_activation": 1,
}  # fmt: skip


class Shortfall(msgspec.Struct, frozen=True):
    """An operator with products against its roofline.

    Args:
        number: Its place in `operators(facts).rows`.
        operator: The operator.
        place: Where it stands; its least time is known.
        reasons: Why it takes longer, in words; empty where its shapes do not tell.
        whole_ratio: `ratio` if what a causal mask leaves out had to be computed, too.
    """

    number: int
    operator: Operator
    place: Place
    reasons: tuple[str, ...]
    whole_ratio: float

    @property
    def padding_only(self) -> bool:
        """Whether sizes that are no multiple of what the units load are all that is told: the same work then fits other sizes.

        Of small, skinny or short products the same work stays as slow; only more work in each call uses the device better.
        """
        return bool(self.reasons) and all(reason.startswith("misaligned") for reason in self.reasons)

    @property
    def above_ns(self) -> float:
        """Time above the roofline, all calls."""
        return self.operator.device_ns - (self.place.least_ns or 0.0)

    @property
    def ratio(self) -> float:
        """The least time as a share of the time taken."""
        return (self.place.least_ns or 0.0) / max(self.operator.device_ns, 1)


def shortfalls(facts: Facts) -> tuple[Shortfall, ...]:
    """Operators with products and a roofline, the longest first."""
    return facts.once("hardware.shortfalls", lambda: _shortfalls(facts))


def _shortfalls(facts: Facts) -> tuple[Shortfall, ...]:
    limits = device_peaks(facts)[1]
    processors = multiprocessors_of(facts)
    resort = _of_last_resort(facts)
    found = []
    for number, one in enumerate(operators(facts).rows):
        at = place(one, limits)
        # Of empty inputs, an expert without tokens, there is nothing to multiply.
        if one.op in PRODUCTS and at.least_ns is not None and isinstance(one.work, Work) and one.work.flops:
            why = _NAIVE if number in resort else reasons(one, processors)
            found.append(Shortfall(number, one, at, why, _whole_ratio(one, at, limits)))
    return tuple(found)


def _of_last_resort(facts: Facts) -> frozenset[int]:
    """Which operators' kernels are a library's last resort, by their places: such a kernel is slow whatever the shapes."""
    if facts.device.main is None:
        return frozenset()
    mine = operators(facts).of_kernel[facts.kernels.named.last_resort]
    return frozenset(mine[mine >= 0].tolist())


def _whole_ratio(operator: Operator, at: Place, limits: Limits | None) -> float:
    least_ns = at.least_ns or 0.0
    if isinstance(operator.work, Work) and limits is not None and at.format is not None:
        least_ns = max(least_ns, limits.products_ns(operator.calls * operator.work.flops, at.format))
    return least_ns / max(operator.device_ns, 1)


def reasons(operator: Operator, multiprocessors: int | None) -> tuple[str, ...]:
    """Why it may take longer than its work needs.

    Args:
        operator: With products.
        multiprocessors: Of the device; None without one.
    """
    if not isinstance(operator.work, Work):
        return ()
    try:
        call = decode_call(operator.input_dims, operator.input_types)
        found = _of_shapes(operator, call, multiprocessors)
    except UnknownWorkError:
        return ()
    if multiprocessors is not None and operator.device_ns < BRIEF_NS * operator.calls:
        found.append("a call is over in less than 10 us: starting and ending is most of it")
    return tuple(found)


def _of_shapes(operator: Operator, call: Call, multiprocessors: int | None) -> list[str]:
    if operator.op in _LEFT:
        left = _LEFT[operator.op]
        return _product(call.tensor(left), call.tensor(left + 1), operator, multiprocessors)
    if operator.op == "aten::_grouped_mm":
        # How many rows each group has is not recorded.
        return []
    if "attention" in operator.op:
        return _attention(call, backward="backward" in operator.op)
    if "conv" in operator.op:
        return _convolution(call, operator, multiprocessors, backward="backward" in operator.op)
    # By a vector each number of a matrix is used once, whatever its shape.
    return []


def _product(left: Shape, right: Shape, operator: Operator, multiprocessors: int | None) -> list[str]:
    rows, depth, columns = left[-2], left[-1], right[-1]
    batch = math.prod(left[:-2])
    found = []
    odd = [size for size in (depth, columns) if size % _WIDTH]
    if odd and first_type(operator.input_types) in _SHORT_TYPES:
        found.append(f"misaligned: {_listed(odd)} not a multiple of {_WIDTH}")
    narrow = min(rows, depth, columns)
    if narrow <= _NARROW:
        found.append(f"skinny: one side of [{rows}, {depth}] x [{depth}, {columns}] is {narrow} long")
    return found + _tiling(batch, rows, columns, multiprocessors)


def _attention(call: Call, *, backward: bool) -> list[str]:
    width = call.tensor(1 if backward else 0)[-1]
    padded = math.ceil(width / _HEAD) * _HEAD
    return [f"a head dimension of {width} is padded to {padded}"] if padded >= _PADDED_RATIO * width else []


def _convolution(call: Call, operator: Operator, multiprocessors: int | None, *, backward: bool) -> list[str]:
    weight = call.tensor(2 if backward else 1)
    if weight[1] == 1 and weight[0] > 1:
        return ["each group has one channel: nothing to multiply in tiles"]
    width = {"float": _WIDTH_OF_FLOATS}.get(first_type(operator.input_types), _WIDTH)
    if multiprocessors is not None and weight[1] < width:
        return [f"few channels: {weight[1]} in each input, of {width} that are loaded at once"]
    odd = [size for size in weight[:2] if size % _WIDTH]
    if odd and first_type(operator.input_types) in _SHORT_TYPES:
        return [f"misaligned: {_listed(odd)} channels, not a multiple of {_WIDTH}"]
    if isinstance(operator.work, Work) and operator.work.dilation > 1 and max(weight[2:]) > 1:
        return [f"a dilation of {operator.work.dilation}: the places that it reads for one result lie apart"]
    # As a product: the places of the result by its channels.
    places = math.prod(call.tensor(0)) // weight[0] if backward else _places(operator, weight)
    return _tiling(1, places, weight[0], multiprocessors)


def _places(operator: Operator, weight: Shape) -> int:
    assert isinstance(operator.work, Work)
    return operator.work.flops // (2 * math.prod(weight))


def _tiling(batch: int, rows: int, columns: int, multiprocessors: int | None) -> list[str]:
    """What a device of so many multiprocessors makes of a result of [batch, rows, columns]."""
    if multiprocessors is None:
        return []
    tiles = batch * math.ceil(rows / _TILE) * math.ceil(columns / _TILE)
    waves = math.ceil(tiles / multiprocessors)
    if tiles < multiprocessors:
        return [f"small: {count(tiles, 'tile')} of {_TILE} x {_TILE} for {multiprocessors} multiprocessors"]
    if waves <= _MOST_WAVES and tiles < _FULL_RATIO * waves * multiprocessors:
        return [f"the last of {waves} rounds is partly empty: {tiles} tiles for {multiprocessors} multiprocessors"]
    return []


def _listed(sizes: list[int]) -> str:
    return " and ".join(str(size) for size in dict.fromkeys(sizes))
