"""`--remember`: pairs of promised and measured, kept on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from analyzer.cli.streams.notes import note
from analyzer.units import count

if TYPE_CHECKING:
    from analyzer.calibration.pairs import Pair


def keep(pairs: Iterable[Pair]) -> None:
    """Keep them; where that cannot be, say so: the result stands without."""
    from analyzer.calibration import store

    try:
        many = store.keep(pairs)
    except OSError as error:
        note(f"nothing was kept: {store.own_file()}: {error.strerror}")
        return
    if not many:
        click.echo("advisor: kept no pair of promised and measured: none is of one rule alone and sure", err=True)
        return
    click.echo(f"advisor: kept {count(many, 'pair')} of promised and measured in {store.own_file()}", err=True)
