"""Rows that a replayed graph computes for nobody: engines capture graphs for some sizes of the batch, and fill smaller ones up.

How many rows a graph was captured for shows in kernels that have a block for each token. How many tokens were served only the
ranges of the engine say; where one of the two is missing, nothing is told.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.generation.passes import Generation
from analyzer.facts.kernels.grids import multiprocessors
from analyzer.spans.arrays import FloatArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from traces.patterns import Pattern
from traces.trace import Trace

# A block for each token: `dim3 grid(num_tokens)` in vllm-project/vllm, csrc (cache_kernels, pos_encoding_kernels,
# layernorm_kernels), and `nblks(batch_size)` of the norm that adds in flashinfer-ai/flashinfer, include/flashinfer/norm.cuh,
# which SGLang uses. Norms that add nothing also run on heads, and activations on the experts of each token.
_BY_TOKEN = Pattern(
    r"fused_add_rms_norm_kernel|FusedAddRMSNormKernel|reshape_and_cache(?:_flash)?_kernel|(?<!batched_)rotary_embedding_kernel"
)
# Blocks are whole: what lies further from a whole number than this is another figure.
_WHOLE = 0.05


class ReplayPadding(msgspec.Struct, frozen=True, eq=False):
    """Passes replayed from graphs of which both sizes are known.

    Args:
        served: Tokens served in each, shape (passes,).
        captured: Tokens that its graph computes, shape (passes,).
        time: When they are on the device.
        replays: Passes that replay a graph, whether both are known or not.
    """

    served: Int64Array
    captured: Int64Array
    time: IntervalSet
    replays: int

    @property
    def padded_ratio(self) -> float:
        """Share of the computed tokens that nobody asked for; 0 without any."""
        computed = int(self.captured.sum())
        return 1.0 - int(self.served.sum()) / computed if computed else 0.0

    @property
    def commonest(self) -> tuple[int, int] | None:
        """Served and captured of the most frequent pair that differs; None where none does."""
        pairs = [(a, b) for a, b in zip(self.served.tolist(), self.captured.tolist(), strict=True) if a < b]
        return max(sorted(set(pairs)), key=pairs.count) if pairs else None


def replay_padding(trace: Trace, device: DeviceFacts, found: Generation) -> ReplayPadding:
    """Compares both sizes of each replayed pass."""
    passes = found.passes
    launched = device.launched
    graphs = launched[is_any(launched["launch_kind"], "graph_launch")]
    at = np.sort(graphs["launch_start_ns"].to_numpy())
    begin, end = (passes[name].to_numpy(dtype=np.int64) for name in ("host_start_ns", "host_end_ns"))
    replayed = np.searchsorted(at, end) > np.searchsorted(at, begin)
    captured = _captured(trace, device, graphs, passes)
    served = passes["tokens"].to_numpy(dtype=np.float64)
    known = replayed & ~np.isnan(captured) & ~np.isnan(served) & (served <= captured)
    return ReplayPadding(
        served=served[known].astype(np.int64),
        captured=captured[known].astype(np.int64),
        time=IntervalSet(
            passes["start_ns"].to_numpy(dtype=np.int64)[known], passes["end_ns"].to_numpy(dtype=np.int64)[known]
        ),
        replays=int(replayed.sum()),
    )


def _captured(trace: Trace, device: DeviceFacts, graphs: pd.DataFrame, passes: pd.DataFrame) -> FloatArray:
    """Tokens for which the graph of each pass was captured, where all kernels that show it agree; NaN elsewhere."""
    result = np.full(len(passes), np.nan)
    number = multiprocessors(trace, device)
    kernels = trace.kernels
    wanted = np.array([bool(_BY_TOKEN.search(name)) for name in distinct_texts(kernels["name"])] + [False])
    rows = graphs["row"].to_numpy()[from_source(graphs, "kernels")]
    rows = rows[wanted[codes_of(kernels["name"])[rows]]]
    if number is None or not len(rows):
        return result
    blocks = kernels["blocks_per_sm"].to_numpy()[rows] * number
    start = kernels["start_ns"].to_numpy()[rows]
    whole = np.abs(blocks - np.round(blocks)) <= _WHOLE
    for place, (since, until) in enumerate(zip(passes["start_ns"].tolist(), passes["end_ns"].tolist(), strict=True)):
        mine = (start >= since) & (start < until)
        sizes = np.unique(np.round(blocks[mine & whole]))
        if len(sizes) == 1 and whole[mine].all():
            result[place] = sizes[0]
    return result
