"""How many workers suit, and what a step cannot fall below with them."""

from __future__ import annotations

from analyzer.facts import Facts
from rules.data_loading import handing_over

# On so few cores workers take the time from training: with 0/1/2/4 workers the seeds' baseline takes 7.4/10/10/10 ms a step.
FEW_CORES = 2
_DEFAULT_WORKERS = 4
MAX_WORKERS = 8
# Less work a sample than this is mostly overhead, which a worker process repeats (rules.md DL002).
CHEAP_SAMPLE_NS = 200_000
# Share of a core below which who loads mostly waits, as SageMaker Debugger and gpuprof see it.
WAITING_RATIO = 0.4


def suggested_workers(facts: Facts) -> int:
    """Workers to start tuning from; none where one hands a batch over as slowly as it is made, or cannot: it is on the device."""
    none = handing_over.handed_over_as_slowly(facts) or facts.input.on_device.holds
    return 0 if none else fitting_workers(facts)


def fitting_workers(facts: Facts) -> int:
    """Workers that suit the cores: as many as there are beside training, or as cores where training mostly waits for them.

    Where making samples is mostly waiting, cores are no limit.
    """
    bound = facts.input.with_workers
    if bound.cores is None:
        return _DEFAULT_WORKERS
    if samples_wait(facts):
        return MAX_WORKERS
    yields = worth_a_worker(facts) and bound.workers and bound.load_ns > bound.rest_ns
    return max(0, min(MAX_WORKERS, bound.cores if yields else bound.cores - 1))


def samples_wait(facts: Facts) -> bool:
    """Whether the training process hardly computes while it makes a batch itself: it waits for storage, or for a network."""
    bound = facts.input.with_workers
    return facts.input.wait.single_process and bound.computing_ns < WAITING_RATIO * bound.load_ns


def worth_a_worker(facts: Facts) -> bool:
    """Whether a sample is known to be more work than a worker adds to it."""
    return (facts.input.loading.per_sample_ns or 0.0) >= CHEAP_SAMPLE_NS


def floor_ns(facts: Facts) -> float:
    """What a step cannot fall below when workers make the batches.

    On two cores, of a 17 ms batch of 0.5 ms samples, one worker hid 10 %, two 32 % and four 41 % of a step of 19 ms (2026-11-26):
    what training waits, its core works for it. Of samples that are mostly overhead two workers took half as long again.
    """
    bound = facts.input.with_workers
    return bound.yielding_floor_ns if worth_a_worker(facts) else bound.floor_ns
