"""The code that makes a sample: a method, what is nested in it, and the methods of its object that it asks for."""

from __future__ import annotations

import types
from typing import Any

from ..software.own_code import is_own

_EACH_SAMPLE = ("__getitem__", "get")


class SampleCode:
    """Code of one function that takes part in making a batch, with what it leads to, one call deep.

    Args:
        code: Of the function.
        owner: Whose method it is; None where it is a function.
    """

    def __init__(self, code: types.CodeType, owner: Any) -> None:
        self.owner = owner
        # What only yields samples runs once a pass.
        self.each_sample = code.co_name in _EACH_SAMPLE
        first = _nested(code)
        named = set[str]().union(*(one.co_names for one in first))
        methods = (value for kind in type(owner).__mro__ for name, value in vars(kind).items() if name in named)
        codes = (method.__code__ for method in methods if isinstance(method, types.FunctionType))
        called = [] if owner is None else [one for one in codes if one is not code and is_own(one.co_filename)]
        self.codes = first + [part for one in called for part in _nested(one)]
        self.names = set[str]().union(*(one.co_names for one in self.codes))


def _nested(code: types.CodeType) -> list[types.CodeType]:
    """A function's code and that of the functions inside it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return [code, *(part for one in inner for part in _nested(one))]
