"""PR004 cast-churn: tensors are converted between 32 and 16 bits over and over.

## What it finds
Kernels that only convert between `float` and a 16-bit format, outside the optimizer.

## Why it costs time
Under autocast each operation converts what arrives in the wrong format. Weights that stay in 32 bits are converted in every
step (and, where the cache of casts cannot help, several times), and each conversion reads and writes the whole tensor.

## How it is measured
`|conversion kernels| / |device busy|`. A conversion is a copy kernel below `aten::to` or `aten::_to_copy` whose input is 16-bit
and output 32-bit or the reverse where types were recorded; else one whose name says so (`bfloat16_copy_kernel`,
`converting_copy_kernel`, `LoadWithCast`, or the compiler's `triton_poi_fused__to_copy_0`, which does nothing else). Copies
inside the optimizer's span are its master weights and wanted.

## Example
Slow:

```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    for _ in range(steps):
        output = model(x.float())
```

Faster:

```python
model = model.to(torch.bfloat16)
for _ in range(steps):
    output = model(x.to(torch.bfloat16))
```

## Fix
1. Convert inputs once, before the loop, and drop `.float()` calls inside the model; not where autocast makes most of them.
2. `torch.compile` fuses a conversion into the kernel before or after it. A model that only runs needs no weights in 32 bits:
   convert them once.
3. Compiled, what autocast computes in 32 bits converts in kernels of its own: keep it in 16 bits where results allow.
4. Keep the weights in bfloat16, with an optimizer that holds 32-bit copies.
5. Conversions to 8 bits belong to their products: compile the model, which fuses scaling and converting.

## Expected gain
At most these kernels' time, times the share of the step in which the device is busy.

## When it is wrong
Some conversions are the point of mixed precision: losses and normalisations belong in 32 bits.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- XProf smart suggestions: minimise data type conversions
- https://docs.pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, share
from rules.changes import compiled
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="PR004",
    name="cast-churn",
    family="precision",
    title="Tensors cast back and forth",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(Threshold("min_busy_ratio", 0.05, "ratio", "rules.md PR004"),),
    references=("https://docs.pytorch.org/docs/stable/amp.html",),
)


_MOST = 0.5
_OF_COMPILER = Pattern(r"triton_")
# aten/src/ATen/native/cuda/Copy.cu.
_EIGHT = Pattern(r"float8_\w*copy_kernel|converting_copy_kernel\w*<[^()]*Float8")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when conversions between 32 and 16 bits own `min_busy_ratio` of the busy time."""
    found, kernels = facts.kernels.casts, facts.kernels.named
    if not found.short_formats:
        yield not_applicable("nothing here computes in 16 bits")
        return
    ratio = kernels.busy_ratio(found.rows)
    if ratio < limits["min_busy_ratio"]:
        yield clear(
            f"conversions between 32 and 16 bits are {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}"
        )
        return
    number = round(int(found.rows.sum()) / max(facts.steps.count, 1))
    widths = "32, 16 and 8" if _to_8(facts) else "32 and 16"
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time converts tensors between {widths} bits: "
        f"{count(number, 'kernel')} {facts.steps.a_unit}.{_who(facts)}",
        saving=kernel_saving(facts, kernels.time_ns(found.rows), "the conversions' time", of=((found.rows, 1.0),)),
        fix=_fix(facts),
        verify="Record again: fewer `aten::_to_copy` a step, and less time in copy kernels.",
        steps_seen=steps_with(facts, found.rows),
        confidence=Confidence.HIGH if found.by_types else Confidence.MEDIUM,
        evidence=(kernel_table(facts, found.rows, "longest conversions"),),
        caveats=("Normalisations and softmax may need their 32 bits: some conversions have to stay.",),
    )


