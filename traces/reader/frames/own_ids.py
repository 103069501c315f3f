"""Correlations under another name.

Over roctracer, Kineto writes the number of each call, and of the work that it launched, as External id, and states no correlation.
Ops count theirs from another number on: the same one of an op means nothing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

# What puts work on the device (`traces.reader.names.vocabulary.runtime_kind`).
_LAUNCHING = ("launch", "graph_launch", "memcpy", "memset")


def with_correlations(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The frames `runtime`, `kernels` and `copies`, their External ids taken for correlations where they can be nothing else.

    That is where none of them states a correlation, no two calls have one External id, as the calls of one op have, and all work
    that has the id of a call has that of a launch.

    Args:
        frames: These three among others.

    Returns:
        Those that are changed.
    """
    found = {name: frames[name] for name in ("runtime", "kernels", "copies")}
    if any(frame["correlation"].notna().any() for frame in found.values()):
        return {}
    calls = found["runtime"]
    named = calls["external_id"].notna()
    ids = calls["external_id"][named]
    if not ids.is_unique:
        return {}
    work = pd.concat([found[name]["external_id"].dropna() for name in ("kernels", "copies")])
    called = ids.isin(work).to_numpy(dtype=bool)
    kinds = calls["kind"][named].to_numpy()[called]
    if not len(kinds) or not np.isin(kinds, _LAUNCHING).all():
        return {}
    nothing = pd.array([pd.NA], dtype="Int64")
    return {
        name: frame.assign(correlation=frame["external_id"], external_id=nothing.repeat(len(frame)))
        for name, frame in found.items()
    }
