"""Fixes by what the collectives do that nothing hides: barriers, what is gathered beside DDP, streams that take turns."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.communication.between_layers import FEW_BYTES
from analyzer.finding import Advice
from analyzer.units import duration

# Less of the step than this is on no card of its own (CO001).
WORTH_ADVICE = 0.05
# As CO005 has it: so many collectives a step are many, and one of fewer bytes is small.
MANY_CALLS, SMALL_BYTES = 20, 1 << 20
# DDP's buckets where the program says nothing; the first has 1 MiB.
BUCKET_BYTES = 25 << 20
# Starting a collective of a few numbers and sending them takes some ten microseconds, over gloo's sockets up to a millisecond: what
# takes longer waits.
_WAITED_NS = 100_000
_WAITED_ON_HOST_NS = 2_000_000
# Compute hides less than this of the collectives where streams take turns.
_HARDLY_HIDDEN = 0.1

_BARRIER = Advice(
    "diff",
    "-torch.distributed.barrier()",
    "A barrier waits for the slowest rank, and sends nothing: collectives wait for one another without it. It is needed "
    "where ranks share something else, as a file that one of them writes. The wait may go on in the next collective where a "
    "rank comes late.",
)
_GATHERED = Advice(
    "text",
    "Gather less in front of the loss, or start it earlier: what each rank needs of the others, in 16 bits, one tensor instead of "
    "several (`torch.cat` before), and a barrier nowhere beside it.",
    "DDP's buckets, its hooks and accumulating change nothing about what the program gathers. Of a contrastive loss each rank "
    "computes its own rows against all columns (open_clip: `--local-loss --gather-with-grad`), not all rows on each rank.",
)
_LOGGED = Advice(
    "python",
    "if step % 100 == 0:\n    numbers = torch.stack([loss.detach(), accuracy])\n    torch.distributed.all_reduce(numbers)",
    "The program itself sends this behind the backward pass: what is only logged can be sent seldom, as one tensor of numbers, "
    "and read (`.item()`) then. `all_gather_object` and `broadcast_object_list` pickle, and send twice: how long it is, and it. "
    "What every rank can work out alike, as a learning rate, needs no message. DDP's buckets, its hooks and accumulating change "
    "nothing about it.",
)
_NUMBERS = Advice(
    "python",
    "if step % 100 == 0:      # what is only logged\n    numbers = torch.stack([loss.detach(), accuracy])\n"
    "    torch.distributed.all_reduce(numbers)",
    "Most of that time is in collectives of a few numbers, which travel far sooner: the rest is waiting for ranks "
    "that come later. Buckets, prefetching, narrower formats and accumulating change nothing about it. What each step needs, as a "
    "norm of all gradients or a count of tokens, stays; and without them the next collective may have the wait.",
)
_SHARDED_UPDATE = Advice(
    "diff",
    "-optimizer = ZeroRedundancyOptimizer(parameters, optimizer_class=Adam, lr=lr)\n"
    "+optimizer = ZeroRedundancyOptimizer(parameters, optimizer_class=Adam, lr=lr, parameters_as_bucket_view=True)",
    "The optimizer sends what each rank has updated, parameter by parameter; so it sends a bucket from each rank. Where its state "
    "fits on every rank, `torch.optim` alone sends nothing. DDP's buckets, its hooks and accumulating change nothing about it.",
)
# Measured on two ranks of 3 M parameters (torch 2.15), by turns: 122 ms a step, 121 ms with buckets, 108 ms without sharding.
_WHOLE_UPDATE = Advice(
    "diff",
    "-optimizer = ZeroRedundancyOptimizer(parameters, optimizer_class=Adam, lr=lr)\n"
    "+optimizer = torch.optim.Adam(parameters, lr=lr)",
    "The optimizer sends what each rank has updated, parameter by parameter. Where its state fits on every rank, each updates all "
    "of them and sends nothing. Else `parameters_as_bucket_view=True` sends a bucket from each rank: on a host that gains little. "
    "DDP's buckets, its hooks and accumulating change nothing about it.",
)
_EVEN_BATCHES = Advice(
    "diff",
    "-with Join([model]):\n-    for batch in loader:\n-        train_step(batch)\n"
    "+for batch in loader:      # as many on each rank, as DistributedSampler gives them\n+    train_step(batch)",
    "DDP sends numbers in front of the first layer of each forward pass: so `Join` asks which ranks still have batches. Each step "
    "waits there for the rank that comes last, and with as many batches on each rank nobody has to ask. DDP's buckets, its hooks "
    "and accumulating change nothing about it.",
)
_SENT_AT_ONCE = Advice(
    "text",
    "Send what the optimizer has updated at once: one flat tensor from each rank, or one gather, not a message for each parameter.",
    "The optimizer's step itself sends: DDP's buckets, its hooks and accumulating change nothing about it.",
)
_GATHERED_BEHIND = Advice(
    "python",
    'ds_config["zero_optimization"]["allgather_bucket_size"] = 5 * 10**9   # DeepSpeed, stages 1 and 2: takes memory\n'
    "# Megatron-Core: --overlap-param-gather",
    "What each rank has updated is gathered for all of them within the update, with nothing beside it. In larger pieces that takes "
    "less (deepspeedai/DeepSpeed#3338); Megatron-Core gathers it beside the next forward pass. Fewer updates, by accumulating "
    "gradients, need fewer.",
)
_QUEUES = Advice(
    "shell",
    "export GPU_MAX_HW_QUEUES=8      # before the program starts; HIP's default is 4",
    "HIP puts streams on hardware queues in turn, and streams that share one do not overlap, though nothing in the program makes "
    "them wait. As many as the job has streams that work at once, and hardly more: twice as many slowed a job down "
    "(pytorch/torchtitan#4032).",
)


def of_kind(facts: Facts) -> tuple[Advice, ...]:
    """What helps where most of the exposed time is no sum of gradients; empty where it may be one."""
    found = facts.communication.collectives
    if mostly_own_calls(facts) and (own := of_own_calls(facts)):
        return own
    kind = found.main_kind or ""
    if "barrier" in kind:
        return (_BARRIER,)
    if mostly_numbers(facts):
        return (_NUMBERS,)
    if found.data_parallel and "gather" in kind:
        return (_GATHERED,)
    return (_GATHERED_BEHIND,) if "gather" in kind and _inside_updates(facts) else ()


def _inside_updates(facts: Facts) -> bool:
    """Whether most gathers are called within the optimizer's step, and no FSDP gathers in front of layers."""
    found = facts.communication.collectives
    if found.fsdp:
        return False
    gathers = found.calls["kind"].astype("str").str.contains("gather").to_numpy(dtype=bool)
    start = found.calls["start_ns"].to_numpy("int64")[gathers]
    return 2 * int(facts.model.optimizing.step_time.contains(start).sum()) > len(start)