def _who(facts: Facts) -> str:
    """That autocast asks for most of them, as a sentence; empty where it does not."""
    if not _of_autocast(facts):
        return ""
    found = facts.kernels.autocasts
    anew = "anew in each" if facts.model.infers else "once a"
    what = f"weights, {anew} pass, and inputs" if found.of_weights else "weights or inputs"
    return f" Autocast asks for {share(found.ratio)} of those outside the backward pass, in front of layers: {what}."


def _of_autocast(facts: Facts) -> bool:
    return facts.kernels.autocasts.ratio > _MOST


def _of_updates(facts: Facts) -> bool:
    """Whether most conversions are launched between a backward pass and the end of the update behind it: copies of gradients."""
    launched = facts.kernels.named.frame["launch_start_ns"].to_numpy()[facts.kernels.casts.rows]
    known = launched[launched == launched].astype("int64")
    return 2 * int(facts.model.before_updates.contains(known).sum()) > len(launched)


_IN_LISTS = Advice(
    "diff",
    "-for master, weight in zip(masters, weights):\n-    master.grad = weight.grad.float()\n"
    "+torch._foreach_copy_([master.grad for master in masters], [weight.grad for weight in weights])",
    "Most are launched between the backward pass and the update, as for an optimizer that keeps weights in 32 bits: one call "
    "copies them all, into tensors that stay. The same for the way back.",
)


# Autocast's list of torch 2.12 (pytorch#174824, #188955).
_APART = Advice(
    "python",
    'with torch.autocast("cuda", enabled=False):\n    y = norm(x)          # weight and input in bfloat16',
    "The compiler fuses a conversion into its neighbours, save where several kernels read what it gives, or a product does: as "
    "around what autocast computes in 32 bits (`rms_norm` from torch 2.12 on), and for weights. Where input and weight may stay in "
    "16 bits nothing is converted: compare the results.",
)


def _generated(facts: Facts) -> bool:
    """Whether most conversions are kernels that the compiler made."""
    rows = facts.kernels.casts.rows
    return 2 * facts.kernels.named.time_ns(rows & facts.kernels.named.like(_OF_COMPILER)) > facts.kernels.named.time_ns(
        rows
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    if _of_updates(facts):
        return (_IN_LISTS,)
    inputs = Advice(
        "diff", "-output = model(x.float())\n+output = model(x)", "Look for `.float()` and `.to(...)` inside the model."
    )
    fused = compiled(facts, "Fuses a conversion into the kernel before or after it.")
    weights = Advice(
        "python",
        "model = model.to(torch.bfloat16)",
        "No weights are converted any more" + _copies(facts),
    )
    if _to_8(facts) and not facts.kernels.fusion.compiled:
        return (
            compiled(
                facts,
                "Products of 8 bits need these: compiled, one kernel scales and converts. Kernel by kernel they may cost "
                "more than 8 bits save.",
            ),
        )
    if _generated(facts):
        return (_APART, weights)
    # What autocast converts no `.float()` of the program made.
    if not _of_autocast(facts):
        return (inputs, weights) if facts.kernels.fusion.compiled else (inputs, fused, weights)
    own = (weights,) if facts.kernels.autocasts.of_weights else (weights, _WITHOUT)
    if facts.kernels.fusion.compiled:
        return own
    return (*own, fused) if facts.model.infers else (fused, *own)


_WITHOUT = Advice(
    "text",
    "Where weights are in 16 bits already, leave autocast out: nothing is converted in front of these layers then.",
    "Where norms or losses need 32 bits, convert around them alone.",
)


def _to_8(facts: Facts) -> bool:
    """Whether some of the conversions make floats of 8 bits, which their products ask for."""
    return bool((facts.kernels.named.like(_EIGHT) & facts.kernels.casts.rows).any())


def _copies(facts: Facts) -> str:
    if facts.model.infers and not facts.model.may_train:
        return "."
    where = "where the program trains, " if facts.model.may_train else ""
    return f"; {where}the optimizer then needs its own 32-bit copies to keep small updates."


RULE = Rule(META, check, __doc__)
