"""The JSON Schema of a tuning's result, generated from its classes.

`schema.json` beside this file is what is shipped; `python -m analyzer.report.tuning.schema` writes it anew, and a test fails
when it is stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analyzer.analysis.tuning import TUNING_VERSION, Tuning
from analyzer.json_schema import schema_of, written

SHIPPED = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Objects stay open: a minor version may add fields."""
    return schema_of(Tuning, f"advisor tuning {TUNING_VERSION}")


def render() -> str:
    """The schema as the text of `schema.json`."""
    return written(schema())


if __name__ == "__main__":
    SHIPPED.write_text(render(), encoding="utf-8")
