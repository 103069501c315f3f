"""Fixes several communication rules share, worded for what the trace shows: plain DDP, sharded parameters, split layers, stages."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.communication import by_hand, gradients, libraries, micro_batches, rings, serving, sharded
from rules.communication.buffers import of_buffers, other_exposed
from rules.communication.kinds import MANY_CALLS, WORTH_ADVICE, in_turn, of_kind, of_own_calls, reduced_once
from rules.purpose import by_purpose

_FEWER_GAPS = (
    "Messages between two ranks, as stages of a pipeline send: a stage waits until the first micro-batch reaches it and after the "
    "last has left. More micro-batches make that a smaller part; stages that take equally long do not wait for one another."
)
_KEPT_SPLIT = Advice(
    "diff",
    '-plan = {"up": ColwiseParallel(output_layouts=Replicate()), "down": RowwiseParallel(input_layouts=Replicate())}\n'
    '+plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}   # split from one layer to the next',
    "Between layers the output of one is gathered for the next. Where that is split as well it takes its part as it is, and one "
    "all-reduce behind both is enough; gather only what every rank needs whole.",
)
_FEWER_PARTS = Advice(
    "text",
    "Split layers over fewer ranks, all of them on the fast links of one machine (NVLink), and use the other ranks for more data.",
    "These collectives stand between layers of the forward pass: they add up activations (tensor parallelism), and the next "
    "layer needs the result. Accumulating gradients, buckets and DDP's hooks change nothing about them.",
)
_FEWER_PARTS_ON_HOSTS = replace(
    _FEWER_PARTS,
    code="Split layers over fewer ranks, all of them on one machine, and use the other ranks for more data.",
)
_ASYNC_PRODUCTS = Advice(
    "python",
    "torch._inductor.config._micro_pipeline_tp = True   # with symmetric memory\n"
    "torch.distributed._symmetric_memory.enable_symm_mem_for_group(mesh.get_group().group_name)\n"
    "model = torch.compile(model)",
    "With sequence parallelism (`SequenceParallel` in the plan of `parallelize_module`) the compiler splits each product: "
    "one part is sent while the next is computed.",
)

_BALANCED = Advice(
    "text",
    "Balance what the ranks get: a loss for balance or a capacity for experts, equal shards of embeddings or sequences.",
    "All-to-all waits for the fullest rank. Where what is sent is wider than 16 bits a number, send 16.",
)
_IN_PARTS = Advice(
    "text",
    "Exchange in two parts, each with `async_op=True`: while one travels, compute what belongs to the other.",
    "Layers that do not need what is exchanged (experts that every token uses, the dense part) can run meanwhile as well.",
)


_BUCKETS = Advice(
    "diff",
    " model = DistributedDataParallel(\n     model,\n+    bucket_cap_mb=50,\n+    gradient_as_bucket_view=True,\n )",
    "Try 10, 25, 50 and 100: small buckets start earlier, large ones transfer better. Where nothing is given, the first has 1 MiB "
    "and the others 25.",
)


def move_less(facts: Facts) -> tuple[Advice, ...]:
    """Fewer bytes, or the same bytes less often."""
    return by_purpose(facts, serving.move_less(facts), _move_less_in_training(facts))


def certain(facts: Facts) -> frozenset[Advice]:
    """Changes that pay whether ranks wait or move data: what one rank's trace shows by itself."""
    return frozenset(by_purpose(facts, (), _certain_in_training(facts)))


def _certain_in_training(facts: Facts) -> tuple[Advice, ...]:
    if rings.shares_sequences(facts):
        return (*rings.move_less(facts), *rings.hide_more(facts))
    found = facts.communication.collectives
    if _exchanges(facts) or facts.communication.passing.stages:
        return ()
    if found.activations:
        return (*_move_less_in_training(facts), *_hide_more_in_training(facts))
    once = reduced_once(facts) if found.sharded else ()
    return (
        *once,
        *((*of_buffers(facts), *gradients.whole(facts), *gradients.shown(facts)) if found.data_parallel else ()),
    )


def _move_less_in_training(facts: Facts) -> tuple[Advice, ...]:
    if rings.shares_sequences(facts):
        return rings.move_less(facts)
    if _exchanges(facts):
        return _exchange_less(facts)
    if facts.communication.passing.stages:
        return _among_stages(facts)
    if facts.communication.collectives.activations:
        fewer = _FEWER_PARTS if facts.device.main is not None else _FEWER_PARTS_ON_HOSTS
        return (*((_KEPT_SPLIT,) if _gathers_between(facts) else ()), fewer)
    if kind := of_kind(facts):
        return kind
    said = libraries.move_less(facts)
    if said is not None and not facts.communication.collectives.fsdp:
        return said
    if facts.communication.collectives.sharded:
        return sharded.move_less(facts)
    if facts.communication.collectives.data_parallel:
        own = of_own_calls(facts) if facts.steps.ratio(facts.communication.own_calls.total_ns) >= WORTH_ADVICE else ()
        return (*of_buffers(facts), *(gradients.less(facts) if other_exposed(facts) else ()), *own)
    if own := by_hand.move_less(facts):
        return own
    return (
        *_joined(facts),
        Advice(
            "text",
            "Communicate less often (gradient accumulation, a larger batch per rank) or in a narrower number format.",
            "The trace shows no DistributedDataParallel or FSDP module, so the change belongs where the collectives are called.",
        ),
    )


def _among_stages(facts: Facts) -> tuple[Advice, ...]:
    """What helps messages between two ranks: what they likelier are comes first."""
    part, pipe = facts.communication.served_part, None if facts.job is None else facts.job.job.pipeline
    # One that updates what it takes no gradients of is no stage.
    if part == "server":
        return _summed(part)
    more, ring = (micro_batches.of_pipeline(pipe, _FEWER_GAPS),), rings.perhaps(facts)
    return (*_summed(part), *((*ring, *more) if facts.communication.passing.swaps else (*more, *ring)))