def mostly_own_calls(facts: Facts) -> bool:
    """Whether half of the exposed time or more is what a program with DDP sends beside the gradients."""
    return 2 * facts.communication.own_calls.total_ns >= facts.communication.collectives.exposed.total_ns > 0


def mostly_numbers(facts: Facts) -> bool:
    """Whether half of the exposed time or more is in collectives that send a few numbers and take far longer than that."""
    found = facts.communication.collectives
    few, _ = found.smaller_than(FEW_BYTES + 1)
    few = few[["barrier" not in kind for kind in few["kind"]]]
    if not len(few):
        return False
    waited = (found.exposed & facts.communication.spans_of(few)).total_ns
    least = _WAITED_NS if facts.device.main is not None else _WAITED_ON_HOST_NS
    return 2 * waited >= found.exposed.total_ns > 0 and waited >= least * len(few)


def of_own_calls(facts: Facts) -> tuple[Advice, ...]:
    """What helps the program's own collectives beside DDP's, the most costly first: each that is worth advice, or the largest."""
    own = facts.communication.own_calls
    sharded = _SHARDED_UPDATE if facts.device.main is not None else _WHOLE_UPDATE
    parts = (
        (own.in_updates.total_ns, (sharded if own.of_zero else _SENT_AT_ONCE,)),
        (own.behind.total_ns, (_LOGGED, *((_BARRIER,) if "barrier" in own.kinds_behind else ()))),
        (own.before.total_ns, _before_the_loss(own.kinds_before)),
        (own.joining.total_ns, (_EVEN_BATCHES,)),
    )
    most = max(ns for ns, _ in parts)
    ordered = sorted(parts, key=lambda part: -part[0])
    worth = (advice for ns, advice in ordered if ns and (ns == most or facts.steps.ratio(ns) >= WORTH_ADVICE))
    return tuple(dict.fromkeys(one for advice in worth for one in advice))


