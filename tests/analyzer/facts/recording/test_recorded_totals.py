"""Sums as the file states them, beside those that count: both can be had where they differ (odd-traces rows 14 to 18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.explain import Options
from analyzer.facts.recording.recorded_totals import RECORDING, recorded_totals
from analyzer.opening import open_paths
from analyzer.report import formats
from building.odd_changes import absurd_starts, changed, overlap, setting, text
from traces.progress import silent
from traces.reader.read import read


def totals(folder: Path, content: bytes) -> dict[str, tuple[int, int, int]]:
    path = folder / "trace.json"
    path.write_bytes(content)
    return {one.events: (one.set_aside, one.raw_ns, one.cleaned_ns) for one in recorded_totals(read(path))}


def kernels_ns() -> int:
    """150 kernels: 30 a step of 120 to 149 us."""
    return 5 * sum(120_000 + index * 1_000 for index in range(30))


def test_a_sound_trace_has_one_sum_only(tmp_path: Path) -> None:
    assert totals(tmp_path, text().encode()) == {}


def test_an_absurd_duration_stands_in_the_raw_sums(tmp_path: Path) -> None:
    found = totals(tmp_path, setting("dur", 1e12))
    left = kernels_ns() - 130_000
    assert found["kernels"] == (1, left + 10**15, left)
    start = 14_215_000  # 41st kernel: the 11th of the second step
    assert found[RECORDING] == (1, start + 10**15, 50_000_000)
    assert set(found) == {"kernels", RECORDING}


def test_a_negative_duration_is_taken_off_the_raw_sum(tmp_path: Path) -> None:
    left = kernels_ns() - 130_000
    assert totals(tmp_path, setting("dur", -5))["kernels"] == (1, left - 5_000, left)


def test_a_start_far_away_stretches_the_raw_recording(tmp_path: Path) -> None:
    found = totals(tmp_path, changed(absurd_starts))
    assert found[RECORDING] == (3, 1_700_000_000_000_000_000 + 50_000_000, 50_000_000)


def test_overlaps_on_one_stream_are_added_in_the_raw_sum_only(tmp_path: Path) -> None:
    set_aside, raw, cleaned = totals(tmp_path, changed(overlap))["kernels"]
    assert set_aside == 0
    assert raw == kernels_ns() + 150 * 100_000
    # One stretch a step: 30 kernels that begin every 200 us, the last of 249 us.
    assert cleaned == 5 * (29 * 200_000 + 249_000)


@pytest.mark.parametrize("number", [2, 40])
def test_sums_of_many_absurd_values_fit_64_bits(tmp_path: Path, number: int) -> None:
    found = totals(tmp_path, setting("dur", 1e300, slice(0, number)))
    assert found["kernels"][0] == number
    assert found["kernels"][1] <= 2**63 - 1
    assert found[RECORDING][1] <= 2**63 - 1


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_every_report_says_both(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(setting("dur", 1e12))
    report = formats.render(open_paths([path], Options(), silent).first.analysis, name)
    assert "kernels: 1,000,000 s as the file states, 20 ms without what was set aside" in " ".join(report.split())
