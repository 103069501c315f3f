"""What very much of one thing costs grows as its number does. Calls and bytes are counted: a shared machine's clock is no test.

What one call costs is seen by `tests/bench/crowds.py` only, at 100,000 of each.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.analysis import Analysis
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.job import explain_job
from analyzer.ranks.files import encode
from analyzer.report import formats
from building import crowds
from jobs.simulated import Job
from rules import RULES
from running.counted_calls import calls_of
from traces.progress import silent
from traces.reader.read import read, read_every

# Each doubling may add twice the calls that the one before added, and what sorting adds; squares add four times as many.
_FACTOR = 2.5
# Beside what grows: another branch here and there, a table that is printed to its end.
_CALLS_BESIDE = 4_000
# A property of the fuzzer too (`tests/fuzz/properties.py`).
_TIMES_THE_FILE = 20
# Of a small event beside the frames, bytes: what measurements keep of it (126 on 2026-11-26, 181 before), and what they need at
# once (155, 224 before).
_KEPT_OF_AN_EVENT, _AT_ONCE_OF_AN_EVENT = 150, 180
_MADE_FILES = Path(__file__).parents[1] / "bench" / "made_files.py"
_SIZES = (300, 600, 1_200, 2_400)
_LARGE = {"devices", "driven devices", "steps", "steps of a device"}
_LARGE_SIZES = (625, 1_250, 2_500, 5_000)


def explained(path: Path) -> Analysis:
    facts = Facts(read_every(path, silent)[0])
    analysis = explain_facts(facts, rules=RULES).analysis
    assert not facts.failures
    assert not [check for check in analysis.checks if check.state == "crashed"]
    for name in ("json", "text", "html"):
        formats.render(analysis, name)
    return analysis


def peak_bytes_of(what: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def grows_as_they_do(costs: list[int]) -> bool:
    """Whether doublings add what they may. At one size something may begin that goes on from there; squares go on adding."""
    added = [more - less for less, more in itertools.pairwise(costs)]
    return any(more <= _FACTOR * max(less, 0) + _CALLS_BESIDE for less, more in itertools.pairwise(added))


@pytest.mark.slow
@pytest.mark.parametrize("kind", crowds.KINDS)
def test_calls_grow_as_what_there_is_much_of(tmp_path: Path, kind: str) -> None:
    paths = [
        crowds.write(tmp_path / f"{many}.json", kind, many) for many in (_LARGE_SIZES if kind in _LARGE else _SIZES)
    ]
    # What is made once, imports and tables, is made before.
    explained(crowds.write(tmp_path / "few.json", kind, 20))
    costs = [calls_of(lambda path=path: explained(path)) for path in paths]
    assert grows_as_they_do(costs), costs


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(_LARGE))
def test_memory_grows_no_faster_than_twenty_times_the_file(tmp_path: Path, kind: str) -> None:
    few, many = (crowds.write(tmp_path / f"{size}.json", kind, size) for size in _LARGE_SIZES[2:])
    explained(crowds.write(tmp_path / "first.json", kind, 20))
    grown = peak_bytes_of(lambda: explained(many)) - peak_bytes_of(lambda: explained(few))
    assert grown <= _TIMES_THE_FILE * (many.stat().st_size - few.stat().st_size)


def test_of_many_small_events_little_is_kept_and_little_more_needed_at_once(tmp_path: Path) -> None:
    found = []
    for size in ("1", "5", "10"):
        path = tmp_path / f"{size}.json"
        subprocess.run([sys.executable, str(_MADE_FILES), "small", size, str(path)], check=True, timeout=120)
        trace = read(path)
        tracemalloc.start()
        try:
            # Held while it is looked at what is kept.
            explained_facts = explain_facts(Facts(trace), rules=RULES)
            found.append((trace.meta.events, *tracemalloc.get_traced_memory()))
        finally:
            tracemalloc.stop()
        assert explained_facts.analysis.findings
    # What is made once, imports and tables, is made of the first.
    _, (few, kept_of_few, peak_of_few), (many, kept, peak) = found
    assert (kept - kept_of_few) / (many - few) < _KEPT_OF_AN_EVENT
    assert (peak - peak_of_few) / (many - few) < _AT_ONCE_OF_AN_EVENT


def test_a_job_costs_as_many_ranks_as_it_has(tmp_path: Path) -> None:
    """From their summaries: what each rank's trace takes does not know of the others."""
    jobs = []
    for ranks in (8, 16, 32, 64):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        for one in Job(dp=ranks, steps=2, layers=1).run().summaries():
            (folder / f"rank_{one.rank}.summary.json").write_bytes(encode(one, compress=False))
        jobs.append(sorted(folder.iterdir()))
    explain_job(jobs[0])
    costs = [calls_of(lambda paths=paths: explain_job(paths)) for paths in jobs]
    assert grows_as_they_do(costs), costs


def test_squares_are_seen() -> None:
    def pairs(many: int) -> None:
        for _ in range(many):
            for _ in range(many):
                len(())

    assert not grows_as_they_do([calls_of(lambda many=many: pairs(many)) for many in (50, 100, 200, 400)])
    assert grows_as_they_do(
        [calls_of(lambda many=many: [len(()) for _ in range(many)]) for many in (50, 100, 200, 400)]
    )
