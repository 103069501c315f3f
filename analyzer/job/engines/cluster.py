"""Summarising on a Dask cluster of the user's own: the same function, on workers that read where the data is."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import msgspec

from analyzer.assemble import tool_version
from analyzer.job.engines import Outcome, Report, outcome
from analyzer.job.engines.reach import why_unreachable
from analyzer.job.remote import is_url
from analyzer.options import Options
from traces.errors import AdvisorError, UnreadableTraceError, UsageError

# An unreachable scheduler is said within ten seconds, and one that is reached has as long to make itself known.
_PATIENCE_S = 6
# A task whose worker dies is tried again elsewhere so often.
_RETRIES = 2
# Between looks at whether whoever watches wants to stop.
_LOOK_S = 0.2


class ClusterEngine:
    """Files summarised by the workers of a scheduler.

    Args:
        address: Of the scheduler, `tcp://host:8786`.
        scheduler_file: Where the scheduler wrote its address, as under SLURM.
    """

    def __init__(self, address: str | None = None, scheduler_file: Path | None = None) -> None:
        self._address = address
        self._file = scheduler_file
        self._shown = address or str(scheduler_file)

    def outcomes(self, places: Sequence[str], options: Options, report: Report) -> Iterator[Outcome]:
        """See `Engine`.

        Raises:
            UnreadableTraceError: The scheduler cannot be reached, has no workers, or these have no or another advisor.
            UsageError: dask.distributed is not installed here.
        """
        client = self._client()
        try:
            self._check_workers(client)
            with _only_our_words():
                yield from _gathered(client, places, options, report)
        except _GoneError as error:
            raise UnreadableTraceError(
                "the scheduler is gone",
                where=self._shown,
                why="it answered at first, and then no more",
                fix="see what it says, start it and its workers again, and call advisor once more",
            ) from error
        finally:
            # What is not done is of no use to anybody any more; Ctrl-C ends it too.
            with _only_our_words():
                client.close(timeout=_PATIENCE_S)

    def _client(self) -> Any:
        if find_spec("distributed") is None:
            raise UsageError("dask.distributed is not installed", where=self._shown, fix="pip install distributed")
        # Before Dask is imported, which takes longer than a refusal.
        if why := why_unreachable(self._stated(), _PATIENCE_S):
            raise self._unreachable(why)
        from distributed import Client

        try:
            return Client(  # type: ignore[no-untyped-call]
                address=self._address,
                scheduler_file=str(self._file) if self._file else None,
                timeout=_PATIENCE_S,
                set_as_default=False,
            )
        except (OSError, ValueError, TimeoutError) as error:
            raise self._unreachable(type(error).__name__) from error

    def _stated(self) -> str:
        """The scheduler's address as it is given, or stands in its file."""
        if self._file is None:
            return self._address or ""
        try:
            told = msgspec.json.decode(self._file.read_bytes())
        except FileNotFoundError as error:
            raise self._unreachable(f"there is no file {self._file.name}") from error
        except (OSError, msgspec.DecodeError) as error:
            raise self._unreachable(f"{self._file.name} is no file of a scheduler") from error
        address = told.get("address") if isinstance(told, dict) else None
        if not isinstance(address, str):
            raise self._unreachable(f"{self._file.name} states no address")
        return address

    def _unreachable(self, why: str) -> AdvisorError:
        return UnreadableTraceError(
            "the scheduler cannot be reached",
            where=self._shown,
            why=why,
            fix="start one: `dask scheduler`, then `dask worker ADDRESS` on each node; or leave it out to read here",
        )

    def _check_workers(self, client: Any) -> None:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            raise UnreadableTraceError(
                "the scheduler has no workers", where=self._shown, fix="start some: `dask worker ADDRESS` on each node"
            )
        said: dict[str, str] = client.run(_version_there)
        mine = tool_version()
        for worker, version in said.items():
            if version != mine:
                raise UnreadableTraceError(
                    f"a worker has advisor {version}, here it is {mine}" if version else "a worker has no advisor",
                    where=worker,
                    why="all must run the same version, or their summaries differ",
                    fix="install advisor in the workers' environment from where it was installed here",
                )


def _version_there() -> str:
    """On a worker: its version of advisor, empty where it has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("trace-advisor")
    except PackageNotFoundError:
        return ""


def _gathered(client: Any, places: Sequence[str], options: Options, report: Report) -> Iterator[Outcome]:
    futures = {
        client.submit(_while_wanted, number, _there(place), options, pure=False, retries=_RETRIES): number
        for number, place in enumerate(places)
    }
    done: SimpleQueue[Any] = SimpleQueue()
    try:
        for future in futures:
            future.add_done_callback(done.put)
        for _ in futures:
            future = _next(done, report)
            error = future.exception() if future.status == "error" else None
            if future.status in ("cancelled", "lost") or error is not None:
                if client.status != "running":
                    raise _GoneError
                yield Outcome(futures[future], reason=_reason(error))
            else:
                yield future.result()
    finally:
        client.cancel(list(futures), force=True)


# Each has a level of its own by Dask's configuration.
_LOGS = ("distributed", "distributed.client", "distributed.core", "distributed.utils")


@contextmanager
def _only_our_words() -> Iterator[None]:
    """Dask tells of a lost connection by tracebacks; what that means is said here."""
    logs = [logging.getLogger(name) for name in _LOGS]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


class _GoneError(Exception):
    """The scheduler does not answer any more."""


def _reason(error: BaseException | None) -> str:
    from distributed import KilledWorker

    if error is None or isinstance(error, KilledWorker):
        return f"its worker was lost {_RETRIES + 1} times"
    return f"its worker could not read it: {type(error).__name__}"


def _next(done: SimpleQueue[Any], report: Report) -> Any:
    """The next future that is done; whoever watches is told meanwhile, and may stop."""
    while True:
        try:
            return done.get(timeout=_LOOK_S)
        except Empty:
            report("reading ranks", 0, 0)


class _UnwantedError(Exception):
    """Nobody asks for the file any more."""


def _while_wanted(place: int, where: str, options: Options) -> Outcome:
    """On a worker: `outcome`, which ends early once the task is cancelled, by Ctrl-C or because whoever asked is gone.

    Dask forgets such a task, but cannot end the thread that it runs in.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def report(*_: object) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _UnwantedError

    try:
        return outcome(place, where, options, report)
    except _UnwantedError:
        return Outcome(place, reason="nobody asks for it any more")


def _there(place: str) -> str:
    """A path that means the same on a worker."""
    return place if is_url(place) else str(Path(place).resolve())
