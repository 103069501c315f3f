"""The JSON Schema of a summary, generated from its classes; `python -m analyzer.ranks.schema` writes `schema.json` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.json_schema import schema_of, written
from analyzer.ranks.summary import SUMMARY_VERSION, RankSummary

SHIPPED = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Objects stay open: a minor version may add fields."""
    return schema_of(RankSummary, f"advisor rank summary {SUMMARY_VERSION}")


def render() -> str:
    """The schema as the text of `schema.json`."""
    return written(schema())


if __name__ == "__main__":
    SHIPPED.write_text(render(), encoding="utf-8")
