"""Where the host runs a model that generates once: by ranges that say it, by modules, or from an embedding to a choice."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.recording.said_passes import SaidPass, said_passes
from analyzer.spans.arrays import BoolArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts, is_any, matching
from traces.patterns import Pattern
from traces.trace import Trace

# What turns the model's output into a token (transformers, gpt-fast, engines): the largest, or one drawn.
_CHOOSING = frozenset({"aten::argmax", "aten::multinomial", "aten::topk", "aten::exponential_", "aten::sort"})
_LOOKING_UP = "aten::embedding"
# Models of transformers that end in a head for the next token: the outermost call of one is a pass.
_MODEL = Pattern(r"nn\.Module: \w*(?:ForCausalLM|LMHeadModel|ForConditionalGeneration)(?:_\d+)?$")
RUN_COLUMNS = ("host_start_ns", "host_end_ns", "thread")


def said_ranges(trace: Trace) -> pd.DataFrame:
    """Ranges, else Python functions, that say which part they are; of nested ones the innermost, on the thread with most of them.

    Returns:
        By start: host_start_ns, host_end_ns, thread, kind, sequences and tokens (float64, NaN unknown), counted (bool).
    """
    for frame, wanted in ((trace.annotations, is_any(trace.annotations["kind"], "user")), (trace.python, None)):
        names = distinct_texts(frame["name"])
        said = said_passes(names)
        if not said:
            continue
        rows = matching(frame["name"], said.__contains__)
        rows = rows if wanted is None else rows & wanted
        found = _said(frame[rows], said)
        # Functions add nothing where ranges say it.
        if len(found):
            return found
    return _said(pd.DataFrame(), {})


def _said(rows: pd.DataFrame, said: dict[str, SaidPass]) -> pd.DataFrame:
    if not len(rows):
        return pd.DataFrame(columns=[*RUN_COLUMNS, "kind", "sequences", "tokens", "counted"])
    rows = rows[rows["thread"] == rows["thread"].mode().iloc[0]].sort_values(
        ["start_ns", "end_ns"], ascending=[True, False]
    )
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    # The next one by start lies inside this one: this one is around it.
    innermost = np.append(start[1:] >= end[:-1], True)
    rows = rows[innermost]
    found = [said[str(name)] for name in rows["name"]]
    return pd.DataFrame(
        {
            "host_start_ns": rows["start_ns"].to_numpy(),
            "host_end_ns": rows["end_ns"].to_numpy(),
            "thread": rows["thread"].to_numpy(),
            "kind": [one.kind for one in found],
            "sequences": np.array(
                [np.nan if one.sequences is None else one.sequences for one in found], dtype=np.float64
            ),
            "tokens": np.array([np.nan if one.tokens is None else one.tokens for one in found], dtype=np.float64),
            "counted": [one.counted for one in found],
        }
    )


def module_runs(trace: Trace) -> pd.DataFrame:
    """Outermost calls of a model with a head for the next token; needs Python stacks or modules. Columns as RUN_COLUMNS."""
    rows = trace.python[matching(trace.python["name"], _MODEL.match)]
    if not len(rows):
        return _runs(np.empty(0, np.int64), np.empty(0, np.int64), 0)
    thread = int(rows["thread"].mode().iloc[0])
    rows = rows[rows["thread"] == thread].sort_values(["start_ns", "end_ns"], ascending=[True, False])
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    inside = np.append(False, start[1:] < np.maximum.accumulate(end)[:-1])
    return _runs(start[~inside], end[~inside], thread)


def runs_to_a_choice(ops: pd.DataFrame) -> pd.DataFrame:
    """From the first embedding behind one choice of a token to the last choice before the next; columns as RUN_COLUMNS.

    Experts are chosen inside a model, too: only an embedding begins a run.
    """
    names = np.array([*distinct_texts(ops["name"]), ""], dtype=object)[codes_of(ops["name"])]
    begins: BoolArray = names == _LOOKING_UP
    chooses: BoolArray = np.isin(names.astype(str), list(_CHOOSING)) if begins.any() else begins
    if not begins.any() or not chooses.any():
        return _runs(np.empty(0, np.int64), np.empty(0, np.int64), 0)
    thread = int(ops["thread"][begins].mode().iloc[0])
    mine = (ops["thread"] == thread).to_numpy()
    start = np.sort(ops["start_ns"].to_numpy()[begins & mine])
    chosen = ops[chooses & mine]
    choice_start, choice_end = np.sort(chosen["start_ns"].to_numpy()), np.sort(chosen["end_ns"].to_numpy())
    before = np.searchsorted(choice_start, start)
    first = np.append(True, before[1:] > before[:-1])
    begin = start[first]
    last = np.searchsorted(choice_start, np.append(begin[1:], np.iinfo(np.int64).max)) - 1
    # What follows the last choice is a run that the recording cuts.
    whole = (last >= 0) & (choice_start[np.maximum(last, 0)] > begin)
    return _runs(begin[whole], choice_end[last[whole]], thread)


def _runs(start: Int64Array, end: Int64Array, thread: int) -> pd.DataFrame:
    return pd.DataFrame(dict(zip(RUN_COLUMNS, (start, end, np.full(len(start), thread)), strict=True)))
