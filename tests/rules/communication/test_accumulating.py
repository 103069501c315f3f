"""CO001 of DDP that accumulates gradients: who reduces once for several passes is not told to begin with that."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.gloo_ddp import ddp
from rules.communication.exposed import RULE
from running.one_rule import judged


@pytest.mark.parametrize(
    ("world", "passes"),
    [
        ({"passes": 4, "reduced": 1, "accumulates": True}, 4),
        ({"passes": 4, "reduced": 1, "accumulates": True, "updates": 2}, 4),
        # Passes of another model bring other numbers of gradients, if any.
        ({"passes": 4, "reduced": 1}, 0),
        ({"passes": 2, "buckets": (1, 3)}, 0),
        ({"passes": 1}, 0),
    ],
)
def test_who_accumulates_already_is_told_of_more_passes(world: dict[str, Any], passes: int) -> None:
    (fix,) = (one for one in judged(RULE, ddp(**world)).finding.fix if "no_sync" in one.code)
    assert (f"once for {passes} backward passes already" in fix.note) is bool(passes)
    assert f"(loss / {2 * passes or 4})" in fix.code
