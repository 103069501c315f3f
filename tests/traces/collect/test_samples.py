"""The recorded samples: small, fit to share, and each with its story in ORIGIN.md."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[3] / "traces" / "samples"


def _load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress((SAMPLES / name).read_bytes()))
    return document


@pytest.mark.parametrize("name", ["baseline.json.gz", "cnn_workers0.json.gz", "cnn_workers2.json.gz"])
def test_a_sample_is_small_whole_and_has_a_story(name: str) -> None:
    assert (SAMPLES / name).stat().st_size < 1_000_000
    assert name in (SAMPLES / "ORIGIN.md").read_text(encoding="utf-8")
    trace = _load(name)
    assert set(trace) == {
        "schemaVersion",
        "deviceProperties",
        "displayTimeUnit",
        "baseTimeNanoseconds",
        "advisor",
        "traceEvents",
    }
    assert sum(event["name"].startswith("ProfilerStep#") for event in trace["traceEvents"]) == 6
    assert trace["advisor"]["command"][:2] == ["advisor", "collect"]
    assert trace["advisor"]["unprofiled_steps"] == 20


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("baseline.json.gz", 0.60, 0.95), ("cnn_workers0.json.gz", 0.08, 0.25), ("cnn_workers2.json.gz", 0.0, 0.05)],
)
def test_the_loader_share_of_a_sample(name: str, least: float, most: float) -> None:
    """What the rules must find in it, worked out here without the reader."""
    events = _load(name)["traceEvents"]
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    loads = [event for event in events if event["name"].startswith("enumerate(DataLoader)#")]
    window = max(event["ts"] + event["dur"] for event in steps) - min(event["ts"] for event in steps)
    assert least < sum(event["dur"] for event in loads) / window < most
