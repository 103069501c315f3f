"""Kernels' names short enough for a column: `elementwise add<float>` for 300 letters of C++.

What is cut are namespaces, arguments and sizes of blocks. Libraries' names without templates stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from analyzer.page.words import mangled
from traces.patterns import Pattern

# Kernels that run a functor over tensors: what they do stands in their first argument that is no number.
_RUNNERS = {
    "vectorized_elementwise_kernel": "elementwise",
    "unrolled_elementwise_kernel": "elementwise",
    "legacy_elementwise_kernel": "elementwise",
    "elementwise_kernel": "elementwise",
    "elementwise_kernel_manual_unroll": "elementwise",
    "elementwise_kernel_with_index": "elementwise",
    "vectorized_templated_elementwise_kernel": "elementwise",
    "index_elementwise_kernel": "index",
    "_scatter_gather_elementwise_kernel": "scatter",
    "reduce_kernel": "reduce",
    "multi_tensor_apply_kernel": "foreach",
    # CUTLASS, Composable Kernel, FlashAttention: the first argument that is no number is the kernel.
    "Kernel": "",
    "Kernel2": "",
    "device_kernel": "",
    "kentry": "",
    "enable_sm80_to_sm89": "",
    "enable_sm90": "",
    "enable_sm90_or_later": "",
}
# Functors around functors: what they do stands in their last argument that is one.
_WRAPPERS = (
    "AUnaryFunctor", "BUnaryFunctor", "BinaryFunctor", "gpu_kernel_impl", "gpu_kernel_impl_nocast", "ReduceOp", "func_wrapper_t",
    "gpu_index_kernel",
)  # fmt: skip
_PLAIN = {
    "float": "float", "double": "double", "int": "int", "long": "long", "bool": "bool", "short": "short",
    "half": "half", "__half": "half", "Half": "half",
    "BFloat16": "bfloat16", "nv_bfloat16": "bfloat16", "__nv_bfloat16": "bfloat16",
    "signed char": "int8", "unsigned char": "uint8", "complex": "complex",
    "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2",
}  # fmt: skip
_INDICES = ("int", "long", "bool")
_NO_FUNCTOR = (
    "unsigned int",
    "unsigned long",
    "Array",
    "array",
    "TensorListMetadata",
    "TrivialOffsetCalculator",
    "OffsetCalculator",
    "OpaqueType",
)
_AFFIX = Pattern(
    r"^CUDAFunctor(?:OnSelf|OnOther)?_|(?:_kernel)?_cuda$|_kernel_impl$|_kernel$|_functor$|(?<=[a-z0-9])(?:Functor|Ops)$"
)
_LAMBDA = Pattern(r"^\{lambda\((?P<type>[^()]*)\)#\d+\}$")
_IDENTIFIER = Pattern(r"[A-Za-z_]\w*")
_NUMBER = Pattern(r"^[-(]?[\d(]|^true$|^false$")
# Brackets and separators: most letters of a name are neither.
_MARKS = Pattern(r"[<({>)}]|::|,")
# Deeper nesting is no name of a compiler; such a name is shown as it is.
_MOST_DEPTH = 40


class _Part(msgspec.Struct, frozen=True):
    """`name<arguments>(...)`, one component of a qualified name."""

    name: str
    arguments: tuple[str, ...]


@lru_cache(maxsize=4096)
def short(name: str) -> str:
    """The name in a few words; the name itself where it has no template or cannot be taken apart, and that of a copy."""
    if name.startswith("Mem"):
        return name
    if name.startswith("_Z"):
        return _mangled(mangled.chain(name)) or name
    if "<" not in name:
        return name.partition("(")[0].removeprefix("void ").strip() or name
    parts = _parts(name)
    if not parts or not _IDENTIFIER.fullmatch(parts[-1].name):
        return name
    kernel = parts[-1]
    if kernel.name in _RUNNERS:
        functor = _functor(kernel.arguments)
        if functor:
            return f"{_RUNNERS[kernel.name]} {functor}".strip()
    # Some libraries call every kernel so, and say in the namespace what it does.
    of = f"{parts[-2].name}::" if kernel.name in ("kernel", "Kernel") and len(parts) > 1 else ""
    return of + kernel.name + _in_brackets(kernel.arguments)


def _mangled(called: Sequence[str]) -> str:
    """`elementwise direct_copy` of a mangled name's functions; types are not told."""
    kernel, *inner = called or ("",)
    runs = next((one for one in inner if one not in _RUNNERS and one not in _WRAPPERS), "")
    if kernel not in _RUNNERS or not runs or runs in _NO_FUNCTOR:
        return kernel
    return f"{_RUNNERS[kernel]} {_bare(runs)}".strip()


