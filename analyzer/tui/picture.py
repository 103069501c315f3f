"""A picture of the UI for documents: `python -m analyzer.tui.picture TRACE -o findings.svg [--keys 2] [--size 120x36]`.

The SVG asks no network for a font: whatever fixed-width font the reader has is stretched to the terminal's grid.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from analyzer.explain import Options
from analyzer.tui.app import AdvisorApp
from analyzer.tui.look.terminal import look_for
from analyzer.tui.work.job import job_for
from traces.patterns import Pattern

_FONT_FACE = Pattern(r"@font-face\s*\{[^}]*\}\s*")
_FAMILIES = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"


async def picture(trace: Path, size: tuple[int, int], keys: Sequence[str]) -> str:
    """The screen after some keys, as SVG.

    Args:
        trace: What to open.
        size: Columns and rows.
        keys: Pressed one after the other, by Textual's names.
    """
    app = AdvisorApp(trace.name, job_for([trace], Options()), look_for({}, "utf-8", "truecolor"), trace)
    async with app.run_test(size=size) as pilot:
        for key in (None, *keys):
            if key is not None:
                await pilot.press(key)
            await pilot.pause()
            await app.workers.wait_for_complete()
            # Once for the answer, once for what it changes (the keys at the bottom).
            await pilot.pause()
            await pilot.pause()
        return without_network(app.export_screenshot(title="advisor explain"))


def without_network(svg: str) -> str:
    """The picture with the fonts that are there instead of one from a server."""
    return re.sub(r"font-family:\s*[^;]+;", f"font-family: {_FAMILIES};", _FONT_FACE.sub("", svg))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(prog="python -m analyzer.tui.picture", description="Draw the UI as SVG.")
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--size", default="120x36", help="columns and rows")
    parser.add_argument("--keys", nargs="*", default=(), help="keys to press first, such as 2")
    options = parser.parse_args(arguments)
    columns, _, rows = options.size.partition("x")
    svg = asyncio.run(picture(options.trace, (int(columns), int(rows)), options.keys))
    options.output.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
