"""A trace on the command line: a path here, or a URL, which no path may swallow a slash of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click


class Place(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A `Path`, or a URL as a text."""

    name = "path"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> str | Path:
        """See `click.ParamType`."""
        return value if isinstance(value, Path) or "://" in value else Path(value)


def parted(places: Sequence[Path | str]) -> tuple[list[Path], list[str]]:
    """Paths here, and URLs; a URL of a folder stands for the traces in it.

    Raises:
        AdvisorError: What a URL names is missing or forbidden, or its kind of store needs what is not installed.
    """
    urls = [one for one in places if isinstance(one, str)]
    if urls:
        from analyzer.job.remote import listed

        urls = [found for url in urls for found in listed(url)]
    return [one for one in places if isinstance(one, Path)], urls
