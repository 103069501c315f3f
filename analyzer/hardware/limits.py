"""What the device that stands for a trace can do at most, and who says so."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analyzer.analysis import hardware as doc
from analyzer.facts import Facts
from analyzer.facts.kernels.grids import listed_multiprocessors
from analyzer.facts.recording.calibration import calibration
from analyzer.hardware.built_for import built_for
from analyzer.hardware.datasheet import Limits, Peak
from analyzer.hardware.peaks import limits_of, peak_of


def device_peaks(facts: Facts) -> tuple[doc.Peaks, Limits | None]:
    """What is known of the device: its maker's figures, else what was measured here, else those of what kernels were built for."""
    return facts.once("hardware.peaks", lambda: _device_peaks(facts))


def by_kernel_names(facts: Facts) -> bool:
    """Whether nothing says which device it is, so that its peaks are those of what its kernels were built for."""
    return device_peaks(facts)[0].source == "kernel-names"


def _device_peaks(facts: Facts) -> tuple[doc.Peaks, Limits | None]:
    device = _device(facts)
    name, row, measured = str(device.get("name", "")), peak_of(device), calibration(facts.trace.meta)
    if row is not None:
        limits = limits_of(row)
        return _told(name, "datasheet", limits, row.document, row.words), limits
    # Of another device than the trace's it says nothing.
    if measured is not None and measured.device == (name or "cpu") and (name or facts.device.main is None):
        limits = Limits(flops_per_s=measured.flops_per_s, bytes_per_s=measured.bytes_per_s)
        threads = f"CPU, {measured.threads} threads" if measured.threads != 1 else "CPU, 1 thread"
        words = "square products and a copy, best of repeats, by advisor collect --calibrate"
        return _told(name or threads, "calibrated", limits, None, words), limits
    if rows := _named_by_kernels(facts):
        limits = _best_of(rows)
        names = " or ".join(re.sub(r"\(.*\)\?", "", one.pattern) for one in rows)
        return _told(f"{names} ({rows[0].target})", "kernel-names", limits, rows[0].document, rows[0].words), limits
    return _told(name, "unknown", None, None, None), None


def multiprocessors_of(facts: Facts) -> int | None:
    """Of the device that stands for the trace; None where neither it nor what its kernels were built for says, or there is none."""
    if facts.device.main is None:
        return None
    if facts.trace.meta.devices:
        return listed_multiprocessors(facts.trace, facts.device)
    stated = {one.multiprocessors for one in _named_by_kernels(facts)}
    return stated.pop() if len(stated) == 1 else None


def _named_by_kernels(facts: Facts) -> tuple[Peak, ...]:
    """What the kernels of a trace that describes no device were built for."""
    if facts.device.main is None or facts.trace.meta.devices:
        return ()
    return built_for(facts.trace.kernels["name"].cat.categories)


def _best_of(rows: Sequence[Peak]) -> Limits:
    """The best figures of several devices: what is lost against them is an upper bound for each."""
    formats = set.intersection(*(set(one.flops_per_s) for one in rows))
    return Limits(
        flops_per_s={kind: max(one.flops_per_s[kind] for one in rows) for kind in sorted(formats)},
        bytes_per_s=max(one.bytes_per_s for one in rows),
    )


def _told(
    name: str, source: doc.PeakSource, limits: Limits | None, document: str | None, words: str | None
) -> doc.Peaks:
    return doc.Peaks(
        name=name, source=source, document=document, words=words, flops_per_s=limits.flops_per_s if limits else {},
        bytes_per_s=limits.bytes_per_s if limits else None,
    )  # fmt: skip


def _device(facts: Facts) -> dict[str, object]:
    """The device that stands for the trace, as the trace describes it."""
    main = facts.device.main
    if main is None:
        return {}
    listed = facts.trace.meta.devices
    # Where only one is listed it is that one, whatever its number: a process may see one of eight as number 0.
    mine = [one for one in listed if one.get("id") == main.device] or (listed if len(listed) == 1 else [])
    return mine[0] if mine else {}
