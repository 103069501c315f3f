"""What the document says of the input: file, device, versions, what was recorded, how steps were found."""

from __future__ import annotations

import pandas as pd

from analyzer import analysis as doc
from analyzer.facts import Facts
from analyzer.spans.columns import present
from analyzer.spans.grouping import chosen
from traces.trace import Capability, Meta

# A serving trace may have hundreds of thousands of steps, each with a reason.
MOST_EXCLUDED = 1_000


def trace_info(facts: Facts) -> doc.TraceInfo:
    """The part of the document about the input."""
    meta = facts.trace.meta
    found = facts.trace.capabilities
    frame = facts.steps.frame
    left_out = _left_out(frame)
    return doc.TraceInfo(
        name=meta.name,
        sha256=meta.sha256,
        bytes=meta.size_bytes,
        events=meta.events,
        ranks=() if meta.rank is None else (meta.rank,),
        device=doc.DeviceInfo(kind=meta.device_kind, name=_device_name(meta), count=len(facts.device.all)),
        versions=_versions(meta),
        profiler=doc.ProfilerOptions(
            stacks=Capability.STACKS in found,
            shapes=Capability.SHAPES in found,
            memory=Capability.MEMORY in found,
            flops=bool(meta.top.get("with_flops")),
        ),
        steps=doc.Steps(
            source=facts.steps.source,
            count=len(frame) if facts.steps.source != "whole-trace" else 0,
            used=facts.steps.count,
            excluded=_excluded(left_out[:MOST_EXCLUDED]),
            more_excluded=max(len(left_out) - MOST_EXCLUDED, 0),
            noun="request" if facts.steps.noun == "request" else "step",
        ),
        notes=facts.trace.notes,
    )


def _left_out(frame: pd.DataFrame) -> pd.DataFrame:
    """The steps that are left out."""
    return chosen(frame, present(frame["reason"]) & ~frame["used"].to_numpy())


def _excluded(left_out: pd.DataFrame) -> tuple[doc.ExcludedStep, ...]:
    """Steps with the reasons why they are left out."""
    return tuple(
        doc.ExcludedStep(step=int(number), reason=str(reason))
        for number, reason in zip(left_out["number"].to_numpy().tolist(), left_out["reason"].tolist(), strict=True)
    )


def _device_name(meta: Meta) -> str | None:
    names = [item.get("name") for item in meta.devices]
    return next((name for name in names if isinstance(name, str)), None)


def _versions(meta: Meta) -> doc.Versions:
    stated = meta.advisor.get("versions")
    stated = stated if isinstance(stated, dict) else {}

    def text(value: object) -> str | None:
        return value if isinstance(value, str) else None

    return doc.Versions(
        torch=text(stated.get("torch")),
        cuda=text(stated.get("cuda")) or _cuda_version(meta.top.get("cuda_runtime_version")),
        rocm=_rocm_version(meta.top.get("hip_runtime_version")),
        python=text(stated.get("python")),
    )


def _cuda_version(number: object) -> str | None:
    """12060 -> 12.6, as the CUDA runtime counts."""
    return f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) and number > 1000 else None


def _rocm_version(number: object) -> str | None:
    """60342134 -> 6.3, as the HIP runtime counts."""
    return (
        f"{number // 10_000_000}.{number // 100_000 % 100}" if isinstance(number, int) and number > 10_000_000 else None
    )
