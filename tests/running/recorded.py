"""Recorded traces the tests run on: this project's samples, and others' traces where they lie beside the repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.device.launches import lead_median_ns
from traces.reader.read import read
from traces.schema import SCHEMA
from traces.trace import Trace

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "traces" / "samples"
SHARED = ROOT.parent / "shared" / "traces"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the traces of other projects are not part of the repository"
)


def recorded() -> list[object]:
    """Every recorded trace as a test parameter; one skipped parameter where the others' are absent."""
    samples = [pytest.param(path, id=path.name.split(".")[0]) for path in sorted(SAMPLES.glob("*.json.gz"))]
    shared = [pytest.param(path, id=path.name.split(".")[0]) for path in sorted(SHARED.glob("*.json.gz"))]
    return samples + (shared or [pytest.param(SHARED, id="shared", marks=needs_shared)])


class Recorded(msgspec.Struct, frozen=True):
    """What is told of a recorded trace, and two figures over W0: first host step start to last host step end.

    Args:
        analysis: The document.
        shares: Share of W0 by cause.
        lead_ns: Median time from a launch call to its work; None where nothing was launched.
    """

    analysis: Analysis
    shares: dict[str, float]
    lead_ns: float | None


def trace_of(path: Path) -> Trace:
    """A recorded trace, read once a process; each that asks gets frames of its own."""
    known = _read(path)
    return msgspec.structs.replace(known, **{name: getattr(known, name).copy() for name in SCHEMA})


@cache
def told_of(path: Path) -> Recorded:
    """What every test asks of a recorded trace: read, measured and judged once a process."""
    facts = Facts(trace_of(path))
    window = facts.steps.raw_window
    owners = facts.time.waterfall_of(facts.device.main, window).owners
    inside = window.contains(facts.device.launched["launch_start_ns"].to_numpy())
    return Recorded(
        explain_facts(facts).analysis,
        {cause: part.total_ns / window.total_ns for cause, part in owners.items()},
        lead_median_ns(facts.device.launched[inside]),
    )


@cache
def _read(path: Path) -> Trace:
    return read(path)
