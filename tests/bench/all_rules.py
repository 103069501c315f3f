"""How long all rules together take beside decoding the trace, both in one process.

    python tests/bench/all_rules.py [TRACE ...] [--repeat 7]

Reading is everything from the file to the frames, in this process alone. Behind it stand, apart: measuring, which is the steps,
whose each nanosecond is, and trust; the rules, all of them, with every further figure that one of them is the first to ask for;
and the document, from ranking to the last table. The first quotient is of the rules, the second of all three. What counts is
the processor's time, which other programs do not use up, and the least of the repeats, since what disturbs only adds; `first`
is the first time of all three in the process, whose tables of names and patterns are still empty. Without a trace named, all
recorded ones of more than 9 MB as text, where they lie beside the repository, else the samples.
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
from typing import Any

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
        f"{'trace':<44} {'reading':>7} {'measuring':>9} {'rules':>5} {'document':>8} {'first':>5} {'rules':>6} {'all':>5}\n"
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
    from analyzer import explain
    from analyzer.facts import Facts
    from traces.reader.read import read

    rules = explain.load_rules()
    readings, wholes = [], []
    run_rules = explain.run_rules

    def timed_rules(*given: Any, **named: Any) -> Any:
        began.append(time.process_time())
        runs = run_rules(*given, **named)
        began.append(time.process_time())
        return runs

    explain.run_rules = timed_rules
    # As `explain` does: a document is made without collecting cycles.
    gc.disable()
    for _ in range(repeat):
        began: list[float] = []
        gc.collect()
        at = time.process_time()
        facts = Facts(read(trace))
        readings.append(time.process_time() - at)
        gc.collect()
        at = time.process_time()
        explain.explain_facts(facts, rules=rules)
        wholes.append((began[0] - at, began[1] - began[0], time.process_time() - began[1]))
        del facts
    reading, whole = min(readings), min(map(sum, wholes))
    measuring, ruling, document = (min(part) for part in zip(*wholes, strict=True))
    return (
        f"{trace.name[:44]:<44} {reading * 1e3:7.0f} {measuring * 1e3:9.0f} {ruling * 1e3:5.0f} {document * 1e3:8.0f} "
        f"{sum(wholes[0]) * 1e3:5.0f} {ruling / reading:6.2f} {whole / reading:5.2f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
