"""Fixes where the host waits for a copy because ranks send what is copied: objects that are unpickled, tensors that go to gloo."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice
from analyzer.units import listed

_TENSORS = Advice(
    "python",
    "if step % 100 == 0:                                      # what is only logged\n"
    "    numbers = torch.stack([loss.detach(), accuracy])     # of a size that every rank knows\n"
    "    torch.distributed.all_reduce(numbers)                # stays on the device until somebody reads it",
    "Objects are pickled, sent as their length and their bytes, and read by the host, which waits for all that is queued and for "
    "the slowest rank. Send tensors of a known size, and less often. Where objects have to be sent: a group of gloo for them "
    '(`new_group(backend="gloo")`) leaves the device out of it.',
)
_BY_NCCL = Advice(
    "diff",
    '-torch.distributed.init_process_group("gloo")\n+torch.distributed.init_process_group("cpu:gloo,cuda:nccl")\n'
    "-received = tensor.cpu()\n-torch.distributed.all_reduce(received)\n-tensor.copy_(received)\n"
    "+torch.distributed.all_reduce(tensor)",
    "Most of these copies go to gloo right behind. NCCL sends from the device, and the host need not wait for it. Where another "
    "rank is late the device waits for that one instead.",
)


def where(facts: Facts, calls: WaitingCalls) -> str:
    """What the copies belong to, as the end of what the program does; empty where it is nothing that ranks send."""
    if _of_objects(facts, calls):
        return (
            f", as {listed([f'`{name}`' for name in facts.communication.objects.functions])} reads what ranks have sent"
        )
    return ", which gloo sends right behind" if _to_gloo(facts, calls) else ""


def remedies(facts: Facts, calls: WaitingCalls) -> tuple[Advice, ...]:
    """What to send instead; nothing where most of the waiting is for something else."""
    if _of_objects(facts, calls):
        return (_TENSORS,)
    return (_BY_NCCL,) if _to_gloo(facts, calls) else ()


def _of_objects(facts: Facts, calls: WaitingCalls) -> bool:
    return 2 * calls.inside(facts.communication.objects.time).blocked_ns > calls.blocked_ns


def _to_gloo(facts: Facts, calls: WaitingCalls) -> bool:
    return facts.device.kind == "cuda" and 2 * facts.communication.sent_by_gloo_ns(calls.frame) > calls.blocked_ns
