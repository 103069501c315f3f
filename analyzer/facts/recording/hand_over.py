"""What a batch from a worker process would cost the one that trains."""

from __future__ import annotations

from traces.trace import Meta

_LONGEST_NS = 1_000_000_000
_MOST_TENSORS = 1 << 20


def hand_over_ns(meta: Meta) -> int | None:
    """Nanoseconds to take over a batch's tensors from another process, as measured on this machine when it was idle.

    Args:
        meta: What the file says of itself; nothing is believed about its shape.

    Returns:
        Tensors of a batch times what one took; None where nobody measured it.
    """
    measured, data = meta.advisor.get("hand_over"), meta.advisor.get("dataset")
    each = measured.get("lower_quartile_ns") if isinstance(measured, dict) else None
    if type(each) is not int or not 0 < each < _LONGEST_NS:
        return None
    tensors = data.get("batch_tensors") if isinstance(data, dict) else None
    return each * (tensors if type(tensors) is int and 0 < tensors < _MOST_TENSORS else 1)
