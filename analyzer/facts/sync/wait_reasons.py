"""What in the program asks for each call that makes the host wait for the device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.tree import HostTree
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import is_any
from traces.reader.names.autograd import BACKWARD_NODE
from traces.trace import Trace

# What the program asks for, and could do without or do later.
OF_PROGRAM = ("scalar", "copy_out", "copy_in", "explicit", "extension", "shape")
# Reading one value: `.item()`, `float(t)`, `if t:`, `torch.equal`.
SCALAR = r"aten::(?:item|_local_scalar_dense|is_nonzero|equal)$"
# Ops whose result's shape depends on values the device holds.
SHAPE = (
    r"aten::(?:nonzero(?:_numpy)?|argwhere|masked_select|_?unique\w*|repeat_interleave|bincount|index|index_put_?|_index_put_impl_"
    r"|masked_scatter\w*|histc|combinations)$"
)
# What torch's anomaly mode runs directly below every node of the backward pass (torch/csrc/autograd/engine.cpp).
_ANOMALY_CHECK = r"aten::(?:isnan|_is_any_true|any|item|is_nonzero)$"
# Ops that are not torch's own: those of extensions, whose code may synchronise as the program's does.
_OF_EXTENSION = (
    r"(?!(?:aten|prims|prim|c10|c10d|_c10d_functional\w*|symm_mem|torch|torchvision|torchaudio|autograd|quantized|mkldnn|inductor"
    r"|profiler|rpc)::)\w+(?:::\w+)+$"
)
_UNSCALE = r"aten::_amp_foreach_non_finite_check_and_unscale_"
# Copies up to this size are single values or handfuls of them, read to be looked at (rules.md SY002).
_SCALAR_BYTES = 64


def reasons(
    trace: Trace, host: HostFacts, tree: HostTree, rows: Int64Array, blocking: Int64Array, frame: pd.DataFrame
) -> npt.NDArray[np.object_]:
    """What asks for each call; first match wins."""
    above = tree.parent[rows]
    in_op = tree.under(tree.of_source("ops"), rows)
    scalar_ops = tree.matching(SCALAR)
    is_sync, moves_out = is_any(frame["kind"], "sync"), is_any(frame["direction"], "DtoH")
    small = frame["size_bytes"].to_numpy(dtype=np.int64, na_value=_SCALAR_BYTES + 1) <= _SCALAR_BYTES
    # Calls of one op belong together: the copy and the synchronisation that waits for it.
    beside_out = in_op & np.isin(above, above[moves_out])
    beside_small = in_op & np.isin(above, above[moves_out & small])
    beside_sync = in_op & np.isin(above, above[is_sync])
    inward_above = tree.parent[tree.sources["runtime"]][is_any(host.threads.calls["direction"], "HtoD")]
    anomaly = tree.under(anomaly_checks(tree), rows)
    conditions = [
        ("loader", tree.under(is_any(tree.frame["kind"], "loader"), rows)),
        ("anomaly", anomaly),
        ("shape", tree.under(tree.matching(SHAPE), rows)),
        ("scaler", tree.under(_found_inf_reads(tree, scalar_ops), rows)),
        ("scalar", tree.under(scalar_ops, rows) | (moves_out & small) | beside_small),
        ("async_copy", moves_out & frame["pinned"].to_numpy() & ~beside_sync),
        ("copy_out", moves_out | beside_out),
        ("copy_in", in_op & np.isin(above, inward_above)),
        ("extension", is_sync & (tree.of_source("ops") & tree.matching(_OF_EXTENSION))[above]),
        ("internal", in_op | ~is_sync),
        ("profiler", _profilers_own(trace, frame)),
    ]
    return np.select([mask for _, mask in conditions], [name for name, _ in conditions], "explicit").astype(object)


def anomaly_checks(tree: HostTree) -> BoolArray:
    """NaN checks directly below a node of the backward pass: where anomaly mode puts them, and nothing else does."""
    found = tree.matching(_ANOMALY_CHECK)
    rows = np.flatnonzero(found)
    above = tree.parent[rows]
    found[rows] = (above != rows) & tree.matching(BACKWARD_NODE)[above]
    return found


def _found_inf_reads(tree: HostTree, scalar_ops: BoolArray) -> BoolArray:
    """The first scalar read after each unscaling of gradients: GradScaler's, once per step by design."""
    result = np.zeros(len(scalar_ops), dtype=bool)
    start = tree.frame["start_ns"].to_numpy()
    end = tree.frame["end_ns"].to_numpy()
    reads = np.flatnonzero(scalar_ops)
    reads = reads[np.argsort(start[reads], kind="stable")]
    index = np.searchsorted(start[reads], end[tree.matching(_UNSCALE)], side="left")
    result[reads[index[index < len(reads)]]] = True
    return result


def _profilers_own(trace: Trace, frame: pd.DataFrame) -> BoolArray:
    """Synchronisations of the whole device after which nothing is launched: the profiler stops with one (rules.md SY003)."""
    calls = trace.runtime
    launched = calls["start_ns"].to_numpy()[is_any(calls["kind"], "launch", "graph_launch")]
    own: BoolArray = frame["of_all"].to_numpy() & (frame["start_ns"].to_numpy() > launched.max(initial=-1))
    return own
