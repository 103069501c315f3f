"""Which packages that a recording's frames name are installed."""

from pathlib import Path

import pytest

from traces.collect.script.installed import seen_of
from traces.collect.trace_advisor_hook.software import installed, own_code


def _folder(path: Path) -> Path:
    for name in ("somepkg", "somepkg-1.0.dist-info", "__pycache__", "editable-1.0.dist-info", "namespace"):
        (path / name).mkdir(parents=True)
    for name in ("single.py", "fast.cpython-311-x86_64-linux-gnu.so", "editable.pth", "README.txt", "no-name.py"):
        (path / name).touch()
    return path


def test_packages_and_modules_are_named_and_projects_installed_for_editing_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path / "site-packages")
    monkeypatch.setattr(installed, "library_folders", lambda: (str(folder), str(tmp_path / "gone")))
    assert installed.installed_names() == ["__pycache__", "fast", "namespace", "single", "somepkg"]


def test_the_environment_that_runs_is_the_one_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"numpy", "pytest"} <= set(installed.installed_names())
    folder = _folder(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(str(folder))
    own_code.library_folders.cache_clear()
    try:
        assert {"somepkg", "numpy"} <= set(installed.installed_names())
    finally:
        own_code.library_folders.cache_clear()


def test_only_names_that_frames_begin_with_are_told() -> None:
    raw = (
        b'{"name": "somepkg/net.py(12): forward"}, {"name":"single.py(3): f"}, {"name": "project/train.py(7): main"},'
        b'{"name": "aten::add"}, {"name": "nn.Module: secretpkg"}, {"name": "/abs/other/x.py(1): f"},'
        b'{"name": "win\\\\dows.py(1): f"}'
    )
    names = ["other", "secretpkg", "single", "somepkg", "win"]
    assert seen_of(names, raw) == ["single", "somepkg", "win"]
