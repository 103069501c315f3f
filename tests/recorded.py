"""Recorded traces the tests run on: this project's samples, and others' traces where they lie beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
