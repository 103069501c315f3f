"""How long reading a trace takes and how much memory, beside other ways to read the same file.

    python tests/bench/reader.py [--quick] [-o tests/bench/README.md]

Both kinds of file are measured, few large events and many small ones (`made_files.py`). Every measurement is a process of its
own, all in one run. `work` is the time without imports (of `explain`, whose imports run beside the reading, with most of them),
`CPU` what of it the process and those it started ran (the figure to compare on a shared machine), `process` the whole process,
`peak` the largest memory of it and those it starts. `bare` is the least that can be done: msgspec decodes the same bytes at once
into typed structs of eight fields, of the arguments three.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import made_files
import read_once

ROOT = made_files.ROOT
SIZES_MB = (35, 350, 1000)
QUICK_MB = (35,)
READERS = ("bare", "advisor", "advisor gz", "explain", "explain again", "hta")
COLUMNS = (
    "file", "reader", "measured", "work s", "CPU s", "process s", "peak MB", "CPU us/event", "peak beyond imports / size",
    "CPU / bare", "CPU / HTA", "process / HTA",
)  # fmt: skip
# What the other columns tell, found out for the whole table.
RATIOS = 3
# What is left to the table's reader to say of it; the rest of the file is kept.
_BEGIN, _END = "<!-- reader.py: begin -->", "<!-- reader.py: end -->"
_SHARE = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
# Peers that keep the whole file as objects need this many times its size.
OBJECTS_TO_TEXT = 8


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the 35 MB file only, once")
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), help="sizes in MB")
    parser.add_argument("--kinds", default="large,small", help="kinds of file")
    parser.add_argument(
        "--readers", default=",".join(READERS), help=f"who is measured, of {', '.join(read_once.WORKERS)}"
    )
    parser.add_argument("--repeat", type=int, help="runs per measurement, of which the median counts")
    parser.add_argument("-o", "--output", type=Path, help="write the table here too, between its marks")
    options = parser.parse_args()
    sizes = options.sizes or (QUICK_MB if options.quick else SIZES_MB)
    repeat = options.repeat or (1 if options.quick else 3)
    known = rows_in(options.output.read_text()) if options.output else {}
    text = table(known | measure(options.kinds.split(","), sizes, options.readers.split(","), repeat), repeat)
    sys.stdout.write(text)
    if options.output:
        write_between(options.output, text)
    return 0


def rows_in(text: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table that was written before, by file and reader: it may be measured in several goes."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if " MB | " in line]
    sound = (row for row in cells if len(row) == len(COLUMNS) and row[0].endswith(" MB"))
    return {(row[0], row[1]): row[: len(COLUMNS) - RATIOS] for row in sound}


def table(rows: dict[tuple[str, str], list[str]], repeat: int) -> str:
    """The whole table as Markdown, and how cost grows with the size."""
    lines = [
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}; the last run took"
        f" medians of {repeat}.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---" * len(COLUMNS) + "|",
    ]
    for (file, _), row in rows.items():
        bare, hta = rows.get((file, "bare")), rows.get((file, "hta"))
        ratios = [
            f"{_figure(row, 'CPU s') / _figure(bare, 'CPU s'):.2f}" if bare else "",
            *(f"1/{_figure(hta, name) / _figure(row, name):.1f}" if hta else "" for name in ("CPU s", "process s")),
        ]
        lines.append("| " + " | ".join([*row, *ratios]) + " |")
    return "\n".join([*lines, "", *growth(rows)]) + "\n"


def _figure(row: list[str], column: str) -> float:
    return float(row[COLUMNS.index(column)])


def write_between(path: Path, table: str) -> None:
    """Puts the table between its marks in a file that has them."""
    before, _, rest = path.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    path.write_text(f"{before}{_BEGIN}\n\n{table}\n{_END}{after}")


def measure(
    kinds: list[str], sizes: tuple[int, ...], readers: list[str], repeat: int
) -> dict[tuple[str, str], list[str]]:
    """Rows of the table, but for its ratios, by file and reader."""
    found: dict[tuple[str, str], list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="traces-bench-") as folder:
        tiny = Path(folder) / "tiny.json"
        made_files.small(1, tiny)
        imports = run("explain", tiny) if "explain" in readers else None
        for kind in kinds:
            for size in sizes:
                plain = Path(folder) / f"{kind}{size}.json"
                made_files.KINDS[kind](size, plain)
                bytes_ = plain.stat().st_size
                file = f"{kind}, {bytes_ / 1e6:.0f} MB"
                for reader, one in compare(plain, readers, repeat).items():
                    if one is None:
                        sys.stderr.write(f"{file}: {reader} did not run\n")
                        continue
                    if imports and reader.startswith("explain"):
                        one["imports"] = imports["peak"]
                    found[file, reader] = row(file, reader, one, bytes_)
                    sys.stderr.write(" | ".join(found[file, reader]) + "\n")
                plain.unlink()
    return found


def growth(rows: dict[tuple[str, str], list[str]]) -> list[str]:
    """What twice the size costs in CPU time, from the smallest file to the largest."""
    lines = []
    for kind, reader in dict.fromkeys((file.partition(",")[0], reader) for file, reader in rows):
        points = [
            (float(file.split()[1]), _figure(one, "CPU s"))
            for (file, who), one in rows.items()
            if who == reader and file.startswith(kind)
        ]
        (small, first), (large, last) = min(points), max(points)
        if large > small and reader in ("advisor", "explain"):
            times = (last / first) ** (1 / math.log2(large / small))
            lines.append(f"- {reader}, {kind} events: twice the size costs {times:.2f} times the CPU time.")
    return lines


def compare(plain: Path, readers: list[str], repeat: int) -> dict[str, dict[str, float] | None]:
    """What each reader takes for one file, in turns."""
    packed = plain.with_suffix(".json.gz")
    if "advisor gz" in readers:
        with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    runs: dict[str, list[dict[str, float] | None]] = {reader: [] for reader in readers}
    for _ in range(repeat):
        for reader in readers:
            runs[reader].append(run(reader, packed if reader == "advisor gz" else plain))
    packed.unlink(missing_ok=True)
    return {reader: median(found) for reader, found in runs.items()}


def row(file: str, reader: str, one: dict[str, float], size: int) -> list[str]:
    """One line of the table, but for its ratios."""
    return [
        file,
        reader,
        time.strftime("%Y-%m-%d"),
        f"{one['work']:.2f}",
        f"{one['cpu']:.2f}",
        f"{one['process']:.2f}",
        f"{one['peak'] / 1e6:.0f}",
        f"{one['cpu'] / one['events'] * 1e6:.2f}",
        f"{max(one['peak'] - one['imports'], 0) / size:.2f}",
    ]


def median(runs: list[dict[str, float] | None]) -> dict[str, float] | None:
    """Each value's median; None where a run failed."""
    sound = [found for found in runs if found is not None]
    if len(sound) < len(runs):
        return None
    return {key: statistics.median(found[key] for found in sound) for key in sound[0]}


