"""PY001 where stacks show that DistributedDataParallel lists the buffers of all modules before each forward pass."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.python.python_overhead import RULE
from running.one_rule import judged

STEP = 100_000
DDP = "torch/nn/parallel/distributed.py"


def world(frame: str, part: float = 0.9) -> TraceBuilder:
    """Three steps of 100 ms, 40 of them host code, of which so large a part is in a function."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.python("train.py(10): train_step", at, 99_000)
        builder.python(f"{DDP}(873): forward", at + 50, 98_000)
        builder.python(frame, at + 100, 40_000 * part)
        builder.launch(at + 40_000, kernel_start=at + 40_005, kernel_dur=59_990)
        builder.optimizer(at + 99_500, 100)
    return builder


@pytest.mark.parametrize(
    ("frame", "part", "listed"),
    [
        (f"{DDP}(752): _assign_modules_buffers", 0.9, True),
        (f"/opt/env/lib/python3.8/site-packages/{DDP}(1400): _sync_buffers", 0.9, True),
        (f"{DDP}(752): _assign_modules_buffers", 0.3, False),
        (f"{DDP}(900): scatter", 0.9, False),
        ("mine/parallel/distributed.py(9): _sync_buffers", 0.9, False),
    ],
)
def test_what_ddp_does_with_buffers_is_its_setting_and_no_work_of_the_users_to_move(
    frame: str, part: float, *, listed: bool
) -> None:
    fixes = judged(RULE, world(frame, part)).finding.fix
    assert any("broadcast_buffers=False" in fix.code for fix in fixes) is listed
    assert any("Move the work" in fix.code for fix in fixes) is not listed
