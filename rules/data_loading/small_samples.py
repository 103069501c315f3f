"""DL006 small-samples-one-by-one: small data are loaded one sample at a time.

## What it finds
A loader without workers whose time goes into the same few operations repeated for every sample, on samples so cheap or
data so small that whole batches could be taken from memory; or worker processes that take samples out of tensors in memory
(`TensorDataset`), and training waits for them.

## Why it costs time
Fetching a sample runs a dataset's `__getitem__`, a chain of transforms and, at the end, a collation: dozens of Python calls
and tiny ops for a few kilobytes. The work itself is nothing, the overhead is paid once a sample, and worker processes pay it
too, plus the way to the training process.

## How it is measured
Ops inside `__next__` on the training thread: several that occur equally often in every call are the transform of one
sample, and their count is the batch. The rule fires where loading takes at least 5 % of the step and a sample takes less
than 0.2 ms, or ops shorter than that fill 60 % of the loader's time, or `advisor collect` recorded a data set that fits in
memory. The bound is the idle time inside `__next__` (on a CPU-only trace: all time inside it). `advisor collect` times a few
batches by their parts: what choosing the samples takes, and putting them together where the remedies leave that in the loop (a
collate function of the program's own, a framework that makes the loader and is given samples), is not in the bound. What torch's
own collation copies (`aten::stack`) is called likely of no remedy: a batch that is indexed is copied as well. Where a collate
function takes most of it, the remedy is to do once what it does to each sample.

## Example
Slow:

```python
loader = DataLoader(MNIST(root, transform=Compose([ToTensor(), Normalize(mean, std)])), batch_size=64, shuffle=True)
for images, labels in loader:
    train_step(images, labels)
```

Faster:

```python
images = (dataset.data.unsqueeze(1).float() / 255 - mean) / std
for index in torch.randperm(len(images)).split(64):
    train_step(images[index], dataset.targets[index])
```

## Fix
1. Load and transform once, keep tensors, index whole batches.
2. Keep the DataLoader, but give it whole batches: `sampler=BatchSampler(...)`, `batch_size=None`, or `__getitems__`.
3. On a GPU keep the tensors on the device. Where they are there already, as kernels inside `__next__` without copies show, index
   whole batches there; workers and `pin_memory` are for CPU tensors.
4. Workers only where none of this is possible.

## Expected gain
At most the bound. Measured with a 784-128-64-10 network on MNIST on 2 cores: 7.4 ms a step become 0.9 ms; with 1, 2 or 4
workers they become 10 ms.

## When it is wrong
Augmentation that must differ from sample to sample: batched transforms of torchvision draw once a batch. Where torch draws
random numbers for every sample the rule is silent, unless the data set is known to seed a generator for each, which makes them the
same in every epoch; augmentation that draws elsewhere (NumPy, `random`) leaves no op. Data larger than memory: see DL003 and DL007.
How large the data are is known only where `advisor collect` recorded it. A run that passes through its data once, as `advisor
collect` counts it to its end, makes each sample once as it is: there the rule fires only where whole batches can be taken of what
is held already, or a sample is mostly overhead.

## Thresholds
- `min_ratio`: share of the used steps inside `__next__` from which the rule looks at all.
- `max_sample_ns`: a sample cheaper than this is mostly overhead.
- `min_ops_ratio`: share of the loader's time inside ops from which the transform is the cost.
- `max_dataset_bytes`: data up to this size are taken to fit in memory.

## References
- https://docs.pytorch.org/docs/stable/data.html#loading-batched-and-non-batched-data
- own measurement on MNIST
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share, size
from rules.data_loading import on_device, one_long_call, place, tensors_in_workers
from rules.data_loading.advice import MEMORY_BYTES, more_workers, tiny_batches
from rules.data_loading.cheaper import kept_open
from rules.data_loading.kept import made_once_already
from rules.data_loading.own_workers import own_workers
from rules.data_loading.parts import (
    collate_ratio,
    librarys_collate_stays,
    likely_ratio,
    made_once,
    sampler_leads,
    sampler_takes,
    saved_ratio,
)
from rules.data_loading.samples import (
    already_tensors,
    in_memory,
    random_samples,
    replaces_sampler,
    stackable,
    takes_whole_batches,
    whole_batches,
)
from rules.data_loading.words import makes_loader
from rules.data_loading.workers import CHEAP_SAMPLE_NS, suggested_workers

META = RuleMeta(
    code="DL006",
    name="small-samples-one-by-one",
    family="data_loading",
    title="Small data, loaded sample by sample",
    binds=("input",),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "as DL001 and DL002: below, the loader is not what limits the step"),
        Threshold(
            "max_sample_ns", CHEAP_SAMPLE_NS, "ns", "MNIST with ToTensor and Normalize takes 0.05-0.1 ms a sample"
        ),
        Threshold("min_ops_ratio", 0.6, "ratio", "rules.md DL006: most of the time, so batching the ops pays"),
        Threshold("max_dataset_bytes", MEMORY_BYTES, "bytes", "a quarter of the memory of a machine with 8 GiB"),
    ),
    explains=("DL001", "DL002", "DL003", "DL007"),
    references=("https://docs.pytorch.org/docs/stable/data.html#loading-batched-and-non-batched-data",),
    measured=True,
    outside=("in-memory",),
)
# Of less than a hundredth that stays nobody need hear.
_ALL = 0.99


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where loading costs time and its samples are small enough to be loaded once."""
    reason = _nothing_to_gain(facts, limits)
    if reason is None and tensors_in_workers.sent_back(facts):
        yield tensors_in_workers.finding(facts)
        return
    reason = reason or _why_not(facts, limits)
    if reason is not None:
        yield reason
        return
    wait, made = facts.input.wait, facts.input.loading
    each = made.per_sample_ns or 0.0
    known = facts.recording.collected.dataset_bytes
    most, likely = saved_ratio(facts), likely_ratio(facts)
    data = f" The whole data set is {size(known)}." if known is not None else ""
    repeated = f", the same {count(len(made.sequence), 'op')} for each of them" if made.sequence else ""
    yield Finding(
        why=f"Each batch is made of {count(made.samples or 0, 'sample')}, one by one{repeated}: {duration(each)} a sample, "
        f"{duration(facts.steps.per_step(wait.host.total_ns))} of {facts.steps.each} "
        f"({share(facts.steps.ratio(wait.host.total_ns))}).{data}{_where(facts)}{place.sentence(facts)}",
        saving=Saving(
            wait.owned.scaled(most),
            behind=facts.sync.behind(wait.inside).scaled(most),
            usual_claims=wait.owned.scaled(likely) if likely < most else None,
            basis="idle time inside `__next__`: indexing a batch in memory takes next to nothing of it"
            if likely > _ALL
            else f"idle time inside `__next__` without what choosing samples, and putting them together, still takes of it: "
            f"{share(1 - likely)}",
        ),
        fix=_fix(facts),
        verify="Record again: the repeated ops inside `__next__` should be gone, or `__next__` itself; DL001 should be clear.",
        steps_seen=facts.steps.count_with(wait.host),
        confidence=one_long_call.confidence(facts, Confidence.HIGH if known is not None else Confidence.MEDIUM),
        evidence=(
            Bars(
                "one batch",
                "ns",
                (
                    Bar("loading", wait.host.total_ns / len(wait)),
                    Bar("of it in ops", made.ops_ns / len(wait)),
                    Bar("one sample", each),
                ),
            ),
            *place.evidence(facts),
        ),
        location=place.place(facts),
        caveats=("Random augmentation has to differ between samples: on a batch it is drawn once.",)
        + (
            ()
            if known is not None or facts.input.on_device.one_by_one
            else ("How large the data are is not known: this needs them to fit in memory.",)
        )
        + one_long_call.caveats(facts),
    )


