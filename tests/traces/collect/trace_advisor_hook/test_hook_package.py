"""The hook is a package loaded by its path: no script may notice, whatever its own modules are called."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from traces.collect import trace_advisor_hook
from traces.collect.script.session import HOOK, ScriptConfig, Verdict, collect_script

FOLDER = Path(trace_advisor_hook.__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))
# Imports its own modules, each of a name that the hook has too, here and in a child that is spawned.
SCRIPT = f"""
import multiprocessing
import os
import sys

def look(_):
    import {", ".join(FILES)}
    own = all(sys.modules[name].OWNER == "the script" for name in {FILES!r})
    return own, not any("trace_advisor_hook" in folder for folder in sys.path), "trace_advisor_hook.watcher" in sys.modules

if __name__ == "__main__":
    if "RANK" in os.environ:
        import torch  # a process that a launcher started is left alone until then
    assert "trace_advisor_hook" not in sys.argv[0]
    assert sys.path[0] == os.path.dirname(os.path.realpath(__file__)), sys.path
    assert look(0) == (True, True, True), look(0)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(look, [0]) == [(True, True, True)], pool.map(look, [0])
    print("left alone")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / f"{name}.py").write_text("OWNER = 'the script'\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _status(folder: Path, target: str, *arguments: str, module: bool) -> int:
    config = ScriptConfig(target=target, arguments=arguments, output=folder / "t.json", module=module)
    return collect_script(config, lambda path: Verdict(usable=True)).status


@pytest.mark.parametrize("module", [False, True], ids=["script", "module"])
def test_modules_of_the_script_are_its_own(folder: Path, module: bool, capfd: pytest.CaptureFixture[str]) -> None:
    status = _status(folder, "train" if module else str(folder / "train.py"), module=module)
    assert (status, capfd.readouterr()) == (0, ("left alone\n", ""))


@pytest.mark.scripts
@pytest.mark.parametrize("words", [("train.py",), ("--module", "train")], ids=["script", "module"])
def test_under_a_launcher_too(folder: Path, words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    launcher = "torch.distributed.run"
    assert _status(folder, launcher, "--standalone", "--nproc-per-node", "1", *words, module=True) == 0
    assert capfd.readouterr().out == "left alone\n"


def test_no_file_has_a_name_of_the_standard_librarys() -> None:
    assert HOOK.is_file()
    assert not set(FILES) & sys.stdlib_module_names


def test_only_the_standard_library_is_imported_at_once() -> None:
    import ast

    for path in FOLDER.glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(str(node.module))
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, path.name
