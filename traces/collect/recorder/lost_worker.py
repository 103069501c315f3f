"""Says it clearly when a loader's worker process is gone: torch tells so in four ways, depending on when it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from traces.errors import UsageError

# How a failure inside a worker that lives comes back: it is the data set's own.
_OF_A_LIVING_WORKER = "Caught "


class LostWorkerError(UsageError):
    """A loader's worker process ended before its batch was taken."""


@contextmanager
def lost_workers_told(num_workers: int, run: str, fix: str) -> Iterator[None]:
    """Turns what the death of a worker raises in the training process into one error.

    A worker that ends with a batch on its way takes the socket along through which its memory is handed over: the training process
    then fails to connect to a path that is gone, or to a peer that does not answer.

    Args:
        num_workers: Workers of the loader used inside; with 0 nothing is looked at.
        run: What was running, for the message.
        fix: What to do.

    Raises:
        LostWorkerError: A worker was lost.
    """
    try:
        yield
    except (RuntimeError, OSError, EOFError) as error:
        if not num_workers or not _is_loss(error):
            raise
        raise LostWorkerError(
            f"{run}: a DataLoader worker process ended unexpectedly",
            why="something ended it: a signal, the system where memory is short, a container with a small /dev/shm "
            f"({_first_line(error)})",
            fix=fix,
        ) from error


def _is_loss(error: Exception) -> bool:
    """Whether torch speaks of a worker, or the connection to one broke while its batch was taken over."""
    text = _first_line(error)
    if text.startswith(_OF_A_LIVING_WORKER):
        # The thread that pins memory takes batches over for the training thread.
        return "pin memory thread" in text and "rebuild_storage" in str(error)
    return "DataLoader worker" in text or (isinstance(error, OSError | EOFError) and _in_reduction(error))


def _in_reduction(error: BaseException) -> bool:
    """Whether it was raised below torch's taking over of a tensor from another process."""
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__") in ("torch.multiprocessing.reductions", "multiprocessing.queues"):
            return True
        frame = frame.tb_next
    return False


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
