"""How long reading a trace takes and how much memory, beside other ways to read the same file.

    python tests/bench/reader.py [--quick] [-o table.md]

Every measurement is a process of its own, all in one run. `work` is the time without imports (of `explain`, whose imports
run beside the reading, with most of them), `CPU` what of it the process and those it started ran (the figure to compare on
a shared machine), `process` the whole process, `peak` its largest resident size, for `explain` with the processes it
starts. The files are one recorded trace, repeated with shifted times and ids.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "traces" / "kineto_resnet50_workers0_a.pt.trace.json.gz"
SAMPLES = ROOT / "traces" / "samples"
SIZES_MB = (35, 350, 1000)
QUICK_MB = (35,)
READERS = ("advisor", "explain", "json", "orjson", "msgspec", "hta", "tracelens")
COLUMNS = (
    "file", "reader", "work s", "CPU s", "process s", "peak MB", "us/event", "bytes/event",
    "work / advisor", "CPU / advisor", "peak / advisor", "peak / size",
)  # fmt: skip
_SHARE = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
# Peers that keep the whole file as objects need this many times its size.
OBJECTS_TO_TEXT = 8


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the 35 MB file only, once")
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), help="sizes in MB")
    parser.add_argument("--readers", default=",".join(READERS), help="who is measured")
    parser.add_argument("--repeat", type=int, help="runs per measurement, of which the median counts")
    parser.add_argument("-o", "--output", type=Path, help="write the table here too")
    parser.add_argument("--worker", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--generate", nargs=2, metavar=("MB", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker[0], Path(options.worker[1]))
    if options.generate:
        generate(int(options.generate[0]), Path(options.generate[1]))
        return 0
    sizes = options.sizes or (QUICK_MB if options.quick else SIZES_MB)
    table = measure(sizes, options.readers.split(","), options.repeat or (1 if options.quick else 3))
    sys.stdout.write(table)
    if options.output:
        options.output.write_text(table)
    return 0


def measure(sizes: tuple[int, ...], readers: list[str], repeat: int) -> str:
    """The whole table as Markdown."""
    when = time.strftime("%Y-%m-%d")
    lines = [
        f"Measured on {when}, {os.cpu_count()} cores, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}; medians of {repeat}.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---" * len(COLUMNS) + "|",
    ]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for size in sizes:
            plain, packed = Path(folder) / f"{size}.json", Path(folder) / f"{size}.json.gz"
            subprocess.run([sys.executable, __file__, "--generate", str(size), str(plain)], check=True)
            with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            lines += compare(plain, packed, readers, repeat)
            plain.unlink()
            packed.unlink()
    return "\n".join(lines) + "\n"


def compare(plain: Path, packed: Path, readers: list[str], repeat: int) -> list[str]:
    """The rows of one size."""
    bytes_ = plain.stat().st_size
    runs = [("advisor", plain), ("advisor", packed)] + [(name, plain) for name in readers if name != "advisor"]
    base: dict[str, float] | None = None
    rows = []
    for reader, path in runs:
        found = median([run(reader, path) for _ in range(repeat)])
        if found is None:
            rows.append(f"| {path.name} | {reader} | not run |" + " |" * 8)
            continue
        base = base or found
        rows.append(row(f"{bytes_ / 1e6:.0f} MB{'' if path is plain else ' gz'}", reader, found, base, bytes_))
        sys.stderr.write(rows[-1] + "\n")
    return rows


def row(file: str, reader: str, found: dict[str, float], base: dict[str, float], size: int) -> str:
    """One line of the table."""
    events = base["events"]
    cells = [
        file,
        reader,
        f"{found['work']:.3f}",
        f"{found['cpu']:.3f}",
        f"{found['process']:.2f}",
        f"{found['peak'] / 1e6:.0f}",
        f"{found['cpu'] / events * 1e6:.2f}",
        f"{found['peak'] / events:.0f}",
        f"{found['work'] / base['work']:.1f}",
        f"{found['cpu'] / base['cpu']:.1f}",
        f"{found['peak'] / base['peak']:.1f}",
        f"{found['peak'] / size:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def median(runs: list[dict[str, float] | None]) -> dict[str, float] | None:
    """Each value's median; None where a run failed."""
    sound = [found for found in runs if found is not None]
    if len(sound) < len(runs):
        return None
    return {key: statistics.median(found[key] for found in sound) for key in sound[0]}


