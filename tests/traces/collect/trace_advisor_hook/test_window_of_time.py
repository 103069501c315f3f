"""When the recording of a program without steps begins."""

import signal
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook.without_steps import window_of_time
from traces.collect.trace_advisor_hook.without_steps.window_of_time import Window


class _Watcher:
    settings: dict[str, Any] = {"stacks": False, "shapes": False}  # noqa: RUF012
    source, phase = "", "skip"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start_profiler(self, *_: Any) -> None:
        self.calls.append("start")

    def stop_profiler(self) -> None:
        self.calls.append("stop")

    def tell(self) -> None:
        self.calls.append("tell")


def _window(wanted: str) -> tuple[Window, _Watcher]:
    watcher: Any = _Watcher()
    window = Window(watcher, signal.SIGUSR2)
    window.wanted, window.patient_until = getattr(window, wanted), float("inf")
    return window, watcher


def _inside_an_import(window: Window) -> None:
    code = compile("window.toggle(0, frame())", "<frozen importlib._bootstrap>", "exec")
    exec(code, {"window": window, "frame": lambda: sys._getframe(1)})


def test_a_recording_waits_until_an_import_is_over() -> None:
    window, watcher = _window("began")
    _inside_an_import(window)
    assert watcher.calls == []
    window.toggle(0, sys._getframe())
    assert watcher.calls == ["start"]
    assert window.began.is_set()


def test_a_program_that_works_inside_an_import_is_recorded_in_the_end() -> None:
    window, watcher = _window("began")
    window.patient_until = 0.0
    _inside_an_import(window)
    assert watcher.calls == ["start"]


@pytest.mark.parametrize(("installed", "calls"), [(True, []), (False, ["start"])])
def test_nothing_begins_while_an_installed_module_is_half_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: bool, calls: list[str]
) -> None:
    file = tmp_path / "site-packages" / "half.py" if installed else Path(__file__)
    spec = ModuleSpec("half", None, origin=str(file))
    spec._initializing = True  # type: ignore[attr-defined]
    module = ModuleType("half")
    module.__spec__ = spec
    monkeypatch.setitem(sys.modules, "half", module)
    window, watcher = _window("began")
    window.patient_until = 0.0
    _inside_an_import(window)
    assert watcher.calls == calls


def test_it_is_asked_for_as_long_as_imports_take(monkeypatch: pytest.MonkeyPatch) -> None:
    window, _ = _window("began")
    half = iter([True, True, True, False])
    sent: list[int] = []
    monkeypatch.setattr(window_of_time.signal, "pthread_kill", lambda thread, number: sent.append(number))
    monkeypatch.setattr(window_of_time.signal, "getsignal", lambda number: window.toggle)
    monkeypatch.setattr(window_of_time, "LOOK_S", 0.001)
    monkeypatch.setattr(window_of_time, "START_S", -1.0)
    monkeypatch.setattr(window_of_time, "_half_there", lambda: next(half))
    window.ask(window.began)
    assert len(sent) == 3


def test_a_signal_that_comes_twice_does_not_end_what_it_began() -> None:
    window, watcher = _window("began")
    for _ in range(2):
        window.toggle(0, sys._getframe())
    assert watcher.calls == ["start"]
    window.wanted = window.ended
    for _ in range(2):
        window.toggle(0, sys._getframe())
    assert watcher.calls == ["start", "stop", "tell"]


def test_a_signal_that_comes_while_it_is_ended_does_not_end_it_again() -> None:
    window, watcher = _window("ended")
    watcher.phase = "window"

    def stop_profiler() -> None:
        watcher.calls.append("stop")
        if len(watcher.calls) == 1:
            window.toggle(0, sys._getframe())

    watcher.stop_profiler = stop_profiler  # type: ignore[method-assign]
    window.toggle(0, sys._getframe())
    assert watcher.calls == ["stop", "tell"]


def test_it_is_asked_for_until_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    window, _ = _window("began")
    sent: list[int] = []

    def send(thread: int, number: int) -> None:
        sent.append(number)
        if len(sent) == 3:
            window.began.set()

    monkeypatch.setattr(window_of_time.signal, "pthread_kill", send)
    monkeypatch.setattr(window_of_time.signal, "getsignal", lambda number: window.toggle)
    monkeypatch.setattr(window_of_time, "LOOK_S", 0.001)
    window.ask(window.began)
    assert len(sent) == 3
