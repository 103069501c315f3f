"""Every oddity from file to document: an answer in words, and never another number than the sound trace's without a warning."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path

import pytest

from analyzer.analysis import Analysis
from analyzer.explain import Options
from analyzer.opening import open_paths
from building.odd_changes import STEPS, base
from building.odd_variants import Variant, variants
from running.recorded import ROOT
from traces.errors import UnreadableTraceError
from traces.progress import silent

VARIANTS = variants()


def answer(folder: Path, variant: Variant) -> Analysis:
    path = folder / variant.file
    path.write_bytes(variant.content)
    return open_paths([path], Options(), silent).first.analysis


def busy_ns(analysis: Analysis) -> float:
    return (analysis.summary.gpu_busy_ratio or 0.0) * analysis.summary.window_ns


@cache
def sound_busy_ns() -> float:
    events = [event for event in base().events if event["cat"] in ("kernel", "gpu_memcpy")]
    return sum(event["dur"] for event in events) * 1000.0


def test_the_sound_one_is_believed(tmp_path: Path) -> None:
    analysis = answer(tmp_path, VARIANTS[0])
    assert analysis.trust.verdict == "ok"
    assert analysis.repairs == ()
    assert busy_ns(analysis) == pytest.approx(sound_busy_ns(), rel=1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=[f"{one.row}-{one.name}" for one in VARIANTS])
def test_it_is_explained_or_refused(tmp_path: Path, variant: Variant) -> None:
    with contextlib.suppress(UnreadableTraceError):
        analysis = answer(tmp_path, variant)
        # What was mended may cost an event, what was refused has no number, anything else is right.
        told = analysis.trust.verdict != "ok" or not variant.same
        assert told or busy_ns(analysis) == pytest.approx(sound_busy_ns(), rel=1e-3)
        assert not any(check.state == "crashed" for check in analysis.checks)
        return
    assert not variant.same


def test_every_row_of_the_catalogue_has_a_variant() -> None:
    assert {variant.row for variant in VARIANTS} == set(range(51))


def test_the_readme_counts_them() -> None:
    assert f"for {len(VARIANTS) - 1} odd traces" in (ROOT / "README.md").read_text("utf-8")


def test_work_that_overlaps_on_one_stream_counts_once(tmp_path: Path) -> None:
    (variant,) = [one for one in VARIANTS if one.row == 18]
    # Of each step the copy, and 30 kernels 200 us apart without a gap, the last of 249 us.
    assert busy_ns(answer(tmp_path, variant)) == pytest.approx(STEPS * (90_000 + 29 * 200_000 + 249_000), rel=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "gzip cut at 60 %",
        "kernels of the first steps lost",
        "65 % of all kernels lost",
        "a graph replay recorded in part",
        "two ranks merged, other process numbers",
        "two ranks merged, equal numbers",
        "two ranks without a device merged, equal numbers",
        "every event written twice",
        "no device events",
    ],
)
def test_what_cannot_be_right_is_doubted(tmp_path: Path, name: str) -> None:
    (variant,) = [one for one in VARIANTS if one.name == name]
    assert answer(tmp_path, variant).trust.verdict != "ok"


def test_steps_without_marks_that_the_optimizer_tells_apart_are_believed_and_said(tmp_path: Path) -> None:
    (variant,) = [one for one in VARIANTS if one.name == "no step marks"]
    analysis = answer(tmp_path, variant)
    assert (analysis.trust.verdict, analysis.trace.steps.source) == ("ok", "inferred:Optimizer.step")
    assert analysis.trace.steps.used == answer(tmp_path, VARIANTS[0]).trace.steps.used
    assert [(reason.code, reason.doubts) for reason in analysis.trust.reasons] == [("PG001", False)]
