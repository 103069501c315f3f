"""What other programs took of a trial's steps is told only where the script itself cannot have taken it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from traces.collect.tune.run import run
from traces.collect.tune.trial import Asked, Ran, Script

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.scripts,
    pytest.mark.skipif(
        not Path("/proc/self/schedstat").exists(), reason="the system does not tell who waited for a core"
    ),
]
SCRIPT = """
import sys, threading, time
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
# Behind the optimizer, which imports thousands of files: at each of them the import waits for the thread's turn.
if "thread" in sys.argv:
    threading.Thread(target=busy, args=(float("inf"),), daemon=True).start()
print("begins", flush=True)
for (batch,) in DataLoader(TensorDataset(torch.ones(400, 4)), batch_size=1, num_workers=int("worker" in sys.argv)):
    busy(0.01)
    model(batch).sum().backward()
    optimizer.step()
"""


@contextmanager
def crowded(log: Path) -> Iterator[None]:
    """Two other programs on the script's only core, each in a session of its own: schedulers may share cores among sessions.

    One core, as what all of many have to do would take from whatever else runs there. They begin with the script's loop, of which
    its log tells: the seconds in which it imports torch are nobody's question.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    code = (
        "import pathlib, time; log = pathlib.Path(%r)\n"
        "while not log.exists() or 'begins' not in log.read_text(): time.sleep(0.01)\n"
        "while True: pass"
    )
    busy = [sys.executable, "-c", code % str(log)]
    others = [subprocess.Popen(busy, start_new_session=True) for _ in range(2)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            other.kill()
            other.wait()


def ran(folder: Path, *words: str) -> Ran:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    found = run(Script(target=str(script), arguments=words), Asked(warmup=4, steps=40, timeout_s=240), folder / "log")
    assert found.ending == "measured", found.reason
    return found


def test_a_script_on_one_thread_knows_what_it_waited_for_a_core(tmp_path: Path) -> None:
    with crowded(tmp_path / "log"):
        found = ran(tmp_path)
    assert found.lacked_ns is not None
    assert 0.2 * found.step_ns < found.lacked_ns < found.step_ns
    assert found.step_ns - found.lacked_ns > 10_000_000, "the work itself stays"


@pytest.mark.parametrize("own", ["worker", "thread"])
def test_where_its_own_processes_or_threads_compute_nobody_knows(own: str, tmp_path: Path) -> None:
    assert ran(tmp_path, own).lacked_ns is None
