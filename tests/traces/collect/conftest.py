"""One small set of drawn digits for all tests of the collector, and none in the user's cache."""

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
