"""How many blocks of a kernel each multiprocessor gets: stated by CUDA, derived from the launch elsewhere."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from analyzer.facts.device.launches import LaunchCalls
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.ops import pick, pick_row
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.labels import distinct_texts, in_one_vocabulary, matching
from analyzer.spans.open_spans import NONE
from traces.patterns import Pattern
from traces.trace import Trace

# These calls state their grid in work-items, all others in blocks (HIP; in 4 recorded traces 1,503 of 1,515 such grids are whole
# multiples of their block, 125 of 2,260 of the others).
_IN_WORK_ITEMS = Pattern(r"hip(?:Ext|Hcc)ModuleLaunchKernel$")
_WARP = 32
# What a kernel of AMD's was built for stands in its name, and it runs on no other design.
_TARGET = Pattern(r"(?:_ISA|gfx)(9(?:08|0a|42|50))(?![0-9A-Za-z])")
# The compute units of the smallest whole device of each: MI100, MI210, MI308X, MI355X (ROCm's hardware specifications; of MI308X,
# which those leave out, what people's machines state).
_FEWEST = {"908": 120, "90a": 104, "942": 80, "950": 256}


def blocks_per_sm(trace: Trace, device: DeviceFacts, kernels: pd.DataFrame, launch: LaunchCalls) -> FloatArray:
    """Blocks per multiprocessor of each kernel; NaN where nothing tells. Shape (kernels,).

    The profiler's own figure first; then its warps per multiprocessor (torch 1.8 has only those); then the grid over the number
    of multiprocessors (ROCm). A grid of ROCm is in blocks or in work-items depending on the call, so that without its call it
    says nothing.

    Args:
        trace: The trace.
        device: Work of the devices.
        kernels: Rows of `trace.kernels`.
        launch: Their launches, row by row.
    """
    result = kernels["blocks_per_sm"].to_numpy().astype(np.float64)
    open_ones = np.isnan(result)
    if not open_ones.any():
        return result
    calls = trace.runtime
    row = np.where(launch.known, launch.row, NONE)
    alone = launch.known & ~launch.shared
    grid, block = (_filled(kernels[name], calls[name], row, alone) for name in ("grid", "block"))
    in_items = pick(matching(calls["name"], _IN_WORK_ITEMS.match), row)
    blocks, threads = _counted(grid, block, in_items)
    by_warps = kernels["warps_per_sm"].to_numpy() / np.ceil(threads / _WARP)
    number = multiprocessors(trace, device)
    by_grid = blocks / (np.nan if number is None else number)
    if trace.meta.device_kind == "rocm":
        by_grid = np.where(launch.known, by_grid, np.nan)
    return np.where(open_ones, np.where(np.isnan(by_warps), by_grid, by_warps), result)


def multiprocessors(trace: Trace, device: DeviceFacts) -> int | None:
    """Multiprocessors of the device; None where the trace does not say or lists different cards and it is not clear which.

    ROCm numbers devices otherwise in its events than in its list of cards. Where it lists none, those of the smallest device that
    its kernels were built for: blocks that are too few for that are too few for each.
    """
    if not trace.meta.devices:
        built = {found[1] for name in distinct_texts(trace.kernels["name"]) for found in _TARGET.finditer(name)}
        return _FEWEST[built.pop()] if len(built) == 1 else None
    return listed_multiprocessors(trace, device)


def listed_multiprocessors(trace: Trace, device: DeviceFacts) -> int | None:
    """Multiprocessors of the device by the trace's list of cards alone; None where that does not say, or there is no list."""
    listed = trace.meta.devices
    numbers = {item.get("numSms") for item in listed}
    if len(numbers) > 1 and device.main is not None:
        numbers = {item.get("numSms") for item in listed if item.get("id") == device.main.device}
    known = next(iter(numbers)) if len(numbers) == 1 else None
    return known if isinstance(known, int) and not isinstance(known, bool) and known > 0 else None


def _filled(
    stated: pd.Series[Any], of_call: pd.Series[Any], row: Int64Array, alone: BoolArray
) -> tuple[Int64Array, list[str]]:
    """A kernel's extent; its call's where the kernel states none and shares its call with no other.

    Returns:
        The place of each kernel's text in a list, -1 for none, and the list.
    """
    (own, calls), texts = in_one_vocabulary([stated, of_call])
    return np.where((own != NONE) | ~alone, own, pick_row(calls, row)), texts


def _counted(
    grid: tuple[Int64Array, list[str]], block: tuple[Int64Array, list[str]], in_items: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Blocks of each grid and threads of each block, from `_filled`; each distinct pair of texts is read once."""
    grids, blocks = [*grid[1], ""], [*block[1], ""]
    keys = np.ravel_multi_index(
        (grid[0] % len(grids), block[0] % len(blocks), in_items.astype(np.int64)), (len(grids), len(blocks), 2)
    )
    distinct, place = np.unique(keys, return_inverse=True)
    pairs = [
        _read(grids[one], blocks[other], in_items=bool(items))
        for one, other, items in zip(*np.unravel_index(distinct, (len(grids), len(blocks), 2)), strict=True)
    ]
    known = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return known[place, 0], known[place, 1]


def _read(grid: str, block: str, *, in_items: bool) -> tuple[float, float]:
    whole, part = _three(grid), _three(block)
    threads = float(np.prod(part)) if part is not None else np.nan
    if whole is None or (in_items and part is None):
        return np.nan, threads
    return float(np.prod(np.ceil(whole / part)) if in_items and part is not None else np.prod(whole)), threads


def _three(text: str) -> FloatArray | None:
    try:
        values = json.loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(values, list) or len(values) != 3:
        return None
    sound = all(isinstance(value, int) and not isinstance(value, bool) and value > 0 for value in values)
    return np.array(values, dtype=np.float64) if sound else None
