"""What very much of one thing costs, at the sizes that an attack had: `python tests/bench/crowds.py`.

CPU time of reading, explaining and reporting at one size and at twice that, peak memory, for each kind of `building/crowds.py`, in
a process each. Twice as many should take twice as long; three times as long is called out, and so is a millisecond for each.
`tests/analyzer/test_growth.py` counts calls and bytes for the same kinds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from building.crowds import KINDS, write  # noqa: E402

_TOO_MUCH, _LONGEST_S_EACH = 3.0, 1e-3


def main() -> int:
    """Measure each kind; 1 where one grows faster than what there is of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, default=50_000, help="the smaller size")
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind alone")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return _measured(options.one[0], int(options.one[1]))
    called_out = 0
    sys.stdout.write(
        "| much of | how many | CPU s | MB | how many | CPU s | MB | times |\n|---|---|---|---|---|---|---|---|\n"
    )
    for kind in options.only or KINDS:
        (few_s, few_mb), (many_s, many_mb) = (_in_a_process(kind, size) for size in (options.many, 2 * options.many))
        called_out += many_s > _TOO_MUCH * few_s or many_s > 2 * options.many * _LONGEST_S_EACH
        sizes = f"{options.many:,} | {few_s:.1f} | {few_mb:.0f} | {2 * options.many:,} | {many_s:.1f} | {many_mb:.0f}"
        sys.stdout.write(f"| {kind} | {sizes} | {many_s / few_s:.1f} |\n")
        sys.stdout.flush()
    return int(called_out > 0)


def _in_a_process(kind: str, many: int) -> tuple[float, float]:
    command = [sys.executable, "-W", "ignore", __file__, "--one", kind, str(many)]
    seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(megabytes)


def _measured(kind: str, many: int) -> int:
    from analyzer.explain import explain_facts
    from analyzer.facts import Facts
    from analyzer.report import formats
    from rules import RULES
    from traces.progress import silent
    from traces.reader.read import read_every

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "crowd.json", kind, many)
        # What writing it took is not ours.
        began = time.process_time()
        analysis = explain_facts(Facts(read_every(path, silent)[0]), rules=RULES).analysis
        for name in formats.BY_NAME:
            formats.render(analysis, name)
        used = time.process_time() - began
    sys.stdout.write(f"{used} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
