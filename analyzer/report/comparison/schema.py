"""The JSON Schema of a comparison, generated from its classes.

`schema.json` beside this file is what is shipped; `python -m analyzer.report.comparison.schema` writes it anew, and a test
fails when it is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.compare.comparison import COMPARISON_VERSION
from analyzer.json_schema import schema_of, written
from analyzer.report.comparison.json import Document

SHIPPED = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Objects stay open: a minor version may add fields."""
    return schema_of(Document, f"advisor comparison {COMPARISON_VERSION}")


def render() -> str:
    """The schema as the text of `schema.json`."""
    return written(schema())


if __name__ == "__main__":
    SHIPPED.write_text(render(), encoding="utf-8")
