"""What the device that stands for a trace can do at most, and who says so."""

from __future__ import annotations

from analyzer.analysis import hardware as doc
from analyzer.facts import Facts
from analyzer.facts.recording.calibration import calibration
from analyzer.hardware.datasheet import Limits
from analyzer.hardware.peaks import limits_of, peak_of


def device_peaks(facts: Facts) -> tuple[doc.Peaks, Limits | None]:
    """What is known of the device: its maker's figures, else what was measured here."""
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
    return _told(name, "unknown", None, None, None), None


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
