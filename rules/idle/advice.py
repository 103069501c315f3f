"""Fixes where the host cannot feed the device, worded for the run."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import duration, share
from rules.changes import capture_by_hand, larger_batch, replay_as_graph
from rules.communication.buffers import own_buffers
from rules.framework_words import replayed
from rules.optimizer.advice import FOREACH_CLASSES, FUSED_CLASSES, by_hand, foreach, fused
from rules.optimizer.reading import ON_DEVICE, of_each_parameter

# An update in lists launches fewer kernels than this.
_MANY_LAUNCHES = 20
# One weight in so many launches: a model whose layers have weight norm, not one of them.
_NORMED_LAYERS = 0.1
# Less of the step than this is not worth a change to the program.
_WORTH_NAMING = 0.02


_BESIDE_GRAPHS = Advice(
    "text",
    "Graphs are replayed here, and these kernels are launched one by one beside them: capture that part in a graph as well. Of an "
    "engine it may be a draft model, the sampler, or passes larger than those captured; its log says what it captures.",
)


def feed_faster(facts: Facts) -> tuple[Advice, ...]:
    """Fewer or cheaper launches, cheapest change first."""
    updates = _updates(facts)
    if updates:
        return updates
    fixes = [*_own_buffers(facts), *_folded(facts), larger_batch(facts)]
    if not facts.model.repetition.graphs:
        fixes.append(replay_as_graph(facts))
    else:
        fixes.append(_BESIDE_GRAPHS)
    if facts.model.optimizing.style == "for-loop" and facts.model.optimizing.class_name in FUSED_CLASSES:
        fixes.append(fused(facts, facts.model.optimizing.class_name))
    by_hand = capture_by_hand(facts)
    # An engine that serves models makes its own graphs: there is no model of the user's to capture.
    return tuple(fixes) if by_hand in fixes or replayed(facts) is not None else (*fixes, by_hand)


def _updates(facts: Facts) -> tuple[Advice, ...]:
    """Where most of the time belongs to the optimizer: a graph of the model, or its compiler, leaves that as it is."""
    work, owned = facts.model.optimizing, facts.time.waterfall.owned
    updating = (owned("optimizer") & work.step_time).total_ns
    if 2 * updating <= sum(owned(cause).total_ns for cause in ("launch", "framework", "optimizer")):
        return ()
    lies = (
        f"{duration(facts.steps.per_step(updating))} {facts.steps.a_unit} of that idle time lie inside `{work.class_name}.step`, "
        f"which launches {facts.steps.per_step(work.launches):,.0f} kernels."
    )
    rarer = Advice(
        "diff",
        " loss.backward()\n-optimizer.step()\n-optimizer.zero_grad()\n"
        "+if (index + 1) % 4 == 0:      # divide the loss by as many\n+    optimizer.step()\n+    optimizer.zero_grad()",
        "Fewer updates for the same samples, as with a larger batch. Scale the learning rate, and watch the validation score.",
    )
    fewer = _in_fewer_launches(facts)
    first, *others = (*fewer, rarer)
    return (replace(first, note=f"{lies} {first.note}".strip()), *others)


def _in_fewer_launches(facts: Facts) -> tuple[Advice, ...]:
    """Another form of the same update, where there is one that this program does not use yet."""
    work = facts.model.optimizing
    name = work.class_name
    if name in FUSED_CLASSES:
        return () if work.style == "fused" else (fused(facts, name),)
    if name in FOREACH_CLASSES:
        return (foreach(name),) if work.style == "for-loop" else ()
    if of_each_parameter(facts):
        return (ON_DEVICE, by_hand())
    if facts.steps.per_step(work.launches) < _MANY_LAUNCHES:
        return ()
    if work.products:
        return (_TOGETHER,)
    return (
        Advice(
            "text",
            f"An optimizer that updates many parameters at each launch, in place of `{name}`: torch.optim.AdamW with `fused=True` "
            "from torch 2.0 on, where its states fit into memory, or one of your library's that works on lists. Another algorithm "
            "wants a learning rate of its own.",
        ),
    )


_TOGETHER = Advice(
    "python",
    "for group in groups_of_one_shape:                    # or padded to one\n"
    "    updates = orthogonalize(torch.stack(group))      # torch.bmm, torch.baddbmm: all matrices of the group at once\n"
    "    torch._foreach_add_(parameters_of[group], updates.unbind(), alpha=-lr)",
    "It multiplies matrices, each by itself, as Newton-Schulz iterations of Muon do: those of one shape together, and the rest in "
    "lists (`torch._foreach_`). Where a library brings the optimizer, look for a version that does.",
)


def _folded(facts: Facts) -> tuple[Advice, ...]:
    """Where a model that is only run computes its weights from their norm in each pass, by a good part of its launches."""
    norms = facts.model.weight_norms
    if not facts.model.infers or norms < _NORMED_LAYERS * len(facts.kernels.named.frame):
        return ()
    return (
        Advice(
            "python",
            "from torch.nn.utils import parametrize, remove_weight_norm\n\n"
            "for layer in model.modules():\n"
            '    if parametrize.is_parametrized(layer, "weight"):\n'
            '        parametrize.remove_parametrizations(layer, "weight")\n'
            '    elif hasattr(layer, "weight_g"):                 # the older form\n'
            "        remove_weight_norm(layer)",
            f"{facts.steps.per_step(norms):,.0f} weights {facts.steps.a_unit} are computed from their norms (`_weight_norm`). "
            "Where the program only runs its model they never change: fold them once, behind loading.",
        ),
    )


def _own_buffers(facts: Facts) -> tuple[Advice, ...]:
    """Where the device idles while DistributedDataParallel copies the model's buffers from rank 0: do without."""
    idle = facts.communication.buffer_broadcasts & facts.time.idle
    if facts.steps.ratio(idle.total_ns) < _WORTH_NAMING:
        return ()
    lost = f"The GPU idles {duration(facts.steps.per_step(idle.total_ns))} of {facts.steps.each} "
    return (own_buffers(f"{lost}({share(facts.steps.ratio(idle.total_ns))}) while"),)
