"""Variables of a list, and values of a form that can be no secret."""

from __future__ import annotations

from traces.collect.trace_advisor_hook.software.environment import changed_since, describe_environment


def test_listed_variables_that_are_set() -> None:
    environment = {
        "CUDA_LAUNCH_BLOCKING": "1",
        "NCCL_DEBUG": "INFO",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:512",
        "OMP_NUM_THREADS": "",
    }
    assert describe_environment(environment) == {name: value for name, value in environment.items() if value}


def test_no_other_variable_and_no_odd_value_is_taken() -> None:
    environment = {
        "HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz012345",
        "HOME": "/home/somebody",
        "NCCL_DEBUG": "/home/somebody/file",
        "OMP_NUM_THREADS": "hf_abcdef",
        "PYTORCH_CUDA_ALLOC_CONF": "hunter2",
    }
    found = describe_environment(environment)
    assert found == {"NCCL_DEBUG": "(set)", "OMP_NUM_THREADS": "(set)", "PYTORCH_CUDA_ALLOC_CONF": "(set)"}


def test_what_a_program_sets_itself_is_told_apart() -> None:
    before = {"OMP_NUM_THREADS": "1", "NCCL_DEBUG": "INFO"}
    now = before | {"NCCL_DEBUG": "WARN", "CUDA_LAUNCH_BLOCKING": "1", "HOME": "/home/somebody"}
    assert changed_since(before, now) == ["CUDA_LAUNCH_BLOCKING", "NCCL_DEBUG"]
