"""What messages between two ranks are: of stages of a pipeline, of a ring that parts of sequences go around, or of either.

The words of their groups say it. Where these say nothing, their directions may: in training a stage sends to those that it
receives from, as gradients come back, and around a ring everything goes one way. Of two ranks both look alike, but for when they
are sent: one stage of two sends what it has behind layers or gets what comes before them, not both, unless stages are interleaved.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.communication.collectives import Collectives
from analyzer.facts.communication.passes import layers_ns, nodes_ns
from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.ranks.configured import configured_groups
from analyzer.ranks.group_kinds import kind_of_group, shares_sequences
from analyzer.ranks.names import kind_of
from analyzer.spans.columns import present
from analyzer.spans.labels import distinct_texts, matching
from analyzer.spans.moments import last_before
from traces.messages import Message, parse_message
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

_PAIR = 2


class Passing(msgspec.Struct, frozen=True):
    """What most of the exposed time is, where that is in messages between two ranks; all no where it is not.

    Args:
        stages: Whether they may be of a pipeline.
        ring: Whether they may be of a ring.
        swaps: Whether the rank both sends behind layers of the forward pass and gets what further layers of it follow: where either
            may be, a ring is the likelier.
    """

    stages: bool = False
    ring: bool = False
    swaps: bool = False

    @property
    def either(self) -> bool:
        """Whether nobody can tell which."""
        return self.stages and self.ring


_STAGES, _RING, _EITHER = Passing(stages=True), Passing(ring=True), Passing(stages=True, ring=True)


def passing(trace: Trace, steps: Steps, host: HostFacts, found: Collectives) -> Passing:
    """Looks at the groups' words first, at directions then.

    Args:
        trace: The trace.
        steps: The steps.
        host: What the host's threads do.
        found: The collectives.
    """
    if not found.messages:
        return Passing()
    told = _by_words(trace, found)
    if told is None and host.ops.named(is_backward_node).any():
        told = _by_directions(trace, steps)
    return told or msgspec.structs.replace(_EITHER, swaps=_swaps(trace, host))


def _by_words(trace: Trace, found: Collectives) -> Passing | None:
    """By the groups that the exposed time is in, else by all that the trace lists; None where they say nothing, or both."""
    said = [(one.kind == "pp", one.of_sequences, one.exposed.total_ns) for one in found.groups]
    if not any(stages or ring for stages, ring, _ in said):
        listed = [one.description for one in configured_groups(trace.meta.distributed) if len(one.ranks) != 1]
        said = [(kind_of_group(words) == "pp", shares_sequences(words), 1) for words in listed]
        if any(stages for stages, _, _ in said) and any(ring for _, ring, _ in said):
            return None
    stages, ring = (sum(one[-1] for one in said if one[which]) for which in (0, 1))
    return None if stages == ring else _STAGES if stages > ring else _RING


def _by_directions(trace: Trace, steps: Steps) -> Passing | None:
    """By whom the rank sends to and receives from in groups of more than two; None where that is not stated."""
    several = [one for one in _stated(trace, steps) if _members(one) != _PAIR]
    targets = {one.target for one in several if one.target is not None}
    sources = {one.source for one in several if one.source is not None}
    if not targets or not sources:
        return None
    return _STAGES if targets & sources else _RING


def _swaps(trace: Trace, host: HostFacts) -> bool:
    """Whether most messages are sent behind a layer, and most that come are in front of one, with no backward pass between."""
    calls = trace.collectives
    layers, nodes, at = layers_ns(host.ops), nodes_ns(host.ops), calls["start_ns"].to_numpy()
    sends = matching(calls["name"], lambda name: kind_of(name) == "send")
    gets = matching(calls["name"], lambda name: kind_of(name) == "recv")
    if not len(layers) or not len(nodes) or not sends.any() or not gets.any():
        return False
    behind = last_before(layers, at[sends]) > last_before(nodes, at[sends])
    never = np.iinfo(np.int64).max
    following, backward = (np.append(found, never)[np.searchsorted(found, at[gets])] for found in (layers, nodes))
    return bool(2 * behind.mean() > 1 and 2 * (following < backward).mean() > 1)


def _stated(trace: Trace, steps: Steps) -> list[Message]:
    """Each message of the used steps that a range on the host states, or its kernel, once."""
    calls, kernels = trace.collectives, trace.kernels
    inside = (
        calls["message"][steps.host_window.contains(calls["start_ns"].to_numpy())],
        kernels["message"][steps.window.contains(kernels["start_ns"].to_numpy())],
    )
    texts = dict.fromkeys(text for stated in inside for text in distinct_texts(stated[present(stated)]))
    return [one for one in map(parse_message, texts) if one is not None]


def _members(message: Message) -> int:
    return message.size or len(message.ranks)
