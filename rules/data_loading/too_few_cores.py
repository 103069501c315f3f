"""DL007 too-few-cores: loading needs more processor time than the cores can give.

## What it finds
A loader that no number of workers can hide: all cores beside the training process together make batches more slowly than
training takes them.

## Why it costs time
Decoding, resizing and augmenting run on processor cores. When a batch costs more core time than the cores have while one
step trains, training waits, whatever `num_workers` says.

## How it is measured
Without workers: `load / (cores - 1)` against the rest of the step. With workers: as many workers as cores - 1, and training
still waits over 1 ms in most steps; a batch then costs `workers * step` times the share of a core that each of them uses, all of
one where `advisor collect` did not sample it. Cores are those `advisor collect` recorded. The bound is the idle time inside
`__next__`. Workers that are started in the recording make no batch meanwhile: that time is in no figure (DL005).

## Example
Slow:

```python
transform = Compose([Resize(256), RandomCrop(224), ColorJitter(0.4), ToTensor(), Normalize(mean, std)])
loader = DataLoader(ImageFolder(root, transform), batch_size=64, num_workers=8)
```

Faster:

```python
loader = DataLoader(Resized(root), batch_size=64, num_workers=8)
augment = Compose([RandomCrop(224), ColorJitter(0.4), ToDtype(torch.float32, scale=True), Normalize(mean, std)])
for images, labels in loader:
    images = augment(images.to(device, non_blocking=True))
```

## Fix
1. Do once, offline, what every epoch repeats: decoding, resizing, tokenising.
2. Move the rest to the device: torchvision.transforms.v2 (on a batch it draws once: all images get the same crop; kornia and
   DALI draw for each), `decode_jpeg(device="cuda")`.
3. Where the ops of samples show a Python loop through a tensor: the same on the whole tensor.
4. Where `advisor collect` saw an archive or a database opened for each sample: once in each process. Where it saw rows taken of a
   pandas table: arrays of its columns, made once.
5. More cores per GPU: hardware, not software, is the limit then.

## Expected gain
At most the idle time inside the loader, and of the idle time after it as much as loading took while the device was busy. Work
that is moved to the device takes time there, which the bound does not include.

## When it is wrong
Workers that wait for storage need no cores: more of them would help, and so would faster storage. A trace without samples of
their processor time does not show which of the two it is, and neither does one whose training process loads itself. Where other
programs had the cores, loading looks dearer than it is: if `advisor collect` saw that the thread had no core for long enough to
matter, the rule cannot tell.

## Thresholds
- `min_ratio`: share of the used steps that waiting owns from which the rule fires.

## References
- SageMaker Debugger CPUBottleneck
- https://docs.pytorch.org/vision/stable/transforms.html
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.data_loading import place
from rules.data_loading.advice import decode_on_device, more_workers, prepare_offline, united
from rules.data_loading.bursts import is_bursty
from rules.data_loading.cheaper import arrays, cheaper_samples, known_causes
from rules.data_loading.kept import made_once_already
from rules.data_loading.on_device import WHY_NO_WORKERS
from rules.data_loading.own_workers import own_workers
from rules.data_loading.parts import sampler_leads, sampler_takes
from rules.data_loading.workers import suggested_workers

META = RuleMeta(
    code="DL007",
    name="too-few-cores",
    family="data_loading",
    title="Loading needs more cores than exist",
    binds=("input",),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "as DL001: below, the loader is not what limits the step"),),
    explains=("DL001", "DL002", "DL003"),
    references=("https://docs.pytorch.org/vision/stable/transforms.html",),
    outside=("in-memory",),
)

_LOOKS_ALIKE = "Time that loading waits for storage looks like core time here: more workers would then help."
# As DL003: in at least half of the steps training waits.
_STARVED_RATIO = 0.5


class _Batch(msgspec.Struct, frozen=True):
    """What a batch takes of the cores, nanoseconds.

    Args:
        core_ns: Of one core.
        room: Cores beside training.
        rest_ns: The rest of the step.
    """

    core_ns: float
    room: int
    rest_ns: float

    @property
    def fastest_ns(self) -> float:
        """On all cores beside training."""
        return self.core_ns / self.room


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the cores beside training cannot make batches as fast as training takes them."""
    outcome = _not_told(facts, limits)
    if outcome is not None:
        yield outcome
        return
    batch = _batch(facts)
    if batch is None:
        yield clear(_why_not_short(facts))
        return
    outcome = _fast_enough(facts, batch) or _crowded_out(facts, batch)
    if outcome is not None:
        yield outcome
        return
    wait, waiting = facts.input.wait, _waiting(facts)
    ratio = facts.steps.ratio(waiting.total_ns)
    yield Finding(
        why=f"A batch costs about {duration(batch.core_ns)} of one core. {count(batch.room, 'core')} beside training can make "
        f"one every {duration(batch.fastest_ns)} at best, but the rest of the step takes only {duration(batch.rest_ns)}: "
        f"{share(ratio)} of the step is waiting.{place.sentence(facts)}",
        saving=Saving(
            waiting,
            behind=facts.sync.behind(wait.inside - facts.input.starting),
            basis="idle time inside `__next__`; work moved to the device then costs device time",
        ),
        fix=_fix(facts),
        verify="Record again: the wait inside `__next__` should fall without more workers.",
        steps_seen=wait.steps_seen,
        confidence=Confidence.HIGH if wait.single_process else Confidence.MEDIUM,
        evidence=(_evidence(batch), *place.evidence(facts)),
        location=place.place(facts),
        caveats=() if _sampled(facts) else (_LOOKS_ALIKE,),
    )


