"""How long the whole `advisor explain --format json` takes beside a process that only parses the same file with HTA.

    python tests/bench/explain.py [TRACE] [--repeat 5]

Both run as processes of their own, in turns, after one uncounted run each (files cached, bytecode compiled); the medians
count. CPU seconds are those the process itself used: on a busy machine they say more than the clock. The trace is the
recorded 35 MB one where it lies beside the repository, else the largest sample.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_files import ROOT, SAMPLES, SHARED

TARGET_RATIO = 0.4
# As the `advisor` command does.
EXPLAIN = (
    "import sys; from analyzer.cli.main import program; sys.argv[1:1] = ['explain', '--format', 'json']; program()"
)
PARSE = "import sys; from hta.common.trace import parse_trace_file; parse_trace_file(sys.argv[1])"
# What a user of HTA writes; it aligns the parsed trace as well.
ANALYSIS = "import sys; from hta.trace_analysis import TraceAnalysis; TraceAnalysis({0: sys.argv[1]}, trace_dir='')"


def main() -> int:
    """Measure and print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SHARED if SHARED.is_file() else largest_sample())
    parser.add_argument("--repeat", type=int, default=5, help="counted runs of each")
    options = parser.parse_args()
    hta = f"HTA {importlib.metadata.version('HolisticTraceAnalysis')}"
    codes = {
        "advisor explain --format json": EXPLAIN,
        f"{hta} parse_trace_file": PARSE,
        f"{hta} TraceAnalysis": ANALYSIS,
    }
    with tempfile.TemporaryDirectory(prefix="bench-") as bytecode:
        runs = [[timed(code, options.trace, bytecode) for code in codes.values()] for _ in range(options.repeat + 1)][
            1:
        ]
    # Per process: medians of wall and CPU seconds.
    medians = [tuple(map(statistics.median, zip(*found, strict=True))) for found in zip(*runs, strict=True)]
    ours = medians[0]
    sys.stdout.write(
        f"{options.trace.name}, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; medians of {options.repeat}\n"
    )
    for name, (wall, cpu) in zip(codes, medians, strict=True):
        ratio = f"   advisor takes {ours[0] / wall:.3f} of it, CPU {ours[1] / cpu:.3f}" if (wall, cpu) != ours else ""
        sys.stdout.write(f"{name:<32} {wall:6.2f} s   CPU {cpu:5.2f} s{ratio}\n")
    sys.stdout.write(f"target: below {TARGET_RATIO} of parse_trace_file\n")
    return 0


def largest_sample() -> Path:
    """What there is without the traces of others."""
    return max(SAMPLES.rglob("*.json.gz"), key=lambda path: path.stat().st_size)


def timed(code: str, trace: Path, bytecode: str) -> tuple[float, float]:
    """Seconds and CPU seconds of one process that finds its bytecode in a folder, or leaves it there."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "PYTHONPYCACHEPREFIX": bytecode}
    # Some containers switch bytecode off; then both would mostly measure Python's compiler.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, str(trace)], check=True, capture_output=True, env=environment)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
