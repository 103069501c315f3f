"""One call of an op, as far as its recorded inputs say what it has to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import msgspec

Shape = tuple[int, ...]

# Bytes of an element by the type's name as the profiler writes it, without `c10::`.
_ELEMENT_BYTES = {
    "bool": 1, "unsigned char": 1, "signed char": 1, "char": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1,
    "Float8_e5m2fnuz": 1, "Float4_e2m1fn_x2": 1,
    "Half": 2, "BFloat16": 2, "short": 2, "short int": 2, "float": 4, "int": 4, "double": 8, "long": 8,
    "long int": 8, "complex<float>": 8, "complex<double>": 16,
}  # fmt: skip


class UnknownWorkError(Exception):
    """The recorded inputs do not say what an op has to do."""


class Work(msgspec.Struct, frozen=True):
    """What one call has to do at least.

    Args:
        flops: Floating-point operations of products as `torch.utils.flop_counter` counts them: two for each multiplication and
            addition, the upper bound where a mask leaves some out; 0 for ops without products.
        bytes: Inputs read once and outputs written once; None where their types are not recorded.
        masked: Those of `flops` that a recorded causal mask leaves out.
        dilation: How far apart the places lie that a convolution reads for one result.
    """

    flops: int
    bytes: int | None
    masked: int = 0
    dilation: int = 1

    @property
    def needed(self) -> int:
        """Operations that have to be done: a fused kernel passes over what a causal mask leaves out."""
        return self.flops - self.masked


class Call(msgspec.Struct, frozen=True):
    """The recorded inputs of a call, one entry to an argument of the op.

    Args:
        shapes: Shapes; empty for a number, a list and an argument left out.
        types: Types of elements as recorded.
        values: Numbers and lists as text; empty where they are not recorded.
        parts: Shapes of the tensors of an argument that is a list of tensors, by its place.
    """

    shapes: tuple[Shape, ...]
    types: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    parts: dict[int, tuple[Shape, ...]] = {}

    def tensor(self, place: int, dims: int | None = None) -> Shape:
        """The shape of the argument at a place.

        Args:
            place: From 0.
            dims: How many dimensions it must have; None for any but 0.

        Raises:
            UnknownWorkError: It has another number of dimensions, or is not recorded.
        """
        shape = self.shapes[place] if place < len(self.shapes) else ()
        if not shape or (dims is not None and len(shape) != dims):
            what = f"is no tensor of {dims} dimensions" if shape else "has no recorded shape"
            raise UnknownWorkError(f"input {place} {what}")
        return shape

    def value(self, place: int) -> object:
        """The number, truth value or list at a place.

        Raises:
            UnknownWorkError: It is not recorded.
        """
        text = self.values[place] if place < len(self.values) else ""
        try:
            return msgspec.json.decode(text.replace("True", "true").replace("False", "false"))
        except msgspec.DecodeError as error:
            raise UnknownWorkError(f"the value of input {place} is not recorded") from error

    def integers(self, place: int, length: int) -> tuple[int, ...]:
        """The list of whole numbers at a place; one number stands for as many of it as there are dimensions.

        Raises:
            UnknownWorkError: It is not recorded, or of another length.
        """
        value = self.value(place)
        found = value if isinstance(value, list) else [value]
        if len(found) == 1:
            found *= length
        if len(found) != length or not all(type(item) is int for item in found):
            raise UnknownWorkError(f"input {place} is no list of {length} whole numbers")
        return tuple(found)

    def flags(self, place: int) -> tuple[bool, ...]:
        """The list of truth values at a place.

        Raises:
            UnknownWorkError: It is not recorded.
        """
        value = self.value(place)
        if not isinstance(value, list) or not all(type(item) is bool for item in value):
            raise UnknownWorkError(f"input {place} is no list of truth values")
        return tuple(value)

    def element_bytes(self, place: int) -> int | None:
        """Bytes of one element of the argument at a place; None where its type is not known."""
        kind = self.types[place] if place < len(self.types) else ""
        return _ELEMENT_BYTES.get(kind.removeprefix("c10::"))

    def size_bytes(self, place: int) -> int | None:
        """Bytes of the tensor at a place; 0 for one left out, None where its type is not known."""
        shape = self.shapes[place] if place < len(self.shapes) else ()
        if not shape:
            return 0
        element = self.element_bytes(place)
        return None if element is None else math.prod(shape) * element


Formula = Callable[[Call], Work]


def total(*sizes: int | None) -> int | None:
    """The sum; None where one of them is not known."""
    return None if None in sizes else sum(size for size in sizes if size is not None)


def filled(call: Call, shape: Shape, like: int) -> int | None:
    """Bytes of a result of a shape with elements as those of the argument at a place; None where their type is not known."""
    element = call.element_bytes(like)
    return None if element is None else math.prod(shape) * element


def decode_call(dims: str, types: str = "", values: str = "") -> Call:
    """The call that an op's recorded texts describe.

    Args:
        dims: `Input Dims`, JSON.
        types: `Input type`, JSON; empty where it is not recorded.
        values: `Concrete Inputs`, JSON; likewise.

    Raises:
        UnknownWorkError: The texts are no lists.
    """
    try:
        # Most texts are nothing but shapes and words, which the decoder alone can tell.
        return Call(_SHAPES.decode(dims), _WORDS.decode(types or "[]"), _WORDS.decode(values or "[]"))
    except (msgspec.DecodeError, RecursionError):
        shapes = _list(dims)
    kinds, stated = _list(types or "[]"), _list(values or "[]")
    return Call(
        shapes=tuple(_shape(one) or () for one in shapes),
        types=tuple(str(kind) for kind in kinds),
        values=tuple(str(value) for value in stated),
        parts={place: found for place, one in enumerate(shapes) if (found := _parts(one)) is not None},
    )


_SHAPES = msgspec.json.Decoder(tuple[tuple[Annotated[int, msgspec.Meta(ge=0)], ...], ...])
_WORDS = msgspec.json.Decoder(tuple[str, ...])


def _list(text: str) -> list[object]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnknownWorkError("the recorded inputs are no JSON") from error
    if not isinstance(value, list):
        raise UnknownWorkError("the recorded inputs are no list")
    return value


def _shape(value: object) -> Shape | None:
    if not isinstance(value, list) or not all(type(size) is int and size >= 0 for size in value):
        return None
    return tuple(value)


def _parts(value: object) -> tuple[Shape, ...] | None:
    if not isinstance(value, list) or not value or not all(isinstance(one, list) for one in value):
        return None
    shapes = [_shape(one) for one in value]
    return tuple(one for one in shapes if one is not None) if None not in shapes else None
