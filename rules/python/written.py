"""How ops are written in Python: what a line that calls them may say."""

from __future__ import annotations

# Ops that are mostly written as an operator, an index or another call.
_WRITTEN = {
    "mul": ("*",),
    "add": ("+",),
    "sub": ("-",),
    "rsub": ("-",),
    "div": ("/",),
    "floor_divide": ("//",),
    "remainder": ("%",),
    "pow": ("**",),
    "neg": ("-",),
    "eq": ("==",),
    "ne": ("!=",),
    "lt": ("<",),
    "le": ("<=",),
    "gt": (">",),
    "ge": (">=",),
    "bitwise_and": ("&",),
    "bitwise_or": ("|",),
    "bitwise_not": ("~",),
    "matmul": ("@",),
    "mm": ("@", "matmul"),
    "bmm": ("@", "matmul"),
    "mv": ("@", "matmul"),
    "dot": ("@",),
    "select": ("[",),
    "slice": ("[",),
    "index": ("[",),
    "index_put": ("[",),
    "copy": ("[",),
    "linalg_vector_norm": ("norm",),
    "frobenius_norm": ("norm",),
    "lift_fresh": ("tensor(", "from_numpy"),
    "_to_copy": (".to(", ".cpu(", ".cuda("),
    "item": ("float(", "int("),
    "_local_scalar_dense": (".item(",),
}


def words_of(unit: tuple[str, ...]) -> frozenset[str]:
    """What a line that calls one of some ops may say.

    Args:
        unit: Names of ops, as `aten::mul_`.
    """
    names = {name.removeprefix("aten::").rstrip("_") for name in unit}
    called = {name.removesuffix("_loss") for name in names if len(name) > len("to")}
    return frozenset(called | {word for name in names for word in _WRITTEN.get(name, ())})
