"""What helps where ranks share sequences, which libraries call context parallelism: a ring, gathers, heads for sequences."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice

_PAIR = 2
_SHORTER = Advice(
    "text",
    "Share each sequence among fewer ranks, all of them on the fast links of one machine (NVLink), and use others for more data.",
    "These messages pass keys and values on around a ring (context parallelism), and are hidden while a rank computes with the "
    "piece that it has. Among fewer ranks a piece is longer: what is computed with it grows faster than what is sent. "
    "Micro-batches, buckets and accumulating gradients change nothing about it.",
)
_FEWER_SHARE = replace(
    _SHORTER,
    note="What is gathered, scattered or exchanged here are parts of sequences that these ranks share (context or sequence "
    "parallelism), as their group is called. Attention grows faster with the length of a part than what is sent. Micro-batches, "
    "buckets and accumulating gradients change nothing about it.",
)
_HEADS_INSTEAD = Advice(
    "shell",
    "--cp-comm-type a2a   # Megatron-Core; a2a+p2p with --hierarchical-context-parallel-sizes: a ring between machines alone",
    "Exchanges the sequence for heads before attention and back behind it (Ulysses), and passes nothing around. It needs as many "
    "heads of keys and values as there are ranks, or more.",
)
_RING_INSTEAD = Advice(
    "shell",
    "--cp-comm-type p2p   # Megatron-Core",
    "Keys and values then go around a ring while a rank computes with the piece that it has; what is gathered in front of "
    "attention, or exchanged for heads, nothing hides. It takes pieces so long that computing with one takes as long as sending.",
)
_PERHAPS = replace(
    _SHORTER,
    note="Where these messages are of no stages, but pieces of sequences that go around a ring (context parallelism): the trace "
    "does not tell which. They are hidden while a rank computes with the piece that it has; among fewer ranks a piece is longer. "
    "Micro-batches change nothing about it.",
)


def shares_sequences(facts: Facts) -> bool:
    """Whether most of the exposed time is in what ranks that share sequences send one another, as far as anybody can tell."""
    found, passed = facts.communication.collectives, facts.communication.passing
    if found.messages:
        return passed.ring and not passed.either
    # A sum of all, as of gradients or a loss, is of no sequence.
    return found.of_sequences and (not found.may_be_gradients or found.main_kind is None)


def move_less(facts: Facts) -> tuple[Advice, ...]:
    """Fewer ranks that share a sequence."""
    return (_on_links(facts, _SHORTER if facts.communication.passing.ring else _FEWER_SHARE),)


def _on_links(facts: Facts, advice: Advice) -> Advice:
    """The same without links that devices have, where none is there."""
    if facts.device.main is not None:
        return advice
    return replace(advice, code=advice.code.replace("on the fast links of one machine (NVLink)", "on one machine"))


def hide_more(facts: Facts) -> tuple[Advice, ...]:
    """Another way to share it."""
    return (_HEADS_INSTEAD,) if facts.communication.passing.ring else (_RING_INSTEAD,)


def perhaps(facts: Facts) -> tuple[Advice, ...]:
    """What helps a ring, where nobody can tell whether messages are of one or of a pipeline."""
    known = facts.job is not None and facts.job.job.pipeline is not None and len(facts.job.job.pipeline.stages) > _PAIR
    return (_on_links(facts, _PERHAPS),) if facts.communication.passing.either and not known else ()
