"""The changes that can be made from outside a script: their values, what they may do to results, and how to write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from analyzer.analysis.tuning import Numerics
from traces.collect.tune.trial import Value

Call = Literal["loader", "optimizer", "model", "script"]


@dataclass(frozen=True)
class Machine:
    """What the values of a change depend on: cores for this process, and whether the step runs on a device."""

    cores: int
    on_device: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change.

    Args:
        name: As `RuleMeta.outside` and the hook call it.
        title: In words, at most 40 characters.
        values: The values to try on a machine, those in use by default left out; none where it means nothing there.
        searched: Whether the values are numbers in order, of which few are tried.
        numerics: Whether results can differ.
        effort: What it costs the user to make and to live with, 1 a word to 5 a rewrite; the cheapest is tried first.
        group: Changes of one group stand for each other: of them one is recommended.
        call: Which of the user's calls it changes.
        arguments: The arguments of that call, by a value.
        line: A line for the start of the script, by a value.
        environment: Variables that a value needs.
        replaces: Another change that is tried in its stead within a combination.
    """

    name: str
    title: str
    values: Callable[[Machine], tuple[Value, ...]]
    searched: bool = False
    numerics: Numerics = "same"
    effort: int = 1
    group: str = ""
    call: Call = "script"
    arguments: Callable[[Value], dict[str, str]] = field(default=lambda value: {})
    line: Callable[[Value], str] = field(default=lambda value: "")
    environment: Callable[[Value], dict[str, str]] = field(default=lambda value: {})


def _only_on_device(*values: Value) -> Callable[[Machine], tuple[Value, ...]]:
    return lambda machine: values if machine.on_device else ()


def _always(*values: Value) -> Callable[[Machine], tuple[Value, ...]]:
    return lambda machine: values


def _workers(machine: Machine) -> tuple[Value, ...]:
    """Up to four to a core: a worker that waits for a disk or a network needs none."""
    return tuple(range(4 * min(machine.cores, 16) + 1))


def _threads(machine: Machine) -> tuple[Value, ...]:
    return tuple(range(1, machine.cores + 1))


CATALOGUE: tuple[Change, ...] = (
    Change(
        name="set-to-none", title="Drop gradients instead of zeroing them", values=_always(True), call="script",
        line=lambda value: "# optimizer.zero_grad(set_to_none=True), which is torch's default: leave the argument out",
    ),
    Change(name="anomaly", title="Anomaly detection off", values=_always(False),
           line=lambda value: "# leave torch.autograd.set_detect_anomaly out"),
    Change(name="threads", title="Threads of torch", values=_threads, searched=True,
           line=lambda value: f"torch.set_num_threads({value})"),
    Change(name="collector", title="Garbage collector: freeze what is there", values=_always("spaced"),
           line=lambda value: "import gc; gc.freeze(); gc.set_threshold(50_000, 50, 50)  # once the model is made"),
    Change(name="workers", title="Loader workers", values=_workers, searched=True, effort=2, group="loading", call="loader",
           arguments=lambda value: {"num_workers": str(value)}),
    Change(name="prefetch", title="Batches ready per worker", values=_always(2, 4, 8, 16), searched=True, effort=2,
           call="loader", arguments=lambda value: {"prefetch_factor": str(value)}),
    Change(name="persistent", title="Workers that live on between epochs", values=_always(True), effort=2, call="loader",
           arguments=lambda value: {"persistent_workers": "True"}),
    Change(name="pinned", title="Batches in pinned memory", values=_only_on_device(True), effort=2, call="loader",
           arguments=lambda value: {"pin_memory": "True"}),
    Change(name="non-blocking", title="Copies that do not wait", values=_only_on_device(True), effort=2, call="script",
           line=lambda value: "# batch.to(device, non_blocking=True), from pinned memory"),
    Change(name="allocator", title="Expandable segments of device memory", values=_only_on_device("expandable"),
           environment=lambda value: {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
           line=lambda value: "# before start: export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
    Change(name="optimizer", title="Optimizer over all parameters at once", values=_always("foreach", "fused"), effort=2,
           numerics="rounding", call="optimizer", arguments=lambda value: {str(value): "True"}),
    Change(name="in-memory", title="Data set indexed once, held in memory", values=_always("batches", "samples"), effort=3,
           group="loading", call="loader"),
    Change(name="cudnn-benchmark", title="cuDNN looks for its fastest way", values=_only_on_device(True), numerics="rounding",
           line=lambda value: "torch.backends.cudnn.benchmark = True"),
    Change(name="channels-last", title="Images with channels last", values=_always(True), effort=3, numerics="rounding",
           call="model", line=lambda value: "# model = model.to(memory_format=torch.channels_last), images likewise"),
    Change(name="tf32", title="TF32 for matrices in single precision", values=_only_on_device(True), numerics="precision",
           line=lambda value: 'torch.set_float32_matmul_precision("high")'),
    Change(name="autocast", title="Autocast to bfloat16", values=_always("bfloat16"), effort=3, numerics="precision",
           call="model", line=lambda value: "# with torch.autocast(device, dtype=torch.bfloat16): around the forward pass"),
    Change(name="compile", title="torch.compile", values=_always("default"), effort=4, numerics="rounding", call="model",
           line=lambda value: "# model = torch.compile(model)"),
)  # fmt: skip
BY_NAME = {change.name: change for change in CATALOGUE}
