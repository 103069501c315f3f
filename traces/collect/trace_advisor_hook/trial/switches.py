"""Switches of torch and Python: threads, TF32, cuDNN's search, the garbage collector, copies that do not wait."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from typing import Any

_SPACED = (50_000, 50, 50)


def wrap(changes: dict[str, Any], notes: dict[str, Any]) -> None:
    """Set what the changes ask for; a script that sets the same itself is not heard.

    Args:
        changes: Values by name: threads, tf32, cudnn-benchmark, non-blocking, anomaly.
        notes: What was applied.
    """
    torch: Any = sys.modules["torch"]
    if "threads" in changes:
        torch.set_num_threads(changes["threads"])
        torch.set_num_threads = lambda *_: None
        notes["applied"]["threads"] = changes["threads"]
    if "tf32" in changes:
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        notes["applied"]["tf32"] = True
    if "cudnn-benchmark" in changes:
        torch.backends.cudnn.benchmark = True
        notes["applied"]["cudnn-benchmark"] = True
    if "non-blocking" in changes:
        _do_not_wait(torch, notes)
    if "anomaly" in changes:
        torch.autograd.set_detect_anomaly(False)
        importlib.import_module("torch.autograd.anomaly_mode").set_detect_anomaly.__init__ = _no_anomaly
        notes["applied"]["anomaly"] = False


def _no_anomaly(self: Any, *_: Any, **__: Any) -> None:
    self.prev, self.prev_check_nan = False, True


def _do_not_wait(torch: Any, notes: dict[str, Any]) -> None:
    """Copies from pinned memory to a device return at once."""
    move = torch.Tensor.to

    @functools.wraps(move)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.is_cuda and self.is_pinned():
            kwargs.setdefault("non_blocking", True)
            notes["applied"]["non-blocking"] = True
        return move(self, *args, **kwargs)

    torch.Tensor.to = to


def collect_less(how: str, notes: dict[str, Any]) -> None:
    """What is there at the end of the warm-up is never looked at again; what comes later seldom."""
    gc.collect()
    gc.freeze()
    if how == "spaced":
        gc.set_threshold(*_SPACED)
    notes["applied"]["collector"] = how
