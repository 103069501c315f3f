"""A frame that works where HolisticTraceAnalysis 0.5.0 asks for what pandas 3 does no more; neither of the two is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd


class HtaFrame(pd.DataFrame):
    """What HTA is handed for its graphs: whatever is derived from it behaves as before pandas 3 in two places."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return HtaFrame

    def drop(self, labels: Any = None, *, axis: Any = 0, index: Any = None, columns: Any = None, **more: Any) -> Any:
        """`columns` says which axis is meant, even where `axis` says it as well."""
        if labels is None:
            return super().drop(index=index, columns=columns, **more)
        return super().drop(labels, axis=axis, **more)

    def to_numpy(self, *arguments: Any, **more: Any) -> Any:
        """Words that were replaced by numbers are numbers."""
        return super(HtaFrame, self.infer_objects()).to_numpy(*arguments, **more)
