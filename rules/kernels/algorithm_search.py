"""KE011 algorithm-search: convolutions try all algorithms in the middle of training.

## What it finds
Convolutions, or products of matrices, that run several candidate kernels and wait for the device after each, in steps after the
first one: `torch.backends.cudnn.benchmark`, MIOpen's search, or torch's tunable GEMMs, for sizes that were not seen before. And
Triton kernels that their autotuner measures: each configuration some hundred times, for each new value of what it is keyed by.

## Why it costs time
The search pays when a size comes back thousands of times. With batches of a new size in each step (detection, speech, text, the
last batch of an epoch) every convolution is searched again: ten candidates run for one that is used, some far longer than it,
and the host waits for each.

## How it is measured
Calls of matrix ops that launch three or more matrix kernels, of two names at least, and wait for the device twice or more inside.
`|candidates but the shortest of each call, and idle time inside the calls| / |used steps|`. Runs of an autotuner are ten or more in
a row of one kernel that no op launches, each behind an `aten::zero_` that clears the cache, between events: their time, and idle
time meanwhile. Unit: nanoseconds.

## Example
Slow:

```python
torch.backends.cudnn.benchmark = True
for images in loader:  # another height and width in each batch
    output = model(images)
```

Faster:

```python
torch.backends.cudnn.benchmark = False
for images in loader:
    output = model(images)
```

## Fix
1. `torch.backends.cudnn.benchmark = False` where sizes vary: a heuristic then chooses without trying.
2. Few sizes: pad to the next of a handful, or batch samples of one size. Each is then searched once, and the search stays on.
3. Triton: `key` without the length, or with the length rounded up; `cache_results=True` keeps what was found from run to run.
4. On ROCm `MIOPEN_FIND_MODE=FAST`. For tunable GEMMs tune once, keep the file, then `PYTORCH_TUNABLEOP_TUNING=0`.

## Expected gain
At most what is measured. What the heuristic chooses may be slower than what the search finds: measure both.

## When it is wrong
A search in a few of many steps, for sizes that come back, pays later. The recording may have begun at such a step: then the steps
after it have none.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cudnn.torch.backends.cudnn.benchmark
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-cudnn-auto-tuner
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.searches import Searches
from analyzer.facts.kernels.timed_runs import TimedRuns
from analyzer.finding import Advice, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.evidence import kernel_table
from rules.framework_words import searched
from traces.trace import Capability

META = RuleMeta(
    code="KE011",
    name="algorithm-search",
    family="kernels",
    title="Algorithms searched inside steps",
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card (rules.md, presentation)"
        ),
    ),
    binds=("compile",),
    explains=("ID002", "PY001"),
    before=("PY001",),
    references=(
        "https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cudnn.torch.backends.cudnn.benchmark",
        "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#enable-cudnn-auto-tuner",
    ),
)
# Kernels of templates have names of a thousand characters.
_NAME_LENGTH = 60


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when searches take at least `min_ratio` of the used steps, and not only of the first one."""
    found, timed = facts.kernels.searches, facts.kernels.timed_runs
    tuned = not timed.first_only and facts.steps.ratio(timed.spans.total_ns) >= limits["min_ratio"]
    if tuned:
        yield _tuned(facts, timed)
        if not found.calls:
            return
    if not found.calls:
        yield not_applicable("no matrix op in the used steps tries algorithms")
        return
    ratio = facts.steps.ratio(found.spans.total_ns)
    if found.first_only:
        said = f"{count(found.calls, 'search', 'searches')} for algorithms in the first used step, {share(ratio)} of the time"
        yield clear(f"{said}: as it should be") if facts.steps.count > 1 else cannot_tell(f"{said}: record more steps")
        return
    if ratio < limits["min_ratio"]:
        yield clear(f"searching for algorithms is {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    yield Finding(
        why=f"{_what(found)} try {count(int(found.candidates.sum()), 'kernel')} in {count(found.calls, 'call')} to find the "
        f"fastest, in {found.steps_seen} of {facts.steps.count} steps{_shapes(found)}: "
        f"{duration(facts.steps.per_step(found.spans.total_ns))} of {facts.steps.each} ({share(ratio)}).",
        saving=Saving(
            claims=found.spans,
            basis="candidates but the shortest of each call, and the device's idle time inside the calls",
        ),
        fix=_fix(facts, found),
        verify="Record again: a convolution launches one kernel that computes, and no call of an event or stream waits inside.",
        steps_seen=found.steps_seen,
        evidence=(kernel_table(facts, found.candidates, "candidates that take most of the time"),),
        caveats=(
            "What is chosen without a search may be slower than what the search finds: where sizes come back, the search pays.",
        ),
    )


