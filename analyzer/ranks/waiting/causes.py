"""Why a rank is late: a slower device, more work, or its host; named only where it explains four fifths of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from analyzer.ranks.document import CauseClass
from analyzer.ranks.summary import RankSummary
from analyzer.ranks.waiting.amounts import amount_words
from analyzer.ranks.waiting.kernels import MoreCalls, more_calls, slower_and_more
from analyzer.units import share

# From this part of a rank's lateness on its cause is named (design, ranks.md).
EXPLAINED_RATIO = 0.8
# Peers whose kernels are held against a rank's: more say no more.
_PEERS = 16
# Batches that differ by less are one size: the last of an epoch may be smaller.
_BATCH_RATIO = 1.05
# From this share of its steps on that a rank had no core it is told, as the recorder does of a run.
LACKED_RATIO = 0.1
# From so many calls a step on parts of one say nothing.
_WHOLE_CALLS = 10
_WORDS = {
    "input": "waiting for its data loader",
    "python": "Python on its host",
    "sync": "waiting for its own device",
    "transfer_call": "copying to its device",
    "optimizer": "its optimizer",
    "allocator": "allocating memory",
    "compile": "compiling",
    "launch": "launching kernels",
    "framework": "dispatching ops",
    "copy": "copies",
    "device_wait": "launched work that waits",
}
_NO_SHAPES = "it computes longer; with no shapes recorded (record_shapes=True) a slower device and more work look alike"
_LARGER = "more work: the same kernels on larger shapes, or more of them"
_EFFECTS = ("communication", "device_wait")
_WORK = ("compute", "copy")


def cause_words(cause: str) -> str:
    """What a rank that is late spends its time in, in words; empty for what is the effect of another's lateness."""
    return "computing longer" if cause == "compute" else _WORDS.get(cause, "") if cause not in _EFFECTS else ""


class Why(msgspec.Struct, frozen=True):
    """A class of cause and how much of the lateness it explains, 0..1.

    `runs_more` says that it lies in kernels which the others run less often, not in larger ones, and what is around them;
    `lacks_shapes` that without them a slower device and more work look alike.
    """

    cause: CauseClass
    detail: str
    explained_ratio: float
    runs_more: bool = False
    lacks_shapes: bool = False


def why_late(late: RankSummary, peers: Sequence[RankSummary], excess_ns: float) -> Why:
    """The class of the cause.

    Args:
        late: The rank.
        peers: Ranks that run the same program.
        excess_ns: What it does beyond them, a step.
    """
    if excess_ns <= 0 or not peers:
        return Why("not clear", "it has no peers to hold it against", 0.0)
    others = peers[:_PEERS]
    # What the machine took from single ops is no cause of the rank's own, and hides none.
    own_ns = max(excess_ns - _interrupted_beyond(late, others), 1.0)
    slower, more = slower_and_more(late, others)
    more = max(more, _by_batch(late, others, slower + more))
    slower = slower if more < slower + more else 0.0
    calls = more_calls(late, others)
    runs_more = calls.ns >= EXPLAINED_RATIO * max(more, 1.0)
    more = max(more, calls.ns)
    host = host_beyond(late, others)
    cause, ns = max(host.items(), key=lambda item: item[1], default=("", 0.0))
    total = sum(value for value in host.values() if value > 0)
    device = (f"{_device_words(late)}{_another_kind(late, others)}", slower)
    found: dict[CauseClass, tuple[str, float]] = {
        "device": device,
        "imbalance": (_more_words(calls) if runs_more else f"{_LARGER}{amount_words(late, others)}", more),
        "host": (
            f"mostly {_WORDS.get(cause, cause)}" if ns < EXPLAINED_RATIO * total else _WORDS.get(cause, cause),
            total,
        ),
    }
    best = max(found, key=lambda name: found[name][1])
    words, explained = found[best]
    ratio = min(explained / (excess_ns if best == "device" else own_ns), 1.0)
    if best != "device" and runs_more and ratio < EXPLAINED_RATIO <= (more + total) / excess_ns:
        # Between the kernels that it alone runs lies Python of its own.
        kernels, around = found["imbalance"][0], found["host"][0]
        told = f"{kernels}, and {around} beside" if best == "imbalance" else f"{around}, and {kernels}"
        return Why(best, told, min((more + total) / excess_ns, 1.0), runs_more=True)
    if ratio < EXPLAINED_RATIO:
        starved = min(_without_core_ns(late, others) / excess_ns, 1.0)
        if best != "imbalance" and starved >= EXPLAINED_RATIO:
            # What a rank does between ops, and in threads of a library, takes longer as well.
            both = slower + total >= EXPLAINED_RATIO * excess_ns
            said = "its ops and its Python both take longer" if both else "all that it does takes longer"
            return Why("device", f"{said}{_lacked(late)}", starved)
        computes = _mean(late, "compute") - float(np.median([_mean(peer, "compute") for peer in others]))
        if computes >= EXPLAINED_RATIO * excess_ns and not any(row.shape for row in late.kernels):
            return Why("not clear", _NO_SHAPES, max(ratio, 0.0), lacks_shapes=True)
        # Rounded down: what falls short of the limit by little would be told to reach it.
        parts = ", ".join(f"{name} {int(100 * min(max(ns / excess_ns, 0), 1))}%" for name, (_, ns) in found.items())
        words = f"no cause explains {share(EXPLAINED_RATIO)} of it ({parts}){_lacked(late)}"
        return Why("not clear", words, max(ratio, 0.0))
    return Why(best, words, ratio, runs_more=best == "imbalance" and runs_more)


