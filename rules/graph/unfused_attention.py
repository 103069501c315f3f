"""GR005 unfused-attention: attention as separate products and a softmax, each over the whole score matrix.

## What it finds
A batched product, a softmax and a batched product in a row, where one fused kernel could do all three.

## Why it costs time
The score matrix has a row and a column per token. Written out, it goes to memory and back several times: after the first
product, for scaling and masking, for the softmax, for the second product, and again in the backward pass. Fused attention never
writes it at all.

## How it is measured
On each thread, the order of matrix ops and softmaxes: `aten::_softmax` directly between two of `aten::bmm` / `baddbmm`
(backward: between two pairs). Measured as `|their softmax and product kernels| / |device busy|`. A classifier's softmax has no
such neighbours. Inside `aten::_scaled_dot_product_attention_math` it is torch's own function that fell back. Silent where kernels
of fused attention run for as long or longer, unless that function fell back.

## Example
Slow:

```python
scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
output = scores.softmax(dim=-1) @ v
```

Faster:

```python
output = torch.nn.functional.scaled_dot_product_attention(q, k, v)
```

## Fix
1. `F.scaled_dot_product_attention(q, k, v, is_causal=...)`. Where it is called already and falls back to its written-out form:
   `sdpa_kernel([...])` without that form says why no fused kernel takes the inputs.
2. Hugging Face models: `from_pretrained(..., attn_implementation="sdpa")`.
3. Masks that change the scores: `torch.nn.attention.flex_attention`.

## Expected gain
The softmax kernels' time and half of the two products', times the share of the step in which the device is busy. Scaling,
masking and dropout of the scores come on top and are not counted.

## When it is wrong
Fused kernels need 16-bit inputs or fall back to slower ones, and some masks and head sizes switch them off. Models that return
their attention weights cannot use them.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
- Measured: 44 and 48 % of the kernel time of two vision transformers was softmax
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Figure, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

# Part of the two products' time that is moving the score matrix (rules.md GR005).
_PRODUCT_RATIO = 0.5

META = RuleMeta(
    code="GR005",
    name="unfused-attention",
    family="graph",
    title="Attention is not fused",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.LAUNCHES}),
    thresholds=(Threshold("min_busy_ratio", 0.05, "ratio", "rules.md GR005; 44-48 % were measured where it mattered"),),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
    ),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when attention written out owns `min_busy_ratio` of the busy time and no fused attention runs."""
    found, kernels = facts.kernels.attention, facts.kernels.named
    rows = found.softmax | found.products
    ratio, fused = kernels.busy_ratio(rows), kernels.busy_ratio(found.fused)
    fell_back = 2 * found.fallbacks > found.calls
    # Beside more of it that is fused, what is written out may have a reason: its weights are asked for.
    if found.fused.any() and not fell_back and ratio <= fused:
        yield clear(f"fused attention runs: {share(fused)} of the busy time")
        return
    if not found.calls:
        yield not_applicable("no softmax between two batched products in the trace")
        return
    if ratio < limits["min_busy_ratio"]:
        yield clear(
            f"attention written out is {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}"
        )
        return
    softmax_ns, products_ns = kernels.time_ns(found.softmax), kernels.time_ns(found.products)
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is attention written out: softmax {share(kernels.busy_ratio(found.softmax))}, "
        f"its products {share(kernels.busy_ratio(found.products))}."
        + (" `scaled_dot_product_attention` is called, and no fused kernel takes its inputs." if fell_back else "")
        + (f" Other attention is fused, for {share(fused)}." if found.fused.any() else ""),
        saving=kernel_saving(
            facts,
            softmax_ns + _PRODUCT_RATIO * products_ns,
            "the softmax kernels and half of the products around them; scaling, masks and dropout come on top",
            of=((found.softmax, 1.0), (found.products, _PRODUCT_RATIO)),
            kind=Figure.ESTIMATE,
        ),
        fix=(_ASK_WHY,) if fell_back else _fix(),
        verify="Record again: kernels named `flash_fwd`, `fmha` or `attn_fwd`, and no softmax kernel of that size.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM if found.fused.any() else Confidence.HIGH,
        evidence=(kernel_table(facts, rows, "longest kernels of attention"),),
        caveats=("Some masks, head sizes and 32-bit inputs keep the fused kernels from being chosen.",),
    )


_ASK_WHY = Advice(
    "python",
    "from torch.nn.attention import SDPBackend, sdpa_kernel\n\n"
    "with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):\n"
    "    model(batch)   # fails, and warns of what each kernel objects to",
    "Usual reasons: 32-bit or mixed inputs (autocast), a mask that needs a gradient, is_causal beside attn_mask, an odd head size.",
)


def _fix() -> tuple[Advice, ...]:
    return (
        Advice(
            "diff",
            "-scores = (q @ k.transpose(-2, -1)) * scale\n-output = scores.softmax(dim=-1) @ v\n"
            "+output = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)",
            "Pass the mask as attn_mask, or is_causal=True; dropout as dropout_p.",
        ),
        Advice(
            "python",
            'model = AutoModel.from_pretrained(name, attn_implementation="sdpa")',
            "Hugging Face models; they fall back to the written-out form where attention weights are asked for.",
        ),
        Advice(
            "diff",
            "-attended, _ = attention(x, x, x)\n+attended, _ = attention(x, x, x, need_weights=False)",
            "Of `torch.nn.MultiheadAttention`, which gives its weights by default, and then writes attention out.",
        ),
    )


RULE = Rule(META, check, __doc__)
