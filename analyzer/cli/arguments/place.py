"""A trace on the command line: a path here, or a URL, which no path may swallow a slash of; never an empty name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from analyzer.cli.arguments.once import once
from traces.errors import UsageError


class Place(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A `Path`, or a URL as a text."""

    name = "path"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> str | Path:
        """See `click.ParamType`."""
        return value if isinstance(value, Path) or "://" in value else Path(_named(value))


class Here(click.Path):
    """A `Path`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        return super().convert(_named(value) if isinstance(value, str) else value, param, ctx)


def _named(value: str) -> str:
    """The name itself; an empty one would stand for the working folder."""
    if not value:
        raise UsageError(
            "the name of a trace is empty",
            why="a variable of the shell that is not set leaves nothing",
            fix="name a trace, or . for the traces of this folder",
        )
    return value


def parted(places: Sequence[Path | str]) -> tuple[list[Path], list[str]]:
    """Paths here, and URLs; a URL of a folder stands for the traces in it.

    Raises:
        AdvisorError: What a URL names is missing or forbidden, or its kind of store needs what is not installed.
    """
    urls = [one for one in places if isinstance(one, str)]
    if urls:
        from analyzer.job.remote import listed

        urls = once([found for url in urls for found in listed(url)])
    return [one for one in places if isinstance(one, Path)], urls
