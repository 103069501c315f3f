"""CO001's fixes where DistributedDataParallel sends the model's buffers before each forward pass, and where sums are exposed."""

from __future__ import annotations

import pytest

from programs.updating import kept_alike
from rules.communication.exposed import RULE
from running.one_rule import judged


@pytest.mark.parametrize(
    ("buffers", "sums", "told", "others"),
    [(6_000, 200, True, False), (6_000, 3_000, True, True), (0, 3_000, False, True), (100, 3_000, False, True)],
)
def test_only_what_is_exposed_gets_a_fix(buffers: float, sums: float, told: bool, others: bool) -> None:
    code = "\n".join(one.code for one in judged(RULE, kept_alike(buffers=buffers, sums=sums)).finding.fix)
    assert ("broadcast_buffers=False" in code) is told
    assert ("bucket_cap_mb" in code) is others
    assert ("no_sync" in code) is others
