"""What this torch can do: fused optimizers on the CPU came with 2.4."""

from __future__ import annotations

from importlib import metadata

from analyzer.facts.recording.versions import parsed


def fused_on_cpu() -> bool:
    """Whether an optimizer may be made with `fused=True` for parameters on the CPU."""
    return (parsed(metadata.version("torch")) or (0, 0)) >= (2, 4)