def _tuned(facts: Facts, timed: TimedRuns) -> Finding:
    name = timed.kernel.partition("(")[0][:_NAME_LENGTH]
    ns = timed.spans.total_ns
    return Finding(
        why=f"An autotuner runs `{name}` {count(timed.runs, 'time')} to find its fastest configuration, in {timed.steps_seen} of "
        f"{facts.steps.count} steps: with compiling them {duration(facts.steps.per_step(ns))} of {facts.steps.each} "
        f"({share(facts.steps.ratio(ns))}). Each run follows an `aten::zero_` that clears the cache, and computes nothing of the "
        "model.",
        saving=Saving(claims=timed.spans, basis="the runs that are timed, and the device's idle time meanwhile"),
        fix=(_KEYS, _KEPT),
        verify=f"Record again with other lengths: `{name}` runs no more often than the model calls it.",
        steps_seen=timed.steps_seen,
        caveats=(
            "A few steps that tune for what comes back pay later: the warm-up of the recording should hold them.",
        ),
        title="Kernels tuned inside steps",
    )


def _what(found: Searches) -> str:
    return "Convolutions" if found.convolution else "Products of matrices"


def _shapes(found: Searches) -> str:
    """How many sizes they are, where that was recorded."""
    return f", for {count(found.shapes, 'size')} of operands" if found.shapes else ""


def _fix(facts: Facts, found: Searches) -> tuple[Advice, ...]:
    if not found.convolution:
        return (_TUNED,)
    if facts.device.kind == "rocm":
        return (_off(facts), _FAST, _SIZES)
    return (_off(facts), _SIZES)


def _off(facts: Facts) -> Advice:
    return Advice(
        "diff",
        searched(facts) or "-torch.backends.cudnn.benchmark = True\n+torch.backends.cudnn.benchmark = False",
        "Where sizes vary from batch to batch. A library may set it: look for `benchmark` in what you use.",
    )


_KEYS = Advice(
    "diff",
    ' @triton.autotune(\n     configs=[...],\n-    key=["D", "T"],\n+    key=["D"],            # or a length that is rounded up: '
    "triton.next_power_of_2(T)\n )",
    "What `key` names is tuned anew for each value. Of a library's kernel: a newer version, or its setting for sizes; or "
    "pad batches to a handful of lengths.",
)
_KEPT = Advice(
    "text",
    "Call the model once with each length before training, or keep what was found: `cache_results=True` of `triton.autotune` "
    "(Triton 3.3 or newer) writes it to Triton's cache.",
)
_FAST = Advice("shell", "export MIOPEN_FIND_MODE=FAST", "MIOpen then takes what it knows of a size, without a search.")
_SIZES = Advice(
    "python",
    "step = 64                                     # a handful of sizes instead of any\n"
    "height, width = (-(-size // step) * step for size in images.shape[-2:])\n"
    "images = torch.nn.functional.pad(images, (0, width - images.shape[-1], 0, height - images.shape[-2]))",
    "Each size is searched once, and comes back. Or sort samples so that a batch holds one size; `drop_last=True` for the last.",
)
_TUNED = Advice(
    "shell",
    "export PYTORCH_TUNABLEOP_TUNING=0",
    "After one run that tunes and writes its file: what was found is used, nothing is searched.",
)

RULE = Rule(META, check, __doc__)
