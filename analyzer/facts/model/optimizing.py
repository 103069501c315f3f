"""The optimizer's spans: how it updates (one parameter at a time, many at once, fused), what that costs, what zero_grad does."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.device.launches import from_source
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.names import describe
from analyzer.facts.model.gradient_runs import zero_runs
from analyzer.facts.model.norm_rows import Norms, norms
from analyzer.facts.model.optimizer_spans import OptimizerSpans
from analyzer.facts.steps.find import WHOLE_TRACE, Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.grouping import numbered, sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.nesting import at_an_end
from analyzer.spans.repeats import Runs
from traces.fixed_frame import FixedFrame
from traces.patterns import Pattern
from traces.reader.names.vocabulary import accumulates_gradient
from traces.trace import Trace

_FUSED_CLASS = Pattern(r"fused|apex|8bit|lion8|deepspeed|zero", re.IGNORECASE)
_FUSED_OP = r"(?:aten::)?_fused_\w+"
_FOREACH_OP = r"aten::_foreach_\w+"
_MULTI_TENSOR_KERNEL = Pattern(r"multi_tensor_apply_kernel|FusedAdam|fused_adam")
_SPAN_CLASS = Pattern(r"Optimizer\.(?:step|zero_grad)#([^.]+)")
# Fewer parameters updated alike than this may be chance: three additions in a row belong to one parameter of SGD.
_MIN_REPEATS = 4
# The repeated part must be most of what the span does, or the span is not a loop over parameters.
_LOOP_PART = 0.6
# Where every parameter is one op (plain SGD) only an update in place is evidence; `add_` alone may also count steps.
_IN_PLACE = Pattern(r"aten::(?:\w+)_$")


class Optimizing(msgspec.Struct, frozen=True):
    """The optimizer in the used steps.

    Args:
        spans: Innermost `Optimizer.step` spans: name, thread, start_ns, end_ns, dur_ns.
        style: `for-loop`, `foreach`, `fused` or `unknown` (compiled, or nothing recorded inside).
        parameters: Parameters updated per step, estimated from what repeats; 0 where nothing does.
        ops_per_parameter: Ops of one update; 0 where nothing repeats.
        apart: Whether each parameter is updated in a span of its own: there is an optimizer for each.
        launches: Kernels launched inside the spans, over all used steps.
        foreach_kinds: Distinct `_foreach_` ops inside.
        step_time: Time inside the spans.
        update_time: Of that, from the first op of each span to its end: what comes before is no update. Horovod's optimizer waits
            there until gradients are reduced, others gather them.
        op_time: Of the update, time inside ops.
        ops: Ops directly inside the spans, over all used steps.
        kernel_ns: Device time of the kernels launched inside.
        zero_time: Time inside `Optimizer.zero_grad` spans.
        fills: Fills of gradients with zero inside them, over all used steps.
        fill_kernel_ns: Device time of these fills.
        norms: Rows of norms, one for each tensor of a list, outside the spans.
        zero_runs: Fills of gradients in a row outside any zero_grad span (`model.zero_grad()` leaves no range).
        products: Kernels that multiply matrices launched inside the spans, over all used steps.
        launch_calls: Calls inside the spans that launch kernels or graphs, linked to their work or not.
    """

    spans: pd.DataFrame
    style: str
    parameters: int
    ops_per_parameter: float
    apart: bool
    launches: int
    foreach_kinds: int
    step_time: IntervalSet
    update_time: IntervalSet
    op_time: IntervalSet
    ops: int
    kernel_ns: int
    zero_time: IntervalSet
    fills: int
    fill_kernel_ns: int
    norms: Norms
    zero_runs: IntervalSet
    products: int
    launch_calls: int

    @property
    def on_host(self) -> bool:
        """Whether the spans launch nothing: beside a device, the update is made on the CPU."""
        return bool(len(self.spans)) and not self.launches and not self.launch_calls

    @property
    def class_name(self) -> str:
        """The optimizer's class: `AdamW`; `the optimizer` where unknown."""
        if not len(self.spans):
            return "the optimizer"
        names = distinct_texts(self.spans["name"])
        codes = codes_of(self.spans["name"])
        _, totals = sums_by(codes, self.spans["dur_ns"].to_numpy(), len(names))
        longest = min(np.unique(codes).tolist(), key=lambda code: (-int(totals[code]), names[code]))
        match = _SPAN_CLASS.match(names[longest])
        return match[1] if match else "the optimizer"


