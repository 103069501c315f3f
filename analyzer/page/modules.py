"""The program's modules in words and figures: the tree that every display draws."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Analysis, Hardware, ModuleRow
from analyzer.page.words import safe
from analyzer.units import count, duration, share


@dataclass(frozen=True)
class Module:
    """A module; figures as text, of a mean step, forward and backward with what it calls.

    Args:
        name: Its own.
        depth: How many modules are around it.
        calls: Per step.
        time: Of its kernels; of the host where no device was recorded, as the rest.
        ratio: `time` as a share of that of all outermost modules, 0..1.
        forward: Part of `time`.
        backward: Part of `time`.
        own: Part of `time` outside the modules it calls.
        whole_ns: `time`, all used steps.
        backward_ns: `backward`, likewise.
    """

    name: str
    depth: int
    calls: str
    time: str
    ratio: float
    forward: str
    backward: str
    own: str
    whole_ns: int
    backward_ns: int


NOTHING = "-"
HEADS = ("time", "share", "forward", "backward", "own", "calls")
"""Titles of the figures of a row, in the order of `cells`; the module stands before or after them."""


def cells(row: Module) -> tuple[str, ...]:
    """The figures of a row."""
    return (row.time, share(row.ratio), row.forward, row.backward, row.own, row.calls)


def shown(analysis: Analysis) -> Hardware | None:
    """What is known of modules; None where there is nothing to show, or the trace cannot be believed."""
    found = analysis.hardware
    believed = analysis.trust.verdict != "unusable"
    return found if found is not None and found.modules and believed else None


def rows(analysis: Analysis, least_ratio: float = 0.0, most: int | None = None) -> tuple[Module, ...]:
    """The tree: a module before those it calls.

    Args:
        analysis: The document.
        least_ratio: Share of all modules' time that one must take to be listed.
        most: How many at most, those of the most time.
    """
    found = shown(analysis)
    if found is None:
        return ()
    steps = max(analysis.summary.used_steps, 1)
    whole = max(sum(_times(one)[0] for one in found.modules if len(one.path) == 1), 1)
    made = [_module(one, steps, whole) for one in found.modules]
    order = sorted(range(len(made)), key=lambda at: (-made[at].whole_ns, made[at].depth, at))[:most]
    return tuple(made[at] for at in sorted(order) if made[at].ratio >= least_ratio)


def _times(one: ModuleRow) -> tuple[int, int, int]:
    """All of it, the backward part, its own part."""
    if one.kernel_ns is None or one.backward_kernel_ns is None or one.self_kernel_ns is None:
        return one.forward_ns + one.backward_ns, one.backward_ns, one.self_ns
    return one.kernel_ns, one.backward_kernel_ns, one.self_kernel_ns


def _module(one: ModuleRow, steps: int, whole_ns: int) -> Module:
    time, backward, own = _times(one)
    calls = one.calls / steps
    return Module(
        name=safe.name(one.path[-1], 80),
        depth=len(one.path) - 1,
        calls=f"{calls:,.0f}" if calls >= 10 or calls == int(calls) else f"{calls:.1f}",
        time=duration(time / steps),
        ratio=time / whole_ns,
        forward=_duration((time - backward) / steps),
        backward=_duration(backward / steps),
        own=_duration(own / steps),
        whole_ns=time,
        backward_ns=backward,
    )


def _duration(ns: float) -> str:
    # Of nothing no length was measured.
    return duration(ns) if ns else NOTHING


def title(analysis: Analysis) -> str:
    """What the tree is of, and which time it shows."""
    found = shown(analysis)
    if found is None:
        return ""
    parts = "Modules" if found.modules_source == "modules" else "Ranges of the program"
    device = found.modules[0].kernel_ns is not None
    return f"{parts} by the time of {'their kernels' if device else 'the host'}, forward and backward"


def left_out(analysis: Analysis, drawn: int) -> str:
    """`24 smaller ones left out here.`; empty where none is."""
    found = shown(analysis)
    more = len(found.modules) + found.modules_left_out - drawn if found is not None else 0
    return f"{count(more, 'smaller one')} left out here." if more > 0 else ""