def _where(facts: Facts) -> str:
    """Where the samples are, in words with a space before them; empty where that is the host, or nobody knows."""
    if not facts.input.on_device.one_by_one:
        return ""
    return " They are on the GPU already: kernels put the batch together inside `__next__`, and nothing is sent there."


def _nothing_to_gain(facts: Facts, limits: Limits) -> Outcome | None:
    """That loading costs little, or the data are none that memory holds; None elsewhere."""
    wait, known = facts.input.wait, facts.recording.collected.dataset_bytes
    if not len(wait):
        return not_applicable("no DataLoader call in the used steps")
    ratio = facts.steps.ratio(wait.host.total_ns)
    if ratio < limits["min_ratio"]:
        return clear(f"loading takes {share(ratio)} of the step, below {share(limits['min_ratio'])}")
    if known is not None and known > limits["max_dataset_bytes"]:
        return not_applicable(f"the data ({size(known)}) are taken to be larger than memory")
    if facts.input.by_no_loader:
        return not_applicable("no DataLoader makes the batches (DL001)")
    return None


def _why_not(facts: Facts, limits: Limits) -> Outcome | None:
    """Why one by one is not what costs time, or nobody can tell; None where the rule fires."""
    wait, made = facts.input.wait, facts.input.loading
    if not wait.single_process:
        makers = own_workers(facts) if wait.own_workers else "worker processes"
        return cannot_tell(f"samples are made in {makers}; record once with num_workers=0 to see them")
    if facts.recording.collected.whole_batches and made.per_sample_ns is None:
        return clear("the data set makes whole batches: no sample is loaded by itself")
    if made.per_sample_ns is None:
        return cannot_tell("no op repeats once a sample inside `__next__`; `advisor collect` records the batch size")
    if random_samples(facts):
        return clear(
            f"a sample takes {duration(made.per_sample_ns)} and draws random numbers, as augmentation does: kept in memory it "
            "would be the same in every epoch"
        )
    return _dear(facts, limits)


