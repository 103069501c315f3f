"""Which rank a file is of, by its name, and what kinds of collectives there are."""

from __future__ import annotations

import re

# `rank_3`, `rank-3`, `rank3`, `worker3`, `[3].json`, or a bare number before the ending (`trace_3.json.gz`, `3.json`).
_NAMED = re.compile(r"(?i)(?:^|[^a-z])(?:rank|worker)[_\-.]?(\d{1,6})(?!\d)|\[(\d{1,6})\]\.")
_ENDING = re.compile(r"(?i)(?:^|[_\-.])(\d{1,5})(?:\.(?:pt|trace|summary|json|gz|zst))+$")
# What a bare number in front of the ending counts instead: snapshots of one rank.
_COUNTS_OTHERS = re.compile(r"(?i)(?:step|iter|iteration|epoch|batch|it|pid)[_\-.]?\d+(?:\.[a-z]+)*$")
# Places in several dimensions (sglang: `1723-TP-3-DP-1.trace.json.gz`): how they make up a rank is not said.
_DIMENSION = re.compile(r"(?i)(?:^|[^a-z])(?:tp|dp|pp|ep|cp|sp|mp)[_\-.]?\d+")
# One name for what torch, NCCL and gloo call by several.
_KINDS = (
    # As vLLM, sglang, aiter and TensorRT-LLM call theirs.
    (re.compile(r"(?i)all_?reduce|cross_device_reduce|quickreduce|(?:multimem|mnnvl)_all_?reduce"), "all_reduce"),
    (re.compile(r"(?i)reduce_?scatter"), "reduce_scatter"),
    (re.compile(r"(?i)all_?gather"), "all_gather"),
    (re.compile(r"(?i)all_?to_?all|alltoallv?"), "all_to_all"),
    (re.compile(r"(?i)broadcast"), "broadcast"),
    (re.compile(r"(?i)barrier"), "barrier"),
    (re.compile(r"(?i)(?:^|[^a-z])i?send(?![a-z])"), "send"),
    (re.compile(r"(?i)(?:^|[^a-z])i?recv(?![a-z])"), "recv"),
    (re.compile(r"(?i)gather"), "gather"),
    (re.compile(r"(?i)scatter"), "scatter"),
    (re.compile(r"(?i)reduce"), "reduce"),
)
# Every member waits for every other one: all leave together.
SYMMETRIC = frozenset(("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier"))
PAIRWISE = frozenset(("send", "recv"))


def rank_in(name: str) -> int | None:
    """The rank that a file's name states; None where it states none, or a place in several dimensions."""
    found = _NAMED.search(name)
    if found is None and len(_DIMENSION.findall(name)) < 2 and not _COUNTS_OTHERS.search(name):
        found = _ENDING.search(name)
    return None if found is None else int(next(group for group in found.groups() if group is not None))


def kind_of(name: str) -> str:
    """The kind of a collective by whatever a library calls it; the name itself where it is none that is known."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), name)
