"""What lies inside the optimizer's spans: its steps, the ops in them, what these launch, what repeats in them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.tree import HostTree
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, is_any
from analyzer.spans.repeats import MAX_PERIOD, Runs, repeated_runs
from traces.trace import Trace


class OptimizerSpans:
    """Masks over the host's rows, each made once."""

    def __init__(self, trace: Trace, device: DeviceFacts, steps: Steps, tree: HostTree) -> None:
        self.trace, self.device, self.steps, self.tree = trace, device, steps, tree
        frame = self.tree.frame
        self.start = frame["start_ns"].to_numpy()
        self.end = frame["end_ns"].to_numpy()
        self.inside = steps.host_window.contains(self.start)
        self.ops = self.tree.of_source("ops")
        self.ranges = self.tree.of_source("annotations")

    def range_of(self, kind: str) -> BoolArray:
        """Ranges of a kind in the used steps."""
        return self.ranges & is_any(self.tree.frame["kind"], kind) & self.inside

    @cached_property
    def innermost_steps(self) -> BoolArray:
        """Step spans without another step span inside: a wrapper around an optimizer is not counted beside it."""
        steps = self.range_of("optimizer_step")
        above = self.tree.parent[steps & (self.tree.parent != np.arange(len(steps)))]
        wrapping = np.zeros(len(steps), dtype=bool)
        current = above
        while len(current):
            wrapping[current] = True
            following = self.tree.parent[current]
            current = np.unique(following[following != current])
        return steps & ~wrapping

    @cached_property
    def in_steps(self) -> BoolArray:
        """What lies inside an optimizer's step."""
        return self.tree.under(self.innermost_steps)

    @cached_property
    def topmost_ops(self) -> BoolArray:
        """Ops that no other op calls."""
        parent = self.tree.parent
        topmost: BoolArray = self.ops & (~self.ops.take(parent) | (parent == np.arange(len(parent))))
        return topmost

    def work_of(self, inside: BoolArray) -> BoolArray:
        """Which rows of `launched` calls among these spans launched."""
        found: BoolArray = inside[self.tree.sources["runtime"]][self.device.launched["launch_row"].to_numpy()]
        return found

    def runs(self, rows: Int64Array, min_repeats: int, max_period: int = MAX_PERIOD) -> Runs:
        """Runs of the same names among these rows in time order, per thread and parent."""
        parent = self.tree.parent[rows]
        group = np.where(parent == rows, -1 - self.tree.frame["thread"].to_numpy()[rows], parent)
        return self.runs_of(rows, group, min_repeats, max_period)

    def runs_of(self, rows: Int64Array, group: Int64Array, min_repeats: int, max_period: int = MAX_PERIOD) -> Runs:
        """The same per group of rows, whatever lies between them."""
        codes = codes_of(self.tree.frame["name"])[rows].astype(np.int64)
        return repeated_runs(codes, group, min_repeats=min_repeats, max_period=max_period)
