"""A loader's worker that is gone, however torch tells it."""

import contextlib
import os
import signal
import time
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset

from traces.collect.recorder.lost_worker import LostWorkerError, lost_workers_told


class Samples(Dataset[Any]):
    """Enough for a worker to be in the middle of it."""

    def __init__(self, error: type[Exception] | None = None) -> None:
        self.error = error

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> Any:
        if self.error is not None:
            raise self.error("no such sample")
        return torch.ones(3)


def _end_a_worker(number: signal.Signals) -> str:
    """What is told when a worker is ended; empty where torch's handler of the signal came between its error and our word on it."""
    iterator: Any = iter(DataLoader(Samples(), batch_size=4, num_workers=1))
    worker = iterator._workers[0]
    try:
        next(iterator)
        # Its queue is full: one that dies while it writes half a message leaves torch waiting for the other half.
        time.sleep(0.5)
        os.kill(worker.pid, number)
        with lost_workers_told(1, "the run", "do this"):
            list(iterator)
    except LostWorkerError as error:
        return str(error)
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
    finally:
        # As long as torch knows of a dead worker, each signal of a child raises, in whatever test runs then.
        with contextlib.suppress(RuntimeError):
            worker.join()
            time.sleep(0.1)  # the signal of this death is handled here, not later
        with contextlib.suppress(RuntimeError):
            iterator._shutdown_workers()
    return ""


# Torch's handler raises in the middle of whatever runs, which may leave a file open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_worker_that_is_ended_is_told(number: signal.Signals) -> None:
    message = _end_a_worker(number) or _end_a_worker(number) or _end_a_worker(number)
    assert message.startswith("the run: a DataLoader worker process ended unexpectedly")
    assert "fix: do this" in message


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("error", [FileNotFoundError, RuntimeError])
def test_what_fails_in_the_data_set_stays_what_it_is(error: type[Exception]) -> None:
    with pytest.raises(error, match="no such sample"), lost_workers_told(1, "the run", "do this"):
        next(iter(DataLoader(Samples(error), num_workers=1)))


def test_without_workers_nothing_is_a_lost_one() -> None:
    with pytest.raises(EOFError), lost_workers_told(0, "the run", "do this"):
        raise EOFError


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (FileNotFoundError(2, "No such file or directory"), False),
        (RuntimeError("Caught FileNotFoundError in pin memory thread for device 0.\n... rebuild_storage_fd"), True),
        (RuntimeError("Caught ValueError in pin memory thread for device 0.\n... my_pin"), False),
        (RuntimeError("shape mismatch"), False),
    ],
)
def test_only_the_loader_is_blamed(error: Exception, lost: bool) -> None:
    with pytest.raises(LostWorkerError if lost else type(error)), lost_workers_told(2, "the run", "do this"):
        raise error
