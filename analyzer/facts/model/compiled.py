"""What torch.compile leaves in a trace: compiled regions, guards, what runs between them, and compiling itself."""

from __future__ import annotations

from typing import TypedDict

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.captures import capturing, made_anew
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.threads import per_thread
from analyzer.facts.model.behind_passes import behind_passes
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import distinct_texts, is_any
from traces.patterns import Pattern
from traces.reader.names.autograd import BACKWARD_NODE
from traces.trace import Trace

_REGION = Pattern(r"Torch-Compiled Region(?:: (\d+)/(\d+))?")
# What is done at each call of compiled code before it runs.
CHECKS = Pattern(r"TorchDynamo Cache Lookup|Pregraph bytecode")
# What a region holds by itself, before its compiled code runs.
_PROLOGUE = Pattern(r"AOTDispatcher Runtime Wrapper Prologue")
_CODE = Pattern(r"CompiledFunction$")
_CALL = Pattern(r"CompiledFunction(?:Backward)?$")
_ANY = Pattern("|".join(one.pattern for one in (_REGION, CHECKS, _PROLOGUE, _CALL)))
_BACKWARD = Pattern(rf"CompiledFunctionBackward|{BACKWARD_NODE}")
_NODE = Pattern(BACKWARD_NODE)


class Compiled(msgspec.Struct, frozen=True):
    """Compiled code in the used steps, but for updates: torch wraps an optimizer's step in functions that are frames of their own.

    Args:
        regions: Calls of compiled regions that start in the used steps, those inside another one included: after a graph break
            the rest of a function is a region of its own, which the one before calls.
        frames_per_step: Distinct frames (functions, or pieces of one after a graph break) called per step, at most.
        guards: Checking guards and looking up compiled code.
        between: From the first to the last region of a step on their thread, what is inside neither a region nor a guard nor the
            backward pass.
        eager: The part of `between` that ops own, and ops in a region that calls another one but outside its compiled code.
        wrappers: What entering and leaving compiled code takes, forward and backward, around the ops in it; nothing where a
            compiled function runs no ops, as its code then cannot be told from what is around it.
        whole_steps: Whether a region runs the backward pass: more than a model was compiled, and a graph ends there in any case.
        passing: In a region that calls another one, what neither compiled code, guards nor any other op owns.
        compiling: Ranges of compilation in the used steps, and frames of Python that compile a single kernel.
        kernels: Of that, the frames.
        capturing: Capturing graphs that are hardly replayed, and making and destroying them, in the used steps.
        captures: How many of these were made.
        compiling_steps: Used steps that hold any of it.
        goes_on: Whether any of the second half of the used steps does: what only the first half holds is start-up.
        versions: The largest number of compiled versions of one frame: above 1, it was compiled again.
    """

    regions: int
    frames_per_step: int
    guards: IntervalSet
    between: IntervalSet
    eager: IntervalSet
    whole_steps: bool
    passing: IntervalSet
    wrappers: IntervalSet
    compiling: IntervalSet
    kernels: IntervalSet
    compiling_steps: int
    goes_on: bool
    versions: int
    capturing: IntervalSet
    captures: int


