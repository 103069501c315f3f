"""What the rules on loops share: the cost of a loop, its words, its evidence."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.loops.find import Loop
from analyzer.facts.time.host_loss import HostLoss
from analyzer.finding import Bar, Bars, Column, Evidence, Saving, Table
from analyzer.units import count, duration
from rules.batched import with_kernels
from rules.python.written import words_of

_WHERE = {
    "before": "before the model's first layer, or behind the update where that ends a step",
    "loss": "between the model's last layer and the backward pass, where the loss is computed",
    "forward": "in the forward pass",
    "after": "after the backward pass has begun",
    "step": "in the step",
}
_SHOWN_OPS = 8
# Share of the used steps from which a loop over a list of tensors, or over a sequence, is worth a word.
LIST_RATIO = 0.05


def line_of(facts: Facts, loop: Loop) -> CodeLine | None:
    """The user's line that runs the loop."""
    runs = loop.forward
    threads = [loop.thread] * len(runs)
    return facts.host.stacks.loop(threads, runs, facts.host.main_thread, words_of(loop.unit), loop.unit)


def loss_of(facts: Facts, loop: Loop) -> HostLoss:
    """What the loop costs: idle time of the device in it; on a CPU-only trace its time, without ops that compute."""
    return facts.time.host_loss(loop.calling, loop.usual_op_ns)


def experts_saving(facts: Facts, loop: Loop) -> Saving:
    """All but one of the turns, without the products."""
    saved = facts.loops.expert_loss(loop).scaled(loop.avoidable_ratio)
    return Saving(
        claims=saved.claims,
        kernel_ns=saved.op_ns,
        behind=facts.sync.behind(loop.spans),
        basis="what the turns cost beside their products, less one turn: one product for all groups has the same to compute",
    )


def saving_of(facts: Facts, loop: Loop, *, whole: bool = False) -> Saving:
    """All but one of the repetitions; or all of them, where what is advised needs none."""
    avoidable = 1.0 if whole else loop.avoidable_ratio
    saved = loss_of(facts, loop).scaled(avoidable)
    saving = Saving(
        claims=saved.claims,
        kernel_ns=saved.op_ns,
        basis="what the loop costs: nothing of it has to be done"
        if whole
        else "what the loop costs, less one repetition of each run: one call on the whole tensor still has to be made",
    )
    saving = with_kernels(facts, saving, loop.calling, avoidable)
    if facts.device.main is None:
        return saving
    # What the loop reads goes with it, and whatever else the device idles for in it.
    return replace(saving, behind=saving.behind | (facts.time.idle & loop.calling))


def what(facts: Facts, loop: Loop) -> str:
    """How often it repeats, where, and what it takes."""
    backward, forward_ns = loop.backward.total_ns, (loop.forward & loop.calling).total_ns
    also = f" and {duration(facts.steps.per_step(backward))} in its backward pass" if backward else ""
    same = "much the same" if loop.varies else "the same"
    some = f", in some turns also `{_listed(loop.in_some_turns)}`," if loop.in_some_turns else ""
    return (
        f"{same} {count(len(loop.unit), 'op')} (`{_listed(loop.unit)}`){some} run {_how_often(facts, loop)} {_WHERE[loop.phase]}, "
        f"which takes {duration(facts.steps.per_step(forward_ns))}{also} of {facts.steps.each} on the host"
    )


def _listed(ops: tuple[str, ...]) -> str:
    """Ops as text: `select, mul, add`."""
    return ", ".join(name.removeprefix("aten::") for name in ops[:_SHOWN_OPS]) + (
        ", ..." if len(ops) > _SHOWN_OPS else ""
    )


def _how_often(facts: Facts, loop: Loop) -> str:
    """`60 times in a row`, or `60 times a step, in 4 rows,` where other ops come between."""
    runs, times = round(loop.runs / max(loop.steps_seen, 1)), f"{loop.repeats / max(loop.steps_seen, 1):,.0f} times"
    return f"{times} in a row" if runs <= 1 else f"{times} {facts.steps.a_unit}, in {count(runs, 'row')},"


def evidence(facts: Facts, loop: Loop) -> tuple[Evidence, ...]:
    """Cost and sequence."""
    spans = loop.calling.total_ns
    return (
        Bars(
            "mean step, host",
            "ns",
            (
                Bar("loop", facts.steps.per_step((loop.forward & loop.calling).total_ns)),
                Bar("its backward pass", facts.steps.per_step(loop.backward.total_ns)),
                Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - spans)),
            ),
        ),
        Table("one repetition", (Column("op", "text"),), tuple((name,) for name in loop.unit)),
    )
