"""SY003 explicit-synchronize: the program itself waits for the device inside the loop.

## What it finds
`torch.cuda.synchronize()`, `stream.synchronize()` or `event.synchronize()` inside the steps, where the device then runs dry. And
the same calls of an extension inside an op of its own.

## Why it costs time
The host waits until the device has finished, and only then launches the next work. Without the call it would have launched that
work meanwhile, and the device would have gone on without a gap. PyTorch keeps the order of work by itself: no call is needed for
that.

## How it is measured
`|sync owned by synchronize calls outside any op| / |used steps|`: the part of the cause `sync` inside these calls and after them
until the next kernel while the host catches up; per call never more than the call lasted. Calls below an op belong to that op:
those directly inside one that is not torch's own are told by themselves, with the same thresholds, and those inside a collective's
call, or next behind a barrier's, by its name. Synchronisations of the whole
device after the last launch of the trace are the profiler's own. Unit: nanoseconds, shown as a share of the step.

## Example
Slow:

```python
start = time.perf_counter()
loss = train_step(batch)
torch.cuda.synchronize()
print(time.perf_counter() - start)
```

Faster:

```python
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
loss = train_step(batch)
end.record()
timings.append((start, end))
```

## Fix
1. Delete the call. Where results were copied to the host before it, wait for that copy alone and later; inside the step of an
   optimizer look for a version without.
2. Inside an extension's op: a version without the wait, or its makers.
3. Where the host waits for a barrier (`c10d::barrier`): take it out of the steps; nothing else needs it there.
4. To time work, record `torch.cuda.Event(enable_timing=True)` and read the events after the loop.

## Expected gain
At most the idle time of the device from a call until the next call that waits for another reason, and never more than the call
itself lasted: without the wait the host would have done earlier what it did after it. Likely is the idle time that the calls
cause directly. Nothing is saved where the host would have waited anyway. Idle time that ends with the work of another thread with
waits of its own, such as a server's worker, is not counted.
Waits of several kinds in a row (a value, a copy, a size, `synchronize()`) empty the queue each by itself: they are told together,
by the rule of those that the host waits longest for.

## When it is wrong
After the call the host may wait for something else, such as data that is made too slowly: then the call costs nothing. Outside
any op such a wait is seen only with stacks; without them confidence is medium. Before an update on the CPU (OP005) the host waits
for the gradients, which is needed: then nothing is said. A benchmark that synchronises every step on purpose. Another library (a
C++ extension, a communication backend) may make the call: the stack tells. With one process per device that shares memory with
others the wait may be needed.

## Thresholds
- `min_ratio`: share of the used steps, as idle time inside the calls and until the next kernel, from which the rule fires.
- `behind_ratio`: the same of idle time behind them in which the host does what it would have done while it waited; fires too.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
- NVIDIA Nsight Systems, expert rule `cuda_api_sync`
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count, share
from rules.device_words import module, of_device
from rules.sync.judging import (
    BEHIND_RATIO,
    MIN_RATIO,
    beside_work,
    finding,
    fires,
    with_others,
)
from traces.trace import Capability

META = RuleMeta(
    code="SY003",
    name="explicit-synchronize",
    family="sync",
    title="Explicit synchronize inside the loop",
    binds=("sync",),
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(MIN_RATIO, BEHIND_RATIO),
    explains=("ID002",),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when synchronize calls of the program own `min_ratio` of the used steps, or leave `behind_ratio` idle behind.

    Those inside ops of an extension are told by themselves.
    """
    said, inside = _of_program(facts, limits), _of_extension(facts, limits)
    if inside is None or isinstance(said, Finding):
        yield said
    if inside is not None:
        yield inside


def _of_extension(facts: Facts, limits: Limits) -> Finding | None:
    """What is told of synchronize calls inside ops of an extension; None where they cost little."""
    calls = facts.sync.waits.of("extension")
    if not len(calls) or not fires(facts, "extension", limits["min_ratio"], limits["behind_ratio"]):
        return None
    op, name = calls.costliest_op, calls.costliest_call
    return finding(
        facts,
        calls,
        "extension",
        f"`{name}` inside `{op}`, which an extension calls there",
        (
            Advice(
                "text",
                f"Take the wait out of `{op}`: kernels on one stream keep their order without it, and a launch that failed is told "
                f"by `{'hip' if facts.device.kind == 'rocm' else 'cuda'}GetLastError`.",
                "Where the op is not yours: look for a version of its library without the wait, or tell its makers. It is needed "
                "only where the op reads on the host what it has computed.",
            ),
        ),
        "Record again: no synchronize call inside the op.",
    )


