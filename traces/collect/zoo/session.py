"""Records presets and times them without the profiler."""

from __future__ import annotations

import gc
import shutil
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from traces.collect.api import record
from traces.collect.calibrate import calibrate
from traces.collect.output.cores import describe_cores
from traces.collect.output.files import write_atomically
from traces.collect.output.sanitize import clean_trace
from traces.collect.recorder.window import UNPROFILED_STEPS
from traces.collect.trace_advisor_hook.phases.phases import SETTLE_STEPS
from traces.collect.trace_advisor_hook.run_description import describe_process, world
from traces.collect.trace_advisor_hook.surroundings.core_wait import CoreWait
from traces.collect.zoo.parts import forever
from traces.collect.zoo.preset import Preset
from traces.leftovers import scratch_folder

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

WARM_UP_STEPS = 3
# The best of many short goes: what a preset falls short by is several times what more of them would add.
CALIBRATION_S = 4.0
# As many as the recorder times without the profiler, and those it lets pass before.
_AFTER_STEPS = SETTLE_STEPS + UNPROFILED_STEPS
# On a shared machine a step may hold time in which another program ran: what was planted is then not all there is. Recorded
# again until that is less than the share from which a trace is read with caution.
_DISTURBED_RATIO = 0.05


@dataclass(frozen=True)
class Timing:
    """Step times without the profiler, in ns, each the mean of a stretch of steps, of a preset and of its remedy in turn.

    Each turn gives one of each. What the thread waited for a core is not in them. `between` are steps of the remedy, each right after
    what empties the caches in the preset, so that what is left takes as long as there. Empty where worker processes would use the time.
    """

    preset: tuple[float, ...]
    remedy: tuple[float, ...]
    between: tuple[float, ...] = ()

    @property
    def gains(self) -> tuple[float, ...]:
        """Share of the step that the remedy saves, turn by turn: what changes slowly on the machine falls out."""
        return tuple(1 - after / before for before, after in zip(self.preset, self.remedy, strict=True))

    @property
    def rest_gains(self) -> tuple[float, ...]:
        """The same where the rest of the step finds the caches as in the preset: what a bound can know of."""
        return tuple(1 - after / before for before, after in zip(self.preset, self.between or self.remedy, strict=True))


def missing(preset: Preset) -> str:
    """What this machine lacks for a preset; empty where nothing."""
    if preset.needs == "cuda" and not torch.cuda.is_available():
        return "no CUDA device"
    if preset.needs == "two-gpus" and torch.cuda.device_count() < 2:
        return "fewer than two CUDA devices"
    if preset.needs == "compiler" and shutil.which("c++") is None:
        return "no C++ compiler"
    if preset.needs == "ranks" and not torch.distributed.is_available():
        return "torch without torch.distributed"
    return ""


def device_of(preset: Preset) -> torch.device:
    """The device a preset is about: CPU presets run on the CPU everywhere, so that their answers can be compared."""
    return torch.device("cuda" if preset.needs in ("cuda", "two-gpus") else "cpu")


