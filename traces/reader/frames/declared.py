"""A frame with the columns that are declared of it, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from traces.fixed_frame import FixedFrame
from traces.schema import SCHEMA


def declared(name: str, columns: Mapping[str, Any] | pd.DataFrame) -> FixedFrame:
    """The frame.

    Args:
        name: Of the frame, in the schema.
        columns: At least those that are declared.
    """
    return FixedFrame({column: columns[column] for column in SCHEMA[name]}, copy=False)
