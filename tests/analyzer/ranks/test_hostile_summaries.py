"""Summaries that nobody's `advisor summarize` wrote: refused in words, or read for what is plausible in them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli.main import main
from analyzer.job.one import summary_of
from analyzer.ranks import files
from analyzer.ranks.alignment.roll import call_the_roll
from analyzer.ranks.files import decode, encode
from building.builders import TraceBuilder
from jobs.simulated import Job
from traces.errors import UnreadableTraceError


def _document(rank: int = 1) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(encode(Job(dp=2).run().summary(rank), compress=False))
    return made


def _set(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return change


HUGE = 10**30
HOSTILE = {
    "rank": _set("rank", to=HUGE), "a negative rank": _set("rank", to=-1), "ranks": _set("world_size", to=10**9),
    "a start": _set("collectives", "start_ns", 0, to=HUGE), "a length": _set("collectives", "dur_ns", 0, to=-5),
    "its zero": _set("origin_ns", to=HUGE), "a number in a group": _set("collectives", "sequence", 0, to=HUGE),
    "a peer": _set("collectives", "peer", 0, to=HUGE), "bytes": _set("collectives", "sent_bytes", 0, to=10**300),
    "a step": _set("steps", 0, "dur_ns", to=HUGE), "a cause": _set("steps", 0, "causes", to={"compute": -5}),
    "kernels": _set("kernels", to=[["k", "", HUGE, HUGE, 0, 0]]), "a member": _set("groups", 0, "ranks", to=[HUGE]),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_number_that_no_rank_has_is_refused_by_its_place(change: Callable[[dict[str, Any]], None]) -> None:
    document = _document()
    decode(json.dumps(document).encode(), "sound")
    change(document)
    with pytest.raises(UnreadableTraceError, match="cannot be read") as caught:
        decode(json.dumps(document).encode(), "rank1.json")
    assert "$" in (caught.value.why or "")


@pytest.mark.parametrize("closed", [b"", b"]" * 100_000 + b"}"])
def test_lists_in_lists_are_refused(closed: bytes) -> None:
    with pytest.raises(UnreadableTraceError, match="cannot be read"):
        decode(b'{"kind":"advisor-rank-summary","x":' + b"[" * 100_000 + closed, "rank1.json")


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED_BYTES", 1 << 20)
    packed = gzip.compress(json.dumps(_document()).encode()) + gzip.compress(b" " * (2 << 20))
    with pytest.raises(UnreadableTraceError) as caught:
        decode(packed, "rank1.json.gz")
    assert "expands to more than 1 MB" in (caught.value.why or "")


def test_one_larger_than_any_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "rank1.json"
    path.write_text(json.dumps(_document() | {"verdict": "x" * (8 << 20)}))
    read: list[int] = []
    monkeypatch.setattr(files, "decode", lambda data, where: (read.append(len(data)), decode(data, where))[1])
    assert main(["explain", str(path), "--plain"]) == 3
    assert read == [(1 << 20) + 1]


def test_one_larger_than_any_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "rank1.json"
    path.write_text(json.dumps(_document() | {"verdict": "x" * (8 << 20)}))
    assert main(["explain", str(path), "--plain"]) == 3
    said = capsys.readouterr().err
    assert "rank1.json" in said
    assert "it is more than 1 MB, which no summary is" in said


def test_the_command_says_which_summary_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        document = _document(rank) | ({"origin_ns": HUGE} if rank else {})
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    code = main(["explain", str(tmp_path / "rank0.json"), str(tmp_path / "rank1.json")])
    said = capsys.readouterr()
    assert code in (0, 3)
    assert "rank1.json" in said.out + said.err
    assert "bug" not in said.err


def test_a_word_of_a_later_version_is_unknown(tmp_path: Path) -> None:
    for rank in (0, 1):
        document = _document(rank) | ({"bound_by": "nonsense"} if rank else {})
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    assert main(["explain", str(tmp_path / "rank0.json"), str(tmp_path / "rank1.json"), "--format", "json"]) == 0


def test_of_a_million_missing_ranks_the_first_are_listed() -> None:
    summaries = [decode(json.dumps(_document(rank) | {"world_size": 1_000_000}).encode(), "a") for rank in (0, 1)]
    roll = call_the_roll(summaries)
    assert (roll.world_size, len(roll.missing), roll.missing[0]) == (1_000_000, 4_096, 2)


@pytest.mark.parametrize(
    "info",
    [
        {"rank": HUGE, "world_size": HUGE},
        {"rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "pg_size": -HUGE, "ranks": [0, HUGE]}]},
    ],
)
def test_what_a_trace_makes_up_of_its_job_still_gives_a_summary(info: dict[str, Any], tmp_path: Path) -> None:
    builder = TraceBuilder(top={"distributedInfo": info})
    builder.step(0, 0, 1_000)
    stated = {"Collective name": "allreduce", "In msg nelems": 10**25, "dtype": "Float", "Process Group Name": "0"}
    stated |= {"Group size": 10**25, "Seq": "9" * 5_000, "Process Group Ranks": [0, HUGE], "Src Rank": HUGE}
    builder.launch(100, kernel_start=110, kernel_dur=300, name="ncclDevKernel_AllReduce_Sum_f32", **stated)
    summary = summary_of(builder.write(tmp_path / "t.json"))
    assert decode(encode(summary), "t") == summary
    assert summary.rank in (None, 1)
