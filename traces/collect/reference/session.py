"""The run itself: data, model and loader, the loop under the recorder, the file."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from traces.collect.experiment.data import build_loader
from traces.collect.experiment.methods import Setup
from traces.collect.output.cores import usable_cores
from traces.collect.output.files import Spare, write_atomically
from traces.collect.output.hand_over import hand_over
from traces.collect.output.metadata import describe
from traces.collect.output.sanitize import clean_trace
from traces.collect.recorder.first_batch import first_batch
from traces.collect.recorder.lost_worker import lost_workers_told
from traces.collect.recorder.own_heap import own_heap_left_alone
from traces.collect.recorder.recorder import Recorder
from traces.collect.recorder.window import window_of
from traces.collect.reference.config import CollectConfig
from traces.collect.reference.data import DataSource, find_data
from traces.collect.reference.loop import EpochLoss, Training, train
from traces.collect.reference.models import build_model
from traces.collect.reference.result import CollectResult, Progress, Say
from traces.collect.trace_advisor_hook.loader.batches import BatchLook
from traces.collect.trace_advisor_hook.phases.stacks import LEFT_OUT, stacks_are_safe
from traces.errors import UsageError
from traces.leftovers import scratch_folder

# Mean and deviation of MNIST's pixels, the numbers everybody uses.
_NORMALIZE = ((0.1307,), (0.3081,))
_LOST_WORKER_FIX = "try again; if it happens again use --num-workers 0, or give the container more shared memory"


def record_session(config: CollectConfig, progress: Progress, say: Say) -> CollectResult:
    """Do what `traces.collect.collect` promises, with torch at hand."""
    device = _choose_device(config.device)
    for note in _notes(config, device):
        say(note)
    torch.manual_seed(config.seed)
    source = find_data(config.data_dir, progress)
    with _expected_warnings():
        loader = _build_loader(config, source, device)
        total = config.total_steps(len(loader))
        training = Training(build_model(config.model), device, config.non_blocking)
        with scratch_folder() as scratch:
            raw = scratch / "raw.json"
            recorder = _recorder(config, raw, device, loader)

            def write(look: BatchLook) -> CollectResult:
                return _write(config, raw, _describe(config, training, loader, look, source.name), recorder)

            with first_batch(loader) as look:
                try:
                    _train(training, loader, total, recorder, progress, say)
                except KeyboardInterrupt:
                    if recorder.exported:
                        write(look)
                    raise
            return write(look)


def _choose_device(name: str) -> torch.device:
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if name == "cuda":
        raise UsageError(
            what="--device cuda, but torch finds no CUDA device",
            why="no GPU in this machine, no driver, or a torch built for CPU only",
            fix="use --device auto, or install a torch that matches the driver",
        )
    return torch.device("cpu")


@contextmanager
def _expected_warnings() -> Iterator[None]:
    """Hide the warnings that say what this module says better in a note, or that are no news.

    More workers than cores: that is a legitimate experiment here. Fork beside threads (Python 3.12):
    it is how torch's own loader starts its workers on Linux. No warm-up: the note is in `_notes`.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message="Profiler won't be using warmup", category=UserWarning)
        yield


def _notes(config: CollectConfig, device: torch.device) -> Iterator[str]:
    """What will not be as the options may suggest."""
    if config.pin_memory and device.type == "cpu":
        yield "Note: --pin-memory is off, there is no accelerator to copy to."
    cores = usable_cores()
    if config.num_workers > cores:
        yield f"Note: {config.num_workers} workers share {cores} {'core' if cores == 1 else 'cores'} with the training."
    if config.stacks and not stacks_are_safe():
        yield f"Note: {LEFT_OUT}."
    if config.warmup == 0:
        yield "Note: without warm-up the first recorded step holds the profiler's own start."