def hide_more(facts: Facts) -> tuple[Advice, ...]:
    """Let compute run beside what has to be sent."""
    return (*in_turn(facts), *by_purpose(facts, serving.hide_more(facts), _hide_more_in_training(facts)))


def _hide_more_in_training(facts: Facts) -> tuple[Advice, ...]:
    if rings.shares_sequences(facts):
        return rings.hide_more(facts)
    if _exchanges(facts):
        return _exchange_beside_compute(facts)
    if facts.communication.passing.stages:
        return () if facts.communication.served_part == "server" else (micro_batches.INTERLEAVED,)
    if facts.communication.collectives.activations:
        # The compiler splits products over symmetric memory, which devices have.
        return (_ASYNC_PRODUCTS,) if facts.device.main is not None else ()
    if kind := of_kind(facts):
        return kind
    reduced_by_library = not (facts.communication.collectives.sharded or facts.communication.collectives.data_parallel)
    said = libraries.hide_more(facts)
    if said is not None and reduced_by_library:
        return said
    if facts.communication.collectives.sharded:
        return sharded.hide_more(facts)
    if facts.communication.collectives.data_parallel and not other_exposed(facts):
        return of_buffers(facts)
    if facts.communication.collectives.data_parallel:
        return () if gradients.whole(facts) else (_BUCKETS,)
    # Weights that are averaged are needed by the next step, and DDP sums gradients beside compute.
    return () if by_hand.move_less(facts) else _hide_unknown(facts)


def _hide_unknown(facts: Facts) -> tuple[Advice, ...]:
    """What hides collectives of which no range tells who makes them."""
    if not len(facts.communication.collectives.calls) and len(facts.host.ops.ops):
        return (
            Advice(
                "text",
                "Look for the setting of what calls these collectives, on when it starts them and how much it sends at once: "
                "torch.distributed would leave a range for each on the host, and the trace has none.",
            ),
        )
    return (
        Advice(
            "python",
            "work = torch.distributed.all_reduce(tensor, async_op=True)\nother_compute()\nwork.wait()",
            "Start the collective as soon as its input is ready and wait as late as possible.",
        ),
    )


def _summed(part: str | None) -> tuple[Advice, ...]:
    """Sum gradients on all ranks, where one rank seems to apply them for the others."""
    if part is None:
        return ()
    does = (
        "This rank updates weights and takes no gradients: it receives and sends as much as all others together, one by one."
        if part == "server"
        else "This rank takes gradients and no optimizer runs on it. Where its messages carry them to one rank that applies them: "
        "that one receives and sends as much as all others together."
    )
    return (
        Advice(
            "python",
            "flat = torch.cat([p.grad.flatten() for p in parameters])\n"
            "torch.distributed.all_reduce(flat)   # each rank then updates by itself; DistributedDataParallel does both",
            does,
        ),
    )


def _joined(facts: Facts) -> tuple[Advice, ...]:
    """Send many at once, where shapes do not say how large each is (CO005 knows where they do)."""
    found = facts.communication.collectives
    each = facts.steps.per_step(len(found.calls))
    if found.sizes_known or each < MANY_CALLS:
        return ()
    return (
        Advice(
            "python",
            "flat = torch.cat([tensor.flatten() for tensor in tensors])\ntorch.distributed.all_reduce(flat)",
            f"{each:.0f} collectives {facts.steps.a_unit}, of a size that the trace does not state: each costs its start. "
            "Where they are small, send them together.",
        ),
    )


def _gathers_between(facts: Facts) -> bool:
    """Whether gathering between layers is worth advice."""
    return facts.steps.ratio(facts.communication.collectives.gathered_ns) >= WORTH_ADVICE


def _exchanges(facts: Facts) -> bool:
    """Whether most of the exposed time each rank sends something else to each other one."""
    return "all_to_all" in (facts.communication.collectives.main_kind or "")


def _exchange_less(facts: Facts) -> tuple[Advice, ...]:
    if not facts.communication.exchanged.embeddings:
        return (_BALANCED,)
    if facts.communication.collectives.narrow or facts.communication.exchanged.quantised:
        return (
            Advice(
                "text",
                "Balance the shards of embeddings or experts: all-to-all waits for the fullest rank.",
                "What is sent has 16 bits a number, or fewer, already.",
            ),
        )
    return (
        Advice(
            "python",
            "from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry\n"
            "config = QCommsConfig(forward_precision=CommType.BF16, backward_precision=CommType.BF16)\n"
            "codecs = get_qcomm_codecs_registry(config)",
            "Exchange embeddings or tokens in 16 bits, and balance their shards: all-to-all waits for the fullest rank.",
        ),
    )


def _exchange_beside_compute(facts: Facts) -> tuple[Advice, ...]:
    if not facts.communication.exchanged.embeddings:
        return (_IN_PARTS,)
    if facts.communication.exchanged.pipelined:
        return (
            Advice(
                "python",
                "work = torch.distributed.all_to_all_single(received, sent, async_op=True)\ndense = bottom_layers(features)\n"
                "work.wait()",
                "The next batch's indices travel beside this batch already. What is left are the embeddings themselves: start "
                "their exchange early, and compute meanwhile what does not need them.",
            ),
        )
    return (
        Advice(
            "python",
            "pipeline = torchrec.distributed.TrainPipelineSparseDist(model, optimizer, device)\nfor _ in range(steps):\n"
            "    pipeline.progress(batches)",
            "Exchanges the next batch's indices while this batch computes; else all_to_all_single(..., async_op=True).",
        ),
    )
