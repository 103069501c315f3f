"""Draws .github/findings.svg, the picture of the README: the terminal UI on a recorded sample.

    python .github/picture.py [TRACE]

The trace is traces/samples/baseline.json.gz unless another is given.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from analyzer.explain import analyse
from analyzer.tui.app import AdvisorApp
from analyzer.tui.job import Job
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.terminal import look_for

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "traces" / "samples" / "baseline.json.gz"
SIZE = (120, 40)


async def draw(trace: Path) -> str:
    """The findings screen of a trace as SVG that loads nothing from anywhere."""
    analysis = analyse(trace)
    app = AdvisorApp(trace.name, Job(lambda report: analysis), look_for({}, "utf-8", "truecolor"))
    async with app.run_test(size=SIZE) as pilot:
        while not isinstance(app.screen, FindingsScreen):
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="advisor explain trace.json")
    # Textual's picture asks a server for its font; a README must not.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace(
        "Fira Code,", "ui-monospace, Menlo, Consolas,"
    )


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    (HERE / "findings.svg").write_text(asyncio.run(draw(given)), encoding="utf-8")
