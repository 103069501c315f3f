"""What is kept of runs of events, to be compared, and values that events may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from traces.reader.columns.columns import Columns
from traces.reader.events import Event
from traces.reader.mend.repairs import Repairs
from traces.reader.names.vocabulary import Kind

IDS = st.none() | st.integers(-5, 5) | st.integers(-(2**63), 2**64) | st.sampled_from(["7", "0x1f", "", "x", 2.0])
NAMES = st.sampled_from(["aten::mm", "ProfilerStep#3", "nccl:all_reduce", "[memory]", "thread_name", "", None])
TEXTS = st.sampled_from(["", "[]", "[[2, 3]]", '""', "null"])
TEXT_COLUMNS = (
    "input_dims", "input_types", "concrete_inputs", "stack", "grid", "block", "text", "message_type", "message",
)  # fmt: skip


def columns_of(runs: Sequence[Sequence[Event]]) -> tuple[dict[str, Any], object]:
    """Everything that is kept of events, which come in runs; texts in place of codes, and what was counted."""
    repairs = Repairs("made.json")
    columns = Columns(repairs)
    for run in runs:
        columns.add(list(run))
    columns.finish()
    names, threads, texts = list(columns.names), list(columns.threads), [*columns.decoded_texts(), None]
    kept: dict[str, Any] = {}
    for kind in Kind:
        for column, values in columns.take(kind).items():
            if column in ("name", "thread"):
                kept[f"{kind}.{column}"] = [(names if column == "name" else threads)[code] for code in values]
            elif column in TEXT_COLUMNS:
                kept[f"{kind}.{column}"] = [texts[code] or None for code in values]
            else:
                kept[f"{kind}.{column}"] = [None if value != value else value for value in values.tolist()]
    return kept, (repairs.listed(), columns.unknown, columns.seen_categories, names, threads)
