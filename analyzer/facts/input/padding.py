"""Padding of batches, and how their length changes: by recorded shapes."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.rows_written import rows_written
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from traces.patterns import Pattern
from traces.trace import Capability, Trace

_RECURRENT = Pattern(r"aten::(?:lstm|gru|rnn_(?:tanh|relu)|_(?:thnn_fused|cudnn|miopen|mkldnn)_(?:rnn|lstm|gru)\w*)")


class Padding(msgspec.Struct, frozen=True):
    """What shapes tell of the batches in the used steps.

    Args:
        padded: Batches that `pad_sequence` made in this process, or a loop that writes into the rows of a tensor.
        padding_ratio: Share of their elements that is padding; None without one.
        beyond_longest_ratio: Share of their elements that no sample of a batch is long enough for.
        tokens: Largest input of an embedding in each used step that has one: samples times length.
        looked_up: Whether rows of a table are looked up one by one, as for the tokens of a text; not summed up in bags.
        recurrent: Whether a recurrent layer runs, which reads sequences.
        shaped: Whether shapes were recorded.
    """

    padded: int
    padding_ratio: float | None
    tokens: tuple[int, ...]
    looked_up: bool
    recurrent: bool
    shaped: bool
    beyond_longest_ratio: float = 0.0

    @property
    def spread_ratio(self) -> float | None:
        """How far the steps' tokens lie apart: (largest - smallest) / largest; None with fewer than three."""
        if len(self.tokens) < 3:
            return None
        return (max(self.tokens) - min(self.tokens)) / max(self.tokens)


def padding(trace: Trace, steps: Steps, host: HostFacts) -> Padding:
    """Reads the shapes of `pad_sequence`, of rows that are written, and of embeddings."""
    ops = trace.ops
    inside = steps.host_window.contains(ops["start_ns"].to_numpy())
    texts, codes = [*distinct_texts(ops["input_dims"]), ""], codes_of(ops["input_dims"])
    rows = np.flatnonzero(is_any(ops["name"], "aten::pad_sequence", "aten::_pad_sequence") & inside)
    known = {code: _padded(texts[code]) for code in set(codes[rows].tolist())}
    made = [found for code in codes[rows].tolist() if (found := known[code]) is not None]
    embeddings = np.flatnonzero(host.ops.outermost(host.ops.named("aten::embedding".__eq__)) & inside)
    looked_up = [texts[code] for code in codes[embeddings].tolist()]
    written = rows_written(trace, host, steps, {tuple(_second(text)) for text in set(looked_up)})
    whole = sum(each for _, each in made) + written.whole
    return Padding(
        padded=len(made) + written.batches,
        padding_ratio=1 - (sum(filled for filled, _ in made) + written.filled) / whole if whole else None,
        beyond_longest_ratio=(written.whole - written.longest) / whole if whole else 0.0,
        tokens=_tokens(steps, ops["start_ns"].to_numpy()[embeddings], looked_up),
        looked_up=len(embeddings) > 0,
        recurrent=bool((matching(ops["name"], _RECURRENT.match) & inside).any()),
        shaped=Capability.SHAPES in trace.capabilities,
    )


def _padded(dims: str) -> tuple[int, int] | None:
    """Elements before and after padding of a list of sequences; None where the list's shapes were not recorded."""
    shapes = _first(dims)
    lengths = [shape[0] for shape in shapes if shape and shape[0] >= 0]
    return (sum(lengths), max(lengths) * len(lengths)) if len(lengths) > 1 and max(lengths) else None


def _first(dims: str) -> list[list[int]]:
    """The first argument, where that is a list of shapes."""
    try:
        parts = msgspec.json.decode(dims, type=list[msgspec.Raw]) if dims else []
        return msgspec.json.decode(parts[0], type=list[list[int]]) if parts else []
    except msgspec.DecodeError:
        return []


def _tokens(steps: Steps, at_ns: Int64Array, dims: list[str]) -> tuple[int, ...]:
    """The largest number of indices of each step, by step."""
    largest: dict[int, int] = {}
    for step, text in zip(steps.of_host(at_ns).tolist(), dims, strict=True):
        largest[step] = max(largest.get(step, 0), _indices(text))
    return tuple(largest[step] for step in sorted(largest) if largest[step])


def _second(dims: str) -> list[int]:
    """The shape of the second argument: (weight, indices)."""
    try:
        parts = msgspec.json.decode(dims, type=list[msgspec.Raw]) if dims else []
        return msgspec.json.decode(parts[1], type=list[int]) if len(parts) > 1 else []
    except msgspec.DecodeError:
        return []


def _indices(dims: str) -> int:
    """Elements of the second argument."""
    shape, product = _second(dims), 1
    for size in shape:
        product = min(product * max(size, 0), 2**62)
    return product if shape else 0
