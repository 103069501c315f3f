"""What helps the collectives of a program that only runs its model: there are no gradients to accumulate, bucket or compress."""

from __future__ import annotations

import re

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from traces.patterns import Pattern

_BALANCED = Advice(
    "text",
    "Balance what the ranks get: the experts over ranks, or the shards. All-to-all waits for the fullest rank.",
    "Where what is sent is wider than 16 bits a number, send 16; engines that serve experts also send 8.",
)
_BALANCED_IF_EXPERTS = replace(
    _BALANCED, note=f"Where it is tokens of experts that are exchanged: {_BALANCED.note[0].lower()}{_BALANCED.note[1:]}"
)
_OF_SEQUENCES = Advice(
    "text",
    "Send queries, keys and values in one exchange, permute in the kernel that sends where your library has one, and exchange "
    "within one machine; where there are fewer heads of keys and values than of queries, gather those alone.",
    "Where parts of a sequence are exchanged for heads around attention (Ulysses).",
)
_HALVES = Advice(
    "text",
    "Split what runs together into two halves, and let one compute while the other communicates.",
    "Engines that serve models call it two-batch or dual-batch overlap. It needs passes large enough to fill the device by halves.",
)
_NEXT_TO_NORM = Advice(
    "text",
    "Use the all-reduce for small messages of your engine, or of symmetric memory (one-shot, two-shot), over NVLink or xGMI; "
    "where there is one that adds and normalises in the same kernel, that.",
    "Of the few tokens of a decoding step the start of a collective costs more than what is sent.",
)
# Engines' own kernels for small messages, and symmetric memory's (traces/reader/names/vocabulary.py has their sources).
_SMALL_MESSAGES = Pattern(r"cross_device_reduce|one_?shot|two_?shot|multimem|quickreduce", re.IGNORECASE)
_WITH_NORM = Advice(
    "text",
    "Let one kernel add up, add the residual and normalise, where your engine has such a pass of its compiler.",
    "The all-reduce here is already one for small messages: what is left is its start, and the kernels behind it.",
)
_REPLICAS = Advice(
    "text",
    "Split layers over fewer ranks, all of them on the fast links of one machine (NVLink), as far as the weights fit, and run "
    "more copies of the model on the others.",
    "Each layer waits for the sum of its parts (tensor parallelism): fewer parts send less and wait for fewer.",
)
_MORE_IN_FLIGHT = Advice(
    "text",
    "Keep at least as many batches in flight as there are stages, and cut stages that take equally long.",
    "Messages between two ranks, as stages of a pipeline send: a stage is idle until the one before it has something for it.",
)


def move_less(facts: Facts) -> tuple[Advice, ...]:
    """Fewer bytes, or fewer ranks to wait for; nothing where stages only wait for one another."""
    found = facts.communication.collectives
    if "all_to_all" in (found.main_kind or ""):
        return (_BALANCED,) if facts.communication.exchanged.experts else (_OF_SEQUENCES, _BALANCED_IF_EXPERTS)
    # Links between devices mean nothing to processes on CPUs.
    return () if facts.communication.passing.stages or facts.device.main is None else (_REPLICAS,)


def hide_more(facts: Facts) -> tuple[Advice, ...]:
    """Let something else run beside what has to be sent; never empty."""
    found = facts.communication.collectives
    if facts.communication.passing.stages:
        return (_MORE_IN_FLIGHT,)
    reduces = (found.main_kind or "").replace("_", "").startswith("allreduce")
    if not reduces or facts.device.main is None:
        return (_HALVES,)
    return (_WITH_NORM if any(map(_SMALL_MESSAGES.search, found.kernel_names)) else _NEXT_TO_NORM, _HALVES)
