"""A frame that stays as it is: each column is made a Series once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd


class FixedFrame(pd.DataFrame):
    """A frame whose columns are at hand.

    From pandas 3 on a frame makes a new Series of a column at each look, and the facts and rules of one analysis look a thousand
    times at three hundred columns: a third of what a small trace cost. What is made of such a frame (rows of it, a copy) is a
    plain one, free to be changed.
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return _frame

    @property
    def _constructor_sliced(self) -> Callable[..., pd.Series[Any]]:
        return _series

    def __getitem__(self, key: Any) -> Any:
        """A column, the one made before; or whatever else a frame gives."""
        if type(key) is not str:
            return super().__getitem__(key)
        made = self.__dict__.setdefault("_made", {})
        if key not in made:
            made[key] = super().__getitem__(key)
        return made[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Sets a column, and forgets what was made of it."""
        self.__dict__.pop("_made", None)
        super().__setitem__(key, value)


def _frame(data: Any = None, *arguments: Any, **named: Any) -> pd.DataFrame:
    """A plain frame: pandas hands over the one it has just made of rows, to have one of another class made of it."""
    if type(data) is pd.DataFrame and not arguments and not named:
        return data
    return pd.DataFrame(data, *arguments, **named)


def _series(data: Any = None, *arguments: Any, **named: Any) -> pd.Series[Any]:
    """A Series: pandas hands over the one it has just made of a column, to have one of another class made of it."""
    if type(data) is pd.Series and not arguments and not named:
        made: pd.Series[Any] = data
    else:
        made = pd.Series(data, *arguments, **named)
    return made


def fixed(frame: pd.DataFrame) -> FixedFrame:
    """The frame, its columns at hand; in memory once."""
    return frame if isinstance(frame, FixedFrame) else FixedFrame(frame)
