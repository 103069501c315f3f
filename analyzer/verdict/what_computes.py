"""What the device computes, in a few words: the kinds of kernels that take most of the time, and a kernel that stands out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from analyzer.facts import Facts
from analyzer.facts.host.ops import pick_row
from analyzer.facts.kernels.cpu_work import OwnTime
from analyzer.facts.kernels.names import POINTWISE_FAMILIES
from analyzer.page.words.kernel_names import short
from analyzer.rule import Topic
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching
from analyzer.units import share
from analyzer.verdict.outside_passes import outside_passes
from analyzer.verdict.shares import NAME_LENGTH, STANDS_OUT
from traces.patterns import Pattern

# Kinds of kernels as a person would sum them up. `other` is left out: nothing is known of it.
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("matrix products", ("gemm", "gemv")),
    ("convolutions", ("conv",)),
    ("attention", ("attention",)),
    ("pointwise kernels", tuple(family for family in POINTWISE_FAMILIES if family not in ("norm", "softmax"))),
    ("normalisation", ("norm",)),
    ("softmax", ("softmax",)),
    ("Fourier transforms", ("fft",)),
    ("pooling", ("pooling",)),
    ("interpolation", ("interpolation",)),
    ("compiled kernels", ("triton",)),
    ("indexing and sorting", ("gather",)),
    ("running sums", ("scan",)),
    ("the optimizer's kernels", ("multi_tensor",)),
    ("changes of layout", ("layout",)),
    ("unpacking weights", ("dequantize",)),
    ("scaling to fewer bits", ("quantize",)),
    ("low-rank adapters", ("adapter",)),
)
# Kinds below this part of the computing do not say what it is; more than three make no short sentence.
_WORTH_NAMING, _MOST_KINDS = 0.1, 3
# Part of a kernel's time that one op launches, for it to be that op's kernel.
_OF_ONE_OP = 0.9
# Less of it is not worth a word beside the op that launches the rest.
_IS_SOME = 0.05
# Ops whose kernels' kind says what they are: models are made of these.
_PRODUCT = Pattern(
    r"aten::_?(?:(?:add|b|baddb|addb|scaled_)?mm|linear|matmul|(?:cudnn_|miopen_)?convolution\w*|\w+attention\w*)$"
)
# The whole of an update in one op.
_FUSED_UPDATE = Pattern(r"aten::_fused_(?:adamw?|adagrad|sgd)_$")
# Instances of one template: `void at::native::name<...>(...)`; cuBLAS returns a type that is a template itself.
_FUNCTION = Pattern(
    r"(?:void |std::enable_if<[^>]*>::type )?((?:[\w~]+::|\(anonymous namespace\)::)*?)((?:\w+::(?=[kK]ernel\b))?[\w$]+)(?!\w*::)"
)


def what_computes(facts: Facts, told: frozenset[Topic] = frozenset(), *, names_update: bool = False) -> str:
    """What takes the time of the computing, but for what findings tell, and the optimizer where the verdict itself names it."""
    for_nothing = "" if "untaken_gradients" in told else _for_nothing(facts)
    computing = facts.time.waterfall.owned("compute")
    if facts.device.main is None:
        return " ".join(
            said for said in (_op_alone(facts, names_update=names_update), _computed_again(facts), for_nothing) if said
        )
    if not computing:
        return ""
    found = facts.kernels.named
    setting = facts.kernels.set_memory
    filling = _set_memory(facts, computing, told)
    # What is told by itself is no part of another kind.
    others = ~setting.kernels if filling else np.ones(len(found.frame), dtype=bool)
    parts = [
        ((found.spans(found.is_family(*families) & others) & computing).total_ns / computing.total_ns, words)
        for words, families in _KINDS
    ]
    named = sorted((part for part in parts if part[0] >= _WORTH_NAMING), reverse=True)
    text = ", ".join(f"{words} {share(ratio)}" for ratio, words in named[:_MOST_KINDS])
    alone = _last_resort(facts, computing.total_ns) or _alone(facts, computing)
    unnamed = _unnamed(facts, computing)
    parts_said = (text, alone, filling, unnamed, _untrained(facts, computing))
    said = "; ".join(part for part in parts_said if part)
    if len(found.frame) and found.is_family("other").all():
        # Of a device whose work has names of its own, being busy is all that is known.
        return "The names of its work do not say whether that is computing" + (f": {alone}." if alone else ".")
    return " ".join(one for one in (f"Of the computing: {said}." if said else "", for_nothing) if one)


def _set_memory(facts: Facts, computing: IntervalSet, told: frozenset[Topic]) -> str:
    """`setting memory to a value 21 %, most of it in `aten::zeros``; empty where it is little."""
    found = facts.kernels.set_memory
    ratio = found.time.total_ns / computing.total_ns
    if ratio < _WORTH_NAMING:
        return ""
    asked = f", most of it in `{found.asker[:NAME_LENGTH]}`" if found.asker and "set_memory" not in told else ""
    return f"setting memory to a value {share(ratio)}{asked}"


def _unnamed(facts: Facts, computing: IntervalSet) -> str:
    """The kernels of no known kind where they are a good part of the computing, by the longest of them; not one told by itself."""
    found = facts.kernels.named
    rows = found.is_family("other")
    longest = found.longest(rows, 1)
    ratio = (found.spans(rows) & computing).total_ns / computing.total_ns
    if not longest or ratio < _WORTH_NAMING or longest[0][2] >= STANDS_OUT * computing.total_ns:
        return ""
    first = f"`{_function(longest[0][0])}`"
    which = first if found.time_ns(rows) == longest[0][2] else f"{first} first"
    return f"{share(ratio)} in kernels whose names tell no kind, {which}"


def _untrained(facts: Facts, computing: IntervalSet) -> str:
    """The part of models that are only run beside one that is trained: what they give may be kept."""
    ratio = (facts.kernels.without_gradients & computing).total_ns / computing.total_ns
    return f"{share(ratio)} in forward passes without gradients, as of a frozen model" if ratio >= _WORTH_NAMING else ""


def _last_resort(facts: Facts, computing_ns: int) -> str:
    """The kernels that a library takes where it has none made for the case, where they are a good part of the computing."""
    found = facts.kernels.named
    rows = found.last_resort
    ratio = found.time_ns(rows) / computing_ns
    if ratio < _WORTH_NAMING:
        return ""
    name = found.longest(rows, 1)[0][0][:NAME_LENGTH]
    return (
        f"MIOpen's naive convolutions, as `{name}`, {share(min(ratio, 1.0))}: its last resort, where no other kernel fits the "
        "sizes, number format and layout"
    )


def _op_alone(facts: Facts, *, names_update: bool) -> str:
    """The op that takes a third of a CPU's steps or more: first one that models are not made of, then the update, then any.

    Before any the op that takes a third of what is in no pass and no update: models are made of the others.

    Before all what is no op but has a span like one: a function written in Python, whatever it calls; and calls that go back
    through one graph.
    """
    besides = facts.kernels.longest_besides
    again = names_update and besides is not None and _FUSED_UPDATE.match(besides.name)
    first = _written(facts) or _again(facts) or _alone_takes(facts, None if again else besides)
    update = _update_alone(facts)
    if first or update:
        return first or ("" if names_update else update)
    return outside_passes(facts) or _alone_takes(facts, facts.kernels.longest_op)


def _written(facts: Facts) -> str:
    """A function of autograd that is written in Python, where a good part of the step is in it and in no op that it calls."""
    found = facts.kernels.written_function
    ratio = facts.steps.ratio(found.ns) if found is not None else 0.0
    if found is None or ratio < _WORTH_NAMING:
        return ""
    return (
        f"Of the step {share(min(ratio, 1.0))} is in `{found.name[:NAME_LENGTH]}`, a `torch.autograd.Function`, and in no op that "
        "it calls: in Python, numpy or an extension, which the trace does not tell apart."
    )


def _again(facts: Facts) -> str:
    """Calls of `torch.autograd.grad` that go back through one graph, as for second derivatives, where a third is computed there."""
    passes = facts.loops.backward_passes
    ratio = facts.steps.ratio((passes.spans & facts.time.waterfall.owned("compute")).total_ns) if passes.again else 0.0
    if ratio < STANDS_OUT:
        return ""
    return (
        f"Of the step {share(ratio)} is computed going back through one graph {passes.passes / passes.updates:,.0f} times for one "
        "update, all but the first."
    )


def _computed_again(facts: Facts) -> str:
    """What checkpointing costs, where that is a good part of the step: nothing is wasted, so no finding counts it."""
    ratio = facts.steps.ratio((facts.kernels.recomputation.spans & facts.time.waterfall.owned("compute")).total_ns)
    if ratio < _WORTH_NAMING:
        return ""
    return (
        f"Of the step {share(ratio)} computes activations again in the backward pass, as gradient checkpointing does to save "
        "memory: where memory has room, that time can go."
    )


def _for_nothing(facts: Facts) -> str:
    """Gradients of parameters that no optimizer updates, where they are a good part of the model."""
    found = facts.recording.untrained
    if found is None or found.ratio < _WORTH_NAMING:
        return ""
    return (
        f"The backward pass computes gradients for {found.tensors} of {found.of_tensors} tensors ({share(found.ratio)} of their "
        "numbers) that no optimizer updates, as of a teacher without `torch.no_grad()`, or of a model that was to be frozen and "
        "lacks `requires_grad_(False)`: where nobody reads them, that part of the step can go."
    )


def _alone_takes(facts: Facts, longest: OwnTime | None) -> str:
    ratio = facts.steps.ratio(longest.ns) if longest is not None else 0.0
    if longest is None or ratio < STANDS_OUT:
        return ""
    return f"The op `{longest.name[:NAME_LENGTH]}` alone takes {share(min(ratio, 1.0))}."


def _update_alone(facts: Facts) -> str:
    """The optimizer's step where it takes a third of a CPU's steps or more: of a large table, or for a small batch."""
    update = facts.model.optimizing
    ratio = facts.steps.ratio(update.step_time.total_ns)
    return f"The step of `{update.class_name}` alone takes {share(min(ratio, 1.0))}." if ratio >= STANDS_OUT else ""


def _alone(facts: Facts, computing: IntervalSet) -> str:
    """The kernel that takes a third of the computing or more, where there are several."""
    found = facts.kernels.named
    rows = ~found.frame["collective"].to_numpy(dtype=bool)
    # Instances of one template, for other types or sizes of blocks, are one kernel to who wrote it.
    instances: dict[str, list[str]] = {}
    spent: Counter[str] = Counter()
    for name, _, total_ns in found.longest(rows, None):
        function = _function(name)
        instances.setdefault(function, []).append(name)
        spent[function] += total_ns
    if len(spent) < 2:
        return ""
    function, _ = spent.most_common(1)[0]
    # On several streams it runs beside itself: that time counts once, as it does for kinds of kernels.
    named: BoolArray = matching(found.frame["name"], instances[function].__contains__)
    ratio = (found.spans(rows & named) & computing).total_ns / computing.total_ns
    if ratio < STANDS_OUT:
        return ""
    launched = _launched(facts, rows, instances[function], function, device=ratio >= _OF_ONE_OP)
    return f"the kernel `{function}` alone {share(ratio)}{launched}"


def _function(name: str) -> str:
    """Of a kernel's name what a person calls it by: its function, or what that runs over tensors (`elementwise add`)."""
    called = short(name)
    # One whose brackets cannot be taken apart is given back whole.
    if called != name or "<" not in name:
        return called.partition("<")[0].strip()[:NAME_LENGTH]
    match = _FUNCTION.match(name)
    return (match.group(2) if match else name)[:NAME_LENGTH]


