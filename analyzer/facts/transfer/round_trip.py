"""Copies that go to the device and come back: what is kept on the host between its uses, as weights, a cache, or activations."""

from __future__ import annotations

from collections import Counter

import numpy as np

from analyzer.facts.transfer.copies import Copies
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import matching
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# A batch and what a model makes of it share no more sizes than by chance, and have a few parts.
_MIN_TENSORS = 8
_MATCHING_PART = 0.8


def there_and_back(to_device: Copies, to_host: Copies, steps: int) -> bool:
    """Whether what is sent to the device comes back: most bytes of either way have a copy of equal size in the other.

    Args:
        to_device: Large copies to the device in the used steps.
        to_host: Large copies to the host.
        steps: How many used steps there are; a step has at least eight such tensors, or what is looked at is no state.
    """
    sent, back = _sizes(to_device), _sizes(to_host)
    matched = sent & back
    if sum(matched.values()) < _MIN_TENSORS * steps:
        return False
    both = sum(size * number for size, number in matched.items())
    return all(both >= _MATCHING_PART * sum(size * number for size, number in one.items()) for one in (sent, back))


def asked_for_backwards(trace: Trace, to_device: Copies) -> bool:
    """Whether most bytes are sent by calls inside nodes of the backward pass.

    Args:
        trace: The trace.
        to_device: Copies to the device.
    """
    nodes = IntervalSet.of_rows(trace.ops, matching(trace.ops["name"], is_backward_node))
    return _mostly_called_in(to_device, nodes)


def updated_on_host(to_device: Copies, to_host: Copies, behind: IntervalSet) -> bool:
    """Whether most bytes are sent behind the backward pass and the steps copy as much to the host: gradients there, weights back.

    A batch that is sent ahead comes behind the pass as well, and next to nothing goes the other way.

    Args:
        to_device: Copies to the device in the used steps.
        to_host: Copies to the host.
        behind: Host time behind the backward passes.
    """
    # Gradients have as many bytes as the weights, or half or twice as many where formats differ.
    as_much = to_device.bytes <= 2 * to_host.bytes and to_host.bytes <= 2 * to_device.bytes
    return as_much and _mostly_called_in(to_device, behind)


def _mostly_called_in(copies: Copies, time: IntervalSet) -> bool:
    """Whether most bytes are copied by calls that begin in some time of the host."""
    called = copies.with_call
    size = called["size_bytes"].fillna(0).to_numpy(dtype=np.int64)
    inside = time.contains(called["call_start_ns"].to_numpy("int64"))
    return bool(2 * size[inside].sum() > copies.bytes)


def _sizes(copies: Copies) -> Counter[int]:
    return Counter(copies.frame["size_bytes"].fillna(0).to_numpy(dtype=np.int64).tolist())
