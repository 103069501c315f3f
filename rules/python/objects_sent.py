"""Host code beside a collective of Python objects: it pickles and unpickles them, on every rank."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import listed, share
from rules.python.advice import look
from rules.python.between_ops import MOST

_TENSORS = Advice(
    "python",
    "if step % 100 == 0:                                      # what is only logged\n"
    "    numbers = torch.stack([loss.detach(), accuracy])     # of a size that every rank knows\n"
    "    torch.distributed.all_reduce(numbers)                # or all_gather_into_tensor(all_numbers, numbers)",
    "Send tensors of a known size instead of objects, and less often: numbers need no pickling, and no message that says how long "
    "they are. What one rank alone needs of the others: `gather_object`. What every rank can work out alike needs no message.",
)


def sentence(facts: Facts, time: IntervalSet) -> str:
    """What to say of it, with a space before it; empty where most of the time is something else."""
    if not _most(facts, time):
        return ""
    objects = facts.communication.objects
    names, ratio = listed([f"`{name}`" for name in objects.functions]), (objects.time & time).total_ns / time.total_ns
    return (
        f" {share(ratio)} of it lies in {names} or directly beside, where objects are made, pickled and unpickled: each call sends "
        "how long they are, and then their bytes."
    )


def remedies(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """What to send instead; nothing where most of the time is something else."""
    return (_TENSORS, look(facts)) if _most(facts, time) else ()


def _most(facts: Facts, time: IntervalSet) -> bool:
    return (facts.communication.objects.time & time).total_ns > MOST * time.total_ns