def _bare(functor: str) -> str:
    """A functor's name without the words that every such name has."""
    return _AFFIX.sub("", _AFFIX.sub("", functor)) or functor


def _functor(arguments: Sequence[str], depth: int = 0) -> str:
    """What the first functor of the arguments does; empty where there is none."""
    for argument in arguments:
        parts = [] if _NUMBER.match(argument) or argument in _NO_FUNCTOR else _parts(argument)
        # `gfx9_t`: the card it was built for.
        if not parts or parts[-1].name in _NO_FUNCTOR or parts[-1].name in _PLAIN or parts[-1].name.startswith("gfx"):
            continue
        first = next((part for part in parts if part.arguments or not part.name.islower()), parts[-1])
        named = _named(parts)
        if first.name in _RUNNERS and depth < _MOST_DEPTH:
            return _functor(first.arguments, depth + 1) or first.name
        if (first.name in _WRAPPERS or named.name in _WRAPPERS) and depth < _MOST_DEPTH:
            inner = _functor(tuple(reversed(named.arguments)), depth + 1) or _functor(
                tuple(reversed(first.arguments)), depth + 1
            )
            return inner or named.name
        types = named.arguments or tuple(_lambda_types(parts))
        return _bare(named.name) + _in_brackets(types)
    return ""


def _named(parts: Sequence[_Part]) -> _Part:
    """The function or the functor of a qualified name: what stands before its lambdas and their calls."""
    kept = [part for part in parts if not part.name.startswith("{") and part.name not in ("operator", "operator()")]
    return kept[-1] if kept else parts[-1]


def _lambda_types(parts: Sequence[_Part]) -> Iterator[str]:
    found = _LAMBDA.match(parts[-1].name)
    yield from (found["type"].split(", ") if found else ())


def _in_brackets(arguments: Sequence[str]) -> str:
    """The number format among template arguments: indices are integers of every kernel, so the first other one goes first."""
    known = [_PLAIN.get(one) or _PLAIN.get(one.rpartition("::")[2]) for one in arguments]
    named = [one for one in known if one]
    chosen = next((one for one in named if one not in _INDICES), named[0] if named else "")
    return f"<{chosen}>" if chosen else ""


def _parts(name: str) -> list[_Part]:
    """The components of a qualified name, without what it returns and takes; empty where brackets do not match."""
    pieces = _split(name, "::")
    found = []
    for piece in pieces:
        head, brackets, arguments = _opened(piece)
        # `void at`: the type that is returned stands before the first component.
        word = head.rpartition(" ")[2] if not head.startswith(("(", "{", "operator")) else head
        if word == "(anonymous namespace)" or piece.startswith("(anonymous"):
            continue
        found.append(_Part(word or head, tuple(_split(arguments, ",")) if brackets else ()))
        if not found[-1].name:
            return []
    return found


def _opened(piece: str) -> tuple[str, bool, str]:
    """What stands before the template arguments, whether there are any, and they."""
    if piece.startswith("{"):
        return piece, False, ""
    call = piece.find("(")
    start = piece.find("<")
    if start == -1 or (call != -1 and call < start and not piece.startswith("(")):
        return (piece[:call] if call > 0 else piece).strip(), False, ""
    end = _closing(piece, start)
    return piece[:start].strip(), True, piece[start + 1 : end]


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at a place is closed; the text's length where it is not."""
    depth = 0
    for mark in _MARKS.finditer(text, start):
        depth += _step(mark[0])
        if depth == 0:
            return mark.start()
    return len(text)


def _split(text: str, at: str) -> list[str]:
    """The pieces between the separators, `::` or a comma, that stand in no bracket."""
    pieces, depth, begin = [], 0, 0
    for mark in _MARKS.finditer(text):
        if depth == 0 and mark[0] == at:
            pieces.append(text[begin : mark.start()].strip())
            begin = mark.end()
        depth += _step(mark[0])
    return [piece for piece in (*pieces, text[begin:].strip()) if piece]


def _step(mark: str) -> int:
    """How much deeper in brackets a mark leads."""
    return (mark in "<({") - (mark in ">)}")
