"""The JSON Schema of the document, generated from the classes of `analyzer.analysis`.

`schema.json` beside this file is what is shipped; `python -m analyzer.report.schema` writes it anew, and a test fails
when it is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.analysis import SCHEMA_VERSION, Analysis
from analyzer.json_schema import schema_of, written

SHIPPED = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Objects stay open: a minor version may add fields."""
    return schema_of(Analysis, f"advisor analysis {SCHEMA_VERSION}")


def render() -> str:
    """The schema as the text of `schema.json`."""
    return written(schema())


if __name__ == "__main__":
    SHIPPED.write_text(render(), encoding="utf-8")
