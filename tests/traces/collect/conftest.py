"""One small set of drawn digits for all tests of the collector, and none in the user's cache."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from traces.collect.reference import data


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


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Threads of small models wait for each other with their cores kept, and other processes run tests on those."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
