"""PG009: a trace with a host name, an environment, or a path below somebody's home folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.profiling.sensitive_content import RULE
from running.one_rule import judged, run

SECRET = "hf_" + "a1B2" * 9


def world(**top: Any) -> TraceBuilder:
    builder = TraceBuilder(top=top)
    builder.step(0, 0, 1_000).launch(10, kernel_start=20, kernel_dur=900)
    return builder


def test_fires_on_unknown_keys_by_name_only() -> None:
    found = judged(RULE, world(host_name="turing.example.org", traceName="/home/ada/x/trace.json"))
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "2 top-level fields not known to be harmless" in found.finding.why
    assert "turing" not in str(found.finding)
    assert "ada" not in str(found.finding)


def test_tokens_are_counted_and_never_shown() -> None:
    found = judged(RULE, world(metadata=json.dumps({"A": 1}), env={"HF_TOKEN": "short", "OTHER": SECRET}))
    assert "2 texts that look like secrets" in found.finding.why
    assert SECRET not in str(found.finding)
    assert "no longer a secret" in found.finding.fix[0].code


@pytest.mark.parametrize(
    "token",
    [
        SECRET, *(f"gh{kind}_" + "a1B2" * 8 for kind in "pousr"), "github_pat_" + "a1B2" * 8, "glpat-" + "a1B2" * 6,
        "AKIA" + "ABCD" * 4, *(f"xox{kind}-" + "a1b2" * 3 for kind in "abprs"), "sk-" + "a1B2" * 6, "AIza" + "a1B2c" * 7,
        "eyJ" + "a1B2" * 3 + ".eyJ" + "a1B2" * 3 + ".x",
    ],
)  # fmt: skip
def test_a_token_of_each_kind_is_counted_in_names_of_events(token: str) -> None:
    builder = world()
    builder.op(f"load {token}", 100, 10)
    found = judged(RULE, builder)
    assert "1 text that looks like a secret" in found.finding.why


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("/home/ada/project/train.py(8): step", State.FIRED),
        ("C:\\Users\\ada\\train.py(8): step", State.FIRED),
        ("project/train.py(8): step", State.CLEAR),
        ("torch/nn/modules/module.py(8): _call_impl", State.CLEAR),
    ],
)
def test_boundary_of_paths(name: str, state: State) -> None:
    builder = world().python(name, 0, 100)
    assert run(RULE, builder).state is state
    if state is State.FIRED:
        assert "ada" not in str(judged(RULE, builder).finding)


@pytest.mark.parametrize(
    "top",
    [
        {"cuda_runtime_version": 12060, "trace_id": "0123", "with_stack": 1},
        {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}},
        {"advisor": {"versions": {"torch": "2.9"}}},
    ],
)
def test_quiet_on_what_may_be_shared(top: dict[str, Any]) -> None:
    assert run(RULE, world(**top)).state is State.CLEAR


def test_a_words_likeness_is_not_enough() -> None:
    assert "secret" not in run(RULE, world(config={"max_tokens": "4096", "tokenizer": "bpe"})).reason


def test_an_odd_key_is_not_copied() -> None:
    found = judged(RULE, world(**{"<b>\x1b[31mred": 1}))
    assert "\x1b" not in str(found.finding.evidence)
