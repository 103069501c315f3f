"""PR006 unpacked-weights: quantised weights are turned back into 16 or 32 bits before each product.

## What it finds
Kernels that do nothing but unpack weights of 4 or 8 bits: bitsandbytes (QLoRA's `Linear4bit`), GPTQ (exllama), AWQ, HQQ, GGUF; or
ops of torch that mask, shift and scale packed weights in front of a product, one kernel each.

## Why it costs time
There is no product of 4-bit weights with 16-bit inputs in the libraries of the device: the whole matrix is written out in 16 bits,
read again by the product, and thrown away. That takes the same time for one token as for ten thousand, and it is done again in
the backward pass, and once more where activations are computed again.

## How it is measured
`|kernels that unpack| / |device busy|`, by their names or by that of the library's op that launches them; or the pointwise kernels
from the first that looks at bits until the product behind them, in front of three products or more. Products that unpack while
they multiply (Marlin, `gemm_4bit`, tinygemm) are none of them. What a compiler makes of unpacking written in PyTorch (torchao's
NF4) has no name of its own, and is not seen.

## Example
Slow:

```python
config = BitsAndBytesConfig(load_in_4bit=True)  # computes in float32
args = TrainingArguments(per_device_train_batch_size=1, gradient_accumulation_steps=16)
```

Faster:

```python
config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
args = TrainingArguments(per_device_train_batch_size=4, gradient_accumulation_steps=4)
```

## Fix
1. Unpack to bfloat16, not to float32.
2. Training: more tokens in each pass, fewer passes a step.
3. Where memory allows: LoRA over weights in 16 bits; or without recomputed activations, which unpack once more.
4. Serving: kernels that unpack inside the product.
5. Unpacked by ops of torch: the library's kernel for it, or a compiler.

## Expected gain
At most these kernels' time, where weights are kept in 16 bits. With twice the tokens a pass it is half of it for as many tokens.

## When it is wrong
Quantised weights buy memory: a model that does not fit otherwise has no choice but larger passes. The threshold is reasoned, not
calibrated: no recording on a GPU has judged it.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- https://huggingface.co/docs/transformers/quantization/bitsandbytes
- https://github.com/bitsandbytes-foundation/bitsandbytes (csrc/ops.cu: kDequantizeBlockwise, then a product of cuBLAS)
- https://github.com/johnsmith0031/alpaca_lora_4bit/issues/2 (time of a step is unpacking, and the product in 16 bits)
- https://arxiv.org/abs/2305.14314
- https://github.com/huggingface/diffusers/pull/11869 (GGUF: 6.4 s an iteration by ops of torch, 5.3 s by a kernel)
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.arrays import BoolArray
from analyzer.units import count, share
from rules.changes import compiled
from rules.evidence import kernel_saving, kernel_table, steps_with
from rules.purpose import by_purpose
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="PR006",
    name="unpacked-weights",
    family="precision",
    title="Quantised weights unpacked each pass",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(Threshold("min_busy_ratio", 0.05, "ratio", "as for other passes over memory around products (PR004)"),),
    references=("https://huggingface.co/docs/transformers/quantization/bitsandbytes",),
)
# With twice the tokens a pass, half as many passes unpack for the same tokens.
_USUAL_RATIO = 1 / 2
_BY_A_KERNEL = Advice(
    "text",
    "A kernel that unpacks, or multiplies packed weights, instead of ops of torch one by one: the library's own, where it has one.",
    "GGUF in diffusers: `pip install kernels`, and DIFFUSERS_GGUF_CUDA_KERNELS=true. Here weights are masked, shifted and scaled "
    "by a kernel for each op.",
)
_TO_FLOAT32 = Pattern(r"kDequantizeBlockwise<float,")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when kernels that unpack weights own `min_busy_ratio` of the busy time."""
    kernels = facts.kernels.named
    rows = facts.kernels.unpacking
    if not rows.any():
        yield not_applicable("no kernel that only unpacks quantised weights")
        return
    ratio = kernels.busy_ratio(rows)
    if ratio < limits["min_busy_ratio"]:
        yield clear(f"unpacking weights takes {share(ratio)} of the busy time, below {share(limits['min_busy_ratio'])}")
        return
    number = round(int(rows.sum()) / max(facts.steps.count, 1))
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time unpacks quantised weights before products: {count(number, 'kernel')} "
        f"{facts.steps.a_unit}, as long for a few tokens as for many.",
        saving=kernel_saving(
            facts,
            kernels.time_ns(rows),
            "the kernels that unpack, where weights are kept in 16 bits; half is usual, with twice the tokens a pass",
            of=((rows, 1.0),),
            usual_ns=_USUAL_RATIO * kernels.time_ns(rows),
        ),
        fix=_fix(facts, rows, to_float32=any(_TO_FLOAT32.search(name) for name, _, _ in kernels.longest(rows)[:1])),
        verify="Record again with as many tokens a step: less time in the kernels that unpack.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest kernels that unpack weights"),),
        caveats=(
            "Packed weights save memory: whether weights in 16 bits, or larger passes, fit is not in these kernels.",
        ),
    )


def _fix(facts: Facts, rows: BoolArray, *, to_float32: bool) -> tuple[Advice, ...]:
    kernels = facts.kernels.named
    if 2 * kernels.time_ns(rows & facts.kernels.unpacked_in_ops) > kernels.time_ns(rows):
        return (_BY_A_KERNEL, compiled(facts, "One kernel for the ops that unpack a weight."))
    narrower = (
        Advice(
            "python",
            "config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)",
            "The longest of these kernels writes 32-bit floats: twice the bytes, and products that are slower as well.",
        ),
    )
    training = (
        Advice(
            "text",
            "Larger passes, and fewer of them: twice the samples in each micro-batch, and half as many micro-batches a step.",
            "As far as memory allows. The step learns from as many samples as before, and unpacks half as often.",
        ),
        Advice(
            "text",
            "Where memory allows, LoRA over weights in bfloat16 (`dtype=torch.bfloat16`, before transformers 4.56 `torch_dtype`; "
            "no `load_in_4bit`).",
            "Nothing is unpacked then; weights take four times the memory. Activations that are computed again unpack once more.",
        ),
    )
    running = (
        Advice(
            "text",
            "Serve the weights with kernels that unpack inside the product: Marlin for GPTQ and AWQ, as vLLM chooses where it can.",
            "Or collect more tokens for each pass: unpacking takes as long for one as for many.",
        ),
    )
    return (*(narrower if to_float32 else ()), *by_purpose(facts, running, training))


RULE = Rule(META, check, __doc__)
