"""Blocks per multiprocessor where the profiler does not state them: from warps, from grids, from the launch call."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.facts import Facts
from building.builders import ROCM_DEVICE, TraceBuilder
from running.recorded import SHARED, needs_shared, trace_of
from traces.reader.read import read


def one(
    device: str | None, call: str, on_call: dict[str, Any], on_kernel: dict[str, Any], top: dict[str, Any] | None = None
) -> float:
    """The figure of a trace of one kernel."""
    builder = TraceBuilder(device, top=top).step(0, 0, 100)
    correlation = builder.runtime(call, 0, 5, **on_call)
    builder.kernel("k", 10, 50, correlation=correlation, **on_kernel)
    (found,) = Facts(builder.trace()).kernels.named.frame["blocks_per_sm"].tolist()
    return float(found)


GRID = {"grid": [608, 2, 1], "block": [256, 1, 1]}


def test_the_profilers_own_figure_wins() -> None:
    assert one("cuda", "cudaLaunchKernel", {}, {**GRID, "blocks per SM": 3.5}) == 3.5


def test_torch_1_8_states_warps_only() -> None:
    assert one("cuda", "cudaLaunchKernel", {}, {**GRID, "warps per SM": 24.0}, {"deviceProperties": []}) == 3.0


def test_cuda_and_hip_grids_are_in_blocks() -> None:
    assert one("cuda", "cudaLaunchKernel", {}, GRID) == pytest.approx(1216 / 132)
    assert one("rocm", "hipLaunchKernel", {}, GRID) == 1216 / 304


@pytest.mark.parametrize("where", ["call", "kernel"])
def test_a_module_launch_counts_work_items(where: str) -> None:
    grid = {"grid": [1_000, 1, 1], "block": [256, 1, 1]}
    on_call, on_kernel = (grid, {}) if where == "call" else ({}, grid)
    # 1,000 work-items are four blocks of 256, the last one not full.
    assert one("rocm", "hipExtModuleLaunchKernel", on_call, on_kernel) == pytest.approx(4 / 304)


def test_without_its_call_a_grid_of_rocm_says_nothing() -> None:
    builder = TraceBuilder("rocm").step(0, 0, 100)
    builder.kernel("k", 10, 50, **GRID)
    assert Facts(builder.trace()).kernels.named.frame["blocks_per_sm"].isna().all()


def test_kernels_of_a_graph_do_not_inherit_their_calls_grid() -> None:
    builder = TraceBuilder("rocm").step(0, 0, 100)
    correlation = builder.runtime("hipGraphLaunch", 0, 5, **GRID)
    for start in (10, 30):
        builder.kernel("k", start, 10, correlation=correlation)
    assert Facts(builder.trace()).kernels.named.frame["blocks_per_sm"].isna().all()


def test_different_cards_are_told_apart_by_number_or_not_at_all() -> None:
    cards = [{**ROCM_DEVICE, "id": 0, "numSms": 304}, {**ROCM_DEVICE, "id": 1, "numSms": 104}]
    assert one("rocm", "hipLaunchKernel", {}, GRID, {"deviceProperties": cards}) == 4.0
    shuffled = [{**card, "id": card["id"] + 5} for card in cards]
    assert np.isnan(one("rocm", "hipLaunchKernel", {}, GRID, {"deviceProperties": shuffled}))


@pytest.mark.parametrize("grid", [[1, 2], "many", [0, 1, 1], [1.5, 1, 1], {"x": 1}, None, [True, 1, 1]])
def test_an_odd_grid_is_unknown(grid: object) -> None:
    assert np.isnan(one("rocm", "hipLaunchKernel", {}, {"grid": grid, "block": [256, 1, 1]}))


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("hta_a100_ddp_resnet", "warps per SM"),
        ("hta_a100_ddp_resnet", "grid"),
        ("hta_v100_resnet_ns", "grid"),
        ("kineto_resnet50_workers0_a.pt.trace", "warps per SM"),
    ],
)
def test_what_is_derived_is_what_the_profiler_states(name: str, source: str, tmp_path: Path) -> None:
    path = SHARED / f"{name}.json.gz"
    stated = Facts(trace_of(path)).kernels.named.frame["blocks_per_sm"].to_numpy()
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        document = json.load(stream)
    hidden = {"blocks per SM", "warps per SM"} - {source}
    for event in document["traceEvents"]:
        if "args" in event:
            event["args"] = {key: value for key, value in event["args"].items() if key not in hidden}
    without = tmp_path / "without.json"
    without.write_text(json.dumps(document))
    derived = Facts(read(without)).kernels.named.frame["blocks_per_sm"].to_numpy()
    assert len(stated) > 1_000
    assert derived == pytest.approx(stated, rel=0.001)