def _of_program(facts: Facts, limits: Limits) -> Finding | Outcome:
    """What is told of synchronize calls outside any op."""
    calls = facts.sync.waits.of("explicit")
    if not len(calls):
        own = " (the profiler's own at the end is not counted)" if len(facts.sync.waits.of("profiler")) else ""
        return not_applicable(f"no synchronize call outside an op in the used steps{own}")
    brings = 2 * facts.sync.awaited_copies.blocked_ns > calls.blocked_ns
    if brings and facts.model.optimizing.on_host:
        return clear("the host waits for gradients that are copied to it: its own update needs them (OP005)")
    timed = calls.inside(facts.kernels.timed_runs.host)
    if 2 * timed.blocked_ns > calls.blocked_ns:
        return clear(
            f"most of the {count(len(calls), 'synchronize call')} are an autotuner's, which times kernels (KE011)"
        )
    ratio = facts.steps.ratio(facts.sync.waits.owned("explicit").total_ns)
    also = with_others(facts, "explicit", limits["behind_ratio"])
    if not also and not fires(facts, "explicit", limits["min_ratio"], limits["behind_ratio"]):
        return clear(
            f"synchronize calls own {share(ratio)} of the step, below {share(limits['min_ratio'])}{beside_work(facts, 'explicit')}"
        )
    name = calls.costliest_call
    if calls.collective is not None:
        return _of_collective(facts, calls, name, calls.collective)
    inside = _inside_update(facts, calls)
    return finding(
        facts,
        calls,
        "explicit",
        f"`{name}` outside any op{inside}, as `{_caller(facts, name)}` calls it",
        _fix(facts, name, brings=brings, of_update=bool(inside)),
        "Record again: no synchronize call inside the steps; the share of SY003 should fall below 2 %.",
        ()
        if facts.host.stacks.known
        else ("Without stacks the caller is unknown: it may be a library. Record with `with_stack=True`.",),
        also=also,
    )


def _of_collective(facts: Facts, calls: WaitingCalls, name: str, collective: str) -> Finding:
    """What is told of waits that a collective's call asks for: the program calls that, and no `synchronize()`."""
    barrier = "barrier" in collective
    return finding(
        facts,
        calls,
        "explicit",
        f"`{name}`, by which the host waits for `{collective}`",
        (_BARRIER if barrier else _ON_HOST,),
        f"Record again: no `{collective}` inside the steps."
        if barrier
        else "Record again: no wait inside these calls.",
    )


_BARRIER = Advice(
    "diff",
    "-torch.distributed.barrier()",
    "It makes the host wait for this device and for the slowest rank. Collectives keep their order without it; it is needed where "
    "ranks share something else, as a file that one of them writes.",
)
_ON_HOST = Advice(
    "text",
    "NCCL's collectives return at once, and the stream waits for them, not the host. Where this one holds the host: send tensors "
    "of the device by NCCL and not by gloo, leave TORCH_NCCL_BLOCKING_WAIT unset, and keep sizes of what is sent off the host.",
)


def _fix(facts: Facts, name: str, *, brings: bool, of_update: bool) -> tuple[Advice, ...]:
    """What to do about the calls: which of them are needed is asked first."""
    if "Event" in name:
        return (_LATER,)
    if brings:
        return (of_device(facts, _AFTER_COPIES),)
    if of_update:
        return (_OF_OTHERS,)
    return (_deleted(facts), of_device(facts, _timed(facts)))


def _inside_update(facts: Facts, calls: WaitingCalls) -> str:
    """Where most of the calls lie inside the optimizer's step: which; else empty."""
    if 2 * calls.inside(facts.model.optimizing.step_time).waits <= calls.waits:
        return ""
    return f" and inside `{facts.model.optimizing.class_name}.step`"


def _caller(facts: Facts, name: str) -> str:
    """What of torch makes a call of this name."""
    if "Event" in name:
        return "event.synchronize()"
    return "stream.synchronize()" if "Stream" in name else f"torch.{module(facts)}.synchronize()"


def _deleted(facts: Facts) -> Advice:
    before = "     output = model(batch)" if facts.model.infers else "     loss.backward()\n     optimizer.step()"
    return Advice(
        "diff",
        f"{before}\n-    torch.{module(facts)}.synchronize()",
        _OF_ANSWERS if facts.model.infers else "Delete it: work on one stream keeps its order without it.",
    )


_OF_ANSWERS = (
    "Delete it where no answer leaves the device behind it: work on one stream keeps its order without it. Where one does, launch "
    "the next pass first, and wait for the answer's copy alone."
)
# Who waits for one event wants a result: the wait is needed, its place may not be.
_LATER = Advice(
    "diff",
    "     copied.record()\n-    copied.synchronize()\n-    use(result)\n     prepare_the_next_batch()\n"
    "+    copied.synchronize()\n+    use(result)",
    "Wait as late as possible: first whatever does not need the result, best one step later.",
)


_AFTER_COPIES = Advice(
    "diff",
    "     pinned.copy_(result, non_blocking=True)\n-    torch.cuda.synchronize()\n-    use(pinned)\n+    copied.record()\n"
    "     launch_what_follows()\n+    copied.synchronize()\n+    use(pinned)",
    "Results are copied to the host before these calls, so a wait is needed before they are used: for the copy alone, by an event, "
    "and as late as possible, best one step later.",
)
_OF_OTHERS = Advice(
    "text",
    "Take the waits out of the optimizer's step, or look for a version of its library without them: work on one stream keeps its "
    "order, and the next parameter's update needs no wait for the last one's.",
    "Needed are they only where its states lie in memory that host and device share (paged optimizers).",
)


def _timed(facts: Facts) -> Advice:
    return Advice(
        "python",
        "start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))\n"
        "start.record()\n"
        f"{'output = model(batch)' if facts.model.infers else 'loss = train_step(batch)'}\n"
        "end.record()\n"
        "# after the loop: torch.cuda.synchronize(); print(start.elapsed_time(end))",
        "To time a step without stopping it.",
    )


RULE = Rule(META, check, __doc__)
