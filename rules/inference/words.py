"""How rules on generated text say what was found."""

from __future__ import annotations

from analyzer.facts.generation.passes import Generation
from analyzer.units import count, duration


def passes(found: Generation) -> str:
    """How many passes decode and read prompts: `Of 120 passes 117 decode (8 tokens each, 7.1 ms) and 3 read prompts (95 ms)`."""
    decodes, prompts = found.of("decode"), found.of("prefill")
    tokens = found.decode_tokens
    each = f"{count(round(tokens), 'token')}{' each' if len(decodes) != 1 else ''}, " if tokens is not None else ""
    said = [
        f"{len(decodes):,} {'decodes' if len(decodes) == 1 else 'decode'} ({each}{duration(found.median_ns('decode'))})"
    ]
    if len(prompts):
        said.append(
            f"{len(prompts):,} {'reads' if len(prompts) == 1 else 'read'} prompts ({duration(found.median_ns('prefill'))})"
        )
    rest = len(found.passes) - len(decodes) - len(prompts)
    if rest:
        said.append(f"{rest:,} {'is' if rest == 1 else 'are'} both or unknown")
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    if len(found.passes) == 1 == len(decodes):
        return f"The one pass {listed.removeprefix('1 ')}; told by {found.source}."
    return f"Of {count(len(found.passes), 'pass', 'passes')} {listed}; told by {found.source}."