def optimizing(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Optimizing:
    """Measures the optimizer."""
    measure = OptimizerSpans(trace, device, steps, host.tree)
    innermost = measure.innermost_steps
    columns = ("name", "thread", "start_ns", "end_ns")
    steps_taken = {name: measure.tree.frame[name].array[innermost] for name in columns}
    spans = FixedFrame({**steps_taken, "dur_ns": measure.tree.dur_ns[innermost]}, copy=False)
    zero = measure.range_of("zero_grad")
    in_zero = measure.tree.under(zero)
    fills = measure.tree.named("aten::zero_", "aten::fill_") & measure.topmost_ops
    fills |= measure.tree.matching(r"aten::_foreach_zero_$")
    fills &= in_zero
    zero_work = measure.work_of(measure.tree.under(fills))
    work = measure.work_of(measure.in_steps)
    kernels = work & from_source(device.launched, "kernels")
    dur = device.launched["dur_ns"].to_numpy()
    alike, apart = _updates(measure, spans)
    per_parameter = alike.ops
    names = codes_of(measure.tree.frame["name"])
    topmost = measure.topmost_ops & measure.in_steps
    return Optimizing(
        spans=spans,
        style=_style(measure, kernels, per_parameter, str(spans["name"].iloc[0]) if len(spans) else ""),
        parameters=alike.parameters,
        ops_per_parameter=per_parameter,
        apart=apart,
        launches=int(kernels.sum()),
        foreach_kinds=len(np.unique(names[measure.tree.matching(_FOREACH_OP) & measure.in_steps])),
        step_time=_time(measure, innermost),
        update_time=_update_time(measure, innermost),
        op_time=_time(measure, topmost),
        ops=int(topmost.sum()),
        kernel_ns=int(dur[work].sum()),
        zero_time=_time(measure, zero),
        fills=int(fills.sum()),
        fill_kernel_ns=int(dur[zero_work].sum()),
        norms=norms(measure),
        zero_runs=zero_runs(measure, in_zero | measure.in_steps),
        products=_products(trace, device.launched["row"].to_numpy()[kernels]),
        launch_calls=int((is_any(measure.tree.frame["kind"], "launch", "graph_launch") & measure.in_steps).sum()),
    )


def _products(trace: Trace, kernels: Int64Array) -> int:
    """How many of some kernels multiply matrices; no name but theirs is looked at."""
    codes, number = np.unique(codes_of(trace.kernels["name"])[kernels], return_counts=True)
    known = distinct_texts(trace.kernels["name"])
    named = zip(codes.tolist(), number.tolist(), strict=True)
    return sum(many for code, many in named if code >= 0 and describe(known[code]).family == "gemm")


def _time(measure: OptimizerSpans, mask: BoolArray) -> IntervalSet:
    return IntervalSet(measure.start[mask], measure.end[mask]) & measure.steps.window


def _update_time(measure: OptimizerSpans, spans: BoolArray) -> IntervalSet:
    """From the first op of each span to its end; all of a span that holds none."""
    order = np.flatnonzero(spans)[np.argsort(measure.start[spans], kind="stable")]
    begin, end = measure.start[order], measure.end[order]
    ops = measure.topmost_ops & measure.in_steps
    place = np.searchsorted(begin, measure.start[ops], side="right") - 1
    inside = (place >= 0) & (measure.end[ops] <= end[place])
    first = end.copy()
    np.minimum.at(first, place[inside], measure.start[ops][inside])
    return IntervalSet(np.where(first == end, begin, first), end) & measure.steps.window


def _style(measure: OptimizerSpans, launched: BoolArray, per_parameter: float, name: str) -> str:
    """How the optimizer updates; `unknown` unless there is evidence."""
    rows = measure.device.launched["row"].to_numpy()[launched]
    multi = bool(matching(measure.trace.kernels["name"], _MULTI_TENSOR_KERNEL.search)[rows].any())
    if (measure.tree.matching(_FUSED_OP) & measure.in_steps).any():
        return "fused"
    if (measure.tree.matching(_FOREACH_OP) & measure.in_steps).any() or (multi and not _FUSED_CLASS.search(name)):
        return "foreach"
    if _FUSED_CLASS.search(name) or multi:
        return "fused"
    return "for-loop" if per_parameter else "unknown"


class _Alike(msgspec.Struct, frozen=True):
    """Updates of parameters that are made of the same ops.

    Args:
        parameters: How many in a step.
        ops: Ops of one; 0 where there are none.
    """

    parameters: int = 0
    ops: float = 0.0


def _updates(measure: OptimizerSpans, spans: pd.DataFrame) -> tuple[_Alike, bool]:
    """What repeats directly inside the spans; or from span to span of a step, and then True: one is all there is to a parameter.

    So it is where an optimizer for each parameter steps in a hook of its gradient.
    """
    rows = np.flatnonzero(measure.topmost_ops & measure.in_steps)
    thread = measure.tree.frame["thread"].to_numpy()
    rows = rows[np.lexsort((measure.start[rows], thread[rows]))]
    rows = rows[~at_an_end(measure.start[rows], measure.end[rows], thread[rows])]
    of_span = np.searchsorted(np.sort(spans["start_ns"].to_numpy()), measure.start[rows], "right")
    found = _repeated(measure, rows, measure.runs(rows, _MIN_REPEATS), of_span)
    # Of a whole recording as one step the spans are those of one optimizer, step after step; one whose ops take lists may have
    # many parameters.
    if found.parameters or measure.steps.source == WHOLE_TRACE or measure.tree.matching(_FOREACH_OP)[rows].any():
        return found, _in_hooks(measure)
    of_step = measure.steps.of_host(measure.start[rows])
    found = _repeated(measure, rows, measure.runs_of(rows, of_step, _MIN_REPEATS), of_step)
    return found, bool(found.parameters)


def _in_hooks(measure: OptimizerSpans) -> bool:
    """Whether most spans lie in nodes that hand over one gradient each: in hooks of these."""
    spans = np.flatnonzero(measure.innermost_steps)
    around = measure.tree.parent[spans]
    handing = matching(measure.tree.frame["name"].iloc[around], accumulates_gradient) & (around != spans)
    return bool(len(spans)) and 2 * int(handing.sum()) > len(spans)


def _repeated(measure: OptimizerSpans, rows: Int64Array, runs: Runs, within: Int64Array) -> _Alike:
    """What repeats among some rows; nothing where that is not most of them.

    Args:
        measure: What lies inside the optimizer's spans.
        rows: Ops in time order, shape (n,).
        runs: What repeats among them.
        within: Of each op, in which span of the optimizer, or in which step, its parameters are counted, shape (n,).
    """
    updates = matching(measure.tree.frame["name"], _IN_PLACE.match)[rows]
    before = np.append(0, np.cumsum(updates))
    runs = runs.at(before[runs.first + runs.period] > before[runs.first])
    covered = int(runs.length.sum())
    if not covered or covered < _LOOP_PART * len(rows):
        return _Alike()
    # The first update also makes the optimizer's state, parameter by parameter: a mean would count them again.
    place, number = numbered(within[runs.first])
    _, repeats = sums_by(place, runs.repeats, number)
    _, ops = sums_by(place, runs.length, number)
    typical = repeats == np.quantile(repeats, 0.5, method="lower")
    return _Alike(int(repeats[typical][0]), float(ops[typical].sum() / repeats[typical].sum()))
