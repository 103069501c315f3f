"""The zoo: what is planted is found, nothing else is, and no remedy brings more than was promised."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from analyzer.cli.commands.zoo import run
from analyzer.cli.commands.zoo.score import Score, lines
from gpu.bench import Bench


def zoo(bench: Bench) -> dict[str, Any]:
    """Record and judge the presets for the device; on a GPU its own only, the others are the same everywhere."""
    only = bench.only or (("gpu-",) if bench.device == "cuda" else ())
    with tempfile.TemporaryDirectory(prefix="advisor-gpu-") as folder:
        total, skipped = run(Path(folder), only)
        archive = bench.archive("zoo", sorted(Path(folder).glob("*.json.gz")))
    return {
        "defects": [*total.problems, *(f"{one.name}: {words}" for one in total.scores for words in _wrong(one))],
        "archive": archive,
        "text": lines(total, skipped),
        "precision": total.precision,
        "recall": total.recall,
        "skipped": skipped,
        "presets": [_row(score) for score in total.scores],
    }


def _wrong(score: Score) -> list[str]:
    wrong = [f"{code} fired wrongly, {ratio:.1%}" for code, ratio in sorted(score.wrong.items())]
    return wrong + [f"{code} was missed: {reason}" for code, reason in sorted(score.missed.items())]


def _row(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "right": sorted(score.right),
        "wrong": score.wrong,
        "missed": score.missed,
        "step_ns": score.step_ns,
        "bound_ratio": score.bound_ratio,
        "gain_ratio": score.gain_ratio,
        "rest_gain_ratio": score.rest_gain_ratio,
        "noise_ratio": score.noise_ratio if score.timing else None,
        "overshoots": score.overshoots,
    }
