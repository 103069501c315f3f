"""Fixes where parameters are sharded: FSDP's in its words, else those of the libraries that most programs use."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.changes import older_than
from rules.communication import sharded_on_hosts
from rules.communication.kinds import MANY_CALLS, SMALL_BYTES, WORTH_ADVICE, reduced_once

_SHARDED_NOTE = (
    "Parameters are gathered and gradients scattered in 16 bits: half the bytes. Layers then compute in 16 bits as well, and sums "
    "of gradients are rounded: compare the loss. With `reduce_dtype=torch.float32` gradients keep their bytes and their precision."
)
_SHARDED_IN_16_BITS = Advice(
    "python",
    "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)\nfully_shard(block, mp_policy=policy)",
    _SHARDED_NOTE,
)
_FSDP1_IN_16_BITS = Advice(
    "python",
    "policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)   # torch.distributed.fsdp\n"
    "model = FullyShardedDataParallel(model, mixed_precision=policy)",
    _SHARDED_NOTE,
)
_PREFETCHED = Advice(
    "python",
    "model = FullyShardedDataParallel(model, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True)",
    "Gathers the next layer's parameters while this one computes. FSDP2 (`fully_shard`) does so for "
    "one layer by itself; `block.set_modules_to_forward_prefetch([following])` for more.",
)
_PREFETCHED_FURTHER = Advice(
    "python",
    "for block, following in zip(blocks, blocks[1:]):\n    block.set_modules_to_forward_prefetch([following])",
    "Gathers the next block's parameters while this one computes. It hides gathering, not reducing.",
)
_SCATTERED = Advice(
    "text",
    "Find out why gradients are scattered beside no compute: FSDP does it behind the backward pass of each block, on a stream of "
    "its own, while the block before it computes.",
    "Most of what nothing hides are reduce-scatters, and prefetching parameters hides none of them. A model wrapped as one unit "
    "scatters at the end: `fully_shard` block by block. Ranks that are early wait in it for one that is late.{queue}",
)
_APART_NOTE = (
    "Parameters of the next layer are gathered when the gradients of the one before have been scattered: one communicator sends "
    "one collective at a time, and the layer waits for both. Apart they run beside each other, as far as the links carry both. "
    "It takes memory for a second communicator; measure it."
)
_APART = Advice(
    "python",
    "model.set_separate_reduce_scatter_group()   # FSDP2, behind `fully_shard(model)`",
    _APART_NOTE,
)
_APART_OF_FSDP2 = Advice(
    "python",
    "for block in model.layers:\n    fully_shard(block)\nfully_shard(model)\nmodel.set_separate_reduce_scatter_group()",
    "The module `FullyShardedDataParallel` (FSDP1) sends both with one communicator; `fully_shard` (FSDP2) can have two. "
    + _APART_NOTE,
)
_APART_OF_A_LIBRARY = Advice(
    "text",
    "Let gathers and reduce-scatters have a process group each (Megatron-Core: `--create-all-gather-group`).",
    _APART_NOTE,
)
_ONE_QUEUE = (
    " `CUDA_DEVICE_MAX_CONNECTIONS=1` in the environment, which launchers of Megatron-LM set, puts all streams in one queue, where "
    "they take turns (verl-project/verl-omni#421): unset it."
)
_WITHIN_MACHINES = Advice(
    "python",
    'mesh = init_device_mesh("cuda", (machines, gpus_of_one), mesh_dim_names=("replicate", "shard"))\n'
    "fully_shard(block, mesh=mesh)   # FSDP1: sharding_strategy=ShardingStrategy.HYBRID_SHARD",
    "What is sent has 16 bits a number already. Over several machines, where memory allows: shard within each, so that parameters "
    "are gathered over its fast links and only gradients travel between machines.",
)
_GATHERED_WITHIN = replace(
    _WITHIN_MACHINES, note=_WITHIN_MACHINES.note.replace("What is sent has", "What is gathered has", 1)
)
_SUMS_NOTE = (
    "Parameters are gathered in 16 bits already, and gradients scattered in more: 16 bits halve the bytes of these. Their sums are "
    "then rounded, which wide ones are chosen to avoid: compare the loss."
)
_SUMS_IN_16_BITS = Advice(
    "diff",
    "-MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)\n"
    "+MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)",
    _SUMS_NOTE + " FSDP1: `MixedPrecision`, with the same names.",
)
_SUMS_OF_A_LIBRARY_IN_16_BITS = Advice(
    "python",
    'ds_config["communication_data_type"] = "bf16"   # DeepSpeed\n# Megatron-Core: --grad-reduce-in-bf16',
    _SUMS_NOTE + " The trace shows no FSDP module, so another library shards.",
)
_REPLICAS_SUMMED_SELDOM = Advice(
    "text",
    "Sum gradients over replicas less often: a larger batch per rank, or more micro-batches for each update.",
    "Most of what nothing hides is replicas that sum their shards of the gradients (HSDP), as a rule between machines: look "
    "whether those links are as fast as they should be. Sums of 32 bits are halved by `reduce_dtype=torch.bfloat16`, which rounds "
    "them. "
    "Parameters are gathered within the shards, and prefetching them hides none of this.",
)

# No range tells which library shards: what it is called in the two that most programs use.
_ZERO_IN_16_BITS = Advice(
    "python",
    'ds_config["communication_data_type"] = "bf16"   # DeepSpeed',
    "Gradients are scattered, and in ZeRO 3 parameters gathered, in 16 bits: half the bytes; sums are rounded, compare the loss. "
    "The trace shows no FSDP module, so another library shards: DeepSpeed calls it so.",
)
_ZERO_BESIDE_COMPUTE = Advice(
    "python",
    'ds_config["zero_optimization"] |= {"overlap_comm": True, "stage3_prefetch_bucket_size": 2 * 10**8}   # DeepSpeed\n'
    "# Megatron-Core: --overlap-grad-reduce --overlap-param-gather",
    "Gathers the next layers' parameters, and scatters gradients, while this one computes.",
)


# Parameters that are sharded travel unit by unit: what is wrapped decides how large a collective is.
_LARGER_UNITS = Advice(
    "python",
    "for block in model.layers:\n    fully_shard(block)   # whole blocks, not their linear layers\nfully_shard(model)",
    "Each unit is gathered at once: a whole block sends megabytes. FSDP1: `auto_wrap_policy` with the class of the block.",
)
_LARGER_UNITS_OF_FSDP1 = Advice(
    "python",
    "policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})   # torch.distributed.fsdp.wrap\n"
    "model = FullyShardedDataParallel(model, auto_wrap_policy=policy)",
    "Each unit is gathered at once: a whole block, not each linear layer of it, sends megabytes.",
)
_LARGER_LEAVES = Advice(
    "python",
    "deepspeed.utils.set_z3_leaf_modules(model, [Block])",
    "The trace shows no FSDP module, so another library shards: in DeepSpeed's ZeRO 3 the parameters of such a module are gathered "
    "together, not those of each layer in it.",
)
_KEPT_WHOLE = Advice(
    "python",
    'ds_config["zero_optimization"] |= {"stage3_param_persistence_threshold": 10**6}   # DeepSpeed',
    "Parameters with fewer elements stay on every rank and are not gathered; that takes memory.",
)


# On a host the numbers are converted, and added, by the CPU that computes (measured of DDP's hook: `gradients.py`).
_ON_A_HOST = " Within one machine converting and adding 16-bit numbers may cost a CPU more than sending wider ones."
# From so many units in one block on its layers are wrapped: attention and MLP by themselves are two, and large.
_LAYERS_OF_A_BLOCK = 3


def move_less(facts: Facts) -> tuple[Advice, ...]:
    """Fewer bytes, or the same bytes less often."""
    found = facts.communication.collectives
    first = (*reduced_once(facts), *_larger_first(facts))
    if found.replicas_of_shards:
        return first or (_REPLICAS_SUMMED_SELDOM,)
    if found.wide_sums:
        return (*first, *_narrower_sums(facts))
    if found.narrow:
        return (*first, *((_WITHIN_MACHINES,) if found.fsdp else ()))
    if not found.fsdp:
        return (_ZERO_IN_16_BITS,)
    narrower = _FSDP1_IN_16_BITS if found.fsdp1 or older_than(facts, (2, 6)) else _SHARDED_IN_16_BITS
    first = (*first, *(sharded_on_hosts.kept_gathered(facts) if _waits_on_a_host(facts) else ()))
    return (*first, narrower if facts.device.main is not None else replace(narrower, note=narrower.note + _ON_A_HOST))


def _narrower_sums(facts: Facts) -> tuple[Advice, ...]:
    """Gradients in as few bits as parameters are gathered in, first where sums have most of the exposed time."""
    found = facts.communication.collectives
    if not found.fsdp:
        return (_SUMS_OF_A_LIBRARY_IN_16_BITS,)
    on_host = facts.device.main is None
    sums = replace(_SUMS_IN_16_BITS, note=_SUMS_IN_16_BITS.note + _ON_A_HOST) if on_host else _SUMS_IN_16_BITS
    return (sums, _GATHERED_WITHIN) if "reduce" in (found.main_kind or "") else (_GATHERED_WITHIN, sums)


def gathers_wait(facts: Facts) -> bool:
    """Whether most of what nothing hides are gathers that waited for a reduce-scatter, and those."""
    found = facts.communication.collectives
    return not found.activations and 2 * facts.communication.gathers_behind_sums.total_ns > found.exposed.total_ns


def hide_more(facts: Facts) -> tuple[Advice, ...]:
    """Gathering and scattering beside compute."""
    if not facts.communication.collectives.fsdp:
        return (*((_APART_OF_A_LIBRARY,) if gathers_wait(facts) else ()), _ZERO_BESIDE_COMPUTE)
    if facts.communication.collectives.replicas_of_shards:
        return reduced_once(facts) or (_REPLICAS_SUMMED_SELDOM,)
    if gathers_wait(facts):
        return (*reduced_once(facts), _APART_OF_FSDP2 if facts.communication.collectives.fsdp1 else _APART)
    if _waits_on_a_host(facts):
        return (*reduced_once(facts), *sharded_on_hosts.hide_more(facts))
    prefetched = (_prefetched(facts),)
    if "reduce_scatter" not in (facts.communication.collectives.main_kind or ""):
        return prefetched
    queue = _ONE_QUEUE if facts.device.kind == "cuda" else ""
    gathered = sum(ns for kind, ns in facts.communication.collectives.exposed_ns.items() if "gather" in kind)
    return (
        *reduced_once(facts),
        replace(_SCATTERED, note=_SCATTERED.note.format(queue=queue)),
        *(prefetched if facts.steps.ratio(gathered) >= WORTH_ADVICE else ()),
    )


def _waits_on_a_host(facts: Facts) -> bool:
    """Whether the host that computes sends as well, where each of FSDP's calls lasts until it is through."""
    return facts.device.main is None and bool(facts.communication.calls_of("gloo"))


