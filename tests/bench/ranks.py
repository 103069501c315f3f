"""How long merging takes and how much memory: generated summaries of jobs of growing size, and traces from 1 to 64 ranks.

`python tests/bench/ranks.py` prints the tables of analyzer/ranks/README.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from analyzer.job.one import summary_of
from analyzer.ranks.files import decode, encode
from analyzer.ranks.merge import merge
from analyzer.ranks.summary import KernelRow
from jobs.simulated import MS, Job

SIZES = (64, 512, 4_096)


def merging(ranks: int) -> None:
    """Writes the summaries of a job to a folder and merges them from there, in a process of its own."""
    run = Job(dp=ranks // 64, tp=8, pp=8, layers=8, microbatches=4, steps=3, late_host={17: 60 * MS}).run()
    rows = tuple(KernelRow(name=f"kernel_{n}", shape=f"{n:08x}", count=30, dur_ns=9_000 + n) for n in range(300))
    with tempfile.TemporaryDirectory() as folder:
        total = 0
        for rank in range(ranks):
            one = run.summary(rank)
            data = encode(msgspec.structs.replace(one, kernels=(*one.kernels, *rows)))
            total += len(data)
            Path(folder, f"{rank}.summary.json.gz").write_bytes(data)
        del run
        subprocess.run([sys.executable, __file__, "--merge", folder, str(total)], check=True)


def merged(folder: Path, total: int) -> None:
    """Merges a folder of summaries, and says how much CPU time that took: wall time is the machine's."""
    began = time.process_time()
    summaries = [decode(path.read_bytes(), path.name) for path in sorted(folder.iterdir())]
    read = time.process_time()
    job = merge(summaries, name=folder.name)
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    late = ", ".join(f"rank {one.rank} ({one.cause})" for one in job.late)
    click.echo(
        f"| {len(summaries):,} | {total / len(summaries) / 1e3:.0f} KB | {job.matched.matched:,} | {read - began:.1f} | "
        f"{done - read:.1f} | {peak:,.0f} MB | {late} |",
    )


def tracing(ranks: int, repeats: int) -> None:
    """Explains a folder of that many ranks, as a process, with one process and with two; memory is that of the largest one."""
    with tempfile.TemporaryDirectory() as folder:
        # Played elsewhere: a process counts as its own what its parent held when it began.
        made = [sys.executable, __file__, "--write", folder, "--ranks", str(ranks), "--repeats", str(repeats)]
        subprocess.run(made, check=True)
        paths = list(Path(folder).iterdir())
        size = sum(path.stat().st_size for path in paths) / ranks / 1e6
        for jobs in ("1", "2"):
            began = time.perf_counter()
            child = subprocess.Popen(
                [sys.executable, "-m", "analyzer.cli.main", "explain", folder, "--jobs", jobs, "--format", "json"],
                stdout=subprocess.DEVNULL,
            )
            # Of this one and what it waited for itself.
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
            if child.returncode:
                raise SystemExit(f"explain ended with {child.returncode}")
            click.echo(
                f"| {ranks} | {size:.1f} MB | {jobs} | {seconds:.1f} | {cpu:.1f} | {cpu / ranks:.2f} | "
                f"{used.ru_maxrss / 1024:,.0f} MB |",
            )


def writing(folder: Path, ranks: int, repeats: int) -> None:
    """Writes the traces of a job, of which one rank is late."""
    run = Job(dp=ranks, tp=1, layers=40, microbatches=repeats, steps=4, late_host={0: 20 * MS}).run()
    run.write(folder)


def summarizing(path: Path) -> None:
    """How large the summary of a trace is."""
    data = encode(summary_of(path))
    click.echo(f"{path.name}: {path.stat().st_size:,} bytes, its summary {len(data):,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--merge", nargs=2, metavar=("FOLDER", "BYTES"))
    parser.add_argument("--summary", type=Path, metavar="TRACE")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=120, help="microbatches of a rank: 120 make 20 MB")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    given = parser.parse_args()
    if given.merge:
        merged(Path(given.merge[0]), int(given.merge[1]))
    elif given.write:
        writing(given.write, given.ranks[0], given.repeats)
    elif given.summary:
        summarizing(given.summary)
    elif given.ranks:
        for many in given.ranks:
            tracing(many, given.repeats)
    else:
        for many in given.sizes:
            merging(many)
