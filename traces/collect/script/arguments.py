"""Arguments of a script that may be handed around, so that a suggested command can be the script's own.

An allow-list: names of options, numbers, and a few words. Anything else (paths, names, keys, tokens) becomes `...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LEFT_OUT = "..."
_OPTION = re.compile(r"--?[A-Za-z][\w.-]{0,40}")
_KEY = re.compile(r"\+{0,2}[A-Za-z][\w.]{0,60}")
_VALUE = re.compile(
    r"[-+]?\d{1,9}(?:\.\d{1,9})?(?:[eE][-+]?\d{1,3})?|true|false|none|null|yes|no|on|off|auto|cpu|mps|cuda(?::\d{1,2})?"
    r"|fp16|bf16|fp32|float16|bfloat16|float32|16-mixed|bf16-mixed|adamw?|sgd|ddp|fsdp",
    re.IGNORECASE,
)
_SECRET = re.compile(r"token|secret|passw|key|credential|auth|login|user|account|\bpin\b|cookie|session", re.IGNORECASE)


def shareable(arguments: Sequence[str]) -> list[str]:
    """The arguments with what is not on the list left out; as many words as before."""
    return list(_shareable(arguments))


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
