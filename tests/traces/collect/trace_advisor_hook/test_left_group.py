"""A script that leaves its group of ranks before it ends stays the rank that it was."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook import watcher as module
from traces.collect.trace_advisor_hook.watcher import Watcher


@pytest.mark.parametrize(("before", "told"), [((1, 2), (1, 2)), ((None, 1), (None, 1))])
def test_the_rank_outlives_the_group(
    before: tuple[int | None, int], told: tuple[int | None, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher({"wait": 10, "warmup": 3, "folder": str(tmp_path)})
    for world in (before, (None, 1)):
        monkeypatch.setattr(module, "world", lambda world=world: world)
        watcher.tell()
    (status,) = (json.loads(path.read_text()) for path in tmp_path.glob("status-*.json"))
    assert (status["rank"], status["world_size"]) == told
