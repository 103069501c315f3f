"""XF005 layout-churn: the device spends its time copying and re-laying data instead of computing.

## What it finds
Copies within the device and kernels of `contiguous`, `clone`, `copy_`, `_to_copy` and `cat` that take at least 10 % of the
device's busy time.

## Why it costs time
Such kernels read and write every value and compute nothing. They come from `.contiguous()` after `permute`, from layers that
want another memory format, from concatenating what could have been written in place.

## How it is measured
Kernels of the used steps whose launch is inside one of these ops, and copies from device to device, where nothing else
runs beside them, as a share of the time the device works. Casts of the number format and copies by the optimizer are left
out. The saving is that time times the device's busy share, and nothing where the device waits for launches.

## Example
Slow:

```python
def forward(self, x):
    return self.conv(x.permute(0, 3, 1, 2).contiguous())
```

Faster:

```python
model = model.to(memory_format=torch.channels_last)
images = images.to(memory_format=torch.channels_last)
```

## Fix
1. Remove `.contiguous()` and `.clone()` that nothing needs.
2. One memory format for the whole model (`channels_last` for convolutions).
3. `torch.compile` fuses copies into their neighbours.
4. Write into a tensor made once instead of concatenating.
5. Weights that an LSTM or a GRU copies together at each call: `flatten_parameters()`.

## Expected gain
At most the time of these copies; some are needed.

## When it is wrong
A program that replays CUDA graphs copies its inputs to where the graph reads them; the card then says how to need fewer copies.
BatchNorm's running statistics make hundreds of copies of 256 bytes, which cost the device nothing (and the host about 9 us
each: that shows up as launch overhead). Copies that exchange data with another device or a ring buffer are the program's work.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.

## References
- TraceLens, device-to-device copies
- https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.layout_work import LayoutWork
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Finding,
    Location,
    Outcome,
    Saving,
    Shortened,
    Table,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import channels_last, compiled
from rules.evidence import reaching
from rules.transfer.channels_already import AS_A_VIEW, channels_already
from traces.trace import Capability

META = RuleMeta(
    code="XF005",
    name="layout-churn",
    family="transfer",
    title="Device copies and re-lays data",
    binds=("copy",),
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_busy_ratio", 0.10, "ratio", "rules.md XF005: counts are huge and normal, a tenth of the time is not"
        ),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",),
    outside=("channels-last",),
)

# From this part of the copies on their cause is the replayed graph.
_MOST = 0.5
_IN_PLACE = Advice(
    "python",
    "for buffer in model.buffers():\n    torch._dynamo.mark_static_address(buffer)   # before the model is compiled\n"
    "batch.copy_(next_batch)   # into the same input tensors, in place",
    "A replayed graph reads its inputs where they were when it was captured: tensors that are elsewhere are copied there before "
    "each replay, and results are cloned. Keep tensors in place.",
)

_CACHE = Advice(
    "diff",
    "-keys, values = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)\n"
    "+keys[:, :, position], values[:, :, position] = key[:, :, 0], value[:, :, 0]   # made once, as long as answers may get",
    "A cache of keys and values that is concatenated is copied whole for every token: more with each, and the memory twice.",
)
_CACHE_OF_TRANSFORMERS = Advice(
    "diff",
    '-output = model.generate(**inputs)\n+output = model.generate(**inputs, cache_implementation="static")',
    "The default cache of transformers is concatenated with the keys and values of each token, and so copied whole.",
)


_FLAT = Advice(
    "diff",
    " self.rnn = apply_what_changes_its_weights(self.rnn)\n+self.rnn.flatten_parameters()   # behind what changes or moves them",
    "The library takes a recurrent network's weights as one piece of memory; where they are not, as behind weight dropout, "
    "`DataParallel` or a copy of the module, it copies them together at each call. Weights that are computed anew for each call "
    "have to be written into the old ones in place.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when moving data within the device takes at least `min_busy_ratio` of its busy time."""
    busy = facts.kernels.named.busy.total_ns
    if not busy:
        yield not_applicable("the device does nothing in the used steps")
        return
    work = facts.transfer.layout_work
    ratio = work.time.total_ns / busy
    if ratio < limits["min_busy_ratio"]:
        yield clear(
            f"copying within the device takes {share(ratio)} of its busy time, below {share(limits['min_busy_ratio'])}"
        )
        return
    name, pieces, _ = work.by_op[0]
    yield Finding(
        why=f"Copying and re-laying data takes {duration(facts.steps.per_step(work.time.total_ns))} "
        f"{facts.steps.a_unit}, {share(ratio)} of "
        f"the time the device works; most of it for `{name}` "
        f"({count(round(facts.steps.per_step(pieces)), 'time')} {facts.steps.a_unit}).",
        saving=Saving(
            kernel_ns=work.time.total_ns,
            basis=f"device time of these copies; {reaching(facts)}",
            usual_kernel_ns=facts.time.kernel_gain_ns(work.time.total_ns),
            shortened=(Shortened(work.time & facts.steps.window, 1.0),),
        ),
        fix=_fix(facts, work),
        verify="Record again: the device time of these ops should fall; then run `advisor compare`.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Table(
                "device time by op",
                (Column("op", "text"), Column("pieces", "count"), Column("together", "ns")),
                work.by_op[:5],
            ),
        ),
        location=_location(facts, work),
        caveats=("Some of these copies are needed: the bound is their whole time.",),
    )


def _location(facts: Facts, work: LayoutWork) -> Location | None:
    known = work.thread >= 0
    line = facts.host.stacks.commonest(
        work.thread[known], work.at_ns[known], facts.host.main_thread, work.dur_ns[known]
    )
    return None if line is None else Location(line.file, line.line, line.function, line.begins)


def _fix(facts: Facts, work: LayoutWork) -> tuple[Advice, ...]:
    """What suits the op that takes most of the time comes first; nothing that this program has no use for, or does already."""
    convolves = facts.kernels.convolves_images
    concatenates = any(name == "aten::cat" for name, *_ in work.by_op)
    layout = AS_A_VIEW if channels_already(facts) else channels_last(facts)
    strided = Advice(
        "diff",
        "-x = x.transpose(1, 2).contiguous()\n+x = x.transpose(1, 2)",
        "Most ops take strided inputs as they are: drop `.contiguous()`, `.clone()` and `.to()` that nothing needs.",
    )
    place = Advice(
        "diff",
        "-out = torch.cat([old, new])\n+out = buffer[: len(old) + len(new)]      # made once\n+out[len(old) :].copy_(new)",
        "Concatenating copies everything already there; write into a tensor made once.",
    )
    if facts.model.infers and facts.kernels.named.is_family("attention").any():
        place = _CACHE_OF_TRANSFORMERS if facts.recording.frameworks.may_use("transformers") else _CACHE
    fused = compiled(facts, "Fuses element-wise work and copies into their neighbours.")
    first = layout if convolves else strided
    if work.recurrent_ns > _MOST * int(work.dur_ns.sum()):
        return (_FLAT,)
    if work.replay_ns > _MOST * int(work.dur_ns.sum()):
        return (_IN_PLACE, place) if concatenates else (_IN_PLACE,)
    ordered = (place, fused, first) if work.by_op[0][0] == "aten::cat" else (first, fused, place)
    useless = (*((fused,) if facts.kernels.fusion.compiled else ()), *(() if concatenates else (place,)))
    return tuple(advice for advice in ordered if advice not in useless)


RULE = Rule(META, check, __doc__)
