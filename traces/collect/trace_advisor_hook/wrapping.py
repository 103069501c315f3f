"""How this comes into somebody's process: torch is wrapped as it is imported."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import sys
import threading
import types
from types import FrameType
from typing import Any

from .common import FAILURES, reach
from .marks.open_ranges import OpenRanges
from .phases.counters import watch_graphs
from .sampling.worker_lines import wrap_workers
from .software.made_by import maker
from .software.optimizer_code import constructor
from .trial.changes import apply
from .trial.watcher import TrialWatcher
from .watcher import Watcher
from .without_steps.window_of_time import record_by_time


class TorchFinder(importlib.abc.MetaPathFinder):
    """Lets `import torch` happen as ever, then wraps what is to be watched."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The usual spec of torch, with a loader that calls us after the import.

        Whoever asks may only want to know whether torch is installed (`datasets` does): it stays until torch has been imported.
        """
        if name != "torch":
            return None
        others = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
        spec = next((found for found in others if found is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                with contextlib.suppress(*FAILURES):
                    if self in sys.meta_path:
                        sys.meta_path.remove(self)
                        wrap(self.watcher)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def wrap(watcher: Watcher) -> None:
    """Watch optimizers, loaders, backward passes, gradients and other profilers."""
    _wrap_optimizers(watcher)
    _wrap_loaders(watcher)
    _wrap_backward(watcher)
    if watcher.guard is not None:
        watcher.guard.wrap_saving()
    if isinstance(watcher, TrialWatcher):
        apply(watcher)
        return
    if watcher.settings.get("counters"):
        watch_graphs(sys.modules["torch"])
    _wrap_profilers(watcher)
    if watcher.settings["evidence"]:
        wrap_workers(watcher.settings["folder"])
    if watcher.expected and threading.current_thread() is threading.main_thread():
        record_by_time(watcher)


def _wrap_optimizers(watcher: Watcher) -> None:
    optimizer = importlib.import_module("torch.optim.optimizer").Optimizer
    profile_step = optimizer.profile_hook_step

    def profile_hook_step(function: Any) -> Any:
        wrapped = profile_step(function)

        @functools.wraps(wrapped)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = wrapped(self, *args, **kwargs)
            watcher.after_optimizer(self)  # after torch's own range of the step has closed
            return result

        return step

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
    prepare = getattr(optimizer, "_patch_step_function", None)
    if prepare is not None:

        def _patch_step_function(self: Any) -> None:
            # Not around `__init__`: what that warns of would point at this file. A copy calls it, too.
            frame = constructor()
            if frame is not None:
                with contextlib.suppress(*FAILURES):
                    watcher.optimizer_code.note(self, frame)
            prepare(self)

        optimizer._patch_step_function = _patch_step_function


def _wrap_loaders(watcher: Watcher) -> None:
    module = importlib.import_module("torch.utils.data.dataloader")
    _wrap_making(module.DataLoader)
    iterator = module._BaseDataLoaderIter
    draw = iterator.__next__

    def __new__(cls: Any, loader: Any = None, *_: Any, **__: Any) -> Any:
        # Not around `__init__`: what that warns of would point at this file.
        self = object.__new__(cls)
        self._trace_advisor_loader = loader
        return self

    def __next__(self: Any) -> Any:
        watcher.before_batch(self)
        watcher.look.before(self)
        try:
            batch = draw(self)
        except StopIteration:
            watcher.after_last_batch()
            raise
        finally:
            watcher.look.parts.over()
        watcher.after_batch(batch)
        return batch

    iterator.__new__, iterator.__next__ = __new__, __next__


def _wrap_making(kind: Any) -> None:
    """Note on each loader which code makes it; not around `__init__`, as above."""

    def __new__(cls: Any, *_: Any, **__: Any) -> Any:
        self = object.__new__(cls)
        with contextlib.suppress(*FAILURES):
            # Past what a subclass does with its attributes: it has none yet.
            object.__setattr__(self, "_trace_advisor_made", maker(self, sys._getframe(1)))
        return self

    kind.__new__ = __new__


def _wrap_backward(watcher: Watcher) -> None:
    autograd: Any = importlib.import_module("torch.autograd")
    run_backward = autograd.backward

    @functools.wraps(run_backward)
    def backward(*args: Any, **kwargs: Any) -> Any:
        # One that runs inside another, as checkpointing makes them, is part of it.
        if watcher.passes.running or threading.current_thread() is not threading.main_thread():
            return run_backward(*args, **kwargs)
        watcher.passes.running = True
        watcher.untrained.before_backward(*args, **kwargs)
        try:
            result = run_backward(*args, **kwargs)
        finally:
            watcher.passes.running = False
        watcher.after_backward(sys._getframe(1))
        return result

    autograd.backward = backward
    run_grad = autograd.grad

    @functools.wraps(run_grad)
    def grad(*args: Any, **kwargs: Any) -> Any:
        result = run_grad(*args, **kwargs)
        caller = _asking(sys._getframe(1))
        # What torch asks for itself, row by row of a Jacobian, is part of a call of the program's.
        if (
            not _is_torchs(caller)
            and not watcher.passes.running
            and threading.current_thread() is threading.main_thread()
        ):
            watcher.after_backward(caller, gradients=True)
        return result

    autograd.grad = grad


def _asking(frame: FrameType) -> FrameType:
    """Who asks for gradients; where `torch.func.grad` does, who has called that, and torch itself in one inside another."""
    if not _module_of(frame).startswith("torch._functorch"):
        return frame
    asked, transforms = frame, 0
    above: FrameType | None = frame
    while above is not None:
        transforms += above.f_code.co_name == "grad_and_value_impl"
        if _is_torchs(asked):
            asked = above
        above = above.f_back
    return asked if transforms == 1 else frame


def _is_torchs(frame: FrameType) -> bool:
    return _module_of(frame).partition(".")[0] == "torch"


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _wrap_profilers(watcher: Watcher) -> None:
    profiler = importlib.import_module("torch.autograd.profiler").profile
    importlib.import_module("torch.profiler")
    prepare = profiler._prepare_trace
    ranges = OpenRanges()

    def _prepare_trace(self: Any) -> None:
        ours = reach(watcher.profiler, "profiler")
        if watcher.profiler is not None and ours is not None and self is not ours:
            watcher.give_way()
        with contextlib.suppress(*FAILURES):
            ranges.before_session(ours=self is ours)
        prepare(self)

    profiler._prepare_trace = _prepare_trace
