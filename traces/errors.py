"""The one tree of errors, at the lowest layer because every layer raises them.

    AdvisorError (70)
    +-- UsageError (2)            the command or its options cannot be used as given
    +-- UnreadableTraceError (3)  the input could not be read
    +-- UntrustedTraceError (4)   the input was read, but no advice may be based on it

Each message says what went wrong, where, why that is likely, and what to do. They are caught in one place, the command line's
`main`, which prints the message and exits with `exit_code`.
"""


class AdvisorError(Exception):
    """Anything `advisor` reports in words instead of a traceback.

    Args:
        what: What went wrong, one sentence without a full stop.
        where: The place: a path, a byte offset, an event number, an option.
        why: The likely cause.
        fix: What the reader can do now.
    """

    exit_code = 70

    def __init__(self, what: str, *, where: str | None = None, why: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.what]
        for label, text in (("where", self.where), ("why", self.why), ("fix", self.fix)):
            if text:
                # A name may hold a line break, and what stands behind it would be a line of ours.
                lines.append(f"  {label}: {' '.join(text.splitlines())}")
        return "\n".join(lines)


class UsageError(AdvisorError):
    """The command or its options cannot be used as given."""

    exit_code = 2


class UnreadableTraceError(AdvisorError):
    """The input could not be read as a profiler trace."""

    exit_code = 3


class UntrustedTraceError(AdvisorError):
    """The input was read, but must not be the base of advice."""

    exit_code = 4
