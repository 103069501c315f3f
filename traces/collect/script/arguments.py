"""Arguments of a script that may be handed around, so that a suggested command can be the script's own.

An allow-list: names of options, numbers, and a few words. Anything else (paths, names, keys, tokens) becomes `...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

LEFT_OUT = "..."
_OPTION = re.compile(r"--?[A-Za-z][\w.-]{0,40}")
_KEY = re.compile(r"\+{0,2}[A-Za-z][\w.]{0,60}")
_VALUE = re.compile(
    r"[-+]?\d{1,9}(?:\.\d{1,9})?(?:[eE][-+]?\d{1,3})?|true|false|none|null|yes|no|on|off|auto|cpu|mps|cuda(?::\d{1,2})?"
    r"|fp16|bf16|fp32|float16|bfloat16|float32|16-mixed|bf16-mixed|adamw?|sgd|ddp|fsdp",
    re.IGNORECASE,
)
_SECRET = re.compile(r"token|secret|passw|key|credential|auth|login|user|account|\bpin\b|cookie|session", re.IGNORECASE)

# What launchers are called, and the words between them and the script that they start.
_LAUNCHERS = re.compile(r"accelerate|bash|deepspeed|fabric|launch|mpiexec|mpirun|python[0-9.]{0,6}|run|sh|torchrun")
# The script's own name is recorded wherever it stands.
_SCRIPT = re.compile(r"[A-Za-z_][\w-]{0,60}\.(?:py|sh)")


def shareable(arguments: Sequence[str], *, launcher: bool = False) -> list[str]:
    """The arguments with what is not on the list left out; as many words as before.

    Args:
        arguments: Words behind the script, or behind the launcher.
        launcher: Whether a script, of which the name without its folder is kept, stands among them.
    """
    told = list(_shareable(arguments))
    return [_launched(word, left) for word, left in zip(arguments, told, strict=True)] if launcher else told


def _launched(word: str, left: str) -> str:
    name = PurePath(word).name
    return name if left == LEFT_OUT and (_SCRIPT.fullmatch(name) or _LAUNCHERS.fullmatch(word)) else left


def _shareable(arguments: Sequence[str]) -> Iterator[str]:
    name = ""
    for word in arguments:
        key, equals, value = word.partition("=")
        if _OPTION.fullmatch(key) or (equals and _KEY.fullmatch(key)):
            yield f"{key}={_value(value, key)}" if equals else key
            name = "" if equals else key
        else:
            yield _value(word, name)
            name = ""


def _value(text: str, name: str) -> str:
    return text if _VALUE.fullmatch(text) and not _SECRET.search(name) else LEFT_OUT
