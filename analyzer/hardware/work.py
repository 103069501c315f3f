"""What each op has to do, by its name and recorded inputs.

Ops that only call others have no formula: `aten::linear` is counted as the `aten::addmm` inside it, once.
"""

from __future__ import annotations

from analyzer.hardware import attention, passes, products
from analyzer.hardware.call import Formula, UnknownWorkError, Work, decode_call

PRODUCTS: dict[str, Formula] = {**products.FORMULAS, **attention.FORMULAS}
FORMULAS: dict[str, Formula] = {**PRODUCTS, **passes.FORMULAS}


def work_of(name: str, dims: str, types: str = "", values: str = "") -> Work | str:
    """The work of one call of an op, or the reason why it cannot be told.

    Args:
        name: Of the op.
        dims: `Input Dims`, JSON; empty where shapes were not recorded.
        types: `Input type`, JSON; empty where they were not recorded.
        values: `Concrete Inputs`, JSON; likewise.
    """
    formula = FORMULAS.get(name)
    if formula is None:
        return "no formula for this op"
    if not dims:
        return "shapes were not recorded"
    try:
        return formula(decode_call(dims, types, values))
    except UnknownWorkError as error:
        return str(error)