def run(reader: str, path: Path) -> dict[str, float] | None:
    """One measurement in a process of its own."""
    if reader in read_once.OBJECTS and path.stat().st_size * OBJECTS_TO_TEXT > memory_bytes():
        return None
    # Of `explain again` the columns were kept by the run before; of no other anything is.
    kept = path.parent / "kept"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(kept)}
    if reader == "explain again":
        subprocess.run([sys.executable, read_once.__file__, reader, str(path)], env=environment, capture_output=True)
    began = time.perf_counter()
    command = [sys.executable, read_once.__file__, reader, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as started:
        together = family_peak_bytes(started)
        output, errors = started.communicate()
    shutil.rmtree(kept, ignore_errors=True)
    process = time.perf_counter() - began
    if started.returncode:
        sys.stderr.write(f"{reader}: {errors.strip().splitlines()[-1:]}\n")
        return None
    found: dict[str, float] = json.loads(output.strip().splitlines()[-1])
    return found | {"process": process, "peak": max(found["peak"], together)}


def family_peak_bytes(started: subprocess.Popen[str]) -> int:
    """Largest memory of a process and those it starts, looked at every 20 ms; what they share counts once (Linux, else 0)."""
    peak = 0
    while started.poll() is None:
        others = _text_of(Path(f"/proc/{started.pid}/task/{started.pid}/children")).split()
        shares = [_text_of(Path(f"/proc/{one}/smaps_rollup")) for one in [str(started.pid), *others]]
        peak = max(peak, sum(int(found[1]) * 1024 for text in shares if (found := _SHARE.search(text))))
        time.sleep(0.02)
    return peak


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has just ended
        return ""


def memory_bytes() -> int:
    """Memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    raise SystemExit(main())
