"""Updates that decompose matrices, as Shampoo, SOAP and K-FAC do: no lists of tensors help, but doing it less often does."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Saving
from analyzer.units import count, duration, share
from rules.batched import with_kernels

# Of the update: less is not what it takes.
_MOST = 0.5
# Preconditioners change slowly: distributed Shampoo's `precondition_frequency` is 100 in its examples, SOAP's 10.
_SELDOM_PART = 0.9

_SELDOM = Advice(
    "diff",
    "-optimizer = DistributedShampoo(model.parameters(), precondition_frequency=1)\n"
    "+optimizer = DistributedShampoo(model.parameters(), precondition_frequency=50)",
    "Preconditioners change slowly: take them every so many steps, as far as the validation score allows. Other optimizers have a "
    "setting of the kind (SOAP: `precondition_frequency`).",
)
_AT_ONCE = Advice(
    "python",
    "values, vectors = torch.linalg.eigh(torch.stack(matrices_of_one_size))",
    "All matrices of one size in one call: a library for small matrices works on them side by side.",
)


def decomposes(facts: Facts) -> bool:
    """Whether most of the update's time on the host is in decompositions."""
    return facts.model.decompositions.spans.total_ns > _MOST * facts.model.optimizing.update_time.total_ns


def decomposing(facts: Facts) -> Finding:
    """What the decompositions cost."""
    work, found = facts.model.optimizing, facts.model.decompositions
    idle = facts.time.waterfall.owned("optimizer") & found.spans
    saving = with_kernels(
        facts,
        Saving(claims=idle, basis="idle time inside the decompositions, and their kernels; one of ten or more stays"),
        found.spans,
    )
    kernels = facts.time.launched_in(found.spans).total_ns if facts.device.main is not None else 0
    each = facts.steps.per_step(found.calls)
    where = (
        f"its kernels take {duration(facts.steps.per_step(kernels))} of {facts.steps.each} "
        f"({share(facts.steps.ratio(kernels))}), and the GPU idles for {duration(facts.steps.per_step(idle.total_ns))} meanwhile"
        if facts.device.main is not None
        else f"which takes {duration(facts.steps.per_step(found.spans.total_ns))} of {facts.steps.each}"
    )
    return Finding(
        why=f"{work.class_name}.step decomposes matrices: `{found.name}` {count(round(each), 'time')} a step; {where}.",
        saving=replace(saving, usual_kernel_ns=int(_SELDOM_PART * kernels)),
        fix=(_SELDOM, _AT_ONCE),
        verify=f"Record again over as many steps: fewer `{found.name}`; compare the validation score.",
        steps_seen=facts.steps.count_with(work.step_time),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step, host",
                "ns",
                (
                    Bar("decomposing matrices", facts.steps.per_step(found.spans.total_ns)),
                    Bar(
                        "rest of optimizer.step()",
                        facts.steps.per_step(work.update_time.total_ns - found.spans.total_ns),
                    ),
                ),
            ),
        ),
        title="Update decomposes matrices",
    )
