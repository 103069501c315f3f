"""JSON Schemas of documents, generated from their classes: the same text whichever version of msgspec writes them."""

from __future__ import annotations

import inspect
import json
from typing import Any

import msgspec


def schema_of(kind: type, title: str) -> dict[str, Any]:
    """The schema of a document, draft 2020-12. Objects stay open: a minor version may add fields.

    Args:
        kind: The document's class.
        title: What the schema is called.
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**head, **_even(msgspec.json.schema(kind))}


def written(schema: dict[str, Any]) -> str:
    """A schema as the text of its `schema.json`."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _even(part: Any) -> Any:
    """The part as every version writes it.

    The choice of nothing stands behind the others, where the classes have it (msgspec 0.19 writes it first), and what a class
    says of itself begins at the margin (Python does so from 3.13 on).
    """
    if isinstance(part, list):
        return [_even(item) for item in part]
    if not isinstance(part, dict):
        return part
    found = {key: _even(item) for key, item in part.items()}
    if isinstance(choices := found.get("anyOf"), list):
        found["anyOf"] = sorted(choices, key=lambda choice: choice == {"type": "null"})
    if isinstance(text := found.get("description"), str):
        found["description"] = inspect.cleandoc(text)
    return found
