"""Host code behind a blocking copy to the host: the device idles meanwhile, and would not if the values were used a step later."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import SMALL_BYTES
from analyzer.finding import Advice
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration
from rules.device_words import of_device
from rules.python.between_ops import WORTH_A_PLACE

_READS = ("scalar", "copy_out")
_LATE = Advice(
    "diff",
    " for batch in loader:\n     output = model(batch)\n-    score(output.cpu())\n"
    "+    pinned = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)   # two in turns, made once\n"
    "+    pinned.copy_(output, non_blocking=True)\n+    copied = torch.cuda.Event()\n+    copied.record()\n"
    "+    if before is not None:\n+        before[0].synchronize()\n+        score(before[1])\n+    before = copied, pinned",
    "Where nothing of the next step depends on the values: look at them one step late, beside the next step's work. Or keep sums "
    "on the device, and copy once.",
)
BETWEEN_LAYERS = Advice(
    "text",
    "Take away what the model reads between its layers: sizes of results that only the device knows (`nonzero`, boolean masks, "
    "`unique`), and values asked for by `.item()` beside them.",
    "Each such read empties the device's queue, and the host's own code behind it shows: without them that code runs beside "
    "the device's work.",
)
BETWEEN_KERNELS = Advice(
    "text",
    "Take away what the program reads several times a step while it computes (`.item()`, `.tolist()`, `if tensor:`): keep it a "
    "tensor (`torch.where`, `index_select`), know it on the host before, or read it once, behind the step's work.",
    "Each such read empties the device's queue, and the host's own code behind it shows: without them that code runs beside "
    "the device's work.",
)

BEHIND_PASSES = Advice(
    "text",
    "Where it saves or logs what is copied there: less often, or on a thread of its own beside the next steps.",
    "Whole tensors are copied to the host behind the backward pass, and the device has nothing to do until the next step begins.",
)


def in_between(facts: Facts, time: IntervalSet) -> Advice | None:
    """What to do where a good part follows what a model reads several times a step; None where not, or a simulator may answer.

    Nobody steps a simulator behind the sizes of results. What one answers to values is sent to the device before the next is read.
    """
    for read, advice in (
        (facts.sync.after_sizes(time), BETWEEN_LAYERS),
        (facts.sync.after_reads(time), BETWEEN_KERNELS),
    ):
        often = facts.steps.noun != "recording" and len(read.start_ns) > facts.steps.count
        # Without the reads the host is ahead by what it waited in them, and no further: what its own code takes stays.
        asked = advice is BETWEEN_LAYERS or (not facts.transfer.may_answer(read) and bool(_waited_for(facts, time)))
        if advice is BETWEEN_KERNELS and often and _copied_out(facts, read):
            advice = BEHIND_PASSES
        if often and asked and read.total_ns >= WORTH_A_PLACE * time.total_ns:
            return advice
    return None


def goes_with(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What the device idles for in the reads, and behind them, where it is advised to take them away; none where it is not."""
    if in_between(facts, time) is None:
        return EMPTY
    return facts.sync.removable(*_READS, "shape")


def _copied_out(facts: Facts, read: IntervalSet) -> bool:
    """Whether what is read are whole tensors, behind the last backward pass: saved or logged, and in nobody's way before."""
    calls = facts.sync.waits.of(*_READS)
    return (
        calls.bytes >= SMALL_BYTES * calls.waits > 0 and 2 * (read & facts.model.behind_passes).total_ns > read.total_ns
    )


def _waited_for(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What of some idle host time follows reads that waited as long for a busy device; nothing where it is little."""
    found = facts.sync.after_reads(time) & facts.sync.removable(*_READS)
    return found if found.total_ns >= WORTH_A_PLACE * time.total_ns else IntervalSet()


def hidden(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What of some idle host time follows a copy to the host that waited as long for a busy device; nothing where it is little."""
    found = facts.sync.after_reads(time) & facts.sync.removable(*_READS, copied=facts.sync.waits.copied("copy_out"))
    return found if found.total_ns >= WORTH_A_PLACE * time.total_ns else IntervalSet()


def sentence(facts: Facts, time: IntervalSet) -> str:
    """What to say of it, with a space before it; empty where there is none."""
    found = hidden(facts, time)
    if not found:
        return ""
    after, stood = (duration(facts.steps.per_step(ns)) for ns in (found.total_ns, facts.sync.free_ns(*_READS)))
    return (
        f" {after} of it {facts.steps.a_unit} comes after values were copied to the host: for {stood} the host stood in the "
        "copies, while the GPU computed what they wait for."
    )


def one_step_late(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """To use the values while the device works on the next step; empty where that does not help, or nothing need be copied."""
    return (of_device(facts, _LATE),) if hidden(facts, time) and not facts.transfer.there_and_back else ()
