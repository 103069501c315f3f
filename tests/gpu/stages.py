"""The stages of `tests/gpu/run`: each returns plain data, with what is wrong under `defects`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu.bench import Bench, missing
from gpu.machine import machine
from gpu.methods import experiment
from gpu.planted import zoo
from gpu.products import products
from gpu.recordings import recordings

__all__ = ["STAGES", "Bench", "missing"]

STAGES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "machine": machine,
    "recordings": recordings,
    "zoo": zoo,
    "products": products,
    "experiment": experiment,
}
