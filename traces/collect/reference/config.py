"""Every option of a recording, checked before torch is imported.

The defaults are the baseline of the reference loop: the 784-128-64-10 network, batch 64, Adam, no
worker processes, no pinned memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from traces.collect.recorder.window import LEAST_STEPS, MOST_STEPS, window_of
from traces.errors import UsageError

MODELS = ("mlp", "cnn", "resnet18")
DEVICES = ("auto", "cpu", "cuda")

# One epoch of the drawn digits at batch 64 takes 2 s with mlp and 10 s with cnn on two cores;
# resnet18 needs 0.3 s a step there, so it stops once the measured steps are done.
DEFAULT_STEPS = {"mlp": 200, "cnn": 200, "resnet18": 60}

_AT_LEAST = {"batch_size": 1, "num_workers": 0, "wait": 0, "warmup": 0, "active": 1, "steps": 1, "epochs": 1, "seed": 0}


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """What to train and what to record of it; immutable, valid once it exists.

    The sentence beside each field's type is its help text, see `help_for`.

    Raises:
        UsageError: one or more options are out of range or exclude each other; all of them are named.
    """

    output: Annotated[Path, "File to write; a name ending in .gz is compressed."] = Path("trace.json")
    device: Annotated[str, "Where to train: auto takes a CUDA device when there is one."] = "auto"
    model: Annotated[str, "Network to train: mlp 784-128-64-10, a small cnn, or torchvision's resnet18."] = "mlp"
    steps: Annotated[int | None, "Training steps in all. Default: 200 (resnet18: 60)."] = None
    epochs: Annotated[int | None, "Whole passes over the data, instead of --steps."] = None
    batch_size: Annotated[int, "Samples in a step."] = 64
    num_workers: Annotated[int, "Processes that load data; 0 loads in the training process."] = 0
    in_memory: Annotated[
        bool, "Transform the data once and take whole batches of them: the remedy for a slow loader."
    ] = False
    pin_memory: Annotated[bool, "Load into page-locked memory; needs an accelerator."] = False
    non_blocking: Annotated[bool, "Copy to the device without waiting; useful with pinned memory."] = False
    wait: Annotated[int, "Steps that run before the profiler warms up: they hold the start-up costs."] = 20
    warmup: Annotated[int, "Steps the profiler runs without keeping events."] = 3
    active: Annotated[
        int | None,
        f"Steps to record. Default: {MOST_STEPS}, fewer where they are long: what a second holds, at least {LEAST_STEPS}.",
    ] = None
    stacks: Annotated[bool, "Record Python frames: shows where, slows the steps down."] = False
    shapes: Annotated[bool, "Record the shapes and types of operator inputs."] = False
    data_dir: Annotated[Path | None, "Folder with torchvision's MNIST; otherwise digits are drawn and kept there."] = (
        None
    )
    seed: Annotated[int, "Seed of weights and of the order of samples."] = 0

    def __post_init__(self) -> None:
        """Report every problem at once, so that one run is enough to see them all."""
        problems = list(self._problems())
        if problems:
            raise UsageError(
                what="; ".join(problems),
                fix="see `advisor collect --help` for what each option takes",
            )

    @property
    def schedule_steps(self) -> int:
        """Steps that a recording needs, up to and including the last recorded one."""
        return self.wait + self.warmup + window_of(self.active).least

    def total_steps(self, steps_per_epoch: int) -> int:
        """How many steps to train in all, for a data set of `steps_per_epoch` batches.

        Raises:
            UsageError: fewer steps than the schedule needs; the message holds the numbers.
        """
        total = self.epochs * steps_per_epoch if self.epochs is not None else self.steps
        if total is None:
            most = self.wait + self.warmup + window_of(self.active).most
            total = max(DEFAULT_STEPS[self.model], most)
        if total < self.schedule_steps:
            least = window_of(self.active).least
            raise UsageError(
                what=f"{total} training steps are too few: recording {least} needs {self.schedule_steps} "
                f"(wait {self.wait} + warmup {self.warmup} + active {least})",
                where=f"{steps_per_epoch} steps make one epoch at batch size {self.batch_size}",
                fix=f"use --steps {self.schedule_steps} or more, or a smaller --wait, --warmup or --active",
            )
        return total

    def command(self) -> tuple[str, ...]:
        """The command line that records this again, options at their default left out.

        Built from the options and never from `sys.argv`, and paths cut to their last part: it goes
        into the trace, which people hand around.
        """
        words = ["advisor", "collect"]
        for option in fields(self):
            value = getattr(self, option.name)
            if value == option.default:
                continue
            words.append("--" + option.name.replace("_", "-"))
            if not isinstance(value, bool):
                words.append(value.name if isinstance(value, Path) else str(value))
        return tuple(words)

    def _problems(self) -> Iterator[str]:
        if self.model not in MODELS:
            yield f"--model must be one of {', '.join(MODELS)}, not {self.model!r}"
        if self.device not in DEVICES:
            yield f"--device must be one of {', '.join(DEVICES)}, not {self.device!r}"
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                yield f"--{name.replace('_', '-')} must be at least {least}, not {value}"
        if self.seed >= 2**63:
            yield f"--seed must be below 2**63, not {self.seed}"
        if self.steps is not None and self.epochs is not None:
            yield "--steps and --epochs exclude each other"


def help_for(name: str) -> str:
    """The help text of the option `name` (a field of `CollectConfig`).

    Raises:
        KeyError: there is no such option.
    """
    annotation = get_type_hints(CollectConfig, include_extras=True)[name]
    return str(annotation.__metadata__[0])


def default_of(name: str) -> Any:
    """The default of the option `name`, so that a command line need not repeat it.

    Raises:
        KeyError: there is no such option.
    """
    return {option.name: option.default for option in fields(CollectConfig)}[name]
