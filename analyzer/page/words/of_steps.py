"""Words for steps, requests and whole recordings: a sentence on steps is put in the words of what was measured."""

from __future__ import annotations

import re
from typing import Literal

from traces.patterns import Pattern

Noun = Literal["step", "request", "recording"]

# Each with what it becomes where everything recorded is taken as one; a request's are the same with its noun.
_PHRASES: tuple[tuple[Pattern[str], str], ...] = (
    (Pattern(r"\beach ([\d.,]+ \w+) step\b"), r"the \1 recording"),
    (Pattern(r"\bof a step\b"), "of the recording"),
    (Pattern(r"\bper used step\b"), "in the recording"),
    (Pattern(r"\b[Ii]n (?:[\d,]+ of )?[\d,]+ steps?\b"), "in the recording"),
    (Pattern(r"\bthe recorded steps\b"), "the recording"),
    (Pattern(r"\ball used steps\b"), "the recording"),
    (Pattern(r"\bthe used steps?\b"), "the recording"),
    (Pattern(r"\bthe steps?\b(?! themselves)"), "the recording"),
    (Pattern(r"\beach step\b(?! (?:waits|takes))"), "the recording"),
    (Pattern(r"\bmean step\b"), "whole recording"),
    (Pattern(r"(?<!\bas )\ba step\b(?! later)"), "in all"),
)
# What serves requests does not train, nor does an evaluation: the same sentences of the program.
_NO_TRAINING: tuple[tuple[Pattern[str], str], ...] = (
    (Pattern(r"\btraining (process|thread)\b"), r"main \1"),
    (Pattern(r"\bTraining (process|thread)\b"), r"Main \1"),
    (Pattern(r"\b(keeps|pauses) training\b"), r"\1 the program"),
    (Pattern(r"\btraining (waits)\b"), r"the program \1"),
    (Pattern(r"\bTraining (waits)\b"), r"The program \1"),
    (Pattern(r"\b(beside|with) training\b"), r"\1 the program"),
)
# Of displays alone.
_LABELS: tuple[tuple[Pattern[str], str], ...] = (
    (Pattern(r"\b([Ww])hole step\b"), r"\1hole recording"),
    (Pattern(r"\b([Tt])h(?:e (?:drawn )?|is )step\b"), r"\1he recording"),
    (Pattern(r"\bmeans per step\b"), "times of all of it"),
    (Pattern(r"\ba mean step\b"), "the whole recording"),
)
_ANY_STEP = Pattern(r"\b[Ss]teps?\b")
_CODE = Pattern(r"(`[^`]*`)")


def put(text: str, noun: Noun, *, trains: bool = True) -> str:
    """A sentence on the used steps, in the trace's words.

    Args:
        text: Of a program that trains, step by step.
        noun: What the steps are.
        trains: Whether the program may train in steps; what answers requests does not.
    """
    if noun == "step" and trains:
        return text
    without = noun == "request" or not trains
    return "".join(
        part if part.startswith("`") else _plain(part, noun, without_training=without) for part in _CODE.split(text)
    )


def label(text: str, noun: Noun) -> str:
    """Words of a display for what was measured: they speak of nothing that a program or another recording has to have."""
    if noun == "recording":
        for pattern, whole in _LABELS:
            text = pattern.sub(whole, text)
        return put(text, noun)
    if noun == "step":
        return text
    return "".join(part if part.startswith("`") else _ANY_STEP.sub(_of_request, part) for part in _CODE.split(text))


def _plain(text: str, noun: Noun, *, without_training: bool) -> str:
    for pattern, whole in _PHRASES if noun != "step" else ():
        text = pattern.sub(whole if noun == "recording" else _of_request, text)
    for pattern, instead in _NO_TRAINING if without_training else ():
        text = pattern.sub(instead, text)
    return text


def _of_request(match: re.Match[str]) -> str:
    return match[0].replace("step", "request").replace("Step", "Request")
