"""`trace_view.json` of torch_npu: layers of CANN and of the device, told by their arguments (source: msprof's documentation)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_files import read_text

from analyzer.facts import Facts
from traces.reader.names.vocabulary import runtime_kind
from traces.trace import Trace

PYTHON, CANN, HARDWARE, OVERLAP, GROUP = 4242, 900, 901, 902, 903
THREAD, DEQUEUE = 77, 78


def event(name: str, pid: int, tid: int, at: float, dur: float, **args: Any) -> dict[str, Any]:
    """As CANN writes one: absolute times as text, no category."""
    return {
        "ph": "X",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": f"{1699529623106750 + at:.3f}",
        "dur": dur,
        "args": args,
    }


def layers(*, launches_on: int = THREAD) -> list[dict[str, Any]]:
    """30 products with their calls and tasks, a copy, a collective with its planes, and what CANN derives of them."""
    found: list[dict[str, Any]] = []
    for number in range(30):
        at, connection = number * 100.0, 1_000 + number
        found.append(event("aten::mm", PYTHON, THREAD, at, 60) | {"cat": "cpu_op"})
        found.append(event("AscendCL@aclnnMatmul", CANN, launches_on, at + 5, 30, level="acl", id="aclnnMatmul"))
        found.append(event("Node@launch", CANN, launches_on, at + 10, 10, level="node", connection_id=connection))
        found.append(
            event(
                "MatMulV3",
                HARDWARE,
                3,
                at + 25,
                70,
                **{"Task Type": "AI_CORE", "Stream Id": 3, "connection_id": connection},
            )
        )
        found.append(event("Computing", OVERLAP, 0, at + 25, 70))
        found.append(event("Free", OVERLAP, 1, at + 95, 30))
    waited = {"Task Type": "EVENT_WAIT", "Stream Id": 3, "connection_id": 1}
    found += [
        event("AscendCL@aclrtMemcpyAsync", CANN, launches_on, 3_010, 10, connection_id=2),
        event(
            "MEMCPY_ASYNC", HARDWARE, 3, 3_030, 20, **{"Task Type": "MEMCPY_ASYNC", "Stream Id": 3, "connection_id": 2}
        ),
        event("EVENT_WAIT", HARDWARE, 3, 3_060, 30, **waited),
        event("EVENT_RECORD", HARDWARE, 3, 3_095, 1, **(waited | {"Task Type": "EVENT_RECORD"})),
        event("hcom_allReduce__606_0_1", GROUP, 0, 3_100, 200, connection_id=5, count=1 << 20, data_type="FP16"),
        event("Notify_Wait", GROUP, 4, 3_100, 150, **{"task type": "Notify Wait", "stream id": 9}),
        event("AscendCL@aclrtSynchronizeStreamWithTimeout", CANN, launches_on, 3_150, 160, connection_id=6),
    ]
    return found


def read(tmp_path: Path, **how: Any) -> Trace:
    return read_text(tmp_path, json.dumps(layers(**how)))


def test_tasks_of_streams_are_the_devices_work_and_what_shows_them_again_is_not(tmp_path: Path) -> None:
    trace = read(tmp_path)
    assert trace.meta.device_kind == "other"
    assert trace.unknown_categories == ()
    names = trace.kernels["name"].astype("str").value_counts().to_dict()
    assert names == {"MatMulV3": 30, "EVENT_WAIT": 1, "hcom_allReduce__606_0_1": 1}
    assert trace.kernels["collective"].sum() == 1
    assert set(trace.kernels["device"]) == {0}
    assert len(trace.copies) == 1


def test_calls_are_on_the_thread_that_made_them_and_linked_to_their_work(tmp_path: Path) -> None:
    trace = read(tmp_path)
    calls = trace.runtime["kind"].astype("str").value_counts().to_dict()
    assert calls == {"launch": 30, "memcpy": 1, "sync": 1}
    assert set(trace.runtime["thread"]) == set(trace.ops["thread"])
    assert len(Facts(trace).device.launched) == 31
    assert not any("launch nothing" in one.message for one in Facts(trace).health.symptoms)


def test_calls_of_the_thread_that_empties_the_task_queue_stay_there(tmp_path: Path) -> None:
    trace = read(tmp_path, launches_on=DEQUEUE)
    assert not set(trace.runtime["thread"]) & set(trace.ops["thread"])
    # Ops hand their work to that thread: nothing of it is lost.
    assert not any("launch nothing" in one.message for one in Facts(trace).health.symptoms)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Node@launch", "launch"),
        ("AscendCL@aclrtMemcpyAsync", "memcpy"),
        ("AscendCL@aclrtSynchronizeStreamWithTimeout", "sync"),
        ("AscendCL@aclmdlRIExecuteAsync", "graph_launch"),
        ("AscendCL@aclrtMallocAlign32", "allocator"),
    ],
)
def test_the_layer_in_front_of_a_call_says_nothing_of_what_it_does(name: str, kind: str) -> None:
    assert runtime_kind(name) == kind


@pytest.mark.parametrize("name", ["MatMulV3", "hcom_allReduce__606_0_1", "Node@launch"])
def test_events_of_others_without_a_category_are_not_taken_for_canns(tmp_path: Path, name: str) -> None:
    others = [event(name, 5, 6, 100.0 * number, 50, stream_name="a", kind="b") for number in range(4)]
    ops = [event("aten::mm", PYTHON, THREAD, 0, 60) | {"cat": "cpu_op"}]
    trace = read_text(tmp_path, json.dumps(ops + others))
    assert len(trace.kernels) == 0
