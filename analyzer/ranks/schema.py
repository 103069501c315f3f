"""The JSON Schema of a summary, generated from its classes; `python -m analyzer.ranks.schema` writes `schema.json` beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from analyzer.ranks.summary import SUMMARY_VERSION, RankSummary

SHIPPED = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Objects stay open: a minor version may add fields."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"advisor rank summary {SUMMARY_VERSION}",
    }
    return {**head, **msgspec.json.schema(RankSummary)}


def render() -> str:
    """The schema as the text of `schema.json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SHIPPED.write_text(render(), encoding="utf-8")
