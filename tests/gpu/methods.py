"""`advisor experiment` on the device: workers, pinned memory, copies that do not wait, with the spread of the repeats."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gpu.bench import Bench
from traces.collect.experiment import ExperimentConfig, MethodResult, run_experiment


def experiment(bench: Bench) -> dict[str, Any]:
    """Time every method that runs here in turns."""
    with tempfile.TemporaryDirectory(prefix="advisor-gpu-") as folder:
        config = ExperimentConfig(output=Path(folder), device=bench.device, repeats=bench.repeats)
        results = list(run_experiment(config, lambda *_: None))
        archive = bench.archive("experiment", sorted(Path(folder).glob("*.json")))
    timed = [result for result in results if isinstance(result, MethodResult)]
    skipped = [result for result in results if not isinstance(result, MethodResult)]
    rows = [
        {
            "name": result.name,
            "title": result.title,
            "total_ns": result.total_ns,
            "speed_up": result.speed_up(timed[0]),
            "spread_ratio": result.spread_ratio,
            "accuracy": result.accuracy,
        }
        for result in timed
    ]
    return {
        "defects": [f"{result.title}: {result.reason}" for result in skipped if result.failed],
        "archive": archive,
        "methods": rows,
        "skipped": {result.name: result.reason for result in skipped},
    }
