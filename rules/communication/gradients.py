"""What DistributedDataParallel sums, in fewer bytes or less often: what the trace shows of how it does it comes first."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import share, size
from rules.changes import memory_limits_the_batch
from rules.communication.kinds import BUCKET_BYTES, MANY_CALLS, SMALL_BYTES

# A bucket takes no more than 25 MiB and one parameter: a sum so many times as large is of one, or of buckets that were made larger.
_WHOLE = 2
_MOST_RATIO = 0.5
_NARROWER = Advice(
    "python",
    "from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook\n"
    "model.register_comm_hook(state=None, hook=bf16_compress_hook)",
    "Halves the bytes of float32 gradients and rounds their sums: compare the loss. Of no use where they are 16-bit already.",
)
# Measured: 8 reductions of 14 MB a step over gloo on one machine, 240 ms a step and 275 ms with the hook (torch 2.15).
_NARROWER_ON_A_HOST = replace(
    _NARROWER,
    note="Halves the bytes of float32 gradients, for a network that is slow, and rounds their sums: compare the loss. "
    "Within one machine gloo takes longer for it: converting and adding 16-bit numbers costs a CPU more than sending wider ones.",
)


def shown(facts: Facts) -> tuple[Advice, ...]:
    """What one rank's trace shows to be sent needlessly: mending that pays, whether or not ranks wait for one another."""
    return (*_reduced_once(facts), *_larger_buckets(facts), *_no_search(facts))


def less(facts: Facts) -> tuple[Advice, ...]:
    """Fewer bytes of gradients, or the same less often."""
    found = shown(facts)
    rarer = (*whole(facts), *(found or (_accumulated(facts),)))
    if facts.communication.collectives.narrow:
        return rarer
    if facts.device.main is None:
        return (*rarer, _NARROWER_ON_A_HOST)
    # Where memory limits the batch, accumulating is the one way to communicate less often.
    first = bool(found) or bool(whole(facts)) or memory_limits_the_batch(facts) is not None
    return (*rarer, _NARROWER) if first else (_NARROWER, *rarer)


def whole(facts: Facts) -> tuple[Advice, ...]:
    """What to do about one sum of most gradients, many times as large as a bucket: it starts behind the last of them."""
    passes, buckets = facts.communication.reduced_passes, facts.communication.collectives.bucket_sizes
    each = max(facts.steps.count * passes, 1)
    if not passes or buckets.largest_bytes < _WHOLE * BUCKET_BYTES:
        return ()
    if buckets.largest_bytes * each < _MOST_RATIO * buckets.bytes:
        return ()
    return (
        Advice(
            "text",
            "Look for the largest parameter, as a table of embeddings or an output layer: shard it, make it smaller, or let its "
            "gradient be sparse. Where there is none, leave `bucket_cap_mb` at its default of 25.",
            f"One sum of {size(buckets.largest_bytes)} carries most gradients, and starts when the last of them is there: little "
            "computes beside it, however fast the other ranks are. DDP divides no parameter, so that another size of buckets helps "
            "only where the sum is of many.",
        ),
    )


def _accumulated(facts: Facts) -> Advice:
    passes, full = facts.communication.accumulated_passes, memory_limits_the_batch(facts)
    many = 2 * passes if passes > 1 else 4
    already = f"It reduces once for {passes} backward passes already: more of them for each update reduce less often. "
    return Advice(
        "python",
        f"with model.no_sync() if (index + 1) % {many} else nullcontext():\n    (loss / {many}).backward()",
        (already if passes > 1 else "With gradient accumulation, reduce once per optimizer step. ")
        + (
            "A larger batch per rank has the same effect."
            if full is None
            else f"A larger batch per rank would do the same, but tensors take {share(full)} of the card already."
        ),
    )


def _reduced_once(facts: Facts) -> tuple[Advice, ...]:
    """Reduce accumulated gradients once an update, where DDP does it in each backward pass."""
    times = facts.communication.reduced_passes
    if times < 2:
        return ()
    return (
        Advice(
            "python",
            "for index, micro_batch in enumerate(micro_batches):\n"
            "    last = index + 1 == len(micro_batches)\n"
            "    with nullcontext() if last else model.no_sync():   # around the forward pass as well\n"
            "        loss_of(model, micro_batch).backward()",
            f"Gradients are reduced {times} times for one update, in each backward pass. Once is enough: each rank adds up its "
            "own, and the last pass reduces the sum.",
        ),
    )


def _larger_buckets(facts: Facts) -> tuple[Advice, ...]:
    """What says that buckets are small: their size, or where shapes do not tell it, how many there are."""
    found, passes = facts.communication.collectives, facts.communication.reduced_passes
    if not passes:
        return ()
    buckets = found.bucket_sizes
    each, median = facts.steps.per_step(buckets.calls) / passes, buckets.median_bytes
    if each < MANY_CALLS or (median is not None and median >= SMALL_BYTES):
        return ()
    many = f"{each:.0f} reductions in each backward pass"
    note = (
        f"{many}, the median of {size(median)}: every one costs its start. Buckets of the default 25 MiB are few."
        if median is not None
        else f"{many}: with buckets of the default 25 MiB a model of {size(each * BUCKET_BYTES)} of gradients has so many. "
        "Where yours is smaller, its buckets are: every one costs its start."
    )
    return (
        Advice(
            "diff",
            "-model = DistributedDataParallel(model, bucket_cap_mb=1)\n+model = DistributedDataParallel(model)",
            note,
        ),
    )


def _no_search(facts: Facts) -> tuple[Advice, ...]:
    """DDP that searches for unused parameters also tells the other ranks which they are, in each step."""
    if not facts.communication.unused_parameter_search:
        return ()
    return (
        Advice(
            "diff",
            "-model = DistributedDataParallel(model, find_unused_parameters=True)\n+model = DistributedDataParallel(model)",
            "With the search each step has one more reduction, of which parameters were used. Where all are, drop the option; "
            "`static_graph=True` where the same ones are not in each step.",
        ),
    )
