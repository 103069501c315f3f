"""Copies of a trace that may be handed around: every text of every event is looked at, keys beside the events are on an allow-list.

What a text may tell is not decided here: whoever asks for the copy brings the cleaner. Events without anything private stay as they
were written, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from traces.allowed import OWN, shareable
from traces.patterns import Pattern
from traces.reader.about.provenance import KEY, stated

Clean = Callable[[str], str]
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
# Where an event is told apart by numbers, those may be as long as a card's.
_NUMBERED = frozenset(("ts", "dur", "tts", "tdur", "id", "pid", "tid", "ph"))
_NUMBER = Pattern(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+")
# Distinct texts of a large trace; beyond them it is cheaper to look again than to keep all.
_MOST_KEPT = 200_000


class Redaction:
    """Makes events and keys of one trace fit to be shown.

    Args:
        clean: Makes one text so.

    Attributes:
        texts: How many texts were changed, each place counted.
        keys: How many keys beside the events were left out.
        unread: How many events were left out because they could not be looked through.
    """

    def __init__(self, clean: Clean) -> None:
        self._clean = clean
        self._known: dict[tuple[str, bytes], bytes] = {}
        self._secret_keys: dict[str, bool] = {}
        self.texts = self.keys = self.unread = 0

    def events(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """The events with every text in them cleaned."""
        for text in texts:
            try:
                yield self._event(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self.unread += 1

    def top(self, top: dict[str, Any]) -> dict[str, Any]:
        """The keys beside the events: those that may be handed around."""
        kept: dict[str, Any] = {}
        for key, value in top.items():
            shown = shareable(key, value)
            if key in OWN:
                shown = value
            elif key == KEY:
                shown = stated(top) or None
            if shown is None:
                self.keys += 1
                continue
            # A key that may stay may hold any text: a device is called what the file says.
            kept[key] = self._value(shown)
            self.texts += kept[key] != shown and key not in OWN
        return kept

    def _event(self, text: bytes) -> bytes:
        fields = _FIELDS.decode(text)
        changed = False
        for key, raw in fields.items():
            value = bytes(raw)
            shown = self._args(value) if key == "args" and value[:1] == b"{" else self._raw(key, value)
            if shown is not value:
                fields[key], changed = msgspec.Raw(shown), True
        names = [self._text(key) for key in fields]
        if names != list(fields):
            fields, changed = dict(zip(names, fields.values(), strict=True)), True
        return msgspec.json.encode(fields) if changed else text

    def _args(self, text: bytes) -> bytes:
        """The arguments; the same object where nothing is private in them."""
        fields = _FIELDS.decode(text)
        shown = {self._text(key): self._raw(key, bytes(raw)) for key, raw in fields.items()}
        if list(shown) == list(fields) and all(shown[key] == bytes(raw) for key, raw in fields.items()):
            return text
        return msgspec.json.encode({key: msgspec.Raw(value) for key, value in shown.items()})

    def _raw(self, key: str, text: bytes) -> bytes:
        """A value as JSON, cleaned; the same object where nothing is private in it."""
        if b'"' not in text and not self._is_secret(key):
            return text
        known = self._known.get((key, text))
        if known is None:
            value = msgspec.json.decode(text)
            shown = self._value(value, key)
            known = text if shown == value else msgspec.json.encode(shown)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[(key, text)] = known
        if known == text:
            return text
        self.texts += 1
        return known

    def _value(self, value: Any, key: str = "") -> Any:
        if self._is_secret(key) and not (value is None or isinstance(value, bool)):
            return self._clean(f'"{key}": "x"').rpartition(": ")[2].strip('"')
        if isinstance(value, str):
            return value if key in _NUMBERED and _NUMBER.fullmatch(value) else self._text(value)
        if isinstance(value, list):
            return [self._value(item, key) for item in value]
        if isinstance(value, dict):
            return {self._text(name): self._value(item, name) for name, item in value.items()}
        return value

    def _is_secret(self, key: str) -> bool:
        """Whether a key says that what stands under it is a secret, whatever that is: a text, a number, more keys."""
        secret = self._secret_keys.get(key)
        if secret is None:
            secret = self._secret_keys[key] = self._clean(f'{{"{key}": "x"}}') != f'{{"{self._clean(key)}": "x"}}'
        return secret

    def _text(self, value: str) -> str:
        return self._clean(value)
