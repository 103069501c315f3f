"""Running the app in a test: a trace to show, waiting until it is quiet, reading what it shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from analyzer.explain import Explained, Options, analyse_with_facts
from analyzer.tui.app import AdvisorApp
from building.builders import PROCESS, TraceBuilder


def text_of(app: AdvisorApp) -> str:
    """The screen as plain text."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


async def settle(pilot: Pilot[Any]) -> None:
    """Until workers are done and their messages are handled."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@asynccontextmanager
async def running(app: AdvisorApp, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[int]]:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield pilot


def loader_bound(*, memory: bool = True, evil: str = "") -> TraceBuilder:
    """Four steps of 100 ms: 40 ms in the loader, then 50 ms of kernels on two streams; `evil` is added to every name."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 100_000
        builder.step(number, at, 100_000)
        builder.loader(at, 40_000)
        builder.op(f"aten::linear{evil}", at + 41_000, 8_000, **{"Input Dims": [[8, 4], [4, 4]]})
        for piece in range(10):
            start = at + 45_000 + piece * 5_000
            builder.launch(
                start - 200,
                kernel_start=start,
                kernel_dur=5_000,
                name=f"void sgemm<4>{evil}(float)",
                op=f"aten::mm{evil}",
            )
        builder.launch(at + 96_000, kernel_start=at + 96_100, kernel_dur=500, stream=13, op="aten::add")
        if memory:
            for when, delta in ((46_000, 8 << 20), (50_000, 1 << 20), (95_000, -(9 << 20))):
                arguments = {"Addr": 1, "Bytes": delta, "Device Type": 1, "Device Id": 0}
                event = {"ph": "i", "name": "[memory]", "s": "t", "pid": PROCESS, "tid": PROCESS, "args": arguments}
                builder.events.append({**event, "ts": at + when})
    return builder


def explained(builder: TraceBuilder, folder: Path) -> Explained:
    # One rule: what others find on this trace is none of the screens' business.
    return analyse_with_facts(builder.write(folder / "trace.json"), Options(select=("DL001",)))
