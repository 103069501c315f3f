"""Many backward passes for one update, as a finding of PY003: gradients taken sample by sample, or a batch cut very small."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.backward_passes import Passes
from analyzer.facts.time.host_loss import DISPATCH_BOUND_OP_NS, host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Saving
from analyzer.units import duration, share
from rules.batched import with_kernels
from rules.place import location, named

# What a line that runs a pass says.
_PASS = frozenset({".backward(", "autograd.grad("})
_FIX = (
    Advice(
        "python",
        "def loss_of(weights, x, y):\n"
        "    return criterion(torch.func.functional_call(model, weights, (x[None],)), y[None])\n\n"
        "weights = {name: weight.detach() for name, weight in model.named_parameters()}\n"
        "gradients = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(weights, inputs, targets)",
        'Gradients of every sample in one pass. Dropout needs `randomness="different"`; batch norm has no gradient of one sample.',
    ),
    Advice(
        "diff",
        "-for x, y in zip(inputs, targets):\n-    criterion(model(x[None]), y[None]).backward()\n"
        "+criterion(model(inputs), targets).mul(len(inputs)).backward()",
        "Where only the sum is used: one pass for the batch. A batch that does not fit: fewer and larger parts.",
    ),
)
_LARGER_PARTS = Advice(
    "diff",
    "-for part in batch.split(size):\n-    (criterion(model(part.inputs), part.targets) * len(part) / len(batch)).backward()\n"
    "+criterion(model(batch.inputs), batch.targets).backward()",
    "One pass for all whose gradients add up. Where memory does not hold them: fewer and larger parts.",
)


def passes_finding(facts: Facts) -> Finding:
    """How many passes, what they take, and what all of them but one cost."""
    found = facts.loops.backward_passes
    loss = host_loss(
        facts.device,
        facts.time.device_waits,
        facts.time.waterfall,
        found.spans,
        dispatch_bound=found.usual_op_ns < DISPATCH_BOUND_OP_NS,
    )
    main = facts.host.main_thread
    line = None if main is None else facts.host.stacks.loop([main] * len(found.spans), found.spans, main, _PASS)
    taken, step = facts.steps.per_step(found.spans.total_ns), facts.steps.per_step(facts.steps.total_ns)
    return Finding(
        why=f"The backward pass runs {found.passes / found.updates:,.0f} times for one update{named(line)}, "
        f"{_what(found)}: all turns but the first take {duration(taken)} of "
        f"{facts.steps.each} ({share(facts.steps.ratio(found.spans.total_ns))}), in ops of {duration(found.usual_op_ns)} each.",
        saving=with_kernels(
            facts,
            Saving(
                claims=loss.claims,
                kernel_ns=loss.op_ns,
                basis="what the turns but the first cost the host; where their ops are long, only the time between ops",
            ),
            found.spans,
        ),
        fix=(_LARGER_PARTS,) if found.adds_up else _FIX,
        verify=f"Record again: {'fewer passes' if found.adds_up else 'one pass'} an update; the gradients must be the same.",
        steps_seen=facts.steps.count_with(found.spans),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars("mean step, host", "ns", (Bar("turns but the first", taken), Bar("rest of the step", step - taken))),
        ),
        location=location(line),
        caveats=(
            "Passes that need the result of the one before, as inner steps of meta-learning do, cannot be joined.",
        ),
        title="One update, many backward passes",
    )


def _what(found: Passes) -> str:
    if found.adds_up:
        return "and each adds its gradients to those of the one before, as of a batch cut into small parts"
    return "as for gradients sample by sample, or a batch cut into small parts"
