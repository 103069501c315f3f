"""Low-rank adapters that are loaded and merged into the weights for each request, where stacks show it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share

# Less of the time in them is one part of several.
_MOST = 0.5
KEPT = Advice(
    "text",
    "Keep the adapters loaded and name the one of a request (`set_adapters`, an engine's `LoRARequest`), or merge once, and keep a "
    "merged copy of the weights for each adapter that is asked for often. An engine has a setting for how many it holds on the "
    "device, and on the host (`max_loras` and `max_cpu_loras` in vLLM, `--max-loras-per-batch` in SGLang).",
    "Merged weights are faster per pass, and merging costs a pass over all of them: it pays where many requests share an adapter.",
)


def _ratio(facts: Facts, time: IntervalSet) -> float:
    return (facts.host.merging_adapters & time).total_ns / time.total_ns if time else 0.0


def sentence(facts: Facts, time: IntervalSet) -> str:
    """Words to put behind the cause, with a space before them; empty where adapters have little to do with it."""
    ratio = _ratio(facts, time)
    return f" {share(ratio)} of it lies where low-rank adapters are loaded or merged." if ratio >= _MOST else ""


def kept(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """What to do about it; nothing where adapters have little to do with it."""
    return (KEPT,) if _ratio(facts, time) >= _MOST else ()
