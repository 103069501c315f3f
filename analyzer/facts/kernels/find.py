"""Device kernels of the used steps with what their names say and the op that launched them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.device.ids import repeats_correlation
from analyzer.facts.device.launches import LaunchCalls, calls_of
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.grids import blocks_per_sm
from analyzer.facts.kernels.names import describe, is_depthwise
from analyzer.facts.kernels.number_formats import is_cast
from analyzer.facts.steps.find import Steps
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array, narrow
from analyzer.spans.columns import present
from analyzer.spans.grouping import sums_by
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from analyzer.spans.open_spans import NONE
from traces.categories import from_codes
from traces.fixed_frame import FixedFrame
from traces.patterns import Pattern
from traces.reader.columns.growing import thrifty
from traces.reader.names.vocabulary import is_device_wait
from traces.trace import Trace

# From this part of kernels on, External ids that repeat the correlation id are noise (rules.md 0.6, PG007).
_BROKEN_IDS = 0.5


# MIOpen's naive convolutions, "the last resort when none of the other kernels are applicable" (ROCm/MIOpen issue 3310).
_LAST_RESORT = Pattern(r"^naive_conv_")


# Formats of weights as kernels of quantised products name them (Marlin, AWQ, GPTQ, Machete, Triton's, CUTLASS's, Tensile's).
_NARROW = Pattern(
    r"fp8|e4m3|e5m2|float8|mxfp4|nvfp4|fp4|e2m1|int8|int4|w4a|w8a|[Mm]arlin|awq|gptq|[Mm]achete|Cijk_A\w+?_B\w+?_(?:F8|I8|4)"
)


class Kernels(msgspec.Struct, frozen=True, dict=True):
    """The kernels of the device that stands for the trace which start inside the used steps.

    Args:
        frame: One row per kernel, by start: row (of `trace.kernels`), start_ns, end_ns, dur_ns, stream, name (category), family
            (category), number_format (category, NA unknown), tensor_core (Int8: 1, 0, NA unknown), alignment (Int16), cast,
            depthwise, collective (bool), blocks_per_sm and occupancy_ratio (float64, NaN unknown), residency (category, JSON or
            NA), op (row of `trace.ops`, -1 unknown), launch_start_ns (float64, NaN without a launch), in_optimizer (bool:
            launched inside an optimizer's span).
        names: One row per distinct name: name, family, number_format, tensor_core, alignment, cast, depthwise, min_compute_major.
        window: The used steps.
        busy: When the device works at all inside them.
    """

    frame: pd.DataFrame
    names: pd.DataFrame
    window: IntervalSet
    busy: IntervalSet

    def spans(self, rows: BoolArray) -> IntervalSet:
        """When any of the given kernels runs inside the used steps; overlapping ones count once.

        Args:
            rows: Which kernels, shape (kernels,).
        """
        return IntervalSet.of_rows(self.frame, rows) & self.window

    def time_ns(self, rows: BoolArray) -> int:
        """Device time of the given kernels, overlapping ones counted once."""
        return self.spans(rows).total_ns

    @property
    def every(self) -> BoolArray:
        """All of them, shape (kernels,)."""
        return np.ones(len(self.frame), dtype=bool)

    @property
    def none(self) -> BoolArray:
        """None of them, shape (kernels,)."""
        return np.zeros(len(self.frame), dtype=bool)

    @property
    def collective(self) -> BoolArray:
        """Which of them communicate, shape (kernels,)."""
        found: BoolArray = self.frame["collective"].to_numpy(dtype=bool)
        return found

    @property
    def doubtful(self) -> BoolArray:
        """Of which of them it stays open whether they communicate, shape (kernels,)."""
        found: BoolArray = self.frame["doubtful"].to_numpy(dtype=bool)
        return found

    @property
    def depthwise(self) -> BoolArray:
        """Which of them convolve channel by channel, shape (kernels,)."""
        found: BoolArray = self.frame["depthwise"].to_numpy(dtype=bool)
        return found

    @property
    def last_resort(self) -> BoolArray:
        """Which of them a library takes where it has no kernel made for these sizes, format and layout, shape (kernels,)."""
        return self.like(_LAST_RESORT)

    @property
    def narrow(self) -> BoolArray:
        """Which of them are named after weights of 8 bits or fewer, shape (kernels,)."""
        return self.like(_NARROW)

    @property
    def blocks_per_sm(self) -> FloatArray:
        """Blocks that each has for each multiprocessor, NaN where the trace does not say; shape (kernels,)."""
        found: FloatArray = self.frame["blocks_per_sm"].to_numpy()
        return found

    def beside(self, time: IntervalSet) -> BoolArray:
        """Which of them run in some time, shape (kernels,)."""
        found: BoolArray = time.overlap_with(self.frame["start_ns"].to_numpy(), self.frame["end_ns"].to_numpy()) > 0
        return found

    def of_ops_with(self, *parts: str) -> BoolArray:
        """Which kernels' names have one of these parts, and those that the same calls of ops launch, shape (kernels,)."""
        named: BoolArray = matching(self.frame["name"], lambda name: any(part in name for part in parts))
        op = self.frame["op"].to_numpy()
        found: BoolArray = named | (np.isin(op, op[named]) & (op != NONE))
        return found

    def like(self, pattern: Pattern[str]) -> BoolArray:
        """Which kernels' names hold a pattern, shape (kernels,)."""
        found: BoolArray = matching(self.frame["name"], pattern.search)
        return found

    def any_named(self, *parts: str) -> bool:
        """Whether a kernel's name has one of these parts."""
        return any(part in str(name) for name in self.names["name"] for part in parts)

    @property
    def states_blocks(self) -> BoolArray:
        """Of which the trace says how many blocks they have for each multiprocessor, shape (kernels,)."""
        stated = present(self.frame["blocks_per_sm"])
        return stated

    def shares_streams(self, rows: BoolArray) -> float:
        """Share of the given kernels that run on a stream of the others; 0 where none is given."""
        streams = self.frame["stream"].to_numpy()
        return float(np.isin(streams[rows], streams[~rows]).mean()) if rows.any() else 0.0

    def busy_ratio(self, rows: BoolArray) -> float:
        """Their share of the time in which the device works; 0 for a device that never does."""
        return self.time_ns(rows) / self.busy.total_ns if self.busy else 0.0

    def is_family(self, *families: str) -> BoolArray:
        """Which kernels are of one of the families, shape (kernels,)."""
        return is_any(self.frame["family"], *families)

    def is_format(self, *formats: str) -> BoolArray:
        """Which kernels are known to work in one of the number formats, shape (kernels,)."""
        return is_any(self.frame["number_format"], *formats)

    def on_tensor_cores(self) -> BoolArray:
        """Which kernels are known to run on tensor cores, shape (kernels,)."""
        found: BoolArray = self._tensor_core == 1
        return found

    def off_tensor_cores(self) -> BoolArray:
        """Which kernels are known not to, shape (kernels,)."""
        found: BoolArray = self._tensor_core == 0
        return found

    @cached_property
    def _tensor_core(self) -> npt.NDArray[np.int8]:
        return self.frame["tensor_core"].to_numpy(dtype=np.int8, na_value=NONE)

    def longest(self, rows: BoolArray, limit: int | None = 5) -> list[tuple[str, int, int]]:
        """The names that take most of the time of the given kernels: (name, number, summed nanoseconds).

        Args:
            rows: Which kernels, shape (kernels,).
            limit: How many names; None for all.
        """
        codes, distinct = codes_of(self.frame["name"])[rows], distinct_texts(self.frame["name"])
        counts, totals = sums_by(codes, self.frame["dur_ns"].to_numpy()[rows], len(distinct))
        seen = np.flatnonzero(counts)
        first = seen[np.argsort(-totals[seen], kind="stable")[:limit]]
        return [(distinct[code], int(counts[code]), int(totals[code])) for code in first.tolist()]

    @cached_property
    def min_compute_major(self) -> int | None:
        """The oldest generation that could have run these kernels: a lower bound, never the card itself."""
        known = self.names["min_compute_major"].dropna()
        return int(known.max()) if len(known) else None


def kernels(trace: Trace, device: DeviceFacts, steps: Steps, host: HostFacts) -> Kernels:
    """Describes the kernels of the used steps; empty without a device."""
    main = device.main
    window = steps.window
    frame = trace.kernels
    inside = window.contains(frame["start_ns"].to_numpy())
    inside &= frame["device"].to_numpy() == (main.device if main else NONE)
    inside &= ~matching(frame["name"], is_device_wait)
    rows = np.flatnonzero(inside)
    frame = frame if len(rows) == len(frame) else frame.iloc[rows]
    vocabulary = distinct_texts(frame["name"])
    used, described = np.unique(codes_of(frame["name"]), return_inverse=True)
    names = _names([vocabulary[code] for code in used.tolist()])
    launch = calls_of(device.launched, "kernels", rows, len(trace.kernels))
    result = FixedFrame(
        {
            "row": narrow(rows),
            **{
                key: frame[key].to_numpy()
                for key in ("start_ns", "end_ns", "dur_ns", "stream", "collective", "doubtful")
            },
            "blocks_per_sm": thrifty(blocks_per_sm(trace, device, frame, launch)),
            "occupancy_ratio": frame["occupancy_ratio"].to_numpy(),
            "residency": frame["residency"].array,
            **{
                key: names[key].array[described]
                for key in ("name", "family", "number_format", "tensor_core", "alignment", "cast", "depthwise")
            },
            "op": narrow(_ops_of(trace, host, frame, launch)),
            "launch_start_ns": np.where(launch.known, launch.start_ns, np.nan),
            "in_optimizer": host.threads.anywhere("optimizer").contains(launch.start_ns) & launch.known,
        },
        copy=False,
    )
    return Kernels(result, names, window, (main.busy & window) if main else IntervalSet())


def _names(distinct: list[str]) -> pd.DataFrame:
    """What each distinct name says, in their order."""
    said = [describe(name) for name in distinct]
    return pd.DataFrame(
        {
            "name": from_codes(np.arange(len(distinct)), distinct),
            "family": _words([item.family for item in said]),
            "number_format": _words([item.number_format for item in said]),
            "tensor_core": _whole([item.tensor_core for item in said], np.int8),
            "alignment": _whole([item.alignment for item in said], np.int16),
            "cast": np.array([is_cast(name) for name in distinct], dtype=bool),
            "depthwise": np.array([is_depthwise(name) for name in distinct], dtype=bool),
            "min_compute_major": _whole([item.min_compute_major for item in said], np.int16),
        },
        copy=False,
    )


def _words(said: Sequence[str | None]) -> pd.Categorical:
    vocabulary = sorted({word for word in said if word is not None})
    place: dict[str | None, int] = {word: code for code, word in enumerate(vocabulary)}
    return from_codes(np.array([place.get(word, NONE) for word in said], dtype=np.int64), vocabulary)


def _whole(said: Sequence[int | None], kind: type[np.signedinteger[Any]]) -> pd.arrays.IntegerArray:
    """Whole numbers of few bits, NA where nothing is said."""
    values = np.array([value or 0 for value in said], dtype=kind)
    return pd.arrays.IntegerArray(values, np.array([value is None for value in said], dtype=np.bool_))


def _ops_of(trace: Trace, host: HostFacts, frame: pd.DataFrame, launch: LaunchCalls) -> Int64Array:
    """The op that launched each kernel: the one around its launch call; else that of its External id, if ids can be trusted."""
    result = np.full(len(frame), NONE, dtype=np.int64)
    known = launch.known
    result[known] = host.ops.enclosing(launch.thread[known], launch.start_ns[known])
    repeated = repeats_correlation(frame)
    missing = (result == NONE) & present(frame["external_id"]) & ~repeated
    if missing.any() and repeated.mean() <= _BROKEN_IDS:
        wanted = frame["external_id"].to_numpy(dtype=np.int64, na_value=0)[missing]
        result[missing] = _only_with(trace.ops["external_id"], wanted)
    return result


def _only_with(ids: pd.Series[Any], wanted: Int64Array) -> Int64Array:
    """The row of the one op that has each External id; -1 where none has it, or several."""
    rows = np.flatnonzero(present(ids))
    held = ids.to_numpy(dtype=np.int64, na_value=0)[rows]
    order = np.argsort(held, kind="stable")
    rows, held = np.append(rows[order], NONE), held[order]
    first, beyond = (np.searchsorted(held, wanted, side=side) for side in ("left", "right"))
    found: Int64Array = np.where(beyond - first == 1, rows[first], NONE)
    return found