def _build_loader(config: CollectConfig, source: DataSource, device: torch.device) -> DataLoader[Any]:
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(*_NORMALIZE)])
    if config.in_memory:
        setup = Setup(
            data="memory", batch_size=config.batch_size, num_workers=config.num_workers, pin_memory=config.pin_memory
        )
        return build_loader(setup, source, pin=device.type != "cpu")
    return DataLoader(
        datasets.MNIST(str(source.root), train=True, download=False, transform=transform),
        batch_size=config.batch_size,
        shuffle=True,
        num_workers=config.num_workers,
        pin_memory=config.pin_memory and device.type != "cpu",
    )


def _recorder(config: CollectConfig, raw: Path, device: torch.device, loader: DataLoader[Any]) -> Recorder:
    return Recorder(
        raw,
        device,
        wait=config.wait,
        warmup=config.warmup,
        window=window_of(config.active),
        prefetched=loader.num_workers * (loader.prefetch_factor or 0),
        stacks=config.stacks,
        shapes=config.shapes,
    )


def _describe(
    config: CollectConfig, training: Training, loader: DataLoader[Any], look: BatchLook, data_name: str
) -> dict[str, Any]:
    """What the trace cannot say, with what only this loop knows of itself by name."""
    told = describe(config.command(), training.device, loader, look, training.optimizer)
    return (
        told
        | hand_over(told)
        | {
            "model": told["model"] | {"name": config.model},
            "dataset": told["dataset"] | {"name": data_name},
            "non_blocking": config.non_blocking,
            "versions": told["versions"] | {"torchvision": str(torchvision.__version__)},
        }
    )


def _train(
    training: Training, loader: DataLoader[Any], total: int, recorder: Recorder, progress: Progress, say: Say
) -> None:
    def on_step() -> None:
        recorder.step()
        if not recorder.measuring:
            progress(recorder.taken, total, "training")

    def on_epoch(epoch: EpochLoss) -> None:
        partial = "" if epoch.steps == len(loader) else f" ({epoch.steps} of {len(loader)} steps)"
        say(f"Epoch {epoch.epoch} | Average Loss: {epoch.average_loss:.6f}{partial}")

    try:
        lost = lost_workers_told(loader.num_workers, "recording the reference loop", _LOST_WORKER_FIX)
        with own_heap_left_alone(), recorder, lost:
            train(training, loader, total, on_step, on_epoch)
    except RuntimeError as error:  # torch has no narrower type for all it tells this way
        explained = _explain_failure(error)
        if explained is None:
            raise
        raise explained from error


def _explain_failure(error: RuntimeError) -> UsageError | None:
    """A message for the failures whose remedy is an option; None for any other."""
    first_line = str(error).partition("\n")[0]
    if isinstance(error, torch.OutOfMemoryError):
        return UsageError(what=f"the device's memory is full: {first_line}", fix="use a smaller --batch-size")
    return None


def _write(config: CollectConfig, raw: Path, advisor: dict[str, Any], recorder: Recorder) -> CollectResult:
    """Rewrite what the profiler exported.

    The metadata is added here, not with `prof.add_metadata_json` during the recording: the steps
    without the profiler are timed only after it.
    """
    try:
        clean = clean_trace(raw.read_bytes(), advisor | recorder.figures(), Path.cwd(), recorder.recorded)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            what=f"the profiler left no whole trace: {error}",
            why=f"the folder for temporary files, {tempfile.gettempdir()}, is full",
            fix="make room there, or set TMPDIR to another folder",
        ) from error
    path, size_bytes, not_there = _placed(config.output, clean.content)
    return CollectResult(
        path=path,
        events=clean.events,
        steps=clean.steps,
        bytes=size_bytes,
        profiled_step_ns=recorder.profiled_step_ns,
        unprofiled_step_ns=recorder.unprofiled_step_ns,
        not_there=not_there,
    )


def _placed(output: Path, content: bytes) -> tuple[Path, int, str]:
    """Write it where it was asked for, else where there is room: file, size, and why it is not where it was asked for."""
    try:
        return output, write_atomically(output, content), ""
    except UsageError as error:
        kept = Spare().keep(output.name, content)
        if kept is None:
            raise
        return *kept, error.what