def _before_the_loss(kinds: frozenset[str]) -> tuple[Advice, ...]:
    gathers = any("gather" in kind for kind in kinds)
    return (*((_GATHERED,) if gathers else ()), *((_BARRIER,) if "barrier" in kinds else ()))


def in_turn(facts: Facts) -> tuple[Advice, ...]:
    """What may keep streams of AMD's cards from overlapping, where they hardly do although several are used."""
    found = facts.communication.collectives
    apart = facts.device.kind == "rocm" and facts.kernels.named.shares_streams(facts.kernels.named.collective) == 0
    return (_QUEUES,) if apart and found.hidden_ratio < _HARDLY_HIDDEN else ()


def reduced_once(facts: Facts) -> tuple[Advice, ...]:
    """Reduce accumulated gradients once a step, where FSDP does it for each micro-batch."""
    times = facts.communication.reductions_a_step
    if facts.communication.scattered_passes > 1:
        return (_scattered_once(facts.communication.scattered_passes),)
    if times < 2:
        return ()
    found = facts.communication.collectives
    # Kinds of collectives may run beside one another.
    sent = min(sum(ns for kind, ns in found.exposed_ns.items() if "reduce" in kind), found.exposed.total_ns)
    alone = f"; {duration(facts.steps.per_step(sent))} {facts.steps.a_unit} nothing runs beside them" if sent else ""
    replicated = any("allreduce" in kind or "all_reduce" in kind for kind in found.exposed_ns)
    hybrid = (
        " Gradients that replicas sum as well (HSDP): `model.set_requires_all_reduce(last)` leaves that for the last and "
        "still scatters each time, which takes no more memory."
        if replicated
        else ""
    )
    return (
        Advice(
            "python",
            "for index, micro_batch in enumerate(micro_batches):\n"
            "    last = index + 1 == len(micro_batches)\n"
            "    model.set_requires_gradient_sync(last)   # FSDP2 has no `no_sync`\n"
            "    loss_of(model, micro_batch).backward()",
            f"Gradients of a module are reduced {times} times {facts.steps.a_unit}, for each micro-batch{alone}. Once is enough "
            f"where memory holds whole gradients meanwhile.{hybrid}",
        ),
    )


def _scattered_once(times: int) -> Advice:
    """The same in the words of FSDP1."""
    return Advice(
        "python",
        "for index, micro_batch in enumerate(micro_batches):\n"
        "    last = index + 1 == len(micro_batches)\n"
        "    with nullcontext() if last else model.no_sync():   # around the forward pass as well\n"
        "        loss_of(model, micro_batch).backward()",
        f"Gradients are scattered {times} times for one update, in each backward pass. Once is enough where memory holds whole "
        "gradients meanwhile. With `ShardingStrategy.SHARD_GRAD_OP` parameters then stay gathered between the micro-batches, too.",
    )
