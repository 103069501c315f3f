"""Which part of generating a run of the model is, where no range says it: by how many tokens ask, or by kernels made for one."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.kernels.names import family_of
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.spans.arrays import BoolArray, FloatArray, Int64Array
from analyzer.spans.labels import codes_of, distinct_texts, matching
from analyzer.spans.moments import moments_in
from traces.patterns import Pattern
from traces.trace import Trace

# Fused attention: questions and keys [texts, heads, tokens, width]. Written out: the softmax of [texts, heads, questions, keys].
_FUSED = Pattern(r"aten::(?:_?scaled_dot_product_\w*attention\w*)$")
_SOFTMAX = "aten::_softmax"
_EMBEDDING = "aten::embedding"
# With a softmax between them attention that is written out.
_WRITTEN = frozenset({"aten::bmm", "aten::baddbmm"})
# Kernels that only attention of one token over a cache runs; FlashInfer's for prompts and FlashAttention's split ones run for both.
# Of vLLM (v1, v2, 3D), FlashInfer, FasterTransformer, SGLang and Triton (in stages), AITER (mla).
_DECODES = Pattern(
    r"paged_attention_(?:v[12]|ll4mi)|BatchDecode|SingleDecode|masked_multihead_attention|single_query_cached_kv|_fwd_grouped_kernel_stage"
    r"|decode_attention|flash_?decod|unified_attention_3d|(?<!cache_)mla_dec|flash_fwd_splitkv_mla"
)


class Asked(msgspec.Struct, frozen=True):
    """What the shapes of one run say.

    Args:
        questions: Most tokens that ask in one attention of it; 0 where none was seen.
        keys: How many they ask in that attention.
        texts: Texts in it; 0 where none was seen.
        looked_up: Most tokens of a text that are looked up; 0 where that is not recorded.
    """

    questions: int
    keys: int
    texts: int
    looked_up: int

    @property
    def kind(self) -> str:
        """`prefill`, `decode` or `unknown`: several tokens over a longer cache are part of a prompt, or guesses."""
        if self.questions == 1 and self.keys > 1:
            return "decode"
        return "prefill" if self.questions > 1 and self.questions == self.keys else "unknown"

    @property
    def shows_nothing(self) -> bool:
        """Whether no shape says how many tokens of a text it works on, or only that one is looked up."""
        return not self.questions and self.looked_up <= 1

    @property
    def tokens(self) -> float:
        """How many tokens the run works on; NaN where unknown."""
        each = self.questions or self.looked_up
        return float(each * self.texts) if each and self.texts else float("nan")


def asked(trace: Trace, start_ns: Int64Array, end_ns: Int64Array, thread: int) -> list[Asked]:
    """What shapes say of each run, in order.

    Args:
        trace: The trace.
        start_ns: Where each begins on the host, ascending, shape (runs,).
        end_ns: Where it ends, before the next begins, shape (runs,).
        thread: Whose ops they are.
    """
    ops = trace.ops
    names, dims = distinct_texts(ops["name"]), distinct_texts(ops["input_dims"])
    wanted = np.array([bool(_FUSED.match(name)) or name in (_SOFTMAX, _EMBEDDING) for name in names] + [False])
    rows = np.flatnonzero(
        wanted[codes_of(ops["name"])] & (ops["thread"].to_numpy() == thread) & (codes_of(ops["input_dims"]) >= 0)
    )
    at = ops["start_ns"].to_numpy()[rows]
    run = np.searchsorted(start_ns, at, side="right") - 1
    inside = (run >= 0) & (at < end_ns[np.maximum(run, 0)])
    keys = zip(
        run[inside].tolist(),
        codes_of(ops["name"])[rows[inside]].tolist(),
        codes_of(ops["input_dims"])[rows[inside]].tolist(),
        strict=True,
    )
    found = [Asked(0, 0, 0, 0)] * len(start_ns)
    for place, name, shape in sorted(set(keys)):
        found[place] = _more(found[place], names[name], dims[shape])
    return found


def _more(before: Asked, name: str, dims: str) -> Asked:
    """What is known with one op more."""
    shapes = tensor_dims(dims)
    if name == _EMBEDDING:
        if len(shapes) < 2 or len(shapes[1]) != 2:
            return before
        texts, tokens = shapes[1]
        return msgspec.structs.replace(before, texts=before.texts or texts, looked_up=max(before.looked_up, tokens))
    four = [shape for shape in shapes[:2] if len(shape) == 4]
    if name == _SOFTMAX and len(four) == 1:
        questions, keys = four[0][2], four[0][3]
    elif name != _SOFTMAX and len(four) == 2:
        questions, keys = four[0][2], four[1][2]
    else:
        return before
    if (questions, keys) <= (before.questions, before.keys):
        return before
    return msgspec.structs.replace(before, questions=questions, keys=keys, texts=before.texts or four[0][0])


def decode_kernels(kernels: pd.DataFrame) -> BoolArray:
    """Which kernels exist for one token over a cache only, shape (kernels,)."""
    return matching(kernels["name"], _DECODES.search)


def one_row_ratio(kernels: pd.DataFrame, start_ns: Int64Array, end_ns: Int64Array) -> FloatArray:
    """Share of the matrix products in each span that multiply a vector, as those for one token do; 0 where there is no product.

    Of a prompt only the head multiplies one: that of its last token.

    Args:
        kernels: Kernels.
        start_ns: Where each span begins, shape (spans,).
        end_ns: Where it ends.
    """
    vectors, products = (_of_families(kernels, which, start_ns, end_ns) for which in (("gemv",), ("gemv", "gemm")))
    ratio: FloatArray = vectors / np.maximum(products, 1)
    return ratio


def attention_kernels(kernels: pd.DataFrame, start_ns: Int64Array, end_ns: Int64Array) -> BoolArray:
    """In which spans a kernel of fused attention begins, shape of the spans."""
    found: BoolArray = _of_families(kernels, ("attention",), start_ns, end_ns) > 0
    return found


def _of_families(
    kernels: pd.DataFrame, families: tuple[str, ...], start_ns: Int64Array, end_ns: Int64Array
) -> Int64Array:
    """How many kernels of some families begin in each span."""
    mine = matching(kernels["name"], lambda name: family_of(name) in families)
    return moments_in(kernels["start_ns"].to_numpy()[mine], start_ns, end_ns)


def attends(trace: Trace, start_ns: Int64Array, end_ns: Int64Array) -> BoolArray:
    """In which runs attention is computed, fused or written out: a policy that chooses an action looks up and chooses as well.

    Args:
        trace: The trace.
        start_ns: Where each run begins on the host, shape (runs,).
        end_ns: Where it ends.
    """
    names, start = trace.ops["name"], trace.ops["start_ns"].to_numpy()
    fused, softmax, written = (
        moments_in(start[matching(names, known)], start_ns, end_ns) > 0
        for known in (_FUSED.match, _SOFTMAX.__eq__, _WRITTEN.__contains__)
    )
    found: BoolArray = fused | (softmax & written)
    return found
