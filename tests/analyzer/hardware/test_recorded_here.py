"""FLOPs and time of each op of a recording made here against torch's counter and sums of the raw events."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from analyzer.facts import Facts
from analyzer.hardware.document import hardware
from traces.reader.read import read

torch = pytest.importorskip("torch")

from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode, flop_registry  # noqa: E402

pytestmark = pytest.mark.skipif(
    getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None) not in flop_registry,
    reason="this torch's own counter does not know attention on the CPU",
)

STEPS = 4


class Model(torch.nn.Module):  # type: ignore[misc]
    """A convolution, attention of fewer heads for keys than for queries, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.transposed = torch.nn.ConvTranspose2d(16, 8, 4, stride=2)
        self.project = torch.nn.Linear(8, 3 * 32)
        self.last = torch.nn.Linear(32, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The scores of each place."""
        found = self.transposed(self.convolution(images)).flatten(2).transpose(1, 2)
        query, key, value = (one.unflatten(2, (4, 8)).transpose(1, 2) for one in self.project(found).chunk(3, dim=2))
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        scores: torch.Tensor = self.last(mixed.transpose(1, 2).flatten(2))
        return scores


def test_flops_and_time_of_each_op_are_those_of_torch_and_of_the_raw_events(tmp_path: Path) -> None:
    model, images, path = Model(), torch.randn(2, 3, 16, 16), tmp_path / "trace.json"
    with FlopCounterMode(display=False) as counter:
        model(images).sum().backward()
    counted = {f"aten::{op}": flops for op, flops in counter.get_flop_counts()["Global"].items()}
    counted = {name.replace("aten::aten.", "aten::"): flops for name, flops in counted.items()}
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        for _ in range(STEPS + 1):
            model(images).sum().backward()
            profiler.step()
    facts = Facts(read(path))
    times = _times(path, facts, set(counted))
    assert set(times) == set(counted)
    assert len(counted) == 6
    flops, spent = defaultdict[str, int](int), defaultdict[str, int](int)
    for one in hardware(facts).operators:
        flops[one.op] += one.flops or 0
        spent[one.op] += one.kernel_ns
    for name, wanted in counted.items():
        assert flops[name] == pytest.approx(facts.steps.count * wanted, rel=0.01), name
        assert spent[name] == pytest.approx(times[name], rel=0.01), name


def _times(path: Path, facts: Facts, wanted: set[str]) -> dict[str, float]:
    """Durations of the ops of these names that are inside none of them, in the used steps, in plain loops."""
    events = [one for one in json.loads(path.read_text())["traceEvents"] if one.get("cat") == "cpu_op"]
    origin = facts.trace.meta.origin_ns
    used = [(low + origin, high + origin) for low, high in facts.steps.window.pairs()]
    found, until = defaultdict[str, float](float), defaultdict[object, float](float)
    for event in sorted(events, key=lambda one: (one["ts"], -one["dur"])):
        if event["name"] not in wanted or event["ts"] < until[event["tid"]]:
            continue
        if any(low <= event["ts"] * 1_000 < high for low, high in used):
            until[event["tid"]] = event["ts"] + event["dur"]
            found[event["name"]] += event["dur"] * 1_000
    return found
