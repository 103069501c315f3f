"""Who summarises the ranks of a job: this process, several here, or a Dask cluster. All do the same, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from analyzer.options import Options
from analyzer.ranks.files import decode, encode
from analyzer.ranks.summary import RankSummary
from traces.errors import AdvisorError


class Outcome(msgspec.Struct, frozen=True):
    """What became of one file.

    Args:
        place: Its place among the files.
        summaries: The ranks in it, as they travel; empty where it could not be read.
        reason: Why it could not; empty where it could.
        error: The whole message, in the parts of an `AdvisorError`, and its exit code.
    """

    place: int
    summaries: tuple[bytes, ...] = ()
    reason: str = ""
    error: tuple[str, str | None, str | None, str | None, int] | None = None

    def ranks(self) -> tuple[RankSummary, ...]:
        """The summaries themselves."""
        return tuple(decode(data, "a worker's answer") for data in self.summaries)

    def raised(self) -> AdvisorError:
        """The error again, of the class it had."""
        what, where, why, fix, code = self.error or (self.reason, None, None, None, 3)
        kinds = {kind.exit_code: kind for kind in AdvisorError.__subclasses__()}
        return kinds.get(code, AdvisorError)(what, where=where, why=why, fix=fix)


Report = Callable[[str, int, int], None]


class Engine(Protocol):
    """Summarises files, in any order."""

    def outcomes(self, places: Sequence[str], options: Options, report: Report) -> Iterator[Outcome]:
        """One outcome for each file, as they come.

        Args:
            places: Paths or URLs.
            options: What to run on the traces.
            report: Told of progress inside one file, where that can be.
        """
        ...


def outcome(place: int, where: str, options: Options, report: Report | None = None) -> Outcome:
    """Summarises the ranks of one file; what is wrong with it is said, not raised.

    Args:
        place: Its place among the files.
        where: Path or URL.
        options: What to run on it.
        report: As for `analyzer.explain.analyse`; told of fetching too. What it raises ends the work.
    """
    from analyzer.job.one import summaries_in
    from analyzer.job.remote import fetched

    try:
        with fetched(where, report) as path:
            summaries = summaries_in(path, options, report)
        # A copy of a remote file has a name of its own.
        return Outcome(place, tuple(encode(one) for one in summaries))
    except AdvisorError as error:
        parts = (error.what, error.where, error.why, error.fix, error.exit_code)
        return Outcome(place, reason=_reason(error), error=parts)
    except MemoryError:
        return Outcome(place, reason="there is not enough memory for it")
    except OSError as error:
        return Outcome(place, reason=error.strerror or type(error).__name__)


def _reason(error: AdvisorError) -> str:
    return f"{error.what}: {error.why}" if error.why else error.what