def _not_told(facts: Facts, limits: Limits) -> Outcome | None:
    """Why cores are not what is short, or cannot be told to be; None where what a batch takes of them can be asked."""
    wait = facts.input.wait
    if not len(wait):
        return not_applicable("no DataLoader call in the used steps")
    ratio = facts.steps.ratio(_waiting(facts).total_ns)
    if ratio < limits["min_ratio"]:
        return clear(f"waiting for data owns {share(ratio)} of the step, below {share(limits['min_ratio'])}")
    if wait.own_workers:
        return cannot_tell(
            f"batches come from {own_workers(facts)}, of which nobody recorded what they take of the cores"
        )
    if facts.input.on_device.holds:
        return not_applicable(WHY_NO_WORKERS)
    collected = facts.recording.collected
    if collected.cores is None or (wait.multi_process and collected.num_workers is None):
        return cannot_tell("cores and workers are not in the trace; `advisor collect` records them")
    return clear(sampler_takes(facts)) if sampler_leads(facts) else None


def _why_not_short(facts: Facts) -> str:
    """Why the cores are not known to be what lacks."""
    workers, cores = facts.recording.collected.num_workers or 0, facts.recording.collected.cores or 0
    if workers < cores - 1:
        return f"{count(workers, 'worker')} on {count(cores, 'core')}: there is room for more"
    return "training waits for fewer than half of the batches, or nearly only for a few: the workers keep up with the others"


def _waiting(facts: Facts) -> IntervalSet:
    """Waiting for batches that are made; while workers start none is, and more cores or cheaper samples change little (DL005)."""
    return facts.input.wait.owned - facts.input.starting


def _batch(facts: Facts) -> _Batch | None:
    """What a batch takes of the cores; None where workers could still be added, so that cores are not known to be the limit."""
    cores = facts.recording.collected.cores or 1
    core_ns = _core_time(facts, cores)
    if core_ns is None:
        return None
    rest_ns = facts.input.with_workers.rest_ns
    return _Batch(core_ns, max(cores - 1, 1), rest_ns)


def _fast_enough(facts: Facts, batch: _Batch) -> Outcome | None:
    """That the cores could keep up; None where they could not."""
    if batch.fastest_ns > batch.rest_ns:
        return None
    used = facts.recording.collected.worker_cpu_ratio if facts.input.wait.multi_process else None
    waits = f"each worker uses {share(used)} of a core and waits otherwise: " if used is not None else ""
    return clear(
        f"{waits}{count(batch.room, 'core')} beside training could make a batch in {duration(batch.fastest_ns)}; "
        f"the rest takes {duration(batch.rest_ns)}"
    )


def _crowded_out(facts: Facts, batch: _Batch) -> Outcome | None:
    """That other programs had the cores; None where they were the program's own."""
    wait, without_core_ns = facts.input.wait, facts.time.without_core_ns
    if wait.single_process and (batch.core_ns - facts.steps.per_step(without_core_ns)) / batch.room <= batch.rest_ns:
        return cannot_tell(
            f"a batch took {duration(batch.core_ns)}, but the thread {facts.time.core_words} of the steps; "
            "record on a quiet machine"
        )
    crowded = facts.recording.collected.workers_crowded_ratio
    if wait.multi_process and crowded is not None:
        return cannot_tell(
            f"a batch costs {duration(batch.core_ns)} of one core, but the workers could run and had no core for {share(crowded)} "
            "of the time: other programs had them; record on a quiet machine"
        )
    return None


def _evidence(batch: _Batch) -> Bars:
    bars = (
        Bar("time of one core", batch.core_ns),
        Bar("all cores, at best", batch.fastest_ns),
        Bar("rest of the step", batch.rest_ns),
    )
    return Bars("one batch", "ns", bars)


def _core_time(facts: Facts, cores: int) -> float | None:
    """Core time of a batch; None where workers could still be added, so that it is not known to be the limit."""
    wait, workers = facts.input.wait, facts.recording.collected.num_workers or 0
    if wait.single_process:
        return facts.steps.per_step(wait.host.total_ns)
    later = facts.input.settled.after_first()
    # Waits in bursts are single slow batches, or a short queue (DL004): the workers keep up with the others.
    starved = later.waiting_ratio >= _STARVED_RATIO and not is_bursty(later)
    if workers < cores - 1 or not starved:
        return None
    usual_ns = facts.steps.per_step(facts.steps.total_ns - (facts.input.starting & facts.steps.window).total_ns)
    used = facts.recording.collected.worker_cpu_ratio
    return (min(workers, max(cores - 1, 1)) if used is None else workers * used) * usual_ns


def _sampled(facts: Facts) -> bool:
    """Whether it is known how much of a core the workers use."""
    return facts.input.wait.multi_process and facts.recording.collected.worker_cpu_ratio is not None


def _fix(facts: Facts) -> tuple[Advice, ...]:
    device = (decode_on_device(facts),) if facts.device.main is not None else ()
    workers = (more_workers(facts),) if facts.input.wait.single_process and suggested_workers(facts) else ()
    offline = prepare_offline(facts)
    if made_once_already(facts):
        return united((*known_causes(facts), *device, *cheaper_samples(facts), *workers, *offline))
    # The cores are what lacks: a worker beside training hides the rest of the step behind loading, and no more.
    cheaper = () if offline or device else cheaper_samples(facts)
    return united((*known_causes(facts), *arrays(facts), *offline, *device, *cheaper, *workers))


RULE = Rule(META, check, __doc__)
