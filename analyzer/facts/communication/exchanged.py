"""What ranks exchange with one another, as the names of the program's ops, ranges and kernels tell."""

from __future__ import annotations

import msgspec
import pandas as pd

from analyzer.spans.labels import distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# Kernels that make tensors narrower before they are sent (FBGEMM's codecs).
_QUANTISES = Pattern(r"(?i).*(?:fp8|8bit)\w*quantize|.*float(?:tofp8|_to_(?:fp8|bfloat16|half))")
# Ranges that torchrec's pipelines open: the next batch's indices travel beside this batch already.
_PIPELINE = Pattern(r"## (?:(?:start_|wait_)?sparse_data_dist|sdd_)")
# Lookups of embedding tables (FBGEMM, which torchrec is built on, but not its products in 8 bits).
_EMBEDDINGS = Pattern(r"(?i).*(?:embedding_?bag|split_?embedding|splitlookup|_sparse_(?:data|features)|(?:^|[_ ])sdd_)")
# What only mixtures of experts do with their tokens.
_EXPERTS = Pattern(
    r".*(?:(?<![A-Za-z])moe(?![a-z])|MoE|MOE|(?i:expert|(?:un)?permute_?tokens|token_?dispatch|deep_?ep|(?:dispatch|combine)_?tokens))"
)
# What each kind of name has one of in small letters, and few others have. It is looked for first: a pattern goes through hundreds
# of long names of kernels letter by letter.
_IN_QUANTISES = ("quantize", "tofp8", "float_to_")
_IN_EMBEDDINGS = ("embedding", "splitlookup", "_sparse_", "sdd_")
_IN_EXPERTS = ("moe", "expert", "permute", "dispatch", "deep", "combine")
_IN_PIPELINE = ("## ",)


class Exchanged(msgspec.Struct, frozen=True):
    """What the program sends between ranks.

    Args:
        embeddings: Whether embedding tables are looked up: their rows are exchanged, not the tokens of experts or the heads of
            attention.
        quantised: Whether kernels make tensors narrower before they are sent.
        experts: Whether anything is named after experts, which tokens are sent to.
        pipelined: Whether the next batch's indices travel beside this batch.
    """

    embeddings: bool
    quantised: bool
    experts: bool
    pipelined: bool


def exchanged(trace: Trace) -> Exchanged:
    """Looks at the names of the whole recording."""
    frames = (trace.ops, trace.annotations, trace.kernels)
    experts = any(_named(frame, _EXPERTS, _IN_EXPERTS) for frame in frames)
    return Exchanged(
        any(_named(frame, _EMBEDDINGS, _IN_EMBEDDINGS) for frame in frames) and not experts,
        _named(trace.kernels, _QUANTISES, _IN_QUANTISES),
        experts,
        _named(trace.annotations, _PIPELINE, _IN_PIPELINE),
    )


def _named(frame: pd.DataFrame, wanted: Pattern[str], parts: tuple[str, ...]) -> bool:
    """Whether an event of a frame has such a name, which holds one of the parts in small letters."""
    names = ((name, name.lower()) for name in distinct_texts(frame["name"]))
    return any(wanted.match(name) for name, small in names if any(part in small for part in parts))
