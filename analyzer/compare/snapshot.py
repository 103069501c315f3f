"""What a comparison needs of one run: small enough to live in a repository as a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import pandas as pd

from analyzer.analysis import Analysis
from analyzer.analysis.base import FigureName
from analyzer.compare.by_name import kernel_times, op_self_times, operator_times
from analyzer.compare.surroundings import Surroundings, surroundings
from analyzer.facts import Facts
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.facts.recording.collected import collected
from analyzer.page.words.of_steps import Noun
from analyzer.spans.labels import matching
from traces.patterns import Pattern
from traces.trace import Trace

SNAPSHOT_VERSION = "1.4"


class FindingState(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as far as a comparison needs it.

    `kind` and the figures are those of `SavingDocument`; `overlaps_with` names the rules whose findings claim time of it, too,
    `explained_by` those that say the same more closely.
    """

    id: str
    rule: str
    title: str
    severity: str
    ns_per_step_max: int
    kind: FigureName = "bound"
    ns_per_step_expected: int | None = None
    overlaps_with: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What must be equal for two runs to be comparable (PG010); None where the trace does not say.

    Args:
        device: Name of the accelerator, or `cpu`.
        world_size: Ranks of the job.
        number_formats: Types of the inputs of matrix products and convolutions, sorted.
        batch: First dimension of the inputs of the first linear or convolution op.
        torch: Version.
        cuda: Version.
        stacks: Whether stacks were recorded.
        memory: Whether memory was recorded.
        shapes: Whether shapes were recorded.
        steps_from: How steps were found.
        parameters: Numbers that the optimizers update, where `advisor collect` recorded them.
        layers: Sizes of the weights of linear layers and convolutions, as in `64x3x7x7`, sorted; of the two sizes of a matrix the
            smaller stands first.
    """

    device: str | None
    world_size: int | None
    number_formats: tuple[str, ...] | None
    batch: int | None
    torch: str | None
    cuda: str | None
    stacks: bool
    memory: bool
    shapes: bool
    steps_from: str
    parameters: int | None = None
    layers: tuple[str, ...] | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """How many names are not there because no known library gives them; their time is kept together."""

    kernels: int
    ops: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Args:
        version: Of this format.
        name: File name of the trace.
        sha256: Of the trace.
        trust: Verdict on the trace.
        conditions: What must be equal.
        steps_ns: Wall time of each used step, in order.
        waterfall_ns: Mean nanoseconds a step by cause.
        findings: What fired.
        quiet: Codes of the rules that looked and found nothing, or whose question does not arise (any more).
        kernels_ns: Device nanoseconds a step by kernel name, the longest first.
        ops_ns: Host self nanoseconds a step by op name, the longest first.
        operators_ns: Device nanoseconds a step by the operator that asks for them, likewise; None where nothing says.
        left_out: Names that were left out; None where none were looked for.
        surroundings: What else went on.
        noun: What the steps are; None where nobody took it down.
    """

    version: str
    name: str
    sha256: str
    trust: str
    conditions: Conditions
    steps_ns: tuple[int, ...]
    waterfall_ns: dict[str, float]
    findings: tuple[FindingState, ...]
    quiet: tuple[str, ...]
    kernels_ns: dict[str, float]
    ops_ns: dict[str, float]
    operators_ns: dict[str, float] | None = None
    left_out: LeftOut | None = None
    surroundings: Surroundings = Surroundings()
    noun: Noun | None = None


def snapshot(analysis: Analysis, facts: Facts) -> Snapshot:
    """Takes down one analysed run."""
    summary = analysis.summary
    used = max(summary.used_steps, 1)
    rules = {item.id: item.rule for item in analysis.findings}
    return Snapshot(
        version=SNAPSHOT_VERSION,
        name=analysis.trace.name,
        sha256=analysis.trace.sha256,
        trust=analysis.trust.verdict,
        conditions=_conditions(analysis, facts),
        steps_ns=tuple(facts.steps.used["dur_ns"].to_numpy().tolist()),
        waterfall_ns={item.cause: item.ns / used for item in summary.waterfall},
        findings=tuple(
            FindingState(
                id=item.id,
                rule=item.rule,
                title=item.title,
                severity=item.severity,
                ns_per_step_max=item.saving.ns_per_step_max,
                kind=item.saving.kind,
                ns_per_step_expected=item.saving.ns_per_step_expected,
                overlaps_with=_codes(item.saving.overlaps_with, rules),
                explained_by=_codes(item.explained_by, rules),
            )
            for item in analysis.findings
        ),
        quiet=tuple(check.rule for check in analysis.checks if check.state in ("clear", "not_applicable")),
        kernels_ns=kernel_times(facts),
        ops_ns=op_self_times(facts),
        operators_ns=operator_times(facts),
        surroundings=surroundings(facts),
        noun=facts.steps.noun,
    )


