"""Puts the changes of a trial in place, once torch is there."""

from __future__ import annotations

import random
import sys
from typing import Any

from . import loaders, model, optimizers, switches
from .watcher import TrialWatcher


def apply(watcher: TrialWatcher) -> None:
    """Wrap what the changes ask for, seed the generators, and listen to losses.

    Args:
        watcher: Holds the settings of the trial, and takes its notes.
    """
    trial, notes = watcher.trial, watcher.notes
    changes: dict[str, Any] = trial["changes"]
    seed(trial["seed"])
    loaders.wrap(changes, notes)
    optimizers.wrap(changes, notes)
    switches.wrap(changes, notes)
    model.wrap(changes, notes)
    watcher.losses.wrap()


def seed(number: int | None) -> None:
    """The same random numbers in every trial; a script that seeds its own generators does so later, and is heard."""
    if number is None:
        return
    sys.modules["torch"].manual_seed(number)
    random.seed(number)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % (1 << 32))
