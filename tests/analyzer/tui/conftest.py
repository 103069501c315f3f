from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import textual

from analyzer.analysis import Analysis
from analyzer.explain import Explained
from analyzer.tui.answer.opened import Opened
from analyzer.tui.app import AdvisorApp
from analyzer.tui.look.terminal import Look, look_for
from analyzer.tui.work.job import Job
from showing.ui import explained, loader_bound

# Snapshots are drawn by exactly this version; others may differ by a pixel.
SNAPSHOT_TEXTUAL = "8.2.8"
COLOURED = look_for({}, "utf-8", "truecolor")


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The same terminal everywhere, and copies written to the test's own folder."""
    for name in ("NO_COLOR", "COLORFGBG", "TEXTUAL_THEME", "COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def app_for() -> Callable[..., AdvisorApp]:
    def make(what: Analysis | Explained | Opened, look: Look = COLOURED, path: Path | None = None) -> AdvisorApp:
        explained = Explained(what) if isinstance(what, Analysis) else what
        opened = explained if isinstance(explained, Opened) else Opened((explained,))
        return AdvisorApp("trace.json.gz", Job(lambda report: opened), look, path)

    return make


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Explained:
    """The loader-bound trace, measured once: nothing changes it."""
    return explained(loader_bound(), tmp_path_factory.mktemp("measured"))


@pytest.fixture(scope="session")
def without_memory(tmp_path_factory: pytest.TempPathFactory) -> Explained:
    return explained(loader_bound(memory=False), tmp_path_factory.mktemp("without"))


@pytest.fixture
def snapshot_guard(request: pytest.FixtureRequest) -> None:
    """Only the pinned Textual may compare or rewrite snapshots."""
    if textual.__version__ == SNAPSHOT_TEXTUAL:
        return
    if request.config.getoption("--snapshot-update", default=False):
        pytest.fail(f"snapshots are updated with textual {SNAPSHOT_TEXTUAL} only, this is {textual.__version__}")
    pytest.skip(f"snapshots are of textual {SNAPSHOT_TEXTUAL}, this is {textual.__version__}")
