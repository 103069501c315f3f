"""What one call of `advisor explain` asks for, as it was typed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from analyzer.cli.arguments import settings
from analyzer.cli.arguments.engines import Engines
from analyzer.cli.streams.terminal import is_terminal
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.config import Config
    from analyzer.options import Options


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of a call, by the names that the command gives them."""

    stated: str | None
    targets: tuple[Path, ...]
    brief: bool
    full: bool
    select: str | None
    ignore: str | None
    assume: str | None
    fail_on: str | None
    span: str | None
    config_file: Path | None
    isolated: bool
    baseline: str | None
    deep: bool
    strict: bool
    no_cache: bool
    jobs: int | None
    scheduler: str | None
    scheduler_file: Path | None
    no_redact: bool

    def checked(self) -> Asked:
        """The call itself.

        Raises:
            UsageError: where two options exclude one another.
        """
        if self.brief and self.full:
            raise UsageError("a text cannot be brief and whole", where="--brief, --full", fix="leave one of them out")
        return self

    @property
    def formed(self) -> bool:
        """Whether a form is named, or all of the text wanted."""
        return self.stated is not None or bool(self.targets) or self.full

    @property
    def documented(self) -> bool:
        """Whether a document is asked for, and not the screen."""
        return self.formed or self.brief or self.assume is not None

    def briefly(self, stream: TextIO) -> bool:
        """Whether a text on a stream is the brief one."""
        return self.brief or (not self.formed and not is_terminal(stream))

    @property
    def chooses(self) -> bool:
        """Whether rules or steps are chosen, which a saved report cannot heed."""
        return any(option is not None for option in (self.select, self.ignore, self.span))

    @property
    def engines(self) -> Engines:
        """Who reads the ranks of a job."""
        return Engines(self.jobs, self.scheduler, self.scheduler_file)

    def options(self, config: Config) -> Options:
        """What the analysis is asked, by this call and the configuration."""
        from msgspec.structs import replace

        chosen = settings.options_of(config, select=self.select, ignore=self.ignore, span=self.span)
        return replace(chosen, deep=self.deep, strict=self.strict, cached=not self.no_cache)
