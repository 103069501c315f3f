"""The verdict sentence: what the run is bound by, with its share; compute-bound included."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.analysis import BoundBy, Verdict
from analyzer.units import share

# What a person would call each cause of the waterfall.
_GROUPS: dict[str, BoundBy] = {
    "compute": "compute",
    "communication": "communication",
    "copy": "copy",
    "transfer_call": "copy",
    "input": "input",
    "allocator": "allocator",
    "sync": "sync",
    "compile": "compile",
    "python": "python",
    "launch": "launch",
    "framework": "launch",
    "optimizer": "launch",
    "device_wait": "launch",
    "unexplained": "unknown",
}

# A loss this large a share of the step is what the run is bound by, if it is at least half of all that is lost.
_BOUND_RATIO = 0.2
_BOUND_PART_OF_LOSS = 0.5
# From this share of useful work on, the run is bound by compute whatever the rest is.
_COMPUTE_RATIO = 0.7
# With at least half the step useful and no single large loss, compute is still what limits it.
_COMPUTE_HALF = 0.5

_SENTENCES: dict[BoundBy, str] = {
    "input": "Input-bound: {who} waits for the data loader for {share} of the step.",
    "sync": "Sync-bound: the host waits for the device, then has to refill it, for {share} of the step.",
    "launch": "Launch-bound: for {share} of the step the device idles while the host dispatches its next work.",
    "python": "Python-bound: for {share} of the step {who} idles while the host runs code outside any op.",
    "communication": "Communication-bound: {share} of the step is collectives with no compute beside them.",
    "copy": "Copy-bound: {share} of the step is copies with no compute beside them.",
    "allocator": "Allocator-bound: {who} idles for {share} of the step while device memory is allocated or freed.",
    "compile": "Compile-bound: {share} of the step goes to compiling.",
    "compute": "Compute-bound: the model itself is {share} of the step.",
    "unknown": "Unclear: for {share} of the step the device idles for a reason this trace does not show.",
    "mixed": "Mixed: no single cause stands out; the largest loss is {largest} with {share} of the step.",
}


def verdict(waterfall: Mapping[str, int], *, has_device: bool) -> Verdict:
    """What the run is bound by.

    Args:
        waterfall: Nanoseconds by cause over the used steps.
        has_device: Whether there is device work; else compute means time inside ops.
    """
    total = sum(waterfall.values())
    if not total:
        return Verdict(bound_by="unknown", ratio=0.0, text="Nothing to judge: the window is empty.")
    ratios: dict[BoundBy, float] = {}
    # Without a device the optimizer is arithmetic on the same cores as the model, not time in which something idles.
    groups: dict[str, BoundBy] = _GROUPS if has_device else {**_GROUPS, "optimizer": "compute"}
    for cause, ns in waterfall.items():
        ratios[groups[cause]] = ratios.get(groups[cause], 0.0) + ns / total
    compute = ratios.pop("compute", 0.0)
    largest = max(ratios, key=lambda group: ratios[group], default=None)
    loss = 1.0 - compute
    if largest is None or compute >= _COMPUTE_RATIO:
        bound: BoundBy = "compute"
    elif ratios[largest] >= _BOUND_RATIO and ratios[largest] >= _BOUND_PART_OF_LOSS * loss:
        bound = largest
    else:
        bound = "compute" if compute >= _COMPUTE_HALF and ratios[largest] < _BOUND_RATIO else "mixed"
    ratio = compute if bound == "compute" else ratios[largest] if largest is not None else 0.0
    text = _SENTENCES[bound].format(share=share(ratio), who="the GPU" if has_device else "training", largest=largest)
    if not has_device:
        text = text.replace("while the host runs code", "in Python code").replace("training idles in", "training is in")
    return Verdict(bound_by=bound, ratio=ratio, text=text)