def _codes(ids: Iterable[str], rules: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({rules[id] for id in ids if id in rules}))


def _conditions(analysis: Analysis, facts: Facts) -> Conditions:
    trace = facts.trace
    device = analysis.trace.device
    return Conditions(
        device=device.name or (device.kind if device.kind == "cpu" else None),
        world_size=trace.meta.world_size,
        number_formats=_number_formats(trace),
        batch=_batch(facts),
        torch=analysis.trace.versions.torch,
        cuda=analysis.trace.versions.cuda,
        stacks=analysis.trace.profiler.stacks,
        memory=analysis.trace.profiler.memory,
        shapes=analysis.trace.profiler.shapes,
        steps_from=analysis.trace.steps.source.partition(":")[0],
        parameters=collected(trace.meta).parameters,
        layers=_layers(trace),
    )


_HEAVY_OPS = Pattern(r"aten::(?:mm|addmm|bmm|baddbmm|linear|conv\dd|convolution|_convolution|cudnn_convolution)$")
_PRODUCT = Pattern(r"aten::b?mm$")
_TYPES = Pattern(r'"(float|double|c10::Half|c10::BFloat16|c10::Float8\w*)"')


def _heavy_ops(trace: Trace) -> pd.DataFrame:
    names = trace.ops["name"].cat.categories
    heavy = np.array([_HEAVY_OPS.match(name) is not None for name in names] + [False])
    return trace.ops[heavy[trace.ops["name"].cat.codes.to_numpy()]]


def _number_formats(trace: Trace) -> tuple[str, ...] | None:
    texts = _heavy_ops(trace)["input_types"].dropna().astype("str").unique()
    found = {kind for text in texts for kind in _TYPES.findall(text)}
    return tuple(sorted(found)) or None


def _batch(facts: Facts) -> int | None:
    """Samples a batch: as recorded, or as the first layer of each used step has them, where all agree; else None.

    What a linear layer is given first may be tokens, of a server's window as many as have come: that is a batch only where steps
    are marked and have equally many. Rows in front of attention are tokens, of whatever number of samples.
    """
    if facts.recording.collected.batch_size is not None:
        return facts.recording.collected.batch_size
    heavy = _heavy_ops(facts.trace)
    # What a plain product multiplies may be weights.
    heavy = heavy[heavy["input_dims"].notna() & ~matching(heavy["name"], _PRODUCT.match)].sort_values(
        "start_ns", kind="stable"
    )
    first = np.searchsorted(heavy["start_ns"].to_numpy(), facts.steps.used["host_start_ns"].to_numpy())
    found = heavy.iloc[np.unique(first[first < len(heavy)])]
    if not facts.steps.marked:
        found = found[found["name"].astype("str").str.contains("conv")]
    names = facts.trace.ops["name"].cat.categories
    least = 3 if any("attention" in name for name in names) else 2
    sizes = {_samples(text, least) for text in found["input_dims"].astype("str")}
    return sizes.pop() if len(sizes) == 1 else None


def _samples(dims: str, least: int) -> int | None:
    """The first dimension of the first argument that is a matrix or more, a bias is none; None where it has no batch.

    Args:
        dims: Shapes as recorded.
        least: Dimensions below which it has none.
    """
    shapes = [sizes for sizes in tensor_dims(dims) if len(sizes) > 1]
    if not shapes:
        return None
    first, weight = shapes[0], shapes[1] if len(shapes) > 1 else []
    # The weight of a convolution has as many dimensions as its input with a batch.
    return None if len(first) < max(least, len(weight)) else first[0]


# Where the weight stands among the arguments; of a matrix product without a bias, backward passes hold activations there.
_WEIGHTS = {
    "aten::linear": 1,
    "aten::addmm": 2,
    "aten::convolution": 1,
    "aten::conv1d": 1,
    "aten::conv2d": 1,
    "aten::conv3d": 1,
}
_MOST_LAYERS = 200


def _layers(trace: Trace) -> tuple[str, ...] | None:
    heavy = _heavy_ops(trace)
    found = set()
    for name, dims in heavy[["name", "input_dims"]].dropna().astype("str").drop_duplicates().itertuples(index=False):
        sizes = tensor_dims(dims)
        place = _WEIGHTS.get(name, len(sizes))
        if place < len(sizes) and len(sizes[place]) > 1:
            weight = sizes[place]
            # A linear layer holds its weight transposed, the product below it does not.
            found.add("x".join(map(str, sorted(weight) if len(weight) == 2 else weight)))
    return tuple(sorted(found)[:_MOST_LAYERS]) or None


def mean_of(parts: list[Mapping[str, float]]) -> dict[str, float]:
    """Mean by key over several runs; a key a run lacks counts as 0 there."""
    keys = {key: None for part in parts for key in part}
    return {key: sum(part.get(key, 0.0) for part in parts) / len(parts) for key in keys}
