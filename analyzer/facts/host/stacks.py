"""The user's own lines: which frame of the user's code was running on a thread at a moment.

Two dialects: `python_function` events, whose name is `file.py(line): function` with the line where the function begins; and the
`Call stack` of ops up to torch 2.0, innermost frame first, with the line that was running.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.host.code_lines import CodeLine, parse_frame, relative
from analyzer.facts.host.engine_steps import called_by_nodes
from analyzer.facts.host.own_code import OwnCode, own_code
from analyzer.facts.recording.line_samples import training_lines
from analyzer.facts.recording.second_pass import callers, places
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, texts
from analyzer.spans.nesting import nest, own_ns
from analyzer.spans.open_spans import OpenSpans
from traces.fixed_frame import FixedFrame
from traces.trace import Trace

__all__ = ["CodeLine", "Stacks", "parse_frame", "relative"]


class Stacks:
    """Looks up the user's frames of a trace.

    Args:
        trace: The trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def known(self) -> bool:
        """Whether any frame of the user's code was recorded."""
        return len(self.frames) > 0 or len(self._of_ops) > 0

    @cached_property
    def _own(self) -> OwnCode:
        return own_code(self._trace)

    @cached_property
    def frames(self) -> pd.DataFrame:
        """The user's frames among `python_function` events: name, thread, start_ns, end_ns, parent (row of the one around)."""
        python = self._trace.python
        names = python["name"].cat.categories
        mine = np.array([self._own.line(name) is not None for name in names], dtype=bool)
        rows = python[mine[python["name"].cat.codes.to_numpy()]] if len(names) else python
        frame = pd.DataFrame(
            {
                "name": texts(rows["name"]),
                "thread": rows["thread"].to_numpy(),
                "start_ns": rows["start_ns"].to_numpy(),
                "end_ns": rows["end_ns"].to_numpy(),
            }
        )
        nesting = nest(frame["thread"].to_numpy(), frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
        return frame.assign(parent=nesting.parent)

    @cached_property
    def _of_ops(self) -> pd.DataFrame:
        """Ops with a `Call stack` that holds a frame of the user: name of that frame, thread, start_ns, end_ns."""
        ops = self._trace.ops
        stacks = ops["stack"]
        texts = distinct_texts(stacks)
        if not texts and (len(self._trace.python) or not places(self._trace.meta)):
            return ops.iloc[:0][["thread", "start_ns", "end_ns"]].assign(name=np.empty(0, dtype=object))
        names = np.array([*self._own.nearest(texts), ""], dtype=object)[codes_of(stacks)]
        if not texts:
            names = np.where(called_by_nodes(ops), "", self._from_second_pass(ops["name"]))
        has = names != ""
        columns = {name: ops[name].to_numpy()[has] for name in ("thread", "start_ns", "end_ns")}
        return FixedFrame({**columns, "name": names[has]}, copy=False)

    def _from_second_pass(self, ops: pd.Series[str]) -> npt.NDArray[np.object_]:
        """For each op the user's frame that calls its like, from a pass with stacks; an empty string where that is unknown."""
        frames = places(self._trace.meta)
        known = [frames.get(op, "") for op in ops.cat.categories]
        mine = [frame if parse_frame(frame) is not None else "" for frame in known]
        return np.array([*mine, ""], dtype=object)[ops.cat.codes.to_numpy()]

    @cached_property
    def _files(self) -> dict[str, str]:
        names = {*self.frames["name"].unique().tolist(), *self._of_ops["name"].unique().tolist()}
        return relative(sorted({line.file for line in map(parse_frame, names) if line is not None}))

    def line(self, name: str, taken_ratio: float | None = None) -> CodeLine | None:
        """The place a frame's name stands for, its path relative to the project.

        Args:
            name: The frame's name.
            taken_ratio: Share of the recorded time that the frame is named for, where that is known.
        """
        line = parse_frame(name)
        if line is None:
            return None
        line = CodeLine(self._files.get(line.file, line.file), line.line, line.function)
        return line if self._names_running_lines else self._sampled(line.beginning(), taken_ratio)

    def opening(self, name: str, words: str) -> CodeLine | None:
        """The user's place that opens a range, as a pass with stacks saw it; None without one.

        Args:
            name: The range's name.
            words: What the line that opens it says, such as `.step(`.
        """
        line = parse_frame(places(self._trace.meta).get(name, ""))
        if line is None:
            return None
        function = line.beginning()
        called = training_lines(self._trace.meta).calling(function.file, function.function, function.begins, words)
        return CodeLine(function.file, called, function.function, function.begins)

    def loop(
        self,
        threads: npt.ArrayLike,
        runs: IntervalSet,
        main: int | None,
        words: frozenset[str],
        unit: tuple[str, ...] = (),
    ) -> CodeLine | None:
        """The user's loop that a time was spent in: its function, and its first line where lines were sampled and one loop fits.

        In a second pass the op that begins a turn may be called elsewhere more often: the only function that calls all is the one.

        Args:
            threads: Row in `trace.threads` for each run, shape (n,).
            runs: The runs of the loop.
            main: The main thread, for threads without Python.
            words: What the lines of the loop may say.
            unit: Names of the ops of one turn.
        """
        taken, alone = runs.total_ns / self._recorded_ns, self.caller(unit, mostly=False)
        commonest = self.commonest(threads, runs.start_ns, main, until_ns=runs.end_ns)
        function = commonest if alone is None else self._sampled(alone, taken)
        if function is None or self._names_running_lines:
            return function
        first = training_lines(self._trace.meta).loop(function.file, function.function, function.begins, taken, words)
        return function if first is None else CodeLine(function.file, first, function.function, function.begins)

    def caller(self, ops: tuple[str, ...], *, mostly: bool) -> CodeLine | None:
        """The function of the user's that called some ops in a second pass; None where none or several did.

        Args:
            ops: Names of the ops.
            mostly: Whether it made most calls of each; else it alone called all of them.
        """
        meta, recorded = self._trace.meta, len(self._trace.python) or distinct_texts(self._trace.ops["stack"])
        frames = {places(meta).get(op, "") for op in ops} if mostly else callers(meta, ops)
        line = parse_frame(next(iter(frames))) if len(frames) == 1 and not recorded else None
        return None if line is None else line.beginning()

    @cached_property
    def _recorded_ns(self) -> int:
        """From the first op of the recording to the end of the last, at least 1."""
        ops = self._trace.ops
        return max(int(ops["end_ns"].max() - ops["start_ns"].min()), 1) if len(ops) else 1

    @cached_property
    def _names_running_lines(self) -> bool:
        """Whether frames come from a `Call stack`: those of `python_function` events name where the function begins."""
        return bool(distinct_texts(self._trace.ops["stack"])) and not len(self.frames)

    def _sampled(self, function: CodeLine, taken_ratio: float | None) -> CodeLine:
        """A function with the line of it that ran longest, where lines were sampled and one stands out."""
        lines = training_lines(self._trace.meta)
        begins = function.begins
        busiest = None if begins is None else lines.busiest_line(function.file, begins, taken_ratio)
        return function if busiest is None else CodeLine(function.file, busiest, function.function, function.begins)

    def nearest(self, thread: int, at_ns: npt.ArrayLike) -> npt.NDArray[np.object_]:
        """For each moment the innermost of the user's frames on a thread; an empty string where none is open.

        Args:
            thread: Row in `trace.threads`.
            at_ns: Moments, shape (n,).
        """
        at = np.asarray(at_ns, dtype=np.int64)
        names, spans = self._open
        return names[spans.at(np.full(len(at), thread), at)]

    @cached_property
    def _open(self) -> tuple[npt.NDArray[np.object_], OpenSpans]:
        """Names of the frames, an empty one at the end, and what is open when."""
        frame = self.frames if len(self.frames) else self._of_ops
        parent = frame["parent"].to_numpy() if "parent" in frame else None
        thread, start, end = (frame[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
        return np.append(frame["name"].to_numpy(dtype=object), ""), OpenSpans(thread, start, end, parent)

    def _from(self, thread: int, at_ns: Int64Array, until_ns: Int64Array) -> npt.NDArray[np.object_]:
        """As `nearest`; where no op with a stack is open, the first one that starts before `until_ns`."""
        names = self.nearest(thread, at_ns)
        missing = names == ""
        if len(self.frames) or not missing.any():
            return names
        ops = np.flatnonzero(self._of_ops["thread"].to_numpy() == thread)
        if not len(ops):
            return names
        # In the order of their starts already, as all frames of a trace are.
        starts = self._of_ops["start_ns"].to_numpy()[ops]
        index = np.searchsorted(starts, at_ns, side="left")
        place = np.minimum(index, len(ops) - 1)
        soon = (index < len(ops)) & (starts[place] < until_ns)
        return np.where(missing & soon, self._open[0][ops[place]], names)

    def at(
        self, threads: npt.ArrayLike, at_ns: npt.ArrayLike, main: int | None, until_ns: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.object_]:
        """As `nearest`, for moments on several threads; the main thread answers for threads without a frame of the user.

        The backward pass runs on a thread of its own that has no Python: what called it stands on the main thread.

        Args:
            threads: Row in `trace.threads` for each moment, shape (n,).
            at_ns: Moments, shape (n,).
            main: The main thread.
            until_ns: Ends, where the moments are starts of spans: ranges have no stack themselves, but the ops inside do.
        """
        thread, at = np.asarray(threads, dtype=np.int64), np.asarray(at_ns, dtype=np.int64)
        until = at if until_ns is None else np.asarray(until_ns, dtype=np.int64)
        names = np.full(len(at), "", dtype=object)
        for one in np.unique(thread).tolist():
            mine = thread == one
            names[mine] = self._from(one, at[mine], until[mine])
        if main is not None:
            missing = names == ""
            names[missing] = self._from(main, at[missing], until[missing])
        return names

    def commonest(
        self,
        threads: npt.ArrayLike,
        at_ns: npt.ArrayLike,
        main: int | None,
        weight: npt.ArrayLike | None = None,
        until_ns: npt.ArrayLike | None = None,
    ) -> CodeLine | None:
        """The user's place that was open at most of the moments (or holds most of their weight); None where no frame is known.

        Args:
            threads: Row in `trace.threads` for each moment, shape (n,).
            at_ns: Moments, shape (n,).
            main: The main thread, for threads without Python.
            weight: Weight of each, shape (n,); each counts one by default.
            until_ns: Ends, where the moments are starts of spans; see `at`.
        """
        if not self.known:
            return None
        names = self.at(threads, at_ns, main, until_ns)
        found = names != ""
        if not found.any():
            return None
        weights = np.ones(len(names)) if weight is None else np.asarray(weight, dtype=np.float64)
        places, distinct = pd.factorize(names[found], sort=True)
        most = str(distinct[np.argmax(np.bincount(places, weights=weights[found]))])
        if until_ns is None:
            return self.line(most)
        lasts = np.asarray(until_ns, dtype=np.int64) - np.asarray(at_ns, dtype=np.int64)
        return self.line(most, float(lasts[names == most].sum()) / self._recorded_ns)

    def inside(self, thread: int, time: IntervalSet, *, whole: bool = False) -> list[tuple[CodeLine, int]]:
        """Which of the user's functions the thread is in during a time, each with its own nanoseconds, most first.

        A function's own time is that outside the user's functions it calls; what it spends in libraries counts as its own.

        Args:
            thread: Row in `trace.threads`.
            time: Where to look.
            whole: Leave out functions that began before or end after: they called what that time is spent in.
        """
        frame = self.frames
        if not len(frame):
            return []
        overlap = time.overlap_with(frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
        parent = frame["parent"].to_numpy()
        own = own_ns(overlap, parent)
        mine = (frame["thread"] == thread).to_numpy()
        if whole:
            mine = mine & time.contains(frame["start_ns"].to_numpy()) & time.contains(frame["end_ns"].to_numpy() - 1)
        totals = pd.Series(own[mine]).groupby(frame["name"].to_numpy()[mine], sort=True).sum()
        totals = totals[totals > 0].sort_values(ascending=False, kind="stable")
        lines = ((self.line(str(name)), int(total)) for name, total in totals.items())
        return [(line, total) for line, total in lines if line is not None]
