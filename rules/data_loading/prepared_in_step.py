"""DL010 prepared-in-step: whole batches are augmented between the loader and the model.

## What it finds
Random augmentation of a batch in the training loop, on the CPU: kornia, torchvision v2 or ops of one's own, called with what the
loader gave and before the model runs.

## Why it costs time
The step waits for it. Loader workers would do it for the next batch while the model works on this one.

## How it is measured
From the end of the loader's call to the first op that the backward pass goes back to, where random numbers are drawn in it and no
layer of a network runs. On a CPU the same cores train and prepare: the step cannot fall below the rest of it, nor below what
the workers need for it, nor below the core time of all that is done, spread over all cores. Only without a device: on one,
augmenting whole batches is advice, not a fault. Unit: nanoseconds.

## Example
Slow:

```python
for images, labels in loader:
    images = augment(images)
    train_step(images, labels)
```

Faster:

```python
def collate(samples):
    images, labels = default_collate(samples)
    return augment(images), labels


loader = DataLoader(dataset, batch_size=64, collate_fn=collate, num_workers=2, persistent_workers=True)
```

## Fix
1. The same call in `collate_fn`, in loader workers.
2. Fewer or cheaper transforms; smaller images before what is costly.

## Expected gain
At most what it takes, where a core is free for it.

## When it is wrong
Noise that the method adds on purpose (diffusion, denoising) is drawn there as well: where drawing takes a quarter of it, it is none
of this. Augmentation that has a gradient (it is learned) is part of the model, and not seen here.

## Thresholds
- `min_ratio`: share of the used steps that it takes from which the rule fires.

## References
- https://kornia.readthedocs.io/en/latest/augmentation.html
- https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.input.prepared import Prepared
from analyzer.facts.time.host_loss import host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.data_loading import words
from rules.data_loading.workers import FEW_CORES, fitting_workers
from rules.place import line_of, location, named
from traces.trace import Capability

META = RuleMeta(
    code="DL010",
    name="prepared-in-step",
    family="data_loading",
    title="Batches are augmented in the step",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_ratio", 0.10, "ratio", "as a finding of medium severity: moving it to workers takes their time"),
    ),
    references=("https://kornia.readthedocs.io/en/latest/augmentation.html",),
)
# Now and then a program draws numbers for other ends.
_MOST_DRAW = 0.5
# Augmentation draws a few numbers for each image; noise is as large as the batch, and part of the method.
_NOISE = 0.25
# A loader that keeps training waiting as long has no time for more.
_MOST_WAIT = 0.05
_CHEAPER = Advice(
    "text",
    "Fewer or cheaper transforms, smaller images before what is costly; or augment on an accelerator where there is one.",
    "Where no core is free, this is all that helps.",
)
_IN_FASTAI = Advice(
    "diff",
    " block = DataBlock(\n     ...,\n+    item_tfms=Resize(128),\n-    batch_tfms=aug_transforms(size=128),\n"
    "+    batch_tfms=aug_transforms(max_warp=0, max_lighting=0),\n )",
    "`batch_tfms` run in the training process, on the device where there is one; `item_tfms` run in workers, sample by sample. "
    "Make images small there, and keep few transforms for batches.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when augmenting whole batches takes at least `min_ratio` of the used steps."""
    if facts.device.main is not None:
        yield not_applicable("with a device, what the host prepares counts where the device idles for it")
        return
    if facts.device.unrecorded:
        yield cannot_tell("ops ran on a device that was not recorded: the batch may be prepared there")
        return
    found = facts.input.prepared
    if not found.batches:
        yield not_applicable("no batch of a loader that a backward pass follows in the used steps")
        return
    ratio = facts.steps.ratio(found.spans.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"between loader and model lies {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    other = _other(facts, found, ratio)
    if other:
        yield clear(other)
        return
    yield _finding(facts, found, ratio)


def _other(facts: Facts, found: Prepared, ratio: float) -> str:
    """Why what runs there is none of augmentation, or could not go to the workers; empty where it may be."""
    lies = f"{share(ratio)} of the step lies between loader and model"
    if found.of_network:
        return f"{lies}, and layers of a network run there: a frozen one, such as a teacher's"
    if found.drawing < _MOST_DRAW * found.batches:
        return f"{lies}, but no random numbers are drawn there, as augmentation does"
    drawn = found.drawn.total_ns / found.spans.total_ns
    if drawn >= _NOISE:
        return f"{lies}, {share(drawn)} of it drawing random numbers: noise of the size of the batch, as the method may need"
    waited = facts.steps.ratio(facts.input.wait.owned.total_ns)
    if facts.input.wait.multi_process and waited >= _MOST_WAIT:
        return f"{lies}, but training waits for the loader's workers already ({share(waited)} of the step)"
    if facts.recording.collected.cores == 1:
        return f"{lies}, but this run may use one core: workers would take it from training"
    if _floor_ns(facts, found) >= facts.steps.per_step(facts.steps.total_ns):
        return f"{lies}, but the run keeps all its cores busy: workers would take them from training"
    return ""


def _floor_ns(facts: Facts, found: Prepared) -> float:
    """What no step can be shorter than with the workers there are, or suit: the rest, their work, all work on all cores."""
    step, taken = facts.steps.per_step(facts.steps.total_ns), facts.steps.per_step(found.spans.total_ns)
    bound = facts.input.with_workers
    return max(step - taken + (bound.hand_over_ns or 0.0), taken / _workers(facts), bound.shared_ns or 0.0)


def _finding(facts: Facts, found: Prepared, ratio: float) -> Finding:
    line = line_of(facts, found.spans)
    cores = facts.recording.collected.cores
    step, taken = facts.steps.per_step(facts.steps.total_ns), facts.steps.per_step(found.spans.total_ns)
    saved = host_loss(facts.device, facts.time.device_waits, facts.time.waterfall, found.spans).scaled(
        (step - _floor_ns(facts, found)) / taken
    )
    return Finding(
        why=f"Between loader and model{named(line)} the training thread works {duration(taken)} of {facts.steps.each} "
        f"({share(ratio)}) on the batch, and draws random numbers for it, as augmentation of whole batches does.",
        saving=Saving(
            claims=saved.claims,
            kernel_ns=saved.op_ns,
            basis="what it takes, as far as the cores have room for it beside the rest of the step",
        ),
        fix=(_in_workers(facts), _CHEAPER),
        verify="Record again: the model's first op should follow the loader's call; `advisor compare` shows the change.",
        steps_seen=facts.steps.count_with(found.spans),
        confidence=Confidence.LOW if cores is None or cores <= FEW_CORES else Confidence.MEDIUM,
        evidence=(
            Bars("mean step", "ns", (Bar("between loader and model", taken), Bar("rest of the step", step - taken))),
        ),
        location=location(line),
        caveats=(
            "What depends on the model's state, or on the loss of the step before, has to stay in the loop.",
            *(
                (f"With {count(cores, 'core')} workers compete with training: measure before keeping this.",)
                if cores is not None and cores <= FEW_CORES
                else ()
            ),
        ),
    )


def _workers(facts: Facts) -> int:
    """Workers of the loader; where it has none, as many as suit."""
    return facts.recording.collected.num_workers or fitting_workers(facts)


def _in_workers(facts: Facts) -> Advice:
    """The same call in the loader's collate function; with workers where it has none."""
    if words.framework_of(facts) == "fastai":
        return _IN_FASTAI
    if words.makes_loader(facts):
        workers = words.loader(facts, {"num_workers": _workers(facts)}, "")
        return replace(
            workers,
            note="The framework makes the loader; its workers augment the next batches beside training where `augment` is called "
            "in the data set, or in a collate function of your own.",
        )
    return Advice(
        "diff",
        "+def collate(samples):\n+    images, labels = torch.utils.data.default_collate(samples)\n"
        "+    return augment(images), labels\n+\n"
        "-loader = DataLoader(dataset, ...)\n+loader = DataLoader(dataset, ..., collate_fn=collate, "
        f"num_workers={_workers(facts)}, persistent_workers=True)\n"
        " for images, labels in loader:\n-    images = augment(images)\n     train_step(images, labels)",
        "The workers augment the next batches beside training, still whole batches at a time; each draws numbers of its own.",
    )


RULE = Rule(META, check, __doc__)
