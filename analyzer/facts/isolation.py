"""Measurements that fail by themselves: what one cannot measure takes along neither the others nor the document."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from traces.errors import AdvisorError

Measured = TypeVar("Measured")
# A message may quote all of what it failed on.
_MOST_CHARACTERS = 300


class FactError(AdvisorError):
    """A measurement that could not be made: a bug in advisor, or a trace that nobody has met.

    Args:
        name: The measurement, as an attribute of `Facts`: `host.tree`.
        reason: What happened, with its place in the source.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"the measurement `{name}` failed: {reason}",
            fix="please report it, with the trace or a slim copy of it: advisor slim TRACE -o small.json.gz",
        )
        self.name = name
        self.reason = reason


class fact(Generic[Measured]):
    """A figure of a section: measured when first asked for, then kept; where measuring fails, the failure is kept and raised again.

    Args:
        measure: Measures it.
    """

    def __init__(self, measure: Callable[[Any], Measured]) -> None:
        self._measure = measure
        self._name = measure.__name__
        self.__doc__ = measure.__doc__

    @overload
    def __get__(self, facts: None, owner: type) -> fact[Measured]: ...
    @overload
    def __get__(self, facts: object, owner: type) -> Measured: ...
    def __get__(self, facts: object | None, owner: type) -> fact[Measured] | Measured:
        """The figure.

        Raises:
            FactError: It, or one that it is made from, cannot be measured.
        """
        if facts is None:
            return self
        value = self._measured(facts, owner)
        # Found there from now on, before this descriptor is.
        facts.__dict__[self._name] = value
        return value

    def _measured(self, facts: object, owner: type) -> Measured:
        failures: dict[str, FactError] = facts.__dict__["failures"]
        section = getattr(owner, "NAME", None)
        name = f"{section}.{self._name}" if section else self._name
        if name in failures:
            raise failures[name]
        return measured(failures, name, lambda: self._measure(facts))


class passing(fact[Measured]):
    """A figure as large as the trace that is asked for once or twice: measured each time, and not kept between.

    Of a million events a set of intervals is 16 MB, and all that were ever asked for lay beside those that were still needed.
    """

    @overload
    def __get__(self, facts: None, owner: type) -> passing[Measured]: ...
    @overload
    def __get__(self, facts: object, owner: type) -> Measured: ...
    def __get__(self, facts: object | None, owner: type) -> passing[Measured] | Measured:
        """The figure.

        Raises:
            FactError: It, or one that it is made from, cannot be measured.
        """
        return self if facts is None else self._measured(facts, owner)


def measured(failures: dict[str, FactError], name: str, measure: Callable[[], Measured]) -> Measured:
    """What is measured.

    Args:
        failures: Where a failure is kept.
        name: What to call it.
        measure: Measures it.

    Raises:
        FactError: It cannot be measured.
    """
    try:
        return measure()
    # Errors in words are for the user, and name a measurement already; without memory the next one would fail as well.
    except (AdvisorError, MemoryError):
        raise
    # The trace is anybody's, and a thousand lines of arithmetic stand below: whatever one raises is its own end only.
    except Exception as error:
        failures[name] = FactError(name, described(error))
        raise failures[name] from error


def attempt(measure: Callable[[], Measured], instead: Measured) -> Measured:
    """What can be measured, or something instead where the document is better with that than without any; `Facts.failures` tells.

    Args:
        measure: Asks for it.
        instead: Says nothing that was not measured: an empty set, None.
    """
    try:
        return measure()
    except FactError:
        return instead


def described(error: BaseException) -> str:
    """An error in one line of bounded length: its type, what it says, and the line of the source that raised it."""
    said = words_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__[:_MOST_CHARACTERS]}{': ' if said else ''}{said}{place}"


def words_of(error: BaseException) -> str:
    """What an error says, in one line of bounded length; empty where it cannot be asked."""
    try:
        said = " ".join(str(error).split())
    except KeyboardInterrupt:
        raise
    # A class of somebody's plug-in may fail even at that, or end the program there.
    except BaseException:
        return ""
    said = said.encode("utf-8", "backslashreplace").decode("utf-8")
    return said if len(said) <= _MOST_CHARACTERS else f"{said[:_MOST_CHARACTERS]}..."