def _dear(facts: Facts, limits: Limits) -> Outcome | None:
    """The outcome where it is not the samples that cost time, or each is work of its own; None where they are cheap or few."""
    made, known = facts.input.loading, facts.recording.collected.dataset_bytes
    if sampler_leads(facts):
        return clear(sampler_takes(facts))
    if librarys_collate_stays(facts):
        return clear(
            f"a library's collate function takes {share(collate_ratio(facts))} of making a batch: samples kept in memory save "
            "nothing of it"
        )
    cheap = (made.per_sample_ns or 0.0) < limits["max_sample_ns"]
    if _kept_in_vain(facts) and not (cheap and takes_whole_batches(facts)):
        return clear("the run passes through its data once: it makes each sample once as it is")
    ops = made.ops_ns / facts.input.wait.host.total_ns
    if known is not None or cheap:
        return None
    # An op that alone takes as long as a cheap sample computes: on a batch it takes as long for each of them.
    if ops >= limits["min_ops_ratio"] and (made.mean_op_ns or 0) < limits["max_sample_ns"]:
        return None
    return clear(
        f"a sample takes {duration(made.per_sample_ns or 0.0)}, {share(ops)} of it in ops: more than overhead, and the size of the "
        "data is not known"
    )


def _kept_in_vain(facts: Facts) -> bool:
    """Whether samples would have to be made to be kept, and this run makes each once as it is."""
    return made_once_already(facts) and not already_tensors(facts)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    if facts.input.on_device.one_by_one:
        return (*tiny_batches(facts), *on_device.at_once(facts))
    last = (more_workers(facts),) if suggested_workers(facts) else ()
    if not stackable(facts) or makes_loader(facts):
        return (*tiny_batches(facts), *made_once(facts), *kept_open(facts), *last)
    whole = () if replaces_sampler(facts) else (whole_batches(facts),)
    # What is streamed is seldom known to fit in memory: batches of the stream's own need no more of it.
    known = facts.recording.collected
    whole_first = (known.stream and known.dataset_bytes is None) or _kept_in_vain(facts)
    kept = (*whole, in_memory(facts)) if whole_first else (in_memory(facts), *whole)
    return (*tiny_batches(facts), *kept[:1], *kept_open(facts), *kept[1:], *last)


RULE = Rule(META, check, __doc__)
