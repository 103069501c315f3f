"""Whether anything is sent to the device: a program that sends nothing prepares no data for it."""

from __future__ import annotations

from analyzer.facts import Facts

# Whose tracers record each copy; those of other makers may leave them out.
_RECORD_COPIES = ("cuda", "rocm")


def nothing_sent(facts: Facts) -> bool:
    """Whether work of a device was recorded, copies with it, and none of them goes there in the used steps."""
    recorded = facts.device.main is not None and facts.device.kind in _RECORD_COPIES
    return recorded and not len(facts.transfer.copies.to_device)