def _launched(facts: Facts, rows: BoolArray, instances: Sequence[str], function: str, *, device: bool) -> str:
    """The op behind nearly all kernels of a function, or the two that launch most of a kernel that is nearly all the device does.

    A name may stand for the work of several ops, as oneDNN's. An op that is a product, that launches all others as well, or whose
    name the kernel has says nothing more.
    """
    frame = facts.kernels.named.frame
    ops = facts.host.ops.ops["name"]
    code = pick_row(codes_of(ops).astype(np.int64), frame["op"].to_numpy())[rows]
    named: BoolArray = matching(frame["name"], instances.__contains__)[rows]
    dur = frame["dur_ns"].to_numpy()[rows]
    known = named & (code >= 0)
    distinct, place = np.unique(code[known], return_inverse=True)
    if not len(distinct):
        return ""
    times = np.bincount(place, weights=dur[known])
    longest = np.argsort(-times, kind="stable")[:2].tolist()
    names = [str(distinct_texts(ops)[distinct[one]]) for one in longest]
    of_one = times[longest[0]] >= _OF_ONE_OP * dur[named].sum()
    if of_one and not _PRODUCT.match(names[0]) and (code != distinct[longest[0]]).any():
        return "" if names[0].rpartition("::")[2] in function else f", launched by `{names[0][:NAME_LENGTH]}`"
    if not device or len(distinct) < 2 or times[longest[1]] < _IS_SOME * times.sum():
        return ""
    first, second = (
        f"{share(times[one] / times.sum())} {{}}in `{name[:NAME_LENGTH]}`"
        for one, name in zip(longest, names, strict=True)
    )
    return f", {first.format('of that ')} and {second.format('')}"
