"""Fixes where FSDP shards parameters and a host computes: nothing runs beside its gathers and sums, so fewer of them help."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import duration
from rules.communication.kinds import WORTH_ADVICE

# Measured on two ranks (torch 2.15): of gathers beside products 0 % with prefetching set, a third with `unshard(async_op=True)`.
_GATHERED_EARLY = Advice(
    "python",
    "for block, following in zip(blocks, [*blocks[1:], None]):   # in the model's `forward`\n    if following is not None:\n"
    "        following.unshard(async_op=True)   # FSDP2\n    x = block(x)",
    "Gathers the next block's parameters while this one computes, on a thread of gloo's that needs a core. Prefetching as set "
    "for a GPU hides nothing here: on a host that call lasts until the parameters are there. It hides gathering, not reducing.",
)
# Measured on two ranks of 8 blocks of 1 M parameters (torch 2.15), by turns: SHARD_GRAD_OP took 0.68 of the time of FULL_SHARD,
# `reshard_after_forward=False` 0.74 of FSDP2's, DDP 0.45 of both; prefetching set, or `unshard` early, made no difference there.
_WHOLE_ON_EACH = Advice(
    "diff",
    "-model = FullyShardedDataParallel(model)\n+model = DistributedDataParallel(model)",
    "Where parameters, gradients and the optimizer's states fit in the memory of each rank: DDP gathers nothing, and sums "
    "gradients beside the backward pass. On a host FSDP waits for each message: no `backward_prefetch`, `forward_prefetch` or "
    "`limit_all_gathers` hides one there.",
)
_WHOLE_NOT_FSDP2 = Advice(
    "diff",
    "-for block in model.layers:\n-    fully_shard(block)\n-fully_shard(model)\n+model = DistributedDataParallel(model)",
    "Where parameters, gradients and the optimizer's states fit in the memory of each rank: DDP gathers nothing, and sums "
    "gradients beside the backward pass. On a host `fully_shard` waits for each sum that it scatters.",
)


def kept_gathered(facts: Facts) -> tuple[Advice, ...]:
    """Gather parameters once a step, where the backward pass does so again and that is worth advice."""
    again = facts.communication.gathered_again
    exposed_ns = (facts.communication.collectives.exposed & again).total_ns
    if facts.steps.ratio(exposed_ns) < WORTH_ADVICE:
        return ()
    note = (
        f"Parameters are let go behind the forward pass and gathered again for the backward pass: nothing computes beside that for "
        f"{duration(facts.steps.per_step(exposed_ns))} {facts.steps.a_unit}. Kept they are gathered once for both. It takes memory "
        "for all of them on each rank; gradients and the optimizer's states stay sharded."
    )
    if facts.communication.collectives.fsdp1:
        return (
            Advice(
                "diff",
                " model = FullyShardedDataParallel(\n     model, ...,\n"
                "+    sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,   # torch.distributed.fsdp\n )",
                note,
            ),
        )
    return (Advice("diff", "-fully_shard(block)\n+fully_shard(block, reshard_after_forward=False)", note),)


def hide_more(facts: Facts) -> tuple[Advice, ...]:
    """Start gathers early, which FSDP2 alone can; or do without them."""
    if facts.communication.collectives.fsdp1:
        return (_WHOLE_ON_EACH,)
    return (_GATHERED_EARLY, _WHOLE_NOT_FSDP2)
