"""What helps where a library of its own reduces the gradients, in its words: DeepSpeed, Horovod."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice

# Stages 1 and 2 reduce gradients bucket by bucket; 3 gathers parameters as well.
_DEEPSPEED_BESIDE_COMPUTE = Advice(
    "python",
    'ds_config["zero_optimization"] |= {"overlap_comm": True, "contiguous_gradients": True, "reduce_bucket_size": 2 * 10**8}',
    "DeepSpeed reduces a bucket of gradients while the next one is computed. Where it is on already: in stages 1 and 2 the "
    "backward pass still waits for the bucket before at each new one (its issue 8364); stage 3 does not share that code.",
)
_DEEPSPEED_LESS = Advice(
    "python",
    'ds_config["gradient_accumulation_steps"] = 4   # stages 0 and 1 then reduce once for all four; 2 and 3 do so each time',
    "Fewer reductions for the same samples; a larger batch for each rank has the same effect in every stage.",
)
_DEEPSPEED_IN_16_BITS = Advice(
    "python",
    'ds_config["communication_data_type"] = "bf16"',
    "DeepSpeed then sends gradients in 16 bits: half the bytes. Their sums are rounded: compare the loss.",
)
_HOROVOD_LESS = Advice(
    "python",
    "optimizer = hvd.DistributedOptimizer(\n    optimizer, named_parameters=model.named_parameters(),\n"
    "    compression=hvd.Compression.fp16, backward_passes_per_step=4,\n)",
    "Half the bytes, and one reduction for four backward passes; each for itself. Sums in float16 are rounded, and overflow above "
    "65,504: compare the loss.",
)
_HOROVOD_BESIDE_COMPUTE = Advice(
    "shell",
    "HOROVOD_CYCLE_TIME=1 HOROVOD_FUSION_THRESHOLD=134217728 horovodrun -np 8 python train.py",
    "Horovod looks for gradients that are ready once a cycle, and reduces what fits into its buffer at once: a cycle of 1 ms and "
    "128 MiB are the defaults since its release 0.21, before that 5 ms and 64 MiB. `--autotune` tries both.",
)


def _of_library(facts: Facts, deepspeed: tuple[Advice, ...], horovod: tuple[Advice, ...]) -> tuple[Advice, ...] | None:
    """The fix in the words of the library that reduces gradients; None where none shows."""
    return {"deepspeed": deepspeed, "horovod": horovod}.get(facts.communication.collectives.library or "")


def move_less(facts: Facts) -> tuple[Advice, ...] | None:
    """Fewer bytes, or the same bytes less often; None where no such library shows."""
    narrow = facts.communication.collectives.narrow
    return _of_library(
        facts, (_DEEPSPEED_LESS,) if narrow else (_DEEPSPEED_IN_16_BITS, _DEEPSPEED_LESS), (_HOROVOD_LESS,)
    )


def hide_more(facts: Facts) -> tuple[Advice, ...] | None:
    """Reductions beside compute; None where no such library shows."""
    return _of_library(facts, (_DEEPSPEED_BESIDE_COMPUTE,), (_HOROVOD_BESIDE_COMPUTE,))
