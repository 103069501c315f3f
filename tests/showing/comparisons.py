"""Comparisons made by hand, each consistent in itself."""

from __future__ import annotations

from pathlib import Path

import msgspec

from analyzer.analysis import Analysis
from analyzer.compare.comparison import Comparison, compare
from analyzer.compare.runs import since
from analyzer.compare.snapshot import FindingState, Snapshot
from analyzer.compare.surroundings import Surroundings
from building.builders import TraceBuilder
from showing import analyses
from showing.snapshots import CONDITIONS, finding, snapshot

HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "`|a|`@all #1 __b__", "::error title=x::y%0A", "\x1b[31mred\x1b[0m",
    "\u202eevil", "x" * 10_000, "a\nb", "{{ 7*7 }}",
)  # fmt: skip


def pair() -> Comparison:
    """A loader fixed, a copy that is new, two steps apart by a third."""
    before = snapshot(
        10_000_000, waterfall_ns={"compute": 6e6, "input": 4e6}, findings=(finding("DL001", 4_000_000),),
        kernels_ns={"gemm": 5e6}, ops_ns={"aten::mm": 1e6}, operators_ns={"AddmmBackward0": 4e6},
    )  # fmt: skip
    after = snapshot(
        7_000_000, waterfall_ns={"compute": 6.2e6, "copy": 0.8e6}, findings=(finding("XF001", 500_000),),
        kernels_ns={"gemm": 5.2e6}, ops_ns={"aten::mm": 1.1e6}, operators_ns={"AddmmBackward0": 4.2e6},
    )  # fmt: skip
    return compare([before], [after])


def hostile(names: tuple[str, ...] = HOSTILE) -> Comparison:
    """Payloads wherever a trace or a baseline can put a string."""
    sides = []
    for step_ns, device in ((10_000_000, "A" + names[0]), (11_500_000, names[1])):
        times = {name: float(step_ns // (number + 1)) for number, name in enumerate(names)}
        conditions = msgspec.structs.replace(CONDITIONS, device=device, torch=device)
        findings = tuple(
            msgspec.structs.replace(finding("XX001", step_ns // 3), rule=name, title=name) for name in names
        )
        runs = [
            snapshot(
                step_ns,
                name=name,
                findings=findings,
                conditions=conditions,
                kernels_ns=times,
                ops_ns=times,
                operators_ns=times,
            )
            for name in names
        ]
        sides.append(runs)
    return compare(*sides)


def beside(
    step_ns: int = 10_000_000, *, count: int = 30, findings: tuple[FindingState, ...] = (), **measured: object
) -> Snapshot:
    """A run of `step_ns`, and what was measured beside it (fields of `Surroundings`)."""
    return snapshot(step_ns, count, findings=findings, surroundings=Surroundings(**measured))


def starved() -> Comparison:
    """A loader fixed on a machine with others' work: the step, a twelfth without the profiler, was recorded five times as long."""
    before = beside(
        49_500_000, findings=(finding("DL001", 40_000_000),), core_wait_ratio=0.34, unprofiled_step_ns=212_000_000
    )
    return compare([before], [beside(286_500_000, core_wait_ratio=0.68, unprofiled_step_ns=18_000_000)])


def against(analysis: Analysis, comparison: Comparison, baseline: str = "main") -> Analysis:
    """The analysis with what changed since a baseline."""
    return msgspec.structs.replace(analysis, since=since(baseline, comparison))


def since_baseline() -> Analysis:
    """The example, faster than the baseline."""
    return against(analyses.example(), pair())


def since_hostile_baseline(names: tuple[str, ...] = HOSTILE) -> Analysis:
    """Payloads in the trace, in the baseline and in its name."""
    return against(analyses.hostile(), hostile(names), "".join(names)[:200])


def empty() -> Comparison:
    return compare([snapshot(count=0, waterfall_ns={})], [snapshot(count=0, waterfall_ns={})])


def slower() -> Comparison:
    return compare([snapshot()], [snapshot(11_500_000)])


def write_run(path: Path, *, step_us: float, wait_us: float = 0, steps: int = 24) -> Path:
    """A training loop with the given step time, of which it waits for data."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * step_us
        # Steps of measured loops are never equal.
        busy = step_us - wait_us - 100 - number % 4 * 10
        builder.step(number, at, step_us)
        if wait_us:
            builder.loader(at, wait_us)
        builder.launch(at + wait_us, kernel_start=at + wait_us + 10, kernel_dur=busy)
    return builder.write(path)
