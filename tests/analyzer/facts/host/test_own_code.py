"""A frame is the user's by positive evidence only: torch cuts the folders of `sys.path` off installed packages too."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.facts.host.own_code import own_code
from building.builders import TraceBuilder

_PACKAGE = "somepkg/net.py(12): forward"
_BESIDE = "losses.py(9): loss"


def _own(*frames: str, importing: str | None = None, top: dict[str, Any] | None = None) -> Any:
    builder = TraceBuilder(None, top=top or {})
    builder.step(1, 0, 1_000)
    for depth, frame in enumerate(frames):
        builder.python(frame, depth, 1_000 - 2 * depth)
    if importing is not None:
        builder.python("<frozen importlib._bootstrap>(1360): _find_and_load", 100, 50)
        builder.python(importing, 110, 20)
    builder.op("aten::mm", 500, 10)
    return own_code(builder.trace())


@pytest.mark.parametrize(
    ("started", "package", "beside"),
    [
        # In a script: its folder is cut off, and so is that of every installed package.
        (("train.py(1): <module>",), False, True),
        # In a package: it is the user's, and no file without a folder lies beside it.
        (("<frozen runpy>(88): _run_code", "somepkg/train.py(1): <module>"), True, False),
        (("other/train.py(1): <module>",), False, False),
        # In a notebook: its kernel is installed, its cell is not.
        (("ipykernel_launcher.py(18): <module>", "<ipython-input-3-abc>(4): <module>"), False, True),
        (("/home/someone/train.py(1): <module>",), False, True),
        # Nobody knows.
        ((), False, True),
    ],
)
def test_a_package_is_the_users_where_the_program_was_started_in_it(
    started: tuple[str, ...], package: bool, beside: bool
) -> None:
    own = _own(*started)
    assert (own.line(_PACKAGE) is not None, own.line(_BESIDE) is not None) == (package, beside)
    assert own.line("/home/someone/project/somepkg/net.py(12): forward") is not None
    assert own.line("torch/nn/modules/module.py(12): forward") is None


@pytest.mark.parametrize(
    ("frame", "own"),
    [
        ("traces/collect/trace_advisor_hook/wrapping.py(76): step", False),
        ("/home/someone/advisor/traces/collect/trace_advisor_hook/watcher.py(12): after_optimizer", False),
        ("traces/collect/my_trace_advisor_hooks/wrapping.py(76): step", True),
    ],
)
def test_the_collectors_frames_are_nobodys_even_where_it_is_not_installed(frame: str, own: bool) -> None:
    """From a checkout, no installed package has the name."""
    made = _own("train.py(1): <module>", top={"advisor": {"installed": ["six"]}})
    assert (made.line(frame) is not None) is own


def test_what_is_imported_while_it_is_recorded_started_nothing() -> None:
    assert _own("train.py(1): <module>", importing="somepkg/lazy.py(1): <module>").line(_PACKAGE) is None
    assert _own("train.py(1): <module>", "somepkg/lazy.py(1): <module>").line(_PACKAGE) is not None


@pytest.mark.parametrize(("installed", "package"), [(["somepkg", "six"], False), (["six"], True), ("somepkg", False)])
def test_where_the_trace_says_what_is_installed_the_rest_is_the_users(installed: object, package: bool) -> None:
    own = _own("train.py(1): <module>", top={"advisor": {"installed": installed}})
    assert (own.line(_PACKAGE) is not None) is package
    assert own.line(_BESIDE) is not None


def _place(*frames: str) -> str | None:
    builder = TraceBuilder(None)
    builder.step(1, 0, 1_000)
    for depth, frame in enumerate(frames):
        builder.python(frame, depth, 1_000 - 2 * depth)
    builder.op("aten::mm", 500, 10)
    facts = Facts(builder.trace())
    line = facts.host.stacks.commonest([facts.host.main_thread], [505_000], facts.host.main_thread)
    return None if line is None else f"{line.file} {line.function}"


def test_the_line_that_called_a_package_is_named_where_nobody_knows_whose_the_package_is() -> None:
    assert _place("train.py(1): <module>", "train.py(8): step", _PACKAGE) == "train.py step"
    assert _place("somepkg/train.py(1): <module>", "somepkg/train.py(8): step", _PACKAGE) == "somepkg/net.py forward"
    assert _place("somecli/main.py(3): run", _PACKAGE) is None


@pytest.mark.parametrize(
    ("stack", "package"),
    [
        (f"{_PACKAGE};train.py(51): <module>", False),
        (f"{_PACKAGE};somepkg/train.py(51): <module>", True),
        (
            f"{_PACKAGE};somepkg/lazy.py(1): <module>;<frozen importlib._bootstrap>(2): load;train.py(5): <module>",
            False,
        ),
    ],
)
def test_call_stacks_of_old_torch_say_where_the_program_was_started(stack: str, package: bool) -> None:
    builder = TraceBuilder(None)
    builder.op("aten::mm", 500, 10, **{"Call stack": stack})
    assert (own_code(builder.trace()).line(_PACKAGE) is not None) is package
