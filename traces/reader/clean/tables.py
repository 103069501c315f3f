"""The columns of each kind of event while they are mended: what is taken out is counted, with its first place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.reader.columns.columns import Columns
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind

Table = dict[str, npt.NDArray[Any]]
Mask = npt.NDArray[np.bool_]


class Tables:
    """One table per kind of event; empty where there was no such event.

    Args:
        columns: All events of the file; their pieces are taken over.
        repairs: Where what is mended is counted.
    """

    def __init__(self, columns: Columns, repairs: Repairs) -> None:
        self._numbers = columns.numbers
        self._repairs = repairs
        self._tables = {kind: columns.take(kind) for kind in Kind}

    def __getitem__(self, kind: Kind) -> Table:
        return self._tables[kind]

    def __iter__(self) -> Iterator[tuple[Kind, Table]]:
        return iter(self._tables.items())

    def give_up(self, kind: Kind) -> Table:
        """One table, which is empty from now on."""
        table, self._tables[kind] = self._tables[kind], {}
        return table

    def count(self, kind: Kind, mask: Mask, repair: str) -> None:
        """Counts the masked rows of one table, if there is any, as mended."""
        if mask.any():
            first = int(self._numbers.of(kind)[mask].min())
            self._repairs.add(repair, event=first, count=int(mask.sum()))

    def count_named(self, codes: list[int], repair: str) -> None:
        """Counts the rows with one of these names, if there is any, as mended."""
        for kind, table in self._tables.items() if codes else ():
            if table:
                self.count(kind, np.isin(table["name"], codes), repair)

    def events(self, kind: Kind) -> npt.NDArray[np.int64]:
        """The event of each row of one table."""
        return self._numbers.of(kind)

    def events_by_start(self, kind: Kind) -> dict[int, int]:
        """The event of each row of one table, by its start on the file's clock."""
        starts = self._tables[kind].get("start", np.empty(0, dtype=np.int64))
        return dict(zip(starts.tolist(), self._numbers.of(kind).tolist(), strict=True))

    def drop(self, kind: Kind, mask: Mask, repair: str) -> None:
        """Takes the masked rows out of one table, if there is any, and counts them."""
        if not mask.any():
            return
        self.count(kind, mask, repair)
        self._numbers.drop(kind, mask)
        self._tables[kind] = {column: values[~mask] for column, values in self._tables[kind].items()}
