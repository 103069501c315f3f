"""Draws the top of a page in a headless Chromium, for the README.

python tests/report_picture.py traces/samples/baseline.json.gz -o .github/report.png
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from analyzer.explain import analyse_with_facts
from analyzer.report import html
from analyzer.report.from_trace import from_trace
from showing.browser import run

WIDTH, HEIGHT = 1040, 985


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    explained = analyse_with_facts(asked.trace)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(html.render(explained.analysis, from_trace(explained)), encoding="utf-8")
        size = f"--window-size={WIDTH},{HEIGHT}"
        run(
            page, Path(folder) / "profile", size, f"--screenshot={asked.output.resolve()}", "--virtual-time-budget=3000"
        )


if __name__ == "__main__":
    main()