def _more_words(calls: MoreCalls) -> str:
    many = f"{calls.calls:,.0f}" if calls.calls >= _WHOLE_CALLS else f"{calls.calls:.2g}"
    return f"it runs what the others do not, or run less often: {many} more `{calls.name}` a step"


def _device_words(late: RankSummary) -> str:
    if late.device_kind != "cpu":
        return "the same kernels on the same shapes take longer on its device"
    return f"the same ops on the same shapes take longer on its cores{_lacked(late)}"


def _another_kind(late: RankSummary, peers: Sequence[RankSummary]) -> str:
    """What device or software a rank has where all its peers have another one, in words; empty where they are alike."""
    found = []
    devices = {peer.device for peer in peers}
    if late.device and len(devices) == 1 and None not in devices and devices != {late.device}:
        found.append(f"its device is {late.device}, those of its peers {devices.pop()}")
    for name, version in late.versions.items():
        theirs = {peer.versions.get(name) for peer in peers}
        if len(theirs) == 1 and None not in theirs and theirs != {version}:
            found.append(f"it has {name} {version}, its peers {theirs.pop()}")
    return "".join(f"; {one}" for one in found)


def _lacked(late: RankSummary) -> str:
    """That its cores were taken; by whom is not in the trace."""
    lacked = late.core_wait_ratio or 0.0
    return f"; for {share(lacked)} of its steps it had no core" if lacked >= LACKED_RATIO else ""


def _without_core_ns(late: RankSummary, peers: Sequence[RankSummary]) -> float:
    """What a rank without a device could run and had no core, beyond its peers, a step: that stretches ops and Python alike."""
    if late.device_kind != "cpu":
        return 0.0
    beyond = (late.core_wait_ratio or 0.0) - float(np.median([peer.core_wait_ratio or 0.0 for peer in peers]))
    return beyond * float(np.mean([step.dur_ns for step in late.steps])) if late.steps else 0.0


def _interrupted_beyond(late: RankSummary, peers: Sequence[RankSummary]) -> float:
    """What single ops take longer than the same ones in other steps, beyond the peers', a step; 0 where the system was asked."""
    if late.core_wait_ratio is not None:
        return 0.0
    each = [(one.interrupted_ns or 0) / _steps(one) for one in (late, *peers)]
    return max(each[0] - float(np.median(each[1:])), 0.0)


def _steps(summary: RankSummary) -> int:
    return max(len(summary.steps), 1)


def host_beyond(late: RankSummary, peers: Sequence[RankSummary]) -> dict[str, float]:
    """By cause of the host, what the rank spends beyond the median of its peers, a step.

    Without a device ops are work, whoever calls them: the optimizer's and the framework's are compared as ops.
    """
    skip = (*_EFFECTS, *_WORK, *(("optimizer", "framework") if late.device_kind == "cpu" else ()))
    return {
        cause: mean - float(np.median([_mean(peer, cause) for peer in peers]))
        for cause, mean in ((cause, _mean(late, cause)) for cause in _causes((late, *peers)))
        if cause not in skip
    }


def _causes(every: Sequence[RankSummary]) -> list[str]:
    return sorted({cause for one in every for step in one.steps for cause in step.causes})


def _mean(summary: RankSummary, cause: str) -> float:
    """What a cause owns of a step, the median over the steps: one odd step is not the rule."""
    return float(np.mean([step.causes.get(cause, 0) for step in summary.steps])) if summary.steps else 0.0


def _by_batch(late: RankSummary, peers: Sequence[RankSummary], work_ns: float) -> float:
    """What is more work because the rank's batches are larger, where shapes were not recorded."""
    sizes = [peer.batch_size for peer in peers if peer.batch_size]
    if not sizes or not late.batch_size or late.batch_size < _BATCH_RATIO * float(np.median(sizes)):
        return 0.0
    if any(row.shape for row in late.kernels):
        return 0.0
    return max(work_ns, _busier(late, peers))


def _busier(late: RankSummary, peers: Sequence[RankSummary]) -> float:
    def total(summary: RankSummary) -> float:
        return sum(row.dur_ns for row in summary.kernels) / _steps(summary)

    return total(late) - float(np.median([total(peer) for peer in peers]))
