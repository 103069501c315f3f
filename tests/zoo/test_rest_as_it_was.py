"""Steps of a remedy are timed where the rest of the step finds the caches as in the preset."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from torch.utils.data import DataLoader, Dataset

from traces.collect.zoo.parts import forever
from traces.collect.zoo.preset import Preset
from traces.collect.zoo.session import time_pair


class _Logged(Dataset[int]):
    """Notes in a log that it loads."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        self.log.append("load")
        return index


@pytest.mark.parametrize(("loads", "before"), [(True, "load"), (False, "train")])
def test_what_empties_the_caches_comes_right_before(loads: bool, before: str) -> None:
    log: list[str] = []

    def slow(device: object) -> Iterator[None]:
        return steps(DataLoader(_Logged(log), batch_size=1))

    def steps(loader: DataLoader[int]) -> Iterator[None]:
        for _ in forever(loader):
            log.append("train")
            yield

    def fast(device: object) -> Iterator[None]:
        while True:
            log.append("remedy")
            yield

    timing = time_pair(
        Preset(name="slow", loop=slow, loads=loads), Preset(name="fast", loop=fast), seconds=0.01, repeats=2
    )
    assert len(timing.between) == 2
    alone = [
        first
        for first, now, after in zip(log, log[1:], log[2:], strict=False)
        if now == "remedy" and "remedy" not in (first, after)
    ]
    # Between stretches of the one and of the other a single step seldom stands alone.
    assert alone.count(before) > 0.9 * len(alone) > 10
