"""What torch writes beside the events and inside them, and what is left of it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from traces.collect.output.paths import PathCleaner
from traces.collect.output.sanitize import clean_trace

PROJECT = Path("/home/ann/secret-project")


def _clean(document: dict[str, Any]) -> dict[str, Any]:
    content = clean_trace(msgspec.json.encode({"traceEvents": []} | document), {"model": "mlp"}, PROJECT).content
    cleaned: dict[str, Any] = msgspec.json.decode(content)
    return cleaned


def test_only_known_top_level_keys_stay() -> None:
    secret = ("host_name", "traceName", "trace_id", "username", "metadata", "tw_job", "pg_config", "brand_new_key")
    kept = {
        "schemaVersion": 1,
        "with_stack": 1,
        "cuda_runtime_version": 13020,
        "baseTimeNanoseconds": 1790857026000000000,
    }
    cleaned = _clean(dict.fromkeys(secret, "secret") | kept)
    assert cleaned == kept | {"advisor": {"model": "mlp"}, "traceEvents": []}


def test_the_mark_of_a_step_that_was_cut_short_is_dropped() -> None:
    names = [("ProfilerStep#9", "user_annotation"), ("ProfilerStep#10", "user_annotation"), ("aten::mm", "cpu_op")]
    names += [("ProfilerStep#10", "gpu_user_annotation"), ("ProfilerStep#mine", "user_annotation")]
    events = [{"name": name, "cat": cat} for name, cat in names]
    content = msgspec.json.encode({"traceEvents": events})
    cut = clean_trace(content, {}, PROJECT, whole_steps=1)
    kept = [event["name"] for event in msgspec.json.decode(cut.content)["traceEvents"]]
    assert kept == ["ProfilerStep#9", "aten::mm", "ProfilerStep#mine"]
    assert cut.events == 3
    assert clean_trace(content, {}, PROJECT, whole_steps=2).events == 5
    assert clean_trace(content, {}, PROJECT).events == 5


def test_marks_of_another_profiler_are_dropped_and_ours_count_from_zero() -> None:
    names = ["ProfilerStep#3", "ProfilerStep#103", "aten::mm", "ProfilerStep#104", "ProfilerStep#105"]
    content = msgspec.json.encode(
        {"traceEvents": [{"name": name, "cat": "user_annotation", "ts": 1} for name in names]}
    )
    own = clean_trace(content, {}, PROJECT, whole_steps=2, first_step=100)
    assert msgspec.json.decode(own.content)["traceEvents"] == [
        {"name": name, "cat": "user_annotation", "ts": 1} for name in ("ProfilerStep#3", "aten::mm", "ProfilerStep#4")
    ]
    assert (own.events, own.steps) == (3, 2)


def test_a_version_that_is_no_plain_value_is_dropped() -> None:
    assert "my_version" not in _clean({"my_version": {"path": "secret"}})


def test_device_keeps_name_and_numbers() -> None:
    device = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150, "uuid": "GPU-1", "pciBusId": "0000:1b"}
    assert _clean({"deviceProperties": [device]})["deviceProperties"] == [
        {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150}
    ]


def test_distributed_info_keeps_plain_values_and_who_is_in_which_group() -> None:
    group = {"pg_name": "1", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}
    plain = {"backend": "nccl", "rank": 1, "world_size": 2}
    more = {"hosts": ["a"], "backend_config": "cuda:nccl"}
    info = plain | {
        "pg_config": [group | more, {"pg_desc": "/home/ann/x/t.py", "pg_size": "2", "ranks": ["gpu-node07"]}, "secret"]
    }
    kept = _clean({"distributedInfo": info})["distributedInfo"]
    assert kept == plain | {"pg_config": [group, {"pg_desc": "t.py"}]}
    assert _clean({"distributedInfo": plain | {"pg_config": "secret"}})["distributedInfo"] == plain


def test_time_stamps_keep_every_digit() -> None:
    event = b'{"ph":"X","name":"/home/ann/secret-project/t.py(1): f","ts":1790857026000000.123456789}'
    cleaned = clean_trace(b'{"traceEvents":[' + event + b"]}", {}, PROJECT).content
    assert b'"ts":1790857026000000.123456789' in cleaned
    assert b'"name":"t.py(1): f"' in cleaned


def test_events_and_steps_are_counted() -> None:
    mark = {"ph": "X", "name": "ProfilerStep#3", "cat": "user_annotation"}
    copy = mark | {"cat": "gpu_user_annotation"}
    clean = clean_trace(msgspec.json.encode({"traceEvents": [mark, copy, {"ph": "M", "name": "a"}]}), {}, PROJECT)
    assert (clean.events, clean.steps) == (3, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/secret-project/pkg/train.py(12): main", "pkg/train.py(12): main"),
        ("/opt/env/lib/python3.11/site-packages/torch/nn/a.py(3): f", "torch/nn/a.py(3): f"),
        ("/usr/lib/python3/dist-packages/x.py:7", "x.py:7"),
        ("/home/bob/other/x.py(7): g", "x.py(7): g"),
        ("/home/bob/my dir/site-packages/x.py", "x.py"),
        ("a.py:1;/home/bob/other/b.py:2", "a.py:1;b.py:2"),
        ("torch/nn/modules/module.py(1773): _call_impl", "torch/nn/modules/module.py(1773): _call_impl"),
        ("aten::div", "aten::div"),
        ("a / b", "a / b"),
    ],
)
def test_paths_become_relative(text: str, expected: str) -> None:
    assert PathCleaner(PROJECT).clean_text(text) == expected


def test_paths_deep_in_arguments_are_found() -> None:
    args = {"CallFrom": "/home/bob/x/t.py:3", "list": [["/home/bob/x/u.py"], 4], "n": None}
    assert PathCleaner(PROJECT).clean(args) == {"CallFrom": "t.py:3", "list": [["u.py"], 4], "n": None}
