"""Passes of a model that generates text: where each is on the device, and whether it reads a prompt or adds a token to each text.

In this order: ranges in which engines count what is in a pass; words of the program for both parts; calls of the model, or the way
from an embedding to the choice of a token, told by shapes of their attention, by kernels that only decoding has, or by products of
one row; and steps, told by such kernels.
What cannot be told stays unknown, and where no pass decodes for sure, nothing is called generation.
"""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.generation.evidence import asked, attends, attention_kernels, decode_kernels, one_row_ratio
from analyzer.facts.generation.runs import module_runs, runs_to_a_choice, said_ranges
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.steps.index import slices
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.moments import moments_in
from analyzer.spans.open_spans import NONE
from traces.trace import Trace

# Two steps are no rhythm (as `tiling_ranges`).
_MIN_STEPS = 3
_MOST = 0.5
_COLUMNS = ("kind", "host_start_ns", "host_end_ns", "start_ns", "end_ns", "sequences", "tokens")


class Generation(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Passes of the model in the used steps, by start.

    Args:
        passes: One row each: kind (prefill, decode, mixed or unknown), host_start_ns and host_end_ns, start_ns and end_ns of its
            work on the device (of the host without one), sequences and tokens (float64, NaN unknown).
        source: What told them, for people; empty where nothing did.
        reason: Why nothing is known; empty where something is.
    """

    passes: pd.DataFrame
    source: str
    reason: str

    def of(self, *kinds: str) -> pd.DataFrame:
        """The passes of some kinds."""
        return self.passes[self.passes["kind"].isin(kinds)]

    def spans(self, *kinds: str) -> IntervalSet:
        """When passes of some kinds are on the device."""
        return IntervalSet.of_rows(self.of(*kinds))

    @property
    def known(self) -> bool:
        """Whether text is generated, and which passes decode."""
        return not self.reason

    @cached_property
    def decode_tokens(self) -> float | None:
        """Tokens of a pass that decodes, median; None where that is not known of most of them."""
        return self._tokens("decode")

    @cached_property
    def prefill_tokens(self) -> float | None:
        """The same of a pass that reads prompts."""
        return self._tokens("prefill")

    def _tokens(self, kind: str) -> float | None:
        tokens = self.of(kind)["tokens"]
        return float(tokens.median()) if len(tokens) and tokens.notna().mean() > _MOST else None

    def median_ns(self, *kinds: str) -> float:
        """How long a pass of some kinds takes on the device, median; 0 without any."""
        rows = self.of(*kinds)
        return float((rows["end_ns"] - rows["start_ns"]).median()) if len(rows) else 0.0


def generation(trace: Trace, recording: RecordingFacts, device: DeviceFacts, steps: Steps) -> Generation:
    """Finds the passes; none in a program that trains, or where none can be told to decode."""
    if recording.trains:
        return _nothing("the trace shows training")
    passes, source = _told(trace, device, steps)
    passes = _on_device(passes, device)
    passes = passes[steps.window.contains(passes["start_ns"].to_numpy(dtype=np.int64))].reset_index(drop=True)
    if not len(passes):
        return _nothing("no pass of a model that chooses tokens can be told")
    if not (passes["kind"] == "decode").any():
        return _nothing("no pass can be told to decode: neither a range nor a shape nor a kernel says so")
    return Generation(passes, source, "")


def _nothing(reason: str) -> Generation:
    return Generation(pd.DataFrame(columns=list(_COLUMNS)), "", reason)


def _told(trace: Trace, device: DeviceFacts, steps: Steps) -> tuple[pd.DataFrame, str]:
    """Passes as the host makes them, and what told them."""
    said, modules = said_ranges(trace), module_runs(trace)
    runs = modules if len(modules) else runs_to_a_choice(trace.ops)
    if len(said) and bool(said["counted"].any()):
        return said[said["counted"].astype(bool)], "ranges of the engine"
    if len(said):
        row = np.searchsorted(said["host_start_ns"].to_numpy(), runs["host_start_ns"].to_numpy(), side="right") - 1
        inside = (row >= 0) & (runs["host_start_ns"].to_numpy() < said["host_end_ns"].to_numpy()[np.maximum(row, 0)])
        # A word that stands around several runs is a part of the program, and no pass.
        if np.bincount(row[inside], minlength=1).max() > 1:
            return _kinds(runs[inside], said["kind"].to_numpy(dtype=object)[row[inside]]), "ranges of the program"
        return said, "ranges of the program"
    if len(runs):
        return _by_shapes(trace, device, runs)
    frame = steps.frame
    if len(frame) < _MIN_STEPS or not len(trace.kernels):
        return _kinds(runs, np.empty(0, dtype=object)), ""
    frame = _of_kernels(frame, trace, device)
    with_them = _with_decode_kernels(trace, frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
    kinds = np.where(with_them, "decode", "unknown").astype(object)
    return _kinds(
        frame[["host_start_ns", "host_end_ns", "start_ns", "end_ns"]], kinds
    ), "kernels that only decoding has"


def _of_kernels(frame: pd.DataFrame, trace: Trace, device: DeviceFacts) -> pd.DataFrame:
    """The steps that have kernels, from the first to the last of them: what lies between two steps belongs to none."""
    main = device.main
    mine = trace.kernels[trace.kernels["device"] == (main.device if main is not None else NONE)]
    start = np.sort(mine["start_ns"].to_numpy())
    # The latest end of all kernels up to each: on several streams a later one may end first.
    ends = np.maximum.accumulate(mine["end_ns"].to_numpy()[np.argsort(mine["start_ns"].to_numpy(), kind="stable")])
    first, beyond = slices(start, frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
    some = beyond > first
    return frame[some].assign(start_ns=start[first[some]], end_ns=ends[beyond[some] - 1])


def _kinds(runs: pd.DataFrame, kinds: npt.NDArray[np.object_]) -> pd.DataFrame:
    return runs.assign(kind=kinds, sequences=np.nan, tokens=np.nan)


def _by_shapes(trace: Trace, device: DeviceFacts, runs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    thread = int(runs["thread"].iloc[0])
    found = asked(trace, runs["host_start_ns"].to_numpy(), runs["host_end_ns"].to_numpy(), thread)
    kinds = np.array([one.kind for one in found], dtype=object)
    looked_up = np.array([one.looked_up for one in found])
    # One table asked for a whole prompt and for one token: where attention is not to be seen, that tells them.
    if (looked_up == 1).any() and (looked_up > 1).any() and not any(one.questions for one in found):
        kinds = np.where(looked_up == 1, "decode", np.where(looked_up > 1, "prefill", "unknown")).astype(object)
    told = _on_device(_kinds(runs, kinds), device, keep=True)
    on_device = told["start_ns"].to_numpy(), told["end_ns"].to_numpy()
    by_kernel = _with_decode_kernels(trace, *on_device)
    by_rows = one_row_ratio(trace.kernels, *on_device) > _MOST
    by_rows &= np.array([one.shows_nothing for one in found])
    by_rows &= attention_kernels(trace.kernels, *on_device) | attends(
        trace, runs["host_start_ns"].to_numpy(), runs["host_end_ns"].to_numpy()
    )
    source = (
        "products of one row"
        if (by_rows & ~by_kernel).all()
        else "shapes of attention"
        if len(trace.ops)
        else "modules"
    )
    return runs.assign(
        kind=np.where((kinds == "unknown") & (by_kernel | by_rows), "decode", kinds),
        sequences=np.array([one.texts or np.nan for one in found], dtype=np.float64),
        tokens=np.array([one.tokens for one in found], dtype=np.float64),
    ), source


def _with_decode_kernels(trace: Trace, start_ns: Int64Array, end_ns: Int64Array) -> BoolArray:
    """In which spans a kernel begins that only decoding has, shape of the spans."""
    at = trace.kernels["start_ns"].to_numpy()[decode_kernels(trace.kernels)]
    found: BoolArray = moments_in(at, start_ns, end_ns) > 0
    return found


def _on_device(passes: pd.DataFrame, device: DeviceFacts, *, keep: bool = False) -> pd.DataFrame:
    """From the first to the last work that each pass launches; those without any go, unless they are to be kept."""
    if "start_ns" in passes:
        return passes
    host_start, host_end = (
        passes["host_start_ns"].to_numpy(dtype=np.int64),
        passes["host_end_ns"].to_numpy(dtype=np.int64),
    )
    if device.main is None:
        return passes.assign(start_ns=host_start, end_ns=host_end)
    work = device.launched[(device.launched["device"] == device.main.device).to_numpy()]
    at = work["launch_start_ns"].to_numpy()
    place = np.searchsorted(host_start, at, side="right") - 1
    mine = (place >= 0) & (at < np.append(host_end, 0)[np.maximum(place, -1)])
    start, end = np.full(len(passes), np.iinfo(np.int64).max), np.zeros(len(passes), dtype=np.int64)
    np.minimum.at(start, place[mine], work["start_ns"].to_numpy()[mine])
    np.maximum.at(end, place[mine], work["end_ns"].to_numpy()[mine])
    worked = end > 0
    found = passes.assign(start_ns=np.where(worked, start, host_start), end_ns=np.where(worked, end, host_start))
    return found if keep else found[worked]
