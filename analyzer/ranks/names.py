"""Which rank a file is of, by its name, and what kinds of collectives there are."""

from __future__ import annotations

from collections.abc import Sequence

from traces.patterns import Pattern

# `rank_3`, `rank-3`, `rank3`, `worker3`, `[3].json`, or a bare number before the ending (`trace_3.json.gz`, `3.json`).
_NAMED = Pattern(
    r"(?i)(?<![a-z])((?:[a-z]+[_\-]|global|world|local|node|group|machine|host|[tdpecsm]p)?rank|(?:[a-z]+[_\-])?worker)"
    r"[_\-.=]?(\d{1,6})(?!\d)|\[(\d{1,6})\]\."
)
# What is counted anew on each machine or in each group, and processes that load data.
_NO_RANKS = Pattern(r"(?i)(?:node|group|machine|host|[tdpecsm]p)[_\-]?rank|(?:num|n|loader|dataloader|data)[_\-]worker")
_MACHINE = Pattern(r"(?i)(?<![a-z])(?:node|machine|host)[_\-]?\d")
_LOCAL = Pattern(r"(?i)local[_\-]?rank")
_GLOBAL = Pattern(r"(?i)(?:global|world)[_\-]?rank")
_ENDING = Pattern(r"(?i)(?:^|[_\-.])(\d{1,5})(?:\.(?:pt|trace|summary|json|gz|zst))+$")
# What a bare number in front of the ending counts instead: snapshots of one rank, attempts, days.
_COUNTS_OTHERS = Pattern(
    r"(?i)(?:step|iter|iteration|epoch|batch|it|pid|trial|attempt|seed|version|v)[_\-.]?\d+(?:\.[a-z]+)*$"
    r"|\d[_\-.]\d+[_\-.]\d+(?:\.[a-z]+)*$"
)
# Places in several dimensions (sglang: `1723-TP-3-DP-1.trace.json.gz`): how they make up a rank is not said.
_DIMENSION = Pattern(r"(?i)(?:^|[^a-z])(?:tp|dp|pp|ep|cp|sp|mp)[_\-.]?\d+")
# sglang's place among tensor-parallel ranks: with `--enable-dp-attention` these are all ranks of a stage of a pipeline, `DP` and
# `EP` say which of them do what.
_OF_SGLANG = Pattern(r"-TP-(\d{1,5})(?:-(?:DP|EP)-\d{1,5})+(?!-PP-)(?=[.\-]|$)")
# One name for what torch, NCCL and gloo call by several.
_KINDS = (
    # DeepEP and its forks: all ranks meet before tokens are sent, and once more before they come back.
    (Pattern(r"(?:\w+_)?ep::(?:\w+::)*(?:cached_)?notify(?:_dispatch|_combine)?(?![a-z_])"), "barrier"),
    # As vLLM, sglang, aiter and TensorRT-LLM call theirs.
    (Pattern(r"(?i)all_?reduce|cross_device_reduce|quickreduce|(?:multimem|mnnvl)_all_?reduce"), "all_reduce"),
    (Pattern(r"(?i)reduce_?scatter"), "reduce_scatter"),
    (Pattern(r"(?i)all_?gather"), "all_gather"),
    (Pattern(r"(?i)all_?to_?all|alltoallv?"), "all_to_all"),
    (Pattern(r"(?i)broadcast"), "broadcast"),
    (Pattern(r"(?i)barrier"), "barrier"),
    (Pattern(r"(?i)(?:^|[^a-z])i?send(?![a-z])"), "send"),
    (Pattern(r"(?i)(?:^|[^a-z])(?:i?recv|receive)(?![a-z])"), "recv"),
    (Pattern(r"(?i)gather"), "gather"),
    (Pattern(r"(?i)scatter"), "scatter"),
    (Pattern(r"(?i)reduce"), "reduce"),
)
# Halves of an exchange among all (perplexityai/pplx-garden) are no messages between two.
_HALF = Pattern(r"(?<![A-Za-z0-9])a2a_\w*(?:send|recv)")
# Every member waits for every other one: all leave together.
SYMMETRIC = frozenset(("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "barrier"))
PAIRWISE = frozenset(("send", "recv"))
# One member gives or gets: the others need not wait for one another, but of two that share one each waits for the other where a
# message is sent when the receiver asks for it (gloo, whatever its size: measured with torch 2.15).
ROOTED = frozenset(("broadcast", "reduce", "gather", "scatter"))


def rank_in(name: str) -> int | None:
    """The rank that a file's name states; None where it states none, or a place in several dimensions.

    One of all ranks goes before one of a machine's, which is the rank where no machine is named, and that before a worker.
    """
    stated = [(word or "", int(digits or bare)) for word, digits, bare in _NAMED.findall(name)]
    ranks = [(word, number) for word, number in stated if not _NO_RANKS.fullmatch(word)]
    several = len(ranks) < len(stated)
    for wanted in (
        [number for word, number in ranks if _GLOBAL.fullmatch(word)],
        [number for word, number in ranks if not _LOCAL.fullmatch(word) and not word.lower().endswith("worker")],
        [number for word, number in ranks if _LOCAL.fullmatch(word) and not several and not _MACHINE.search(name)],
        [number for word, number in ranks if word.lower().endswith("worker")],
    ):
        if wanted:
            return wanted[0]
    if stated or len(_DIMENSION.findall(name)) >= 2 or _COUNTS_OTHERS.search(name):
        return None
    found = _ENDING.search(name)
    return None if found is None else int(found[1])


def ranks_among(names: Sequence[str]) -> tuple[int, ...]:
    """The ranks of a job's files whose names state sglang's places in several dimensions; empty where these are none.

    Where two of them have the same place among tensor-parallel ranks they are of several replicas, or stages, and no one job.

    Args:
        names: Of all files of the job.
    """
    found = [_OF_SGLANG.search(name) for name in names]
    ranks = tuple(int(one[1]) for one in found if one is not None)
    return ranks if len(set(ranks)) == len(names) else ()


def kind_of(name: str) -> str:
    """The kind of a collective by whatever a library calls it; the name itself where it is none that is known."""
    if _HALF.search(name):
        return name
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), name)
