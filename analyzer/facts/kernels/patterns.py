"""Known pieces of models written out op by op, which one fused operator does: norms, GELU, SwiGLU, rotary embedding, the loss."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.ops import pick
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.reader.names.vocabulary import is_backward_node

# A letter for each op that a pattern is made of. Upper case: stands between, and is no part of it.
_LETTERS = {
    "aten::pow": "p", "aten::square": "p", "aten::mean": "m", "aten::add": "a", "aten::rsqrt": "r", "aten::mul": "x",
    "aten::silu": "s", "aten::neg": "n", "aten::cat": "c", "aten::linear": "L", "aten::cross_entropy_loss": "e",
    "aten::tanh": "t", "aten::erf": "f", "aten::div": "d", "aten::sub": "u", "aten::sqrt": "q", "aten::var": "v",
}  # fmt: skip
# They move no data, or only convert it: where they stand changes from one way of writing to another.
_SKIPPED = frozenset(
    f"aten::{name}"
    for name in (
        "to", "_to_copy", "view", "reshape", "transpose", "slice", "unsqueeze", "squeeze", "expand", "detach", "select", "chunk",
        "split", "contiguous", "permute", "t", "float", "type_as", "narrow", "unflatten", "flatten",
    )
)  # fmt: skip
_OTHER = "."
PATTERNS = {
    "RMSNorm": Pattern("pmarx{1,2}"),
    # By mean and variance, of whatever axes: `(x - mean) / sqrt(variance + eps)`, then scaled and shifted.
    "normalisation": Pattern("m(?:upm|v)u?(?:aqd|arx)(?:xa)?"),
    # `0.5 * x * (1 + tanh(c * (x + 0.044715 * x ** 3)))` in any order of its factors; and by `erf`.
    "GELU": Pattern("[px]{2,5}axtax{1,2}|x?[dx]fax{1,2}"),
    "SwiGLU": Pattern("sL?x"),
    "rotary embedding": Pattern("xncxa"),
    "cross entropy": Pattern("e"),
}


class KernelPattern(msgspec.Struct, frozen=True, eq=False):
    """One kind of piece in the used steps.

    Args:
        name: Of `PATTERNS`.
        calls: How often its forward pass runs.
        kernels: Its kernels, forward and backward; shape (kernels,).
    """

    name: str
    calls: int
    kernels: BoolArray


def patterns(host: HostFacts, kernels: Kernels, steps: Steps) -> tuple[KernelPattern, ...]:
    """Finds them by the order of ops that no other op calls; the backward pass by autograd's numbers."""
    tree = host.ops
    ops = tree.ops
    node = tree.nearest(tree.named(is_backward_node))
    top = (tree.depth == 0) & (node == NONE) & steps.host_window.contains(ops["start_ns"].to_numpy())
    top &= ~tree.named(_SKIPPED.__contains__)
    rows = np.flatnonzero(top)
    rows = rows[np.lexsort((ops["start_ns"].to_numpy()[rows], ops["thread"].to_numpy()[rows]))]
    text = _as_text(host, rows)
    number = ops["sequence"].to_numpy(dtype=np.float64, na_value=np.nan)
    # Of ops with one number the last left the node.
    numbered = np.flatnonzero((node == NONE) & ~np.isnan(number))
    left = numbered[~_repeated_later(number[numbered])]
    root = tree.nearest(top)
    return tuple(
        found
        for name, pattern in PATTERNS.items()
        if (found := _found(name, pattern, text, rows, root, node, number, left, kernels)).calls
    )


def _as_text(host: HostFacts, rows: Int64Array) -> str:
    """A letter for each op. Threads follow one another: that a pattern spans two is as good as impossible."""
    names = host.ops.ops["name"]
    letters = np.array([*(_LETTERS.get(name, _OTHER) for name in distinct_texts(names)), _OTHER])
    return "".join(letters[codes_of(names)[rows]].tolist())


def _repeated_later(number: np.ndarray[tuple[int], np.dtype[np.float64]]) -> BoolArray:
    """Which numbers come again further on."""
    _, last = np.unique(number[::-1], return_index=True)
    repeated = np.ones(len(number), dtype=bool)
    repeated[len(number) - 1 - last] = False
    return repeated


def _found(
    name: str, pattern: Pattern[str], text: str, rows: Int64Array, root: Int64Array, node: Int64Array,
    number: np.ndarray[tuple[int], np.dtype[np.float64]], left: Int64Array, kernels: Kernels,
) -> KernelPattern:  # fmt: skip
    """The kernels of one pattern."""
    mine = np.zeros(len(root), dtype=bool)
    calls = 0
    for match in pattern.finditer(text):
        calls += 1
        places = [place for place in range(match.start(), match.end()) if text[place].islower()]
        mine[rows[places]] = True
    if not calls:
        return KernelPattern(name, 0, kernels.none)
    forward = pick(mine, root)
    theirs = np.unique(number[left[forward[left]]])
    backward = pick(np.isin(number, theirs), node)
    at = kernels.frame["op"].to_numpy()
    return KernelPattern(name, calls, pick(forward | backward, at))
