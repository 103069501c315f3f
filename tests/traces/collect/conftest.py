"""One small set of drawn digits for all tests of the collector, and none in the user's cache."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from traces.collect.reference import data
from traces.collect.trace_advisor_hook.sampling.sampler import Sampler


@pytest.fixture(scope="session")
def digits_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with 1280 drawn digits: 20 steps an epoch."""
    folder = tmp_path_factory.mktemp("digits")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "TRAIN_COUNT", 1280)
        patch.setattr(data, "TEST_COUNT", 10)
        data.find_data(folder, lambda done, total, label: None)
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _samplers_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a hook in the tests' own process begins to sample ends with the test: it would look on in the middle of all others."""
    begun: list[Sampler] = []
    begin = Sampler.begin

    def noted(sampler: Sampler) -> None:
        begun.append(sampler)
        begin(sampler)

    monkeypatch.setattr(Sampler, "begin", noted)
    yield
    for sampler in begun:
        sampler.end()
