"""A loader's worker that is gone, however torch tells it."""

import os
import signal
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset

from traces.collect.lost_worker import LostWorkerError, lost_workers_told


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_worker_that_is_ended_is_told(number: signal.Signals) -> None:
    loader = DataLoader(Samples(), batch_size=4, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    os.kill(iterator._workers[0].pid, number)  # type: ignore[attr-defined]
    with pytest.raises(LostWorkerError) as caught, lost_workers_told(1, "the run", "do this"):
        list(iterator)
    message = str(caught.value)
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
