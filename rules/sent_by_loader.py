"""What has to change first where the loader itself sends to the device, as a collate function with `.to(device)` does.

Workers that use CUDA have to be spawned, and `pin_memory` refuses tensors of a device
(https://docs.pytorch.org/docs/stable/notes/multiprocessing.html, /docs/stable/data.html#memory-pinning).
"""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.units import share


def left_to_the_loop(facts: Facts) -> str:
    """A sentence to put behind advice of workers or pinned memory, with a space before it; empty where the loader sends nothing."""
    found = facts.input.on_device
    if not found.sends:
        return ""
    there = (
        " Where the rest of the data is on the GPU already, keep this there too and index whole batches instead."
        if 2 * found.computing > found.calls
        else ""
    )
    return (
        f" In {share(found.sending / found.calls)} of its calls the loader itself sends to the GPU, in `__getitem__` or the "
        "collate function: before there are workers, or `pin_memory`, let both return CPU tensors, and send the batch in the loop "
        f"(`.to(device, non_blocking=True)`).{there}"
    )
