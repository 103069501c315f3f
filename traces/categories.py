"""Categorical columns from codes; a vocabulary met before is not checked and indexed again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

# The vocabularies of this project, and those of small traces; names of a large one are no more than one trace's.
_SMALL = 64


def from_codes(codes: npt.NDArray[np.integer[Any]], categories: Sequence[str]) -> pd.Categorical:
    """A categorical from positions in a vocabulary; -1 is NA.

    Args:
        codes: Positions, shape (rows,).
        categories: The vocabulary, each text once.
    """
    small = len(categories) <= _SMALL
    dtype = _known(tuple(categories)) if small else pd.CategoricalDtype(list(categories))
    made: pd.Categorical = pd.Categorical.from_codes(codes, dtype=dtype)
    return made


@lru_cache(maxsize=512)
def _known(categories: tuple[str, ...]) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(list(categories))
