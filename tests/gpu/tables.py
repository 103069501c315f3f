"""`report.md`: what the stages found, as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Found = dict[str, Any]


def report(folder: Path) -> str:
    """Markdown of every stage whose result lies in the folder."""
    parts = []
    for name, table in _TABLES.items():
        path = folder / f"{name}.json"
        if path.exists():
            found = json.loads(path.read_text("utf-8"))
            defects = [f"- **defect**: {defect}" for defect in found["defects"]]
            parts.append("\n".join([f"## {name.capitalize()}", "", *table(found), "", *defects]).rstrip())
    return "\n\n".join(parts) + "\n"


def _machine(found: Found) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    yield f"{found['date']}: {found['device']}, {found['cores']} cores, {found['system']}, load {found['load']:.1f}; {versions}."
    if found["driver"]:
        yield "Driver: " + ", ".join(f"{name} {value}" for name, value in found["driver"].items()) + "."
    yield f"Counters: {found['counters'] or 'can be recorded'}."


def _recordings(found: Found) -> Iterator[str]:
    yield "| program | verdict | trust | a step | without the profiler | GPU busy | MFU | findings |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in found["programs"]:
        if "verdict" not in row:
            yield f"| {row['name']} | - | - | - | - | - | - | - |"
            continue
        findings = ", ".join(f"{code} {severity}" for code, severity in row["findings"].items()) or "none"
        yield (
            f"| {row['name']} | {row['verdict']} | {row['trust']} | {_ms(row['step_ns'])} | {_ms(row['unprofiled_step_ns'])} "
            f"| {_share(row['gpu_busy_ratio'])} | {_share(row['mfu_ratio'])} | {findings} |"
        )


def _zoo(found: Found) -> Iterator[str]:
    counts = f"{len(found['presets'])} presets, {found['took_s']:.0f} s"
    yield f"{counts}: precision {found['precision']:.3f}, recall {found['recall']:.3f}."
    yield ""
    yield "| preset | found | a step | saves at most | its remedy saved | with the rest as it was | noise |"
    yield "|---|---|---|---|---|---|---|"
    for row in found["presets"]:
        shares = (row["bound_ratio"], row["gain_ratio"], row["rest_gain_ratio"], row["noise_ratio"])
        cells = " | ".join(map(_share, shares))
        yield f"| {row['name']} | {', '.join(row['right']) or 'nothing'} | {_ms(row['step_ns'])} | {cells} |"


def _products(found: Found) -> Iterator[str]:
    yield "| product | timed | from the trace | share of the peak | side |"
    yield "|---|---|---|---|---|"
    for row in found["products"]:
        told = row["told_flops_per_s"]
        cells = f"{row['flops_per_s'] / 1e12:.2f} TFLOP/s | {'-' if told is None else f'{told / 1e12:.2f} TFLOP/s'}"
        yield f"| {row['name']} | {cells} | {_share(row['peak_ratio'])} | {row['side'] or '-'} |"


def _experiment(found: Found) -> Iterator[str]:
    yield "| method | total | speed-up | spread | accuracy |"
    yield "|---|---|---|---|---|"
    for row in found["methods"]:
        yield (
            f"| {row['title']} | {row['total_ns'] / 1e9:.2f} s | {row['speed_up']:.2f} x | {_share(row['spread_ratio'])} "
            f"| {_share(row['accuracy'])} |"
        )
    for name, reason in found["skipped"].items():
        yield f"| {name} | {reason} | | | |"


def _ms(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1e6:.2f} ms"


def _share(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.1%}"


_TABLES: dict[str, Callable[[Found], Iterator[str]]] = {
    "machine": _machine,
    "recordings": _recordings,
    "zoo": _zoo,
    "products": _products,
    "experiment": _experiment,
}
