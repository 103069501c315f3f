"""Ranges that say which part of generating text they are: a prompt read at once (prefill), or one token more of each text (decode).

Engines that serve models count in the name of a range what is in the pass; programs write the word. The words alone mean other
things as well (an image is decoded, and latents are): a trace in which nothing is called a prefill has no decode by its word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from traces.patterns import Pattern

PassKind = Literal["prefill", "decode", "mixed"]

# vllm-project/vllm, vllm/v1/worker/gpu_worker.py; a number of tokens, or sums over requests (sq: of new tokens).
_VLLM = Pattern(r"execute_(?:\d+_)?context_(\d+)\((?:sq)?(\d+)?[^)]*\)_generation_(\d+)\((?:sq)?(\d+)?[^)]*\)")
_VLLM_REQUESTS = Pattern(r"execute_new_(\d+)_cached_(\d+)")
# sgl-project/sglang, srt/utils/profile_utils.py: `step[EXTEND bs=2 toks=4096]`; ROCm/ATOM: `prefill[bs=2 tok=16384]`.
_SGLANG = Pattern(r"step\[(DECODE|EXTEND|MIXED)\b(?: bs=(\d+))?(?: toks=(\d+))?")
_ATOM = Pattern(r"(prefill|decode)\[bs=(\d+)(?: tok=(\d+))?")
_SGLANG_KINDS: dict[str, PassKind] = {"DECODE": "decode", "EXTEND": "prefill", "MIXED": "mixed"}
_PART = r"(?:[ _-]?(?:one|next|n))?(?:[ _-]?(?:step|tokens?|iter(?:ation)?|batch|loop|phase|pass|forward))?"
# A range of the program's own, and a function of it, as Python's profiler names its calls: `generate.py(78): decode_one_token`.
_WORD = Pattern(rf"(?:.*[.:/ ])?_?(prefill|decode){_PART}[ _#:=-]*\d*\W*", re.IGNORECASE)
# Tokenizers and parsers have a `decode` of their own: a function says what of it.
_FUNCTION = Pattern(rf".*\.py\(\d+\): _?(?:(prefill){_PART}|(decode)(?!$){_PART})")


class SaidPass(msgspec.Struct, frozen=True):
    """What the name of a range says of a pass.

    Args:
        kind: Which part of generating it is.
        sequences: How many texts are in it; None where it does not say.
        tokens: How many tokens it works on; None likewise.
        counted: Whether an engine says it, whose ranges are one pass each; a word may stand for many.
    """

    kind: PassKind
    sequences: int | None
    tokens: int | None
    counted: bool


def said_pass(name: str) -> SaidPass | None:
    """What a name says; None where it is none of an engine's and has no such word.

    Args:
        name: Of a range or of a Python function, as recorded.
    """
    found = _VLLM.match(name)
    if found:
        prompts, read, texts, written = (int(part) if part else None for part in found.groups())
        tokens = None if read is None or written is None else read + written
        return _counted(prompts or 0, texts or 0, tokens)
    found = _VLLM_REQUESTS.match(name)
    if found:
        return _counted(int(found.group(1)), int(found.group(2)), None)
    found = _SGLANG.match(name)
    if found:
        kind, texts, tokens = (
            _SGLANG_KINDS[found.group(1)],
            *(int(part) if part else None for part in found.groups()[1:]),
        )
        return SaidPass(kind, texts, texts if kind == "decode" else tokens, counted=True)
    found = _ATOM.match(name)
    if found:
        sequences, tokens = (int(part) if part else None for part in found.groups()[1:])
        return SaidPass("prefill" if found.group(1) == "prefill" else "decode", sequences, tokens, counted=True)
    found = _FUNCTION.fullmatch(name) if ".py(" in name else _WORD.fullmatch(name)
    if found:
        return SaidPass(
            "prefill" if (found.group(1) or "").lower() == "prefill" else "decode", None, None, counted=False
        )
    return None


def _counted(prompts: int, texts: int, tokens: int | None) -> SaidPass | None:
    if not prompts and not texts:
        return None
    kind: PassKind = "mixed" if prompts and texts else "prefill" if prompts else "decode"
    return SaidPass(kind, prompts + texts, tokens, counted=True)


def said_passes(names: Iterable[str]) -> dict[str, SaidPass]:
    """What these names say, of those that say something; words only where both parts are named."""
    found = {name: said for name in names if (said := said_pass(name)) is not None}
    words = {said.kind for said in found.values() if not said.counted}
    return {name: said for name, said in found.items() if said.counted or words == {"prefill", "decode"}}
