"""How large the page of a large trace is, how soon a browser has opened it, and how soon its timeline answers.

    python tests/bench/page.py [--kinds small unmarked large] [--events 1000000] [--repeat 5]

Makes each trace with `made_files.py`, writes its page with `advisor explain --format html` and opens that in a headless
Chromium. Opened: from the call until its load has ended and two frames are drawn. The rest with real clicks and keys, from
the first until two frames are drawn. `wall` is the median over the runs, each in a new browser, and on a shared machine as
much of the others as of the page; CPU is what the page's main thread took, the least of the runs. `requests` counts what the
page asked for beside itself.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from made_files import KINDS, ROOT

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from showing.devtools import Browser, browser  # noqa: E402

PROGRAM = "import sys; from analyzer.cli.main import main; sys.exit(main())"
# What an event takes in a file of its kind, on the whole.
BYTES = {"small": 239.2, "unmarked": 239.2, "large": 467.8}
SIZE = (1200, 1000)


def main() -> int:
    """Measure and print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=["small", "unmarked", "large"])
    parser.add_argument("--events", type=int, default=1_000_000, help="in each trace, about")
    parser.add_argument("--repeat", type=int, default=5, help="browsers")
    options = parser.parse_args()
    sys.stdout.write(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; pages of about "
        f"{options.events:,} events; {options.repeat} browsers\n\n"
        "| trace | page | | wall ms | CPU ms | requests |\n|---|---|---|---|---|---|\n"
    )
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for kind in options.kinds:
            measure(kind, options.events, options.repeat, Path(folder))
    return 0


def measure(kind: str, events: int, repeat: int, folder: Path) -> None:
    """Make one trace and its page, and print its rows."""
    trace, page = folder / f"{kind}.json", folder / f"{kind}.html"
    KINDS[kind](round(events * BYTES[kind] / 1e6), trace)
    command = [sys.executable, "-c", PROGRAM, "explain", str(trace), "--format", "html", "-o", str(page)]
    subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    runs = [one_run(page, folder / f"{kind}-{number}") for number in range(repeat)]
    sizes = f"{kind}, {trace.stat().st_size / 1e6:.0f} MB", f"{page.stat().st_size / 1e6:.2f} MB"
    for number, name in enumerate(runs[0][0]):
        wall = statistics.median(took[name][0] for took, _ in runs) * 1e3
        computed = min(took[name][1] for took, _ in runs) * 1e3
        first = (*sizes, f"{max(asked for _, asked in runs)}") if not number else ("", "", "")
        sys.stdout.write(f"| {first[0]} | {first[1]} | {name} | {wall:.0f} | {computed:.0f} | {first[2]} |\n")
    trace.unlink()


def one_run(page: Path, profile: Path) -> tuple[dict[str, tuple[float, float]], int]:
    """What each thing took, wall and CPU in seconds, and how often the page asked for anything beside itself."""
    found: dict[str, tuple[float, float]] = {}
    with browser(profile) as shown:
        shown.size(*SIZE)
        began = time.perf_counter()
        shown.open(page)
        # A page is a process of its own, whose clock begins with it.
        found["opened"] = (time.perf_counter() - began, shown.computed())
        lanes = shown.place("#viewer-lanes")
        shown.click(*lanes)
        found["zoomed"] = _timed(shown, lambda: shown.wheel(*lanes, -500))
        shown.click(*shown.place("#viewer-search"))
        found["searched"] = _timed(shown, lambda: shown.type("add"))
        found["next match"] = _timed(shown, lambda: shown.type("\n"))
        if shown.says("!!document.querySelector('.finding[open] .show')"):
            button = shown.place(".finding[open] .show")
            found["finding shown"] = _timed(shown, lambda: shown.click(*button))
        return found, len([address for address in shown.requests if address != page.as_uri()])


def _timed(shown: Browser, act: Callable[[], None]) -> tuple[float, float]:
    began, computed = time.perf_counter(), shown.computed()
    act()
    return time.perf_counter() - began, shown.computed() - computed


if __name__ == "__main__":
    raise SystemExit(main())
