"""What is sent because an op computes it on the host: where the op runs on the device instead, nothing of it is."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.facts.host.dispatch_owner import OwningOp
from analyzer.spans.intervals import EMPTY, IntervalSet

_GOES = ("copy", "transfer_call", "sync")


def sent_too(facts: Facts, ops: Sequence[OwningOp]) -> IntervalSet:
    """Time beside no kernel of copies to the device, and of their calls, where these ops compute most of what is sent.

    Args:
        facts: The measurements.
        ops: Ops that work on the host while the device idles.
    """
    computed = facts.transfer.computed_on_host
    # `aten::bernoulli` works in `aten::bernoulli_`.
    if computed is None or computed.rstrip("_") not in {op.name.rstrip("_") for op in ops}:
        return EMPTY
    sent = facts.transfer.copies.to_device
    return facts.time.waterfall.owned(*_GOES) & (sent.time | facts.transfer.moves(sent))
