"""Times the methods in turns, a repeat of each, then records a separate run of each under the profiler.

In turns, because a machine that gets slower or faster meanwhile would make the methods that run then look so.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from traces.collect.api import record
from traces.collect.experiment.methods import METHODS, Method, Setup
from traces.collect.experiment.result import MethodResult, Skipped
from traces.collect.needs import RECORDING, check_installed
from traces.collect.output.cores import usable_cores
from traces.collect.output.files import check_writable
from traces.collect.recorder.lost_worker import lost_workers_told
from traces.collect.recorder.window import MOST_STEPS
from traces.collect.reference.data import find_data
from traces.collect.reference.result import Progress
from traces.ending import interrupt_in
from traces.errors import UsageError

if TYPE_CHECKING:
    from traces.collect.experiment.training import Trainer

# Those that are skipped, recorded and let pass, and twenty to be timed without the profiler.
_RECORDED_STEPS = 5 + 3 + MOST_STEPS + 8 + 20


@dataclass(frozen=True, kw_only=True)
class ExperimentConfig:
    """What to compare.

    Args:
        output: Folder for the traces, made if missing.
        methods: Names of the methods; empty for all. The standard loop always runs.
        epochs: Passes over the data in a repeat.
        repeats: How often each method is timed.
        device: `auto`, `cpu` or `cuda`.
        model: `mlp`, `cnn` or `resnet18`.
        data_dir: As of `collect`.
        tensorboard: Folder for TensorBoard logs, or None.
        seed: Seed of the first repeat; the next takes the next.
    """

    output: Path = Path("experiment")
    methods: tuple[str, ...] = ()
    epochs: int = 2
    repeats: int = 3
    device: str = "auto"
    model: str = "mlp"
    data_dir: Path | None = None
    tensorboard: Path | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = sorted(set(self.methods) - {method.name for method in METHODS})
        if unknown:
            known = ", ".join(method.name for method in METHODS)
            raise UsageError(f"there is no method {', '.join(unknown)}", fix=f"choose from {known}")
        if self.epochs < 1 or self.repeats < 1:
            raise UsageError("--epochs and --repeats must be at least 1", fix="leave them out for their defaults")

    def chosen(self) -> tuple[Method, ...]:
        """The methods to run, the standard loop first."""
        return tuple(
            method for method in METHODS if not self.methods or method.name in self.methods or method.name == "standard"
        )


def run_experiment(config: ExperimentConfig, progress: Progress) -> Iterator[MethodResult | Skipped]:
    """Run every method; all are timed before the first result is given.

    Args:
        config: What to compare.
        progress: Told (done, total, label).

    Raises:
        UsageError: torch or TensorBoard is missing, there is no such device, or nothing can be written.
    """
    check_installed("the experiment", RECORDING + (("tensorboard",) if config.tensorboard else ()))
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from traces.collect.experiment.training import Trainer, choose_device

    device = choose_device(config.device)
    try:
        config.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {config.output}: {error.strerror}", where="-o/--output", fix="name another one"
        ) from error
    check_writable(config.output / "standard.json")
    source = find_data(config.data_dir, progress)
    chosen = config.chosen()
    reasons = {method: reason for method in chosen if (reason := _missing(method, device.type))}
    failures: dict[Method, str] = {}
    runs = [method for method in chosen if method not in reasons]
    done, total = 0, len(runs) * (config.repeats + 1)

    def make(method: Method, seed: int) -> Trainer:
        nonlocal done
        progress(done, total, method.title)
        done += 1
        trainer = Trainer(_suit(method.setup), config.model, device, source, seed)
        trainer.warm_up()
        return trainer

    times: dict[Method, list[_Repeat]] = {method: [] for method in runs}
    for repeat in range(config.repeats):
        for method in runs:
            if method not in failures:
                with _going_on_without(method, failures):
                    times[method].append(_time(config, method, repeat, make(method, config.seed + repeat)))
    for method in chosen:
        result: MethodResult | None = None
        if method in runs and method not in failures:
            with _going_on_without(method, failures):
                result = _record(config, method, make(method, config.seed), times[method])
        reason = reasons.get(method) or failures.get(method, "")
        yield result or Skipped(method.name, method.title, reason, failed=method in failures)
    progress(total, total, "done")


@contextmanager
def _going_on_without(method: Method, failures: dict[Method, str]) -> Iterator[None]:
    """Notes why a method failed, so that the others keep what they came to; the standard loop all others are held against."""
    workers = _suit(method.setup).num_workers
    fix = f"try `advisor experiment --methods {method.name}` again; if it happens again choose methods without workers"
    try:
        with lost_workers_told(workers, method.title, fix):
            yield
    # RuntimeError: torch has no narrower type for a failed compiler or a full device.
    except (UsageError, RuntimeError) as error:
        if method.name == "standard" or interrupt_in(error) is not None:
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        failures[method] = lines[0].removeprefix(f"{method.title}: ")


class _Repeat(NamedTuple):
    total_ns: int
    loss: float
    accuracy: float


def _time(config: ExperimentConfig, method: Method, repeat: int, trainer: Trainer) -> _Repeat:
    """One timed repeat; evaluation and start-up are left out."""
    spent, loss = 0, 0.0
    with _tensorboard(config, method) as log:
        for epoch in range(config.epochs):
            started = time.perf_counter_ns()
            loss = trainer.epoch()
            spent += time.perf_counter_ns() - started
            log(repeat, epoch, loss, trainer)
    return _Repeat(spent, loss, trainer.accuracy(trainer.source))


def _record(config: ExperimentConfig, method: Method, trainer: Trainer, repeats: list[_Repeat]) -> MethodResult:
    """The trace of a method that is timed already."""
    path = config.output / f"{method.name}.json"
    with record(path, wait=5, warmup=3, loader=trainer.loader) as recorder:
        trainer.steps(_RECORDED_STEPS, recorder.step)
    totals, losses, accuracies = zip(*repeats, strict=True)
    return MethodResult(method.name, method.title, totals, config.epochs, losses, accuracies, path)


class _tensorboard:
    """Logs loss and accuracy of each epoch, where that was asked for."""

    def __init__(self, config: ExperimentConfig, method: Method) -> None:
        self._folder = config.tensorboard / method.name if config.tensorboard else None
        self._writer: Any = None

    def __enter__(self) -> Any:
        if self._folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder))
        return self.log

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def log(self, repeat: int, epoch: int, loss: float, trainer: Trainer) -> None:
        """Write one epoch; evaluation is outside the measured time."""
        if self._writer is not None:
            self._writer.add_scalar(f"Loss/repeat {repeat + 1}", loss, epoch)
            self._writer.add_scalar(f"Accuracy/repeat {repeat + 1}", trainer.accuracy(trainer.source), epoch)


def _missing(method: Method, device: str) -> str:
    """Why a method cannot run here; empty where it can."""
    if method.needs == "accelerator" and device == "cpu":
        return "no accelerator to copy to"
    if method.needs == "compiler" and not any(shutil.which(name) for name in ("c++", "g++", "clang++", "cl")):
        return "no C++ compiler found"
    return ""


def _suit(setup: Setup) -> Setup:
    """As many workers as suit the machine: one to a core, at most four."""
    return replace(setup, num_workers=max(1, min(4, usable_cores() - 1))) if setup.num_workers < 0 else setup
