"""What to do about an op that works on the host while the device idles: by what it works on."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.facts.host.dispatch_owner import OwningOp
from analyzer.facts.kernels.precision import CONV_OP
from analyzer.facts.model.compiled import CHECKS
from analyzer.finding import Advice
from analyzer.units import count, duration, listed
from rules.guards import FEWER_GUARDS
from traces.patterns import Pattern

# Ops of a library that has a kernel for each size built or looked up: its own work on the host is that.
_OF_LIBRARY = Pattern(r"aten::(?:cudnn|miopen)_")
# What makes a tensor of another type, or of another layout, of one on the host.
_COPIES = Pattern(r"aten::(?:to|_to_copy|copy_|contiguous|clone)$")
_CAST_THERE = (
    "-frame = torch.from_numpy(frame).float().to(device)\n"
    "+frame = torch.from_numpy(frame).to(device).float()   # bytes travel"
)
_CASTS = (
    "A tensor on the host is copied there, as a cast or another layout does: send it as it is, and do that on the device. Where it "
    "is neither, the copy can go."
)

_FAST = Advice(
    "shell",
    "export MIOPEN_FIND_MODE=FAST      # or a search once, kept: MIOPEN_USER_DB_PATH on a disk that stays",
    "MIOpen then takes what its database knows of a size, without a search; kernels that it does not hold are still built once. "
    "What it takes may be slower than what a search finds: measure both.",
)
_SIZES = Advice(
    "python",
    "step = 64                                    # a handful of sizes instead of any\n"
    "short = -length % step\n"
    "batch = torch.nn.functional.pad(batch, (0, short))",
    "Each size is prepared once, and comes back.",
)


def own_work(facts: Facts, ops: Sequence[OwningOp]) -> tuple[Advice, ...]:
    """What to do about ops that work on the host while the device idles: of each kind what fits it.

    Args:
        facts: The measurements.
        ops: The ops, the largest first.
    """
    of_kind: dict[str, list[OwningOp]] = {}
    for op in ops:
        of_kind.setdefault(_kind(op), []).append(op)
    return tuple(advice for kind, those in of_kind.items() for advice in _advised(facts, kind, those))


def _kind(op: OwningOp) -> str:
    """What an op works on."""
    if op.building:
        return "built once"
    if CHECKS.search(op.name):
        return "guards"
    if _OF_LIBRARY.match(op.name) or CONV_OP.search(op.name):
        return "convolutions"
    return "copies" if _COPIES.match(op.name) else "other"


def _advised(facts: Facts, kind: str, ops: Sequence[OwningOp]) -> tuple[Advice, ...]:
    """What to do about ops of one kind."""
    if kind == "built once":
        return tuple(_warmed_up(op) for op in ops)
    if kind == "guards":
        return FEWER_GUARDS
    if kind == "convolutions":
        return _prepared(facts, _kept(ops))
    there = (Advice("diff", _CAST_THERE, _CASTS),) if kind == "copies" else ()
    lines = " Record with `with_stack=True` to see the line that calls it." if not facts.recording.has_stacks else ""
    return (
        *there,
        Advice(
            "text",
            f"Take the work of {listed([f'`{op.name}`' for op in ops])} off the path to the next kernel: on tensors that lie on "
            "the GPU, less often, or "
            f"{'for the next input while the GPU works on this one' if facts.model.infers else 'in the workers of the loader'}.",
            f"{_kept(ops)}{lines}",
        ),
    )


def _kept(ops: Sequence[OwningOp]) -> str:
    """For how long each call keeps the host."""
    if len(ops) == 1:
        return f"Each call keeps the host for {duration(ops[0].each_ns)}: a larger batch or a graph does not end it."
    each = listed([f"of `{op.name}` for {duration(op.each_ns)}" for op in ops])
    return f"Each call keeps the host, one {each}: a larger batch or a graph does not end it."


def _warmed_up(op: OwningOp) -> Advice:
    takes = "takes" if op.calls == 1 else "take"
    return Advice(
        "text",
        "Run the program a few times, with all shapes that will come, before it serves, is timed or recorded "
        "(`schedule(warmup=...)`).",
        f"The first {count(op.calls, 'call')} of `{op.name}` {takes} {duration(op.each_ns)} each, the "
        f"{op.others:,} others next to nothing: something is built, compiled or chosen there, and kept.",
    )


def _prepared(facts: Facts, each: str) -> tuple[Advice, ...]:
    """Convolutions launch and go on: one that works on the host chooses or builds its kernels."""
    rocm = facts.device.kind == "rocm"
    library = "MIOpen" if rocm else "cuDNN"
    said = Advice(
        "text",
        f"A convolution launches its kernel and goes on: that {library} works on the host for so long is how it chooses or builds "
        "kernels, once for each size that it has not seen. Steps whose sizes all came before do not have it: warm up with them "
        "before the recording, and keep sizes few.",
        each,
    )
    return (said, *((_FAST,) if rocm else ()), _SIZES)