def _prefetched(facts: Facts) -> Advice:
    return _PREFETCHED_FURTHER if facts.communication.reductions_a_step else _PREFETCHED


def larger_units(facts: Facts) -> tuple[Advice, ...]:
    """Gather more parameters at once."""
    found = facts.communication.collectives
    if not found.fsdp:
        return (_LARGER_LEAVES, _KEPT_WHOLE)
    return (_LARGER_UNITS_OF_FSDP1,) if found.fsdp1 else (_LARGER_UNITS,)


def _larger_first(facts: Facts) -> tuple[Advice, ...]:
    """Whole blocks, where units are small; where shapes do not say so, where several layers of a block are units."""
    found, units = facts.communication.collectives, facts.communication.units
    calls = facts.steps.per_step(len(found.calls))
    if not found.fsdp or calls < MANY_CALLS:
        return ()
    if found.sizes_known:
        return larger_units(facts) if found.median_bytes < SMALL_BYTES else ()
    if units.to_a_block < _LAYERS_OF_A_BLOCK:
        return ()
    shown = ", ".join(f"`{path}`" for path in units.of_one[:_LAYERS_OF_A_BLOCK])
    note = f"{len(units.paths)} modules are gathered one by one, {units.to_a_block} to a block ({shown}): each costs its start. "
    return (replace(_LARGER_UNITS, note=note + _LARGER_UNITS.note),)
