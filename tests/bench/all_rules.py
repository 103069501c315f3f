"""How long all rules together take beside decoding the trace, both in one process.

    python tests/bench/all_rules.py [TRACE ...] [--repeat 7]

Reading is everything from the file to the frames, in this process alone; the rules are everything from there to the finished
analysis: facts, trust, rules, ranking, the document. What counts is the processor's time, which other programs do not use up, and
the least of the repeats, since what disturbs only adds; `first` is the first one in its process, whose tables of names and patterns
are still empty. Without a trace named, all recorded ones of more
than 10 MB as text, where they lie beside the repository, else the samples.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from made_files import ROOT, SAMPLES, SHARED

_LEAST_BYTES = 9_000_000


def main() -> int:
    """Measure and print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=7, help="runs in one process")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        sys.stdout.write(measured(options.worker, options.repeat) + "\n")
        return 0
    sys.stdout.write(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; least of {options.repeat}, milliseconds of CPU\n"
        f"{'trace':<44} {'reading':>8} {'rules':>7} {'first':>7} {'rules / reading':>16}\n"
    )
    for trace in options.traces or recorded():
        command = [sys.executable, __file__, "--repeat", str(options.repeat), "--worker", str(trace)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        made = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        sys.stdout.write(made.stdout.splitlines()[-1] + "\n")
        sys.stdout.flush()
    return 0


def recorded() -> list[Path]:
    """Large traces of others, else what there is without them."""
    others = [path for path in sorted(SHARED.parent.glob("*.gz")) if _text_bytes(path) > _LEAST_BYTES]
    return others or sorted(SAMPLES.rglob("*.json.gz"))


def _text_bytes(path: Path) -> int:
    with gzip.open(path) as file:
        return file.seek(0, os.SEEK_END)


def measured(trace: Path, repeat: int) -> str:
    """The row of one trace."""
    from analyzer.explain import explain_facts, load_rules
    from analyzer.facts import Facts
    from traces.reader.read import read

    rules = load_rules()
    reading, explaining = [], []
    # As `explain` does: a document is made without collecting cycles.
    gc.disable()
    for _ in range(repeat):
        gc.collect()
        began = time.process_time()
        facts = Facts(read(trace))
        reading.append(time.process_time() - began)
        gc.collect()
        began = time.process_time()
        explain_facts(facts, rules=rules)
        explaining.append(time.process_time() - began)
        del facts
    ratio = min(explaining) / min(reading)
    return (
        f"{trace.name[:44]:<44} {min(reading) * 1e3:8.0f} {min(explaining) * 1e3:7.0f} {explaining[0] * 1e3:7.0f} "
        f"{ratio:16.2f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
