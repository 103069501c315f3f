"""How torch is wrapped as it is imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

from traces.collect.trace_advisor_hook import wrapping


@pytest.fixture
def wrapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """A torch that is still to be imported, and whom the finder wrapped it for."""
    found: list[object] = []
    (tmp_path / "torch.py").write_text("here = 1\n")
    monkeypatch.setitem(sys.modules, "torch", sys.modules.get("torch"))  # to be put back
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(wrapping, "wrap", found.append)
    return found


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_who_only_asks_whether_torch_is_installed_keeps_nobody_from_watching(asked: int, wrapped: list[object]) -> None:
    # As `datasets` does when it is imported before torch.
    finder = wrapping.TorchFinder("watcher")  # type: ignore[arg-type]
    sys.meta_path.insert(0, finder)
    try:
        for _ in range(asked):
            assert importlib.util.find_spec("torch") is not None
        assert importlib.import_module("torch").here == 1
        assert wrapped == ["watcher"]
        assert finder not in sys.meta_path
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


def test_an_import_that_fails_is_wrapped_when_it_is_tried_again(wrapped: list[object], tmp_path: Path) -> None:
    finder = wrapping.TorchFinder("watcher")  # type: ignore[arg-type]
    sys.meta_path.insert(0, finder)
    try:
        (tmp_path / "torch.py").write_text("raise OSError('lib')\n")
        with pytest.raises(OSError, match="lib"):
            importlib.import_module("torch")
        (tmp_path / "torch.py").write_text("here = 1  # now\n")
        importlib.invalidate_caches()
        importlib.import_module("torch")
        assert wrapped == ["watcher"]
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
