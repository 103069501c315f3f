"""How long work reports where it is, without knowing who watches."""

from __future__ import annotations

from collections.abc import Callable

# Called with (stage, done, total), done and total in the stage's own unit (bytes while reading). To cancel, raise from it.
Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Watches nothing."""