def compiled(trace: Trace, steps: Steps, host: HostFacts) -> Compiled:
    """Measures compiled regions; all zero where nothing was compiled."""
    if not any(_ANY.match(name) for name in distinct_texts(trace.ops["name"])):
        return _only_compiling(trace, steps, host)
    window = steps.window
    ops = trace.ops
    every = _named(host, _REGION)
    here = steps.host_window.contains(ops["start_ns"].to_numpy())
    # An update is compiled again as well, as for each learning rate.
    names = [str(name) for name in ops["name"][every & here].unique()]
    every &= ~_of_updates(ops, host, every, behind_passes(trace, steps))
    region_rows = host.ops.outermost(every)
    regions = ops[every & here]
    outermost = regions[region_rows[regions.index]]
    spans, kernels = _compiling(trace, steps, host)
    guards = IntervalSet.of_rows(ops, _named(host, CHECKS)) & window
    between, frames = _between(steps, regions, outermost)
    passing, inside = _nested(trace, steps, host, every, guards)
    between = between - IntervalSet.of_rows(ops, _named(host, _BACKWARD)) - guards
    thread = int(regions["thread"].mode().iloc[0]) if len(regions) else -1
    return Compiled(
        regions=len(regions),
        frames_per_step=frames,
        guards=guards,
        between=between,
        eager=(between & per_thread(ops[~region_rows]).get(thread, EMPTY)) | inside,
        whole_steps=_runs_backward(host, ops, outermost),
        passing=passing & window,
        wrappers=_wrappers(trace, host) & window,
        compiling=spans,
        kernels=kernels,
        compiling_steps=steps.count_with(spans),
        goes_on=bool(steps.holding(spans)[steps.count // 2 :].any()),
        versions=_versions(names),
        **_captured(trace, window),
    )


def _of_updates(ops: pd.DataFrame, host: HostFacts, regions: BoolArray, behind: IntervalSet) -> BoolArray:
    """Which regions are of an update: those behind the backward pass of a step in which nothing needs gradients."""
    start, end = (ops[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    rows = np.flatnonzero(regions & host.ops.outermost(regions) & behind.contains(start))
    needed = IntervalSet.of_rows(ops, _named(host, _CODE)).overlap_with(start[rows], end[rows]) > 0
    return regions & IntervalSet.of_rows(ops, rows[~needed]).contains(start)


def _compiling(trace: Trace, steps: Steps, host: HostFacts) -> tuple[IntervalSet, IntervalSet]:
    """Compilation in the used steps, and of that what compiles a single kernel."""
    ranges = trace.annotations
    mine = is_any(ranges["kind"], "compile")
    kernels = host.threads.anywhere("kernels") & steps.window
    return (IntervalSet.of_rows(ranges, mine) & steps.window) | kernels, kernels


class _Captured(TypedDict):
    capturing: IntervalSet
    captures: int


def _captured(trace: Trace, window: IntervalSet) -> _Captured:
    """Capturing in some time, and how many graphs it made."""
    spans = IntervalSet.union(capturing(trace).values()) & window
    return _Captured(capturing=spans, captures=int(window.contains(made_anew(trace)).sum()))


def _only_compiling(trace: Trace, steps: Steps, host: HostFacts) -> Compiled:
    """Where no op belongs to compiled code, as in most traces."""
    spans, kernels = _compiling(trace, steps, host)
    return Compiled(
        regions=0,
        frames_per_step=0,
        guards=EMPTY,
        between=EMPTY,
        eager=EMPTY,
        whole_steps=False,
        passing=EMPTY,
        wrappers=EMPTY,
        compiling=spans,
        kernels=kernels,
        compiling_steps=steps.count_with(spans),
        goes_on=bool(steps.holding(spans)[steps.count // 2 :].any()),
        versions=0,
        **_captured(trace, steps.window),
    )


def _named(host: HostFacts, pattern: Pattern[str]) -> BoolArray:
    return host.ops.named(lambda name: pattern.match(name) is not None)


def _between(steps: Steps, regions: pd.DataFrame, outermost: pd.DataFrame) -> tuple[IntervalSet, int]:
    """Time between the outermost regions of each step, and how many distinct frames a step calls at most."""
    inside = IntervalSet.of_rows(outermost)
    gaps, frames = EMPTY, 0
    starts = regions["start_ns"].to_numpy()
    used = steps.used
    for start, end in zip(used["host_start_ns"].tolist(), used["host_end_ns"].tolist(), strict=True):
        mine = regions[(starts >= start) & (starts < end)]
        if len(mine):
            frames = max(frames, len({_frame(str(name)) for name in mine["name"].unique()}))
            gaps |= inside.complement(int(mine["start_ns"].min()), int(mine["end_ns"].max()))
    return gaps & steps.window, frames


def _runs_backward(host: HostFacts, ops: pd.DataFrame, outermost: pd.DataFrame) -> bool:
    """Whether nodes of a backward pass, on whatever thread, begin and end in some regions."""
    nodes = ops[_named(host, _NODE)]
    inside = IntervalSet.of_rows(outermost)
    return bool((inside.contains(nodes["start_ns"]) & inside.contains(nodes["end_ns"])).any())


def _nested(
    trace: Trace, steps: Steps, host: HostFacts, regions: BoolArray, guards: IntervalSet
) -> tuple[IntervalSet, IntervalSet]:
    """Of regions that call another region: what no op in them owns, and what eager ops own.

    Ops are known to be eager only where the compiled code is marked: without gradients its ops are the region's own.
    """
    tree, ops = host.ops, trace.ops
    parent = tree.parent
    calling = np.zeros(len(regions), dtype=bool)
    nested = regions & regions[parent] & (parent != np.arange(len(parent)))
    calling[parent[nested]] = True
    own = regions | _named(host, CHECKS) | _named(host, _PROLOGUE)
    code = _named(host, _CODE)
    marked = np.zeros(len(regions), dtype=bool)
    marked[parent[code]] = True
    inner = IntervalSet.of_rows(ops, regions & ~calling)
    passing = IntervalSet.of_rows(ops, calling) - inner - IntervalSet.of_rows(ops, calling[parent] & ~own) - guards
    eager = calling[parent] & marked[parent] & ~own & ~code
    return passing, IntervalSet.of_rows(ops, eager) & steps.window


def _wrappers(trace: Trace, host: HostFacts) -> IntervalSet:
    """Compiled functions and their backward nodes, less the ops they run."""
    tree, ops = host.ops, trace.ops
    calls = _named(host, _CALL)
    inside = calls[tree.parent] & ~calls & (tree.parent != np.arange(len(tree.parent)))
    working = np.zeros(len(calls), dtype=bool)
    working[tree.parent[inside]] = True
    return IntervalSet.of_rows(ops, calls & working) - IntervalSet.of_rows(ops, inside)


def _frame(name: str) -> str:
    match = _REGION.match(name)
    return (match.group(1) if match else None) or name


def _versions(names: list[str]) -> int:
    versions: dict[str, set[str]] = {}
    for name in names:
        match = _REGION.match(name)
        if match and match.group(1):
            versions.setdefault(match.group(1), set()).add(match.group(2))
    return max((len(found) for found in versions.values()), default=0)
