"""PG011 outdated-software: torch or CUDA is older than what this device, or this advice, needs.

## What it finds
A version of torch below 2.0 or 2.2, or a CUDA runtime older than the device, as far as the trace states versions.

## Why it costs time
Old versions lack what other findings advise: `torch.compile` and one-launch optimizers (2.0), FlashAttention-2 (2.2). A
CUDA runtime that does not know the device cannot have libraries with kernels tuned for it.

## How it is measured
The version of torch that `advisor collect` records, or that it is below 1.13, which wrote ops under another category;
`cuda_runtime_version` and the compute capability that torch writes into each trace: 8.0 needs CUDA 11.0, 8.6 needs 11.1, 8.9 and
9.0 need 11.8, 10.0 and 12.0 need 12.8.

## Example
Slow:

```python
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
```

Faster:

```python
model = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), fused=True)
```

## Fix
1. Install a current torch: it brings its own CUDA libraries.

## Expected gain
Not known from a trace: measure both versions.

## When it is wrong
A version that was patched to know a newer device. Upgrades can also change results.

## Thresholds
None to set: each version stands beside what it brought.

## References
- https://github.com/pytorch/pytorch/releases
- https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, Saving, Severity, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import listed

META = RuleMeta(
    code="PG011",
    name="outdated-software",
    family="profiling",
    title="torch or CUDA is outdated",
    references=("https://github.com/pytorch/pytorch/releases",),
)

# The version that brought it, what it is, and what alone gains by it.
_TORCH = (
    ((2, 0), "`torch.compile`", None),
    ((2, 0), "optimizers with few launches by default", "updates"),
    ((2, 0), "fused attention", "attention"),
    ((2, 2), "FlashAttention-2 in `scaled_dot_product_attention`", "attention"),
)
_SOFTMAX = ("aten::softmax", "aten::_softmax", "softmax")
# Compute capability (major, minor) and the first CUDA runtime that knows it, newest first.
_CUDA = (((10, 0), 12080), ((8, 9), 11080), ((8, 6), 11010), ((8, 0), 11000))


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on versions that are known to lack something."""
    torch, runtime, before = (
        facts.recording.collected.torch_version,
        facts.recording.cuda_runtime,
        facts.recording.torch_before,
    )
    if torch is None and runtime is None and before is None:
        yield cannot_tell("the trace states no versions; `advisor collect` records them")
        return
    problems = [*_torch_lacks(torch, before, _has(facts)), *_cuda_lacks(facts, runtime)]
    if not problems:
        yield clear("the versions the trace states know this device and what is advised")
        return
    yield Finding(
        why="; ".join(problems) + ".",
        saving=Saving(basis="what a newer version saves cannot be told from a trace"),
        fix=(
            Advice(
                "shell",
                "pip install --upgrade torch torchvision",
                "In a new environment; check results and speed before moving.",
            ),
        ),
        verify="Record again with the new version and run `advisor compare before.json after.json`.",
        steps_seen=facts.steps.count,
        severity_cap=Severity.INFO,
    )


def _has(facts: Facts) -> set[str | None]:
    """What the program may have that gains by a version: no op of the trace tells otherwise."""
    ops = facts.host.ops
    attends = not len(ops.ops) or bool(ops.named(lambda name: "attention" in name or name in _SOFTMAX).any())
    return {None, *(["attention"] if attends else []), *([] if facts.model.infers else ["updates"])}


def _torch_lacks(version: tuple[int, int] | None, before: tuple[int, int] | None, has: set[str | None]) -> list[str]:
    """What the version lacks; where it is not stated, what every version that writes such a file lacks."""
    if version is None and before is None:
        return []
    lacking = [
        text
        for needed, text, of in _TORCH
        if (version < needed if version else before is not None and before <= needed) and of in has
    ]
    which = f"torch {version[0]}.{version[1]}" if version else "This torch"
    if version is None and before is not None:
        which += f", older than {before[0]}.{before[1]} by how the file is written,"
    return [f"{which} lacks {listed(lacking)}"] if lacking else []


def _cuda_lacks(facts: Facts, runtime: int | None) -> list[str]:
    """A runtime older than the device it runs on."""
    if runtime is None:
        return []
    for card in facts.device.cards:
        if card.capability is None:
            continue
        needed = next((version for capability, version in _CUDA if card.capability >= capability), 0)
        known = ".".join(map(str, card.capability))
        if runtime < needed:
            return [
                f"CUDA {_dotted(runtime)} is older than the device: compute capability {known} came with {_dotted(needed)}"
            ]
    return []


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


RULE = Rule(META, check, __doc__)