@contextmanager
def steady() -> Iterator[None]:
    """One thread, so that a busy machine disturbs less; the warnings that the presets provoke on purpose are hidden."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@dataclass(frozen=True)
class Recorded:
    """What a preset left.

    Args:
        paths: One file, or one per rank.
        disturbed_ratio: Share of the recorded time in which other programs had the core; 0 where the preset competes with itself.
    """

    paths: list[Path]
    disturbed_ratio: float = 0.0

    @property
    def disturbed(self) -> bool:
        """Whether what was planted is not all there is in the trace."""
        return self.disturbed_ratio >= _DISTURBED_RATIO


def record_preset(preset: Preset, folder: Path, attempts: int) -> Recorded:
    """Record a preset, so often at most, where other programs had the core for a part of the time; the least disturbed is kept."""
    if preset.needs == "ranks":
        return Recorded(_record_ranks(preset, folder))
    path = folder / f"{preset.name}.json.gz"
    with steady(), scratch_folder(folder, ".attempts-") as scratch:
        gc.collect()
        best = float("inf")
        for _ in range(attempts):
            again = scratch / path.name
            disturbed = _attempt(preset, again)
            if disturbed < best:
                best = disturbed
                again.replace(path)
            if best < _DISTURBED_RATIO:
                break
        if preset.calibrated:
            calibrate(path, sys.executable, CALIBRATION_S)
    return Recorded([path], best)


def _attempt(preset: Preset, path: Path) -> float:
    """Record once; returns the share of the time in which other programs had the core."""
    seen: list[DataLoader[object]] = []
    with _watch_loaders(seen):
        loop = preset.loop(device_of(preset))
        if preset.wait:
            next(loop)
        disturbed = _record_steps(preset, loop, path, seen) if preset.marked else _record_unmarked(preset, loop, path)
    loop.close()  # type: ignore[attr-defined]
    return 0.0 if preset.competes else disturbed


def _record_steps(preset: Preset, loop: Iterator[None], path: Path, seen: list[DataLoader[object]]) -> float:
    # A trace without warm-up is what one preset is about.
    wait, warm_up = (preset.wait, WARM_UP_STEPS) if preset.wait else (0, 0)
    first, last = wait + warm_up, wait + warm_up + preset.active
    crowd, disturbed = CoreWait(), 0.0
    loader = seen[-1] if seen else None
    device, shapes = device_of(preset), preset.shapes
    with record(
        path, wait=wait, warmup=warm_up, active=preset.active, loader=loader, shapes=shapes, device=device
    ) as recorder:
        for number in range(last + _AFTER_STEPS):
            if number == first:
                crowd = CoreWait()
            next(loop)
            if number == last - 1:
                disturbed = crowd.ratio() or 0.0
            recorder.step()
    return disturbed


def _record_unmarked(preset: Preset, loop: Iterator[None], path: Path) -> float:
    raw = path.with_suffix(".raw")
    for _ in range(preset.wait):
        next(loop)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        crowd = CoreWait()
        for _ in range(preset.active):
            next(loop)
        disturbed = crowd.ratio() or 0.0
    profiler.export_chrome_trace(str(raw))
    write_atomically(
        path, clean_trace(raw.read_bytes(), describe_process(world()[1]) | describe_cores(), Path.cwd()).content
    )
    raw.unlink()
    return disturbed


@contextmanager
def _watch_loaders(seen: list[DataLoader[object]]) -> Iterator[None]:
    """Note the loaders that a preset makes, for their arguments."""
    kind = torch.utils.data.DataLoader
    made = kind.__init__

    def __init__(self: DataLoader[object], *args: object, **kwargs: object) -> None:
        made(self, *args, **kwargs)  # type: ignore[arg-type]
        seen.append(self)

    kind.__init__ = __init__  # type: ignore[method-assign]
    try:
        yield
    finally:
        kind.__init__ = made  # type: ignore[method-assign]


def _record_ranks(preset: Preset, folder: Path) -> list[Path]:
    from traces.collect.zoo.ranks import WORLD

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = [f"{preset.name}.rank{rank}.json.gz" for rank in range(WORLD)]
    with scratch_folder(folder, ".ranks-") as scratch:
        _run_ranks((preset, str(scratch), port), WORLD)
        return [(scratch / name).replace(folder / name) for name in names]


def _run_ranks(arguments: tuple[Preset, str, int], world: int) -> None:
    from traces.collect.zoo.ranks import run_rank

    ranks = torch.multiprocessing.spawn(run_rank, arguments, nprocs=world, join=False)  # type: ignore[attr-defined,no-untyped-call]
    try:
        while not ranks.join():
            pass
    finally:
        # Where this process is asked to end they would be waited for, each of them for the other.
        for process in ranks.processes:
            process.kill()


def time_pair(preset: Preset, remedy: Preset, seconds: float, repeats: int = 6) -> Timing:
    """Time a preset and its remedy in turn, the profiler off, so that both see the same machine."""
    with steady():
        seen: list[DataLoader[object]] = []
        with _watch_loaders(seen):
            loops = [one.loop(device_of(one)) for one in (preset, remedy)]
        # After a whole step its training has just run, and its code is at hand, as it is not after loading: of slow samples 2 % of
        # the step came out as gained that the preset itself does not lose to its loader.
        before = forever(seen[0]) if preset.loads else loops[0]
        for loop, one in zip(loops, (preset, remedy), strict=True):
            for _ in range(max(3, one.wait)):
                next(loop)
        times: tuple[list[float], list[float]] = ([], [])
        between: list[float] = []
        alone = device_of(preset).type == "cpu" and not torch.multiprocessing.active_children()
        for _ in range(repeats):
            for loop, one, found in zip(loops, (preset, remedy), times, strict=True):
                found.append(_stretch(loop, one, seconds))
            if alone:
                between.append(_between(before, loops[1], preset.period, seconds))
        for loop in loops:
            loop.close()  # type: ignore[attr-defined]
    return Timing(tuple(times[0]), tuple(times[1]), tuple(between))


def _between(before: Iterator[object], remedy: Iterator[None], period: int, seconds: float) -> float:
    """Mean step of the remedy after what comes before the rest of a step in the preset."""
    begun, total, steps = time.perf_counter_ns(), 0, 0
    while time.perf_counter_ns() - begun < seconds * 1e9 or steps % period:
        next(before)
        started, crowd = time.perf_counter_ns(), CoreWait()
        next(remedy)
        total += time.perf_counter_ns() - started - crowd.ns()
        steps += 1
    return total / steps


def _stretch(loop: Iterator[None], preset: Preset, seconds: float) -> float:
    """Mean step of whole periods, for about so many seconds; without what other programs took of a core."""
    device = device_of(preset)
    _wait_for(device)
    started, steps, crowd = time.perf_counter_ns(), 0, CoreWait()
    while time.perf_counter_ns() - started < seconds * 1e9 or steps % preset.period:
        next(loop)
        steps += 1
    _wait_for(device)
    # Where its own processes take one another's cores, that wait is what the preset is about.
    waited = 0 if preset.competes else crowd.ns()
    return (time.perf_counter_ns() - started - waited) / steps


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
