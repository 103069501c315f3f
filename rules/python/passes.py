"""Many backward passes for one update, as a finding of PY003: gradients taken sample by sample, or a batch cut very small."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.backward_passes import Passes
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
_OF_INPUTS = Advice(
    "diff",
    "-for x in inputs:\n-    (gradient,) = torch.autograd.grad(model(x[None]).sum(), x, create_graph=True)\n"
    "+(gradients,) = torch.autograd.grad(model(inputs).sum(), inputs, create_graph=True)",
    "Where each sample's gradient is that of its own input, as in a gradient penalty, or for forces: one call for the sum, as what "
    "a sample gives depends on no other's input. Not behind batch norm, which mixes samples.",
)
_OF_TASKS = Advice(
    "diff",
    "-for x, y in tasks:\n-    loss = loss + adapted(weights, x, y)\n"
    "+loss = torch.func.vmap(adapted, in_dims=(None, 0, 0))(weights, inputs, targets).sum()",
    "Where weights are adapted to each task before its loss, as in meta-learning: all tasks at once, `torch.func.grad` in place of "
    "`torch.autograd.grad` inside. The steps of one task build on each other and stay in order.",
)
_OF_OUTPUTS = (
    Advice(
        "diff",
        "-rows = [torch.autograd.grad(outputs[..., k].sum(), inputs, retain_graph=True)[0] for k in range(n)]\n"
        "+directions = torch.eye(n, device=outputs.device).view(n, *[1] * (outputs.dim() - 1), n).expand(n, *outputs.shape)\n"
        "+(rows,) = torch.autograd.grad(outputs, inputs, directions, retain_graph=True, is_grads_batched=True)",
        "Where every turn's gradients are wanted, as for a Jacobian, second derivatives, or the losses of several tasks: all "
        "directions in one call (`create_graph=True` where they are part of a loss). It computes as much as "
        "the turns do, and saves the way from op to op; where ops are large it saves nothing. Measure it.",
    ),
    Advice(
        "diff",
        "-for k in range(n):\n-    (gradient,) = torch.autograd.grad(outputs[k], inputs, retain_graph=True)\n"
        "+(gradients,) = torch.autograd.grad(outputs.sum(), inputs)",
        "Where each output depends on one input, its own, as a sample's does: one call for the sum, which computes as much as one "
        "turn.",
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
    loss = facts.time.host_loss(found.spans, found.usual_op_ns)
    main = facts.host.main_thread
    fix = _fix(found)
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
                usual_kernel_ns=0 if found.again else None,
                basis="what the turns but the first cost the host; where their ops are long, only the time between ops and "
                "that of the short ones"
                + (
                    "; likely the time between ops alone, as all turns' work in one call is as much"
                    if found.again
                    else ""
                ),
            ),
            found.spans,
        ),
        fix=fix,
        verify=f"Record again: {'one pass' if fix is _FIX else 'fewer passes'} an update; the gradients must be the same.",
        steps_seen=facts.steps.count_with(found.spans),
        confidence=Confidence.LOW if found.again else Confidence.MEDIUM,
        evidence=(
            Bars("mean step, host", "ns", (Bar("turns but the first", taken), Bar("rest of the step", step - taken))),
        ),
        location=location(line),
        caveats=(
            "Passes that need the result of the one before, as inner steps of meta-learning do, cannot be joined.",
        ),
        title="One update, many backward passes",
        references=_references(found),
    )


def _references(found: Passes) -> tuple[str, ...]:
    if found.adds_up:
        return ()
    if not found.returns:
        return ("https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html",)
    grad = "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html"
    return (grad, "https://docs.pytorch.org/tutorials/intermediate/jacobians_hessians.html") if found.again else (grad,)


def _fix(found: Passes) -> tuple[Advice, ...]:
    if found.adds_up:
        return (_LARGER_PARTS,)
    if not found.returns:
        return _FIX
    if found.again:
        return _OF_OUTPUTS
    # Some pass hands gradients to parameters: those taken before it are part of a loss.
    return (_OF_TASKS, _FIX[0]) if found.of_weights else (_OF_INPUTS, _FIX[0])


def _what(found: Passes) -> str:
    if found.adds_up:
        return "and each adds its gradients to those of the one before, as of a batch cut into small parts"
    if found.returns:
        between = (
            "again and again through the same graph, as no layer runs between them"
            if found.over_one_graph
            else f"each after a pass forward, as sample by sample{' or task by task' if found.of_weights else ''}"
        )
        return f"mostly for `torch.autograd.grad`, as no parameter receives a gradient, and {between}"
    return "as for gradients sample by sample, or a batch cut into small parts"
