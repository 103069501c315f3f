"""Who makes an optimizer: a line of the program's own, or a function of a library that it calls."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from traces.collect.trace_advisor_hook import wrapping
from traces.collect.trace_advisor_hook.software import own_code
from traces.collect.trace_advisor_hook.software.optimizer_code import OptimizerCode, constructor

LIBRARY = """
import torch

class Trainer:
    def configure(self, parameters):
        return torch.optim.Adam(parameters, lr=0.1)

def loads(kind, data):
    return kind(data)
"""


class Lion(torch.optim.SGD):
    """Of the program's own, derived from torch's."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.1)


def parameters() -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(torch.zeros(2))]


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> OptimizerCode:
    """What is noted of every optimizer made meanwhile, as the hook notes it."""
    code, base = OptimizerCode(), torch.optim.Optimizer
    prepare = base._patch_step_function

    def _patch_step_function(self: Any) -> None:
        frame = constructor()
        if frame is not None:
            code.note(self, frame)
        prepare(self)

    monkeypatch.setattr(base, "_patch_step_function", _patch_step_function)
    return code


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A module that is installed in this environment."""
    (tmp_path / "site-packages" / "darting").mkdir(parents=True)
    (tmp_path / "site-packages" / "darting" / "__init__.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    _forget()
    import darting  # type: ignore[import-not-found]

    yield darting
    sys.modules.pop("darting")
    _forget()


def _forget() -> None:
    for known in (own_code.library_folders, own_code._others, own_code.is_own, own_code.is_installed):
        known.cache_clear()


def line_of(function: Callable[..., Any]) -> int:
    """The line after the one that names it: that of the body."""
    return function.__code__.co_firstlineno + 1


def own() -> Any:
    return torch.optim.Adam(parameters())


def derived() -> Any:
    return Lion(parameters())


def test_a_line_of_the_programs_own(code: OptimizerCode) -> None:
    own()
    derived()
    here = {"package": None, "function": None, "file": str(Path(__file__).resolve())}
    assert code.told() == [
        {"class": "Adam", **here, "line": line_of(own), "class_package": "torch", "takes": ["foreach", "fused"]},
        {"class": "Lion", **here, "line": line_of(derived), "class_package": __name__.partition(".")[0], "takes": []},
    ]


class AdamW(torch.optim.AdamW):
    """Of torch's name, and hands on what it is given."""

    def __init__(self, parameters: Any, **options: Any) -> None:
        super().__init__(parameters, **options)


class RMSprop(torch.optim.RMSprop):
    """Of torch's name, without a constructor of its own; torch's has no fused update."""


def test_what_is_handed_on_is_taken(code: OptimizerCode) -> None:
    AdamW(parameters())
    RMSprop(parameters())
    assert [(row["class"], row["takes"]) for row in code.told()] == [
        ("AdamW", ["foreach", "fused"]),
        ("RMSprop", ["foreach"]),
    ]


def test_a_function_of_a_library_and_the_line_that_leads_to_it(code: OptimizerCode, library: Any) -> None:
    def asks() -> Any:
        return library.Trainer().configure(parameters())

    asks()
    (row,) = code.told()
    assert (row["package"], row["function"].rpartition("Trainer.")[1:]) == ("darting", ("Trainer.", "configure"))
    assert (row["file"], row["line"]) == (str(Path(__file__).resolve()), line_of(asks))


def test_a_place_is_told_once_and_no_more_than_a_few(code: OptimizerCode) -> None:
    made = [own() for _ in range(3)]
    assert len(code.told()) == 1
    lines = "\n".join(["torch.optim.SGD(parameters(), lr=1)"] * 20)
    exec(compile(lines, __file__, "exec"))
    assert len(code.told()) == 8
    assert len(made) == 3


def test_a_copy_is_made_by_nobody(code: OptimizerCode) -> None:
    first = own()
    before = list(code.told())
    copy.deepcopy(first)
    assert code.told() == before


def test_what_nobody_leads_to_is_left_out() -> None:
    code = OptimizerCode()
    code.note(object(), None)
    assert code.told() == []


def test_a_loader_knows_its_line(library: Any) -> None:
    """Not by `__init__`, whose warnings would point at the hook; a copy was made where its original was."""

    class Loader(torch.utils.data.DataLoader[int]):
        """Torch's own would keep what is put into it here: Python does not take `__new__` back."""

    wrapping._wrap_making(Loader)

    def own_loader() -> Any:
        return Loader([1, 2, 3], batch_size=2)

    loader = own_loader()
    made = loader._trace_advisor_made
    assert (made["class"], made["package"], made["line"]) == ("Loader", None, line_of(own_loader))
    assert copy.copy(loader)._trace_advisor_made == made
    assert [len(batch) for batch in loader] == [2, 1]
    theirs = library.loads(Loader, [1])._trace_advisor_made
    assert (theirs["package"], theirs["function"]) == ("darting", "loads")
