"""What the document says of modules."""

from __future__ import annotations

from typing import Any

from analyzer.analysis import hardware as doc
from analyzer.facts import Facts
from analyzer.facts.model.modules import ModuleTime

MOST_MODULES = 400


def modules(facts: Facts) -> dict[str, Any]:
    """The fields of modules; of very many the longest, each with those around it."""
    found = facts.model.modules
    device = facts.device.main is not None
    rows = _longest(found.rows, device=device)
    return {
        "modules": tuple(_row(one, device=device) for one in rows),
        "modules_left_out": len(found.rows) - len(rows),
        "modules_source": found.source if found.rows else None,
    }


def _longest(rows: tuple[ModuleTime, ...], *, device: bool) -> list[ModuleTime]:
    """No module takes longer than one that calls it; of equals the outer one comes first."""
    order = sorted(range(len(rows)), key=lambda one: (-_time(rows[one], device=device), len(rows[one].path), one))
    return [rows[one] for one in sorted(order[:MOST_MODULES])]


def _time(one: ModuleTime, *, device: bool) -> int:
    return one.forward_kernel_ns + one.backward_kernel_ns if device else one.forward_ns + one.backward_ns


def _row(one: ModuleTime, *, device: bool) -> doc.ModuleRow:
    return doc.ModuleRow(
        path=one.path, calls=one.calls, forward_ns=one.forward_ns, backward_ns=one.backward_ns, self_ns=one.self_ns,
        kernel_ns=one.forward_kernel_ns + one.backward_kernel_ns if device else None,
        backward_kernel_ns=one.backward_kernel_ns if device else None,
        self_kernel_ns=one.self_kernel_ns if device else None,
    )  # fmt: skip
