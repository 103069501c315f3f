"""`with record("trace.json") as recorder:` for people who would rather mark the steps themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.collect.output.files import Spare, check_writable, write_atomically
from traces.collect.output.sanitize import clean_trace
from traces.collect.recorder.window import Window, window_of
from traces.errors import UsageError
from traces.leftovers import scratch_folder

if TYPE_CHECKING:
    import torch
    from torch.utils.data import DataLoader

    from traces.collect.recorder.recorder import Recorder


@contextmanager
def record(
    path: str | Path,
    *,
    wait: int = 10,
    warmup: int = 3,
    active: int | None = None,
    stacks: bool = False,
    shapes: bool = False,
    loader: DataLoader[Any] | None = None,
    device: torch.device | None = None,
) -> Iterator[Recorder]:
    """Record some steps of the loop inside, and write them when it ends.

    Call `step()` of what this gives at the end of every training step. The profiler is on for `warmup + active` of them
    only; about 20 steps after those are timed without it.

    Args:
        path: File to write; a name ending in .gz is compressed.
        wait: Steps that run first: they hold the start-up costs.
        warmup: Steps the profiler runs without keeping events.
        active: Steps to record; None for 24, fewer where they are long: what a second holds, at least 6.
        stacks: Record Python frames: shows where, slows the steps down. On Python 3.13 torch before 2.7 records none.
        shapes: Record the shapes and types of operator inputs.
        loader: The DataLoader of the loop; its arguments make the advice exact.
        device: Where the loop runs; None for CUDA where there is a device.

    Raises:
        UsageError: The file cannot be written, or the loop ended before all steps were recorded.
    """
    import torch

    from traces.collect.output.metadata import describe
    from traces.collect.recorder.first_batch import first_batch
    from traces.collect.recorder.recorder import Recorder

    output, window = Path(path), window_of(active)
    check_writable(output)
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    prefetched = loader.num_workers * (loader.prefetch_factor or 0) if loader is not None else 0
    with scratch_folder() as scratch:
        raw = scratch / "raw.json"
        recorder = Recorder(
            raw, device, wait=wait, warmup=warmup, window=window, prefetched=prefetched, stacks=stacks, shapes=shapes
        )
        with recorder, first_batch(loader) as seen:
            yield recorder
        if not recorder.exported:
            raise _too_few(recorder.taken, wait, warmup, window)
        advisor = describe(["traces.collect.record"], device, loader, seen) | recorder.figures()
        content = clean_trace(raw.read_bytes(), advisor, Path.cwd(), recorder.recorded).content
        try:
            write_atomically(output, content)
        except UsageError as error:
            kept = Spare().keep(output.name, content)
            if kept is None:
                raise
            fix = f"take it from {kept[0]}, where it is kept until you move it"
            raise UsageError(error.what, where=error.where, fix=fix) from error


def _too_few(done: int, wait: int, warmup: int, window: Window) -> UsageError:
    return UsageError(
        f"{done} steps are too few: recording {window.least} needs {wait + warmup + window.least}",
        where=f"wait {wait} + warmup {warmup} + active {window.least}",
        fix="call `recorder.step()` at the end of every step, and let the loop run longer or record less",
    )
