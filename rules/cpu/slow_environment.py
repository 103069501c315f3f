"""CP003 slow-environment: an environment variable that slows the run down is set.

## What it finds
Variables for debugging, and others that cost time, which were set when `advisor collect` recorded the program, and whose cost the
trace shows: `CUDA_LAUNCH_BLOCKING` and its kin on ROCm, `PYTORCH_NO_CUDA_MEMORY_CACHING`, `NCCL_DEBUG`, `TORCH_DISTRIBUTED_DEBUG`,
`TORCH_NCCL_NAN_CHECK`, `OMP_NUM_THREADS` and `MKL_NUM_THREADS`, `PYTHONDEVMODE`, `PYTHONMALLOC`, `MALLOC_CHECK_`, `ONEDNN_VERBOSE`.

## Why it costs time
They are set once, in a shell, a job script or a container, to find an error, and are forgotten there. Launches then wait for their
kernels, every tensor is allocated anew, each collective is checked or logged, or every allocation of Python is.

## How it is measured
The variables are those of a list that the collector records; no other is ever read. What each costs is read off the trace: idle
time inside launches where most of them outlast their kernel (as SY005); idle time inside the allocator's calls (as ME001); that
inside calls of collectives, and inside gloo's beside NCCL's; kernels that look for NaN; matrix work on fewer threads than cores,
at most what perfect scaling would save (where one thread has much of it, only CP001 reports it). Time in which the thread had no
core is subtracted before that is compared with `min_ratio`. Unit: nanoseconds. Variables that make Python's or oneDNN's every
call slower have no bound: one recording cannot tell by how much.

## Example
Slow:

```python
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
train()
```

Faster:

```python
os.environ.pop("PYTORCH_NO_CUDA_MEMORY_CACHING", None)
train()
```

## Fix
1. Unset the variable in the shell, the job script and the container.
2. One that the program sets itself: take that line away.
3. `OMP_NUM_THREADS`: as many threads as the process has cores for itself.

## Expected gain
At most the time named, for each variable.

## When it is wrong
A variable that the program itself sets after torch has read it has no effect. With several processes on a machine few threads each
may be right. Where the thread had no core for as long, more threads may find none either, and the rule cannot tell. Variables of
torch that were set for a reason (a driver without peer access) are not on the list.

## Thresholds
- `min_ratio`: what a variable must cost, as a share of the used steps, to be named.
- `min_blocking_ratio`: share of launches that outlast their kernel from which launches wait.

## References
- https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
- https://docs.pytorch.org/docs/stable/debugging_environment_variables.html
- https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.finding import Advice, Column, Confidence, Finding, Outcome, Saving, Table, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration, share
from rules.changes import CACHING_VARIABLES, set_by_program, unset
from rules.commands import run

META = RuleMeta(
    code="CP003",
    name="slow-environment",
    family="cpu",
    title="Environment variables slow it down",
    thresholds=(
        Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),
        Threshold("min_blocking_ratio", 0.5, "ratio", "as SY005: at most 1.4 % on 46 traces without the variable"),
    ),
    references=("https://docs.pytorch.org/docs/stable/cuda_environment_variables.html",),
)

_OFF = frozenset({"0", "false", "off", "no", "n", "default", "none"})
_LAUNCHES = frozenset({"CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"})
_THREADS = frozenset({"OMP_NUM_THREADS", "MKL_NUM_THREADS"})
# Below these levels NCCL logs errors only.
_LOGGING = frozenset({"INFO", "TRACE", "ABORT"})
# Slower in every call, by an amount that one recording cannot tell, and what is slower.
_EVERYWHERE = {
    "PYTHONDEVMODE": "Python checks its own allocations and warns of everything",
    "PYTHONMALLOC": "every allocation of Python is checked",
    "MALLOC_CHECK_": "every allocation on the host is checked",
    "ONEDNN_VERBOSE": "oneDNN prints a line for each of its calls",
    "DNNL_VERBOSE": "oneDNN prints a line for each of its calls",
    "MKL_VERBOSE": "MKL prints a line for each of its calls",
}


class Cost(msgspec.Struct, frozen=True):
    """What a variable costs.

    Args:
        name: The variable.
        value: What it is set to.
        claims: The time that goes with it; empty where the trace cannot tell how much.
        kernel_ns: Device time that goes with it, over all used steps.
        what: What happens because of it.
    """

    name: str
    value: str
    claims: IntervalSet
    kernel_ns: int
    what: str

    @property
    def total_ns(self) -> int:
        """Over all used steps."""
        return self.claims.total_ns + self.kernel_ns


def check(facts: Facts, limits: Limits, claimed: IntervalSet) -> Iterator[Finding | Outcome]:
    """Fires for variables whose cost the trace shows, and for those that slow every call."""
    environment = facts.recording.collected.environment
    if environment is None:
        yield cannot_tell("which variables were set is not in the trace; `advisor collect` records them")
        return
    found = [_cost(facts, name, value, limits) for name, value in sorted(environment.items())]
    costs = [cost for cost in found if cost is not None]
    elsewhere = [cost for cost in costs if _told_already(cost, claimed)]
    named = [
        cost
        for cost in costs
        if cost not in elsewhere and (facts.steps.ratio(_sure_ns(facts, cost)) >= limits["min_ratio"] or _always(cost))
    ]
    if not named and elsewhere:
        yield clear(
            f"{', '.join(f'{cost.name}={cost.value}' for cost in elsewhere)}: its time is told as too few threads (CP001)"
        )
        return
    if (
        not named
        and facts.time.without_core_ns
        and any(_of_threads(facts, name, value) for name, value in sorted(environment.items()) if name in _THREADS)
    ):
        yield cannot_tell(
            f"matrix work runs on fewer threads than cores, and {facts.time.core_words} of the step: more threads may find none "
            "either; record on a quiet machine"
        )
        return
    if not named:
        known = ", ".join(f"{name}={value}" for name, value in sorted(environment.items()))
        yield clear(f"{known}: the trace shows no cost of it" if known else "no variable that slows a run down is set")
        return
    yield _finding(facts, named)


def _finding(facts: Facts, costs: list[Cost]) -> Finding:
    claims = EMPTY
    for cost in costs:
        claims |= cost.claims
    bounded = any(cost.total_ns for cost in costs)
    return Finding(
        why=" ".join(_sentence(facts, cost) for cost in costs),
        saving=Saving(
            claims=claims,
            kernel_ns=sum(cost.kernel_ns for cost in costs),
            basis="time that goes with the variables, as far as the trace shows it"
            if bounded
            else "what these variables cost cannot be told from one recording",
        ),
        fix=_fix(facts, costs),
        verify="Record again without them and run `advisor compare before.json after.json`.",
        steps_seen=facts.steps.count_with(claims) if claims else facts.steps.count,
        confidence=Confidence.HIGH
        if bounded and not any(cost.name == "NCCL_DEBUG" for cost in costs)
        else Confidence.LOW,
        evidence=(
            Table(
                "variables",
                (Column("variable", "text"), Column("value", "text"), Column("a step, at most", "ns")),
                tuple(
                    (cost.name, cost.value, facts.steps.per_step(cost.total_ns) if cost.total_ns else None)
                    for cost in costs
                ),
            ),
        ),
    )


def _sentence(facts: Facts, cost: Cost) -> str:
    if not cost.total_ns:
        return f"`{cost.name}={cost.value}` is set: {cost.what}."
    takes = f"{duration(facts.steps.per_step(cost.total_ns))} {facts.steps.a_unit} ({share(facts.steps.ratio(cost.total_ns))})"
    return f"`{cost.name}={cost.value}` is set: {cost.what}, {takes}."


def _told_already(cost: Cost, claimed: IntervalSet) -> bool:
    """Whether most of what a variable costs is claimed by the rule on the threads themselves."""
    return cost.name in _THREADS and 2 * (cost.claims & claimed).total_ns > cost.claims.total_ns


def _sure_ns(facts: Facts, cost: Cost) -> int:
    """What a variable costs, less what the thread had no core for where more threads are to have some."""
    return cost.total_ns - (facts.time.without_core_ns if cost.name in _THREADS else 0)


def _always(cost: Cost) -> bool:
    return cost.name in _EVERYWHERE


def _cost(facts: Facts, name: str, value: str, limits: Limits) -> Cost | None:
    """What a variable costs on this trace; None where it is off, or costs nothing that the trace shows."""
    if name in CACHING_VARIABLES:
        return Cost(name, value, facts.memory.allocations.claims, 0, "tensors are allocated from the driver one by one")
    if value.lower() in _OFF:
        return None
    if name in _EVERYWHERE:
        return Cost(name, value, EMPTY, 0, _EVERYWHERE[name])
    if name in _THREADS:
        return _of_threads(facts, name, value)
    if facts.device.main is None:
        return None
    if name in _LAUNCHES and facts.time.blocking_launches.ratio >= limits["min_blocking_ratio"]:
        return Cost(name, value, facts.time.waterfall.owned("launch"), 0, "launches return only after their kernel")
    if name == "TORCH_NCCL_NAN_CHECK":
        return Cost(
            name,
            value,
            EMPTY,
            facts.communication.nan_checks_ns,
            "what is sent is searched for NaN before each collective",
        )
    if name == "TORCH_DISTRIBUTED_DEBUG" and value.upper() == "DETAIL":
        return Cost(
            name,
            value,
            facts.time.idle & facts.communication.calls_of("gloo"),
            0,
            "ranks compare each collective over gloo first",
        )
    if name == "NCCL_DEBUG" and value.upper() in _LOGGING:
        return Cost(
            name,
            value,
            facts.time.idle & facts.communication.calls_of("nccl"),
            0,
            "NCCL may log while collectives are called",
        )
    return None


def _of_threads(facts: Facts, name: str, value: str) -> Cost | None:
    threads, cores = facts.recording.collected.intra_op_threads, facts.recording.collected.cores
    if (
        facts.device.main is not None
        or facts.device.unrecorded
        or threads is None
        or cores is None
        or str(threads) != value
    ):
        return None
    if threads >= cores:
        return None
    matrix = facts.kernels.cpu_work.matrix & facts.time.waterfall.owned("compute")
    return Cost(name, value, matrix.scaled(1 - threads / cores), 0, f"matrix work runs on {threads} of {cores} cores")


def _fix(facts: Facts, costs: list[Cost]) -> tuple[Advice, ...]:
    given = [cost for cost in costs if cost.name not in facts.recording.collected.environment_changed]
    gone = [cost.name for cost in given if cost.name not in _THREADS]
    threads = [cost.name for cost in given if cost.name in _THREADS]
    found = [*set_by_program(facts, [cost.name for cost in costs]), *([unset(gone)] if gone else [])]
    if threads:
        cores = facts.recording.collected.cores
        command = run(facts, " ".join(f"{name}={cores}" for name in threads))
        found.append(
            Advice("shell", command, "Fewer where several processes share the machine; a cluster's default is often 1.")
        )
    return tuple(found)


RULE = Rule(META, check, __doc__)
