"""Which repeated ops are a recurrent cell, called turn by turn.

torch names the cells it has (`aten::lstm_cell`, or the fused op below it), and the layers over whole sequences, which are cells
where they get one element in each turn and the state of the turn before. A cell written by hand is told by what it is made of: an
element taken by its index, a matrix product, and a gate; a linear one, as of a state space, has elements to multiply and to add
and a product instead. Whether each turn really needs the one before, no trace says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from traces.patterns import Pattern

Cell = Literal["LSTM", "GRU", "RNN"]

_CELLS: dict[Cell, Pattern[str]] = {
    "LSTM": Pattern(r"aten::(?:lstm_cell|_thnn_fused_lstm_cell)$"),
    "GRU": Pattern(r"aten::(?:gru_cell|_thnn_fused_gru_cell)$"),
    "RNN": Pattern(r"aten::rnn_(?:tanh|relu)_cell$"),
}
_LAYERS: dict[Cell, Pattern[str]] = {
    "LSTM": Pattern(r"aten::lstm$"),
    "GRU": Pattern(r"aten::gru$"),
    "RNN": Pattern(r"aten::rnn_(?:tanh|relu)$"),
}
# A layer that is given no state makes one, in each call.
_STATE = Pattern(r"aten::zeros$")
_PRODUCT = Pattern(r"aten::(?:linear|addmm|mm|matmul|bmm|baddbmm|einsum)$")
_GATE = Pattern(r"aten::(?:tanh|sigmoid)_?$")
_SOFTMAX = Pattern(r"aten::_?softmax$")
_TIMES, _PLUS = Pattern(r"aten::mul_?$"), Pattern(r"aten::add_?$")
# `a[:, t] * h + b[:, t]`.
_ELEMENTS = 2
# Slices and parts are taken in feed-forward layers as well (gated units); a single element is taken by a loop's counter.
_ELEMENT = Pattern(r"aten::select$")
_PART = Pattern(r"aten::(?:slice|narrow|split|split_with_sizes|chunk|tensor_split|unbind|index\w*|gather|take)$")


def cell_of(unit: Sequence[str]) -> Cell | None:
    """Which of torch's cells these ops call; None where they call none."""
    return next((cell for cell, pattern in _CELLS.items() if _any(pattern, unit)), None)


def stepped_layer(unit: Sequence[str], *, indexed: bool) -> Cell | None:
    """Which of torch's recurrent layers these ops call with one element and a state that they do not make; None where they do not.

    Args:
        unit: Names of the ops of one turn.
        indexed: As for `like_a_cell`.
    """
    if not _takes_an_element(unit, indexed=indexed) or _any(_STATE, unit):
        return None
    return next((cell for cell, pattern in _LAYERS.items() if _any(pattern, unit)), None)


def like_a_cell(unit: Sequence[str], *, indexed: bool) -> bool:
    """Whether ops look like a recurrent cell written by hand.

    Args:
        unit: Names of the ops of one turn.
        indexed: Whether they take elements of a tensor, or go through one that was taken apart before the loop.
    """
    return _takes_an_element(unit, indexed=indexed) and _any(_PRODUCT, unit) and _any(_GATE, unit)


def like_a_scan(unit: Sequence[str], *, indexed: bool) -> bool:
    """Whether ops look like a linear recurrence: the state times an element, plus an element, and what is read off it by a product.

    Attention head by head has a softmax as well, and a layer with a mask or a bias takes one element a turn, not two.

    Args:
        unit: Names of the ops of one turn.
        indexed: As for `like_a_cell`.
    """
    elements = sum(_ELEMENT.match(name) is not None for name in unit)
    others = _any(_GATE, unit) or _any(_SOFTMAX, unit)
    return (
        indexed
        and elements >= _ELEMENTS
        and not others
        and _any(_TIMES, unit)
        and _any(_PLUS, unit)
        and _any(_PRODUCT, unit)
    )


def _takes_an_element(unit: Sequence[str], *, indexed: bool) -> bool:
    return _any(_ELEMENT, unit) or (indexed and not _any(_PART, unit))


def _any(pattern: Pattern[str], unit: Sequence[str]) -> bool:
    return any(pattern.match(name) for name in unit)