def run(reader: str, path: Path) -> dict[str, float] | None:
    """One measurement in a process of its own."""
    if reader not in ("advisor", "explain", "msgspec") and path.stat().st_size * OBJECTS_TO_TEXT > memory_bytes():
        return None
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    command = [sys.executable, __file__, "--worker", reader, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as started:
        together = family_peak_bytes(started) if reader == "explain" else 0
        output, errors = started.communicate()
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


def work(reader: str, path: Path) -> int:
    """What the measured process does."""
    logging.disable(logging.CRITICAL)
    read = WORKERS[reader]()
    began, began_cpu = time.perf_counter(), cpu_seconds()
    events = read(path)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - began_cpu
    found = {"work": seconds, "cpu": cpu, "peak": peak_bytes(), "events": events}
    sys.stdout.write("\n" + json.dumps(found) + "\n")
    return 0


def _advisor() -> Callable[[Path], int]:
    from traces.reader.read import read

    return lambda path: read(path).meta.events


def _explain() -> Callable[[Path], int]:
    """The whole `advisor explain --format json`, with the imports it makes on its way."""
    import contextlib
    import io

    from analyzer.cli.main import main as advisor

    def run(path: Path) -> int:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            advisor(["explain", str(path), "--format", "json"])
        return int(json.loads(text.getvalue())["trace"]["events"])

    return run


def _json() -> Callable[[Path], int]:
    return lambda path: _count(json.loads(path.read_bytes()))


def _orjson() -> Callable[[Path], int]:
    import orjson

    return lambda path: _count(orjson.loads(path.read_bytes()))


def _msgspec() -> Callable[[Path], int]:
    """The lower bound: the same decoder on the whole file at once, nothing done with the events."""
    import msgspec

    from traces.reader.events import Event

    document = msgspec.defstruct("Document", [("traceEvents", list[Event])])
    decoder: Any = msgspec.json.Decoder(document)
    return lambda path: len(decoder.decode(path.read_bytes()).traceEvents)


def _hta() -> Callable[[Path], int]:
    import warnings

    from hta.common.trace import parse_trace_file

    warnings.simplefilter("ignore")
    return lambda path: len(parse_trace_file(str(path))[1])


def _tracelens() -> Callable[[Path], int]:
    from TraceLens import TreePerfAnalyzer

    return lambda path: len(TreePerfAnalyzer.from_file(str(path)).tree.events)


WORKERS: dict[str, Callable[[], Callable[[Path], int]]] = {
    "advisor": _advisor,
    "explain": _explain,
    "json": _json,
    "orjson": _orjson,
    "msgspec": _msgspec,
    "hta": _hta,
    "tracelens": _tracelens,
}


def _count(document: Any) -> int:
    return len(document["traceEvents"])


def cpu_seconds() -> float:
    """What this process and those it started have run."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_bytes() -> int:
    """Largest resident size of this process, without what the process that started it had."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_bytes() -> int:
    """Memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def generate(size_mb: int, path: Path) -> None:
    """Writes about `size_mb` MB: one recorded trace again and again, each copy later and with ids of its own."""
    base = SHARED if SHARED.is_file() else max(SAMPLES.rglob("*.json.gz"), key=lambda found: found.stat().st_size)
    text = gzip.decompress(base.read_bytes())
    start = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = text.rindex(b"]")
    events = text[start:end].strip()
    stamps = [float(found) for found in re.findall(rb'"ts":\s*(\d+(?:\.\d+)?)', events)]
    extent = int(max(stamps) - min(stamps)) + 1000
    copies = max(round(size_mb * 1e6 / len(events)), 1)
    with path.open("wb") as file:
        file.write(text[:start] + b"\n")
        for copy in range(copies):
            file.write(b",\n" if copy else b"")
            file.write(shifted(events, copy, extent) if copy else events)
        file.write(b"\n" + text[end:])


def shifted(events: bytes, copy: int, extent: int) -> bytes:
    """The events moved in time, with ids and step numbers that do not collide."""
    pattern = re.compile(
        rb'(?P<ts>"ts":\s*)\d+|(?P<step>ProfilerStep#)\d+|(?P<id>"(?:correlation|[Ee]xternal id|id)":\s*)\d+'
    )
    amounts = {"ts": copy * extent, "step": copy * 100, "id": copy * 10_000_000}

    def move(match: re.Match[bytes]) -> bytes:
        kind = match.lastgroup or "ts"
        prefix = match.group(kind)
        return prefix + b"%d" % (int(match.group()[len(prefix) :]) + amounts[kind])

    return pattern.sub(move, events)


if __name__ == "__main__":
    raise SystemExit(main())
