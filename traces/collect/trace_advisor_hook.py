"""Runs somebody's script and records some of its steps: the one file of advisor that lives in the script's own process.

`python trace_advisor_hook.py SETTINGS.json [-m] SCRIPT ARGS...`. Standard library and torch only, torch only once the script
itself has imported it, so that what a script sets up before (devices, threads) still counts. Nothing is written to stdout; what
happened goes to `status-PID.json` in the folder that the settings name, where the parent process reads it. It is longer than
our files are, because it has to be one: it is loaded by its path, where nothing else of ours can be imported. In order: the
`Watcher` (where steps come from, the phases of a recording, what the parent hears), what is told beside the events, what the
machine does meanwhile, how all this comes into the process, and running the script.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import platform
import re
import runpy
import signal
import statistics
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterator
from typing import Any

NAME = "trace_advisor_hook"
# What a profiler or the system may throw at us; none of it may reach the script.
FAILURES = (RuntimeError, OSError, ValueError, TypeError, AttributeError, ImportError, KeyError)
PREFERENCE = {"time": 0, "loader": 1, "optimizer": 2}
BATCHES_WITHOUT_OPTIMIZER = 32
SETTLE_STEPS = 8
START_S = 60.0
# Our marks of steps count from here on: a profiler of the script's own marks steps, too, even when it no longer records.
FIRST_STEP = 1_000_000_000


class StopScript(SystemExit):
    """Ends the script with status 0 once everything is recorded (`--stop`)."""


class Watcher:
    """Finds steps, records some with the profiler on, times as many with it off, and tells the parent."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.skip: int = settings["wait"]
        self.retries = 0
        self.thread = 0
        self.collections = CollectionMarks()
        self.problem = ""
        self.pid = 0
        self.begin_process()

    def begin_process(self) -> None:
        """Start from nothing: at the beginning, and in a child the script forks."""
        self.child = self.pid != 0
        self.pid = os.getpid()
        self.source = ""
        self.lead = 0
        self.batches = 0
        self.counts = {"optimizer": 0, "loader": 0}
        self.loader: Any = None
        self.optimizer: Any = None
        self.iterator: Any = None
        self.drawn = 0
        self.done = 0
        self.early = 0
        self.batch_bytes = 0
        self.reset()

    def reset(self) -> None:
        """Forget the steps seen, and record again from the next on."""
        self.phase = "skip"
        self.number = 0
        self.most = 0
        self.profiler: Any = None
        self.recent: list[int] = []
        self.profiled: list[int] = []
        self.timed: list[int] = []
        self.behind = 0
        self.recorded = ""
        self.complete = False
        self.before: dict[str, Any] = {}
        self.without_core: tuple[int, int, int] | None = None
        self.core_wait_ratio: float | None = None
        self.details: dict[str, Any] = {}
        self.last = time.perf_counter_ns()

    # Where steps come from.

    def after_optimizer(self, optimizer: Any) -> None:
        """A step of an optimizer is over; the first that steps leads, so that several count once."""
        self.counts["optimizer"] += 1
        if not self.lead:
            self.lead, self.optimizer = id(optimizer), optimizer
        if id(optimizer) == self.lead:
            self.boundary("optimizer")

    def before_batch(self, iterator: Any) -> None:
        """A loader is about to be asked for a batch."""
        if threading.current_thread() is not threading.main_thread():
            return
        self.counts["loader"] += 1
        self.batches += 1
        if iterator is not self.iterator:
            self.iterator, self.loader = iterator, getattr(iterator, "_trace_advisor_loader", None)
            self.drawn = self.done = 0
        self.drawn += 1
        patience = BATCHES_WITHOUT_OPTIMIZER if sys.modules["torch"].is_grad_enabled() else self.skip
        if self.source == "loader" or (not self.lead and self.counts["loader"] > patience):
            self.boundary("loader")

    def boundary(self, source: str) -> None:
        """One step ends and the next begins."""
        if self.source != source:
            if self.source and PREFERENCE[source] < PREFERENCE[self.source]:
                return
            self.abandon()
            self.source, self.thread = source, threading.get_ident()
            self.early = self.drawn - 1 if source == "loader" else 0
            self.reset()
        if threading.get_ident() != self.thread:
            return
        duration = time.perf_counter_ns() - self.last
        self.number += 1
        self.done += 1
        try:
            getattr(self, "in_" + self.phase)(duration)
        except FAILURES as error:
            self.problem = f"{type(error).__name__}: {error}"[:500]
            self.phase, self.profiler = "done", None
            self.collections.stop()
            self.tell()
        self.last = time.perf_counter_ns()

    # The phases of a recording; each is called at the end of a step with how long it took.

    def in_skip(self, duration: int) -> None:
        """Wait until the start-up costs are over, then turn the profiler on."""
        self.recent.append(duration)
        torch: Any = sys.modules["torch"]
        if self.number < self.enough() or not (self.steady() or _world()[1] > 1):
            return
        if torch.autograd._profiler_enabled():
            self.problem = "the script runs a profiler of its own, and only one can run at a time"
            return
        self.most = self.room()
        self.start_profiler(self.settings["warmup"], self.settings["stacks"], self.settings["shapes"])
        self.phase, self.number, self.batches, self.problem = "profile", 0, 0, ""

    def enough(self) -> int:
        """Steps to skip: fewer where the loader says that an epoch has few, as a script may run one epoch alone."""
        with contextlib.suppress(*FAILURES):
            needed = self.settings["warmup"] + self.settings["least"] + 1
            return int(max(2, min(self.skip, self.epoch() - needed)))
        return self.skip

    def epoch(self) -> int:
        """Steps of an epoch, by what the loader says; fails where it says nothing.

        Only the batches of the iterator in use count: what was drawn before it was another epoch, or another loop.
        """
        of_a_step = 1 if self.source == "loader" else max(1, self.drawn // max(1, self.done))
        return int(len(self.loader) // of_a_step)

    def room(self) -> int:
        """Steps to record at most: where no second epoch was seen yet, a third of those that are left, to have some to time."""
        with contextlib.suppress(*FAILURES):
            left = self.epoch() - self.early - self.number - self.settings["warmup"] - SETTLE_STEPS
            if left > 0:
                return int(max(self.settings["least"], min(self.settings["most"], left // 3)))
        return int(self.settings["most"])

    def full(self) -> bool:
        """Whether enough steps are recorded."""
        steps = len(self.profiled)
        return steps >= self.most or (
            steps >= self.settings["least"] and sum(self.profiled) >= self.settings["long_ns"]
        )

    def steady(self) -> bool:
        """Whether the last three steps took about as long as each other; after three times the wait it no longer matters."""
        last = self.recent[-3:]
        return self.number >= 3 * self.skip or max(last) < 2 * min(last) or self.enough() < self.skip

    def start_profiler(self, warmup: int | None, stacks: bool, shapes: bool) -> None:
        """Turn the profiler on, for devices that are in use; it records until it is stopped. None: without marks of steps."""
        torch: Any = sys.modules["torch"]
        kinds = torch.profiler.ProfilerActivity
        activities = [kinds.CPU]
        for name in ("cuda", "xpu"):
            module = getattr(torch, name, None)
            if module is not None and module.is_initialized() and hasattr(kinds, name.upper()):
                activities.append(getattr(kinds, name.upper()))
        action = torch.profiler.ProfilerAction
        schedule = None
        if warmup is not None:
            schedule = lambda step: action.WARMUP if max(step - FIRST_STEP, 0) < warmup else action.RECORD  # noqa: E731
        self.profiler = torch.profiler.profile(
            activities=activities,
            schedule=schedule,
            on_trace_ready=self.export,
            record_shapes=shapes,
            with_stack=stacks,
        )
        self.profiler.step_num = FIRST_STEP
        with without_torchs_warning():
            self.profiler.start()
        self.collections.start()
        self.without_core = _without_core()

    def stop_profiler(self) -> None:
        """Turn it off, which writes what it recorded, and note what else is known of these steps."""
        self.core_wait_ratio = _share_waited(self.without_core, _without_core())
        self.details = self.describe()
        self.collections.stop()
        self.profiler.stop()
        self.profiler = None

    def in_profile(self, duration: int) -> None:
        """The profiler is on: warming up, then recording."""
        if self.number > self.settings["warmup"]:
            self.profiled.append(duration)
        if self.profiled and self.full():
            self.stop_profiler()  # not `step`: that would begin the mark of one more step
            self.phase, self.number = "settle", 0
            self.tell()
            return
        self.profiler.step()
        if self.number == self.settings["warmup"]:
            self.without_core = _without_core()

    def in_settle(self, duration: int) -> None:
        """The export took a while, in which workers filled their queue; the steps that find it full are not timed."""
        ready = getattr(self.loader, "num_workers", 0) * (getattr(self.loader, "prefetch_factor", 0) or 0)
        if self.number >= max(SETTLE_STEPS, ready):
            wait_for_devices()
            self.phase, self.before = "time", usage(self.workers())

    def in_time(self, duration: int) -> None:
        """The profiler is off: what do steps take without it?"""
        self.timed.append(duration)
        if len(self.timed) >= self.settings["timed"]:
            self.end_timing()
            self.phase = "verdict"
            if self.settings["evidence"]:
                self.start_profiler(1, True, True)
                self.phase, self.number = "evidence", 0
            else:
                self.finish()

    def in_evidence(self, duration: int) -> None:
        """A second pass with stacks and shapes, to see where; never to see how much."""
        if self.number < 3:
            self.profiler.step()
        else:
            self.collections.stop()
            self.profiler.stop()
            self.profiler, self.phase = None, "verdict"
            self.finish()

    def finish(self) -> None:
        """All is recorded. The parent grades it; with `--stop` there is nothing to do but wait for that."""
        self.complete = True
        self.tell()
        if self.settings["stop"]:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and self.verdict() is None:
                time.sleep(0.02)
            self.in_verdict(0)
            if self.phase == "done":
                raise StopScript(0)

    def in_verdict(self, duration: int) -> None:
        """Record once more if the parent asks for it."""
        verdict = self.verdict()
        if verdict == "again" and not self.retries:
            self.retries, self.skip = 1, 3 * self.skip
            os.remove(self.path("verdict"))
            self.reset()
        elif verdict is not None or self.number > 100_000:
            self.phase = "done"

    def in_done(self, duration: int) -> None:
        """Nothing is left to do."""

    def abandon(self) -> None:
        """Drop a recording that is under way."""
        profiler, self.profiler = self.profiler, None
        self.collections.stop()
        if profiler is not None:
            profiler.on_trace_ready = None
            with contextlib.suppress(*FAILURES):
                profiler.stop()
            self.phase, self.number = "skip", 0

    def end(self) -> None:
        """The script is over: keep what was recorded of a window that is not full."""
        if self.pid != os.getpid():
            return
        self.collections.stop()
        with contextlib.suppress(*FAILURES):
            if self.profiler is not None and (self.phase == "window" or (self.phase == "profile" and self.profiled)):
                self.stop_profiler()
            elif self.profiler is not None:
                self.abandon()
            self.end_timing()
        self.profiler, self.phase, self.complete = None, "done", True
        if self.recorded or not self.child:  # a loader's worker has nothing to tell
            self.tell()

    def end_timing(self) -> None:
        """Settle what the steps without the profiler took."""
        if self.timed and self.before:
            self.behind = wait_for_devices()
            self.details["samples"] = difference(self.before, usage(self.workers()))
            self.before = {}

    # What the parent hears.

    def path(self, kind: str) -> str:
        """A file of this process in the shared folder."""
        return os.path.join(self.settings["folder"], f"{kind}-{self.pid}.json")

    def verdict(self) -> str | None:
        """What the parent said of the recording, None so far."""
        with contextlib.suppress(OSError), open(self.path("verdict"), encoding="utf-8") as file:
            return file.read().strip() or None
        return None

    def export(self, profiler: Any) -> None:
        """Write what was recorded, as torch writes it."""
        kind = "evidence" if self.phase == "evidence" else "raw"
        profiler.export_chrome_trace(self.path(kind))
        if kind == "raw":
            self.recorded = os.path.basename(self.path("raw"))

    def tell(self) -> None:
        """Write the status file."""
        rank, world = _world()
        status = {
            "pid": self.pid, "rank": rank, "world_size": world, "source": self.source, "problem": self.problem,
            "counts": self.counts, "recorded": self.recorded, "recorded_steps": len(self.profiled), "complete": self.complete,
            "evidence": os.path.exists(self.path("evidence")), "torch": "torch" in sys.modules, "retries": self.retries,
            "first_step": None if self.source == "time" else FIRST_STEP,
            "advisor": self.details | {
                "profiled_step_ns": _middle(self.profiled),
                "unprofiled_step_ns": usual_step(self.timed, self.behind),
                "unprofiled_steps": len(self.timed),
                "core_wait_ratio": self.core_wait_ratio,
            },
        }  # fmt: skip
        with contextlib.suppress(OSError):
            with open(self.path("status") + ".part", "w", encoding="utf-8") as file:
                json.dump(status, file)
            os.replace(self.path("status") + ".part", self.path("status"))

    def describe(self) -> dict[str, Any]:
        """What the trace cannot say about its run; every value is named here, none is a path or the environment."""
        torch: Any = sys.modules["torch"]
        return {
            "model": {"name": None, "parameters": _parameters(self.optimizer)},
            "optimizer": type(self.optimizer).__name__ if self.optimizer is not None else None,
            "device": "cuda" if torch.cuda.is_initialized() else "cpu",
            "batch_size": _batch_size(self.loader),
            "loader": _describe_loader(self.loader) if self.loader is not None else None,
            "dataset": _describe_data(self.loader, self.batch_bytes),
            "gc_recorded": self.collections.able,
            "steps": {"source": self.source, "batches_per_step": round(self.batches / max(1, self.number), 2)},
            "threads": {
                "intra_op": torch.get_num_threads(),
                "inter_op": torch.get_num_interop_threads(),
                "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
                "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY"),
            },
            "versions": {
                "torch": str(torch.__version__),
                "python": platform.python_version(),
                "cuda": torch.version.cuda,
                "rocm": torch.version.hip,
            },
            "flags": {
                "float32_matmul_precision": torch.get_float32_matmul_precision(),
                "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
                "cudnn_benchmark": torch.backends.cudnn.benchmark,
                "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
                "anomaly_mode": torch.is_anomaly_enabled(),
            },
        }

    def workers(self) -> list[int]:
        """Processes of the loader in use."""
        return [worker.pid for worker in getattr(self.iterator, "_workers", ())]


# What is told beside the events: of the job, of times, of the loader and its data.


def _world() -> tuple[int | None, int]:
    """Rank and world size; (None, 1) where nothing is distributed."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    with contextlib.suppress(*FAILURES):
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return None, 1


def _middle(times: list[int]) -> int | None:
    return round(statistics.median(times)) if times else None


def _without_core() -> tuple[int, int, int] | None:
    """How long this thread was ready to run and had no core, the time, both in ns, and which thread it is.

    None where the system does not tell.
    """
    with contextlib.suppress(*FAILURES, IndexError), open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]), time.perf_counter_ns(), threading.get_ident()
    return None


def _share_waited(before: tuple[int, int, int] | None, after: tuple[int, int, int] | None) -> float | None:
    if before is None or after is None or before[2] != after[2]:
        return None
    return round(min(1.0, (after[0] - before[0]) / max(after[1] - before[1], 1)), 4)


def _inner(thing: Any, *names: str) -> Any:
    for name in names:
        thing = getattr(thing, name, None)
    return thing


def _describe_loader(loader: Any) -> dict[str, Any]:
    names = ("num_workers", "pin_memory", "persistent_workers", "prefetch_factor", "drop_last")
    shuffle = "Random" in type(getattr(loader, "sampler", None)).__name__
    told = {name: getattr(loader, name, None) for name in names}
    return told | {"shuffle": shuffle, "batch_size": _batch_size(loader)}


def _batch_size(loader: Any) -> int | None:
    """Samples of a batch, by the loader or by what makes its batches; None where neither says."""
    size: int | None = getattr(loader, "batch_size", None) or _inner(loader, "batch_sampler", "batch_size")
    return size


def _describe_data(loader: Any, batch_bytes: int) -> dict[str, Any]:
    data, size = getattr(loader, "dataset", None), _batch_size(loader)
    return {
        "name": type(data).__name__,
        "length": _length(data),
        "sample_bytes": batch_bytes // size if size and batch_bytes else None,
    }


def _length(data: Any) -> int | None:
    """Samples of a data set; None where it has no length, or fails to tell."""
    with contextlib.suppress(*FAILURES):
        return len(data)
    return None


def _parameters(optimizer: Any) -> int | None:
    """Numbers that an optimizer updates; None where there is none."""
    groups = getattr(optimizer, "param_groups", ())
    return sum(parameter.numel() for group in groups for parameter in group["params"]) or None


def _bytes_of(batch: Any, depth: int = 0) -> int:
    """Bytes of the first tensor in a batch: its inputs, in the usual order."""
    if hasattr(batch, "element_size"):
        return int(batch.element_size() * batch.numel())
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, list | tuple) else ()
    return next((size for size in (_bytes_of(value, depth + 1) for value in values) if size), 0) if depth < 5 else 0


class CollectionMarks:
    """Puts passes of Python's garbage collector into what the profiler records, each on the thread that it stops.

    Torch does so itself only where stacks are recorded (torch 2.9), which slows steps down. The youngest generation is left out:
    it is quick, and its turn comes every few hundred objects.
    """

    def __init__(self) -> None:
        self.open: Any = None
        self.pid = os.getpid()

    @property
    def able(self) -> bool:
        """Whether this torch has a mark that reaches neither the dispatcher nor a graph that is being traced (torch 2.1)."""
        return hasattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast")

    def start(self) -> None:
        """The profiler is on."""
        self.stop()
        if self.able:
            self.pid = os.getpid()
            gc.callbacks.append(self.mark)

    def stop(self) -> None:
        """The profiler is about to be turned off, or is off."""
        self.open = None
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self.mark)

    def mark(self, phase: str, info: dict[str, int]) -> None:
        """A pass begins or ends; in a child that was forked meanwhile nobody records."""
        if info["generation"] == 0 or os.getpid() != self.pid:
            return
        if phase == "start":
            self.open = sys.modules["torch"]._C._profiler._RecordFunctionFast("Python GC")
            self.open.__enter__()
        elif self.open is not None:
            self.open.__exit__(None, None, None)
            self.open = None


@contextlib.contextmanager
def without_torchs_warning() -> Iterator[None]:
    """Torch 2.11 warns of each profiler that it clears events: noise, and where warnings are errors a profiler half started.

    Asking it to keep them (`acc_events`) is no way out: it then works through all events, for seconds. Neither is
    `catch_warnings`: after that, Python shows again every warning it has shown once.
    """
    quiet: Any = ("ignore", re.compile(r"(?:Warning: )?Profiler clears events"), Warning, None, 0)
    warnings.filters.insert(0, quiet)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        warnings.filters.remove(quiet)  # type: ignore[attr-defined]


def usual_step(times: list[int], behind: int) -> int | None:
    """Median step without the profiler; None without steps.

    Args:
        times: What the host took for each, in ns: less than the device, where it runs ahead of that.
        behind: How long the device went on after the last of them, which began with nothing left to do.
    """
    return round(statistics.median(times) + behind / len(times)) if times else None


def wait_for_devices() -> int:
    """Let the devices finish what they were given; how long that took, in ns. Not while work is captured, which would fail."""
    started = time.perf_counter_ns()
    for name in ("cuda", "xpu"):
        module: Any = getattr(sys.modules.get("torch"), name, None)
        with contextlib.suppress(*FAILURES):
            if module.is_initialized() and not getattr(module, "is_current_stream_capturing", bool)():
                module.synchronize()
    return time.perf_counter_ns() - started


# What the machine does meanwhile: cores, disk, memory, GPU. Also used by `record()` and the zoo.


def usage(workers: list[int]) -> dict[str, Any]:
    """CPU seconds, bytes read and memory of this process and of a loader's workers, now."""
    return {
        "at": time.monotonic(),
        "own": _process(os.getpid()),
        "workers": {pid: _process(pid) for pid in workers},
    }


def _process(pid: int) -> dict[str, int] | None:
    """CPU time in ns, bytes read from disk and resident bytes of a process; None where the system does not tell."""
    with contextlib.suppress(*FAILURES, IndexError):
        if os.path.exists("/proc/self/stat"):
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/io") as file:
                read = next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))
            tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
            resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            return {"cpu_ns": (int(fields[11]) + int(fields[12])) * tick, "read": read, "resident": resident}
        psutil: Any = importlib.import_module("psutil")
        process = psutil.Process(pid)
        times = process.cpu_times()
        read = process.io_counters().read_bytes if hasattr(process, "io_counters") else 0
        return {"cpu_ns": int((times.user + times.system) * 1e9), "read": read, "resident": process.memory_info().rss}
    return None


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What was used between two moments, as rates."""
    seconds = max(after["at"] - before["at"], 1e-9)
    pairs = [(before["own"], after["own"])]
    pairs += [(old, after["workers"].get(pid)) for pid, old in before["workers"].items()]
    known = [(old, new) for old, new in pairs if old and new]
    cpu = [round((new["cpu_ns"] - old["cpu_ns"]) / 1e9 / seconds, 3) for old, new in known]
    return {
        "seconds": round(seconds, 3),
        "process_cpu_cores": cpu[0] if cpu else None,
        "worker_cpu_ratio": cpu[1:],
        "disk_read_bytes_per_s": round(sum(new["read"] - old["read"] for old, new in known) / seconds)
        if known
        else None,
        "resident_bytes": sum(new["resident"] for _, new in known) or None,
        "worker_private_bytes": [_private_bytes(pid) for pid in before["workers"]],
        "memory": _memory(),
        "gpu": _gpu(),
    }


def _private_bytes(pid: int) -> int | None:
    """Memory that nobody but a process holds, which its end would give back; None where the system does not tell."""
    with contextlib.suppress(*FAILURES):
        if os.path.exists("/proc/self/stat"):
            with open(f"/proc/{pid}/smaps_rollup") as file:
                return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Private_"))
        psutil: Any = importlib.import_module("psutil")
        return int(psutil.Process(pid).memory_full_info().uss)
    return None


def _memory() -> dict[str, int] | None:
    """Bytes that this process and its children may have in all, and how many of them are left; None where nobody tells.

    A container may have less than its machine: of all limits the lowest counts.
    """
    found = []
    with contextlib.suppress(*FAILURES):
        if os.path.exists("/proc/meminfo"):
            kib = _numbers("/proc/meminfo")
            found.append((kib["MemTotal:"] * 1024, kib["MemAvailable:"] * 1024))
        else:
            memory = importlib.import_module("psutil").virtual_memory()
            found.append((int(memory.total), int(memory.available)))
    for folder, limit, used, cached in _control_groups():
        with contextlib.suppress(*FAILURES):  # "max", or no such file: no limit here
            most = int(_text(os.path.join(folder, limit)))
            # What files are cached is given back before anybody is ended.
            idle = _numbers(os.path.join(folder, "memory.stat"))[cached]
            found.append((most, most - int(_text(os.path.join(folder, used))) + idle))
    if not found:
        return None
    return {
        "total_bytes": min(total for total, _ in found),
        "available_bytes": max(0, min(left for _, left in found)),
    }


def _control_groups() -> list[tuple[str, str, str, str]]:
    """Folders whose limits hold for this process, with the names of their files: Linux's control groups, both versions."""
    found = []
    with contextlib.suppress(*FAILURES), open("/proc/self/cgroup") as file:
        for line in file:
            number, kinds, path = line.rstrip("\n").split(":", 2)
            if number == "0":
                root, names = "/sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
            elif "memory" in kinds.split(","):
                root = "/sys/fs/cgroup/memory"
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                continue
            parts = [part for part in path.split("/") if part not in ("", "..")]
            found += [(os.path.join(root, *parts[:length]), *names) for length in range(len(parts) + 1)]
    return found


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _numbers(path: str) -> dict[str, int]:
    """A file with a name and a number in each line."""
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _gpu() -> dict[str, Any] | None:
    """Utilisation, memory and clock of the current GPU, where the script's environment has NVML for Python."""
    torch: Any = sys.modules["torch"]
    if not torch.cuda.is_initialized() or importlib.util.find_spec("pynvml") is None:
        return None
    with contextlib.suppress(*FAILURES):
        free, total = torch.cuda.mem_get_info()
        return {
            "utilization_ratio": torch.cuda.utilization() / 100,
            "memory_used_bytes": total - free,
            "clock_hz": torch.cuda.clock_rate() * 1_000_000,
        }
    return None


# How this comes into somebody's process: torch is wrapped as it is imported, in this process and in those it starts.


class TorchFinder(importlib.abc.MetaPathFinder):
    """Lets `import torch` happen as ever, then wraps what is to be watched."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """The usual spec of torch, with a loader that calls us after the import."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                with contextlib.suppress(*FAILURES):
                    wrap(self.watcher)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def wrap(watcher: Watcher) -> None:
    """Watch optimizers, loaders and other profilers."""
    optimizer = importlib.import_module("torch.optim.optimizer").Optimizer
    iterator = importlib.import_module("torch.utils.data.dataloader")._BaseDataLoaderIter
    profiler = importlib.import_module("torch.autograd.profiler").profile
    importlib.import_module("torch.profiler")
    profile_step, draw, prepare = optimizer.profile_hook_step, iterator.__next__, profiler._prepare_trace

    def profile_hook_step(function: Any) -> Any:
        wrapped = profile_step(function)

        @functools.wraps(wrapped)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = wrapped(self, *args, **kwargs)
            watcher.after_optimizer(self)  # after torch's own range of the step has closed
            return result

        return step

    def __new__(cls: Any, loader: Any = None, *_: Any, **__: Any) -> Any:
        # Not around `__init__`: what that warns of would point at this file.
        self = object.__new__(cls)
        self._trace_advisor_loader = loader
        return self

    def __next__(self: Any) -> Any:
        watcher.before_batch(self)
        batch = draw(self)
        if not watcher.batch_bytes:
            watcher.batch_bytes = _bytes_of(batch)
        return batch

    def _prepare_trace(self: Any) -> None:
        ours = _inner(watcher.profiler, "profiler")
        if watcher.profiler is not None and ours is not None and self is not ours:
            watcher.abandon()
            watcher.problem = "the script runs a profiler of its own, and only one can run at a time"
        prepare(self)

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
    iterator.__new__, iterator.__next__, profiler._prepare_trace = __new__, __next__, _prepare_trace
    if threading.current_thread() is threading.main_thread():
        _by_time(watcher)


def _by_time(watcher: Watcher) -> None:
    """Where neither optimizer nor loader shows steps for a while, record two seconds without any.

    The profiler follows the thread that starts it, so a signal brings us into the main thread; one that nobody else uses.
    """
    number = getattr(signal, "SIGUSR2", None)
    if number is None or signal.getsignal(number) != signal.SIG_DFL:
        return

    started = threading.Event()

    def toggle(*_: Any) -> None:
        with contextlib.suppress(*FAILURES):
            if watcher.phase == "window":
                watcher.stop_profiler()
                watcher.phase = "done"
                watcher.tell()
            elif not watcher.source and not sys.modules["torch"].autograd._profiler_enabled():
                watcher.source = "time"
                watcher.start_profiler(None, watcher.settings["stacks"], watcher.settings["shapes"])
                watcher.phase = "window"
                started.set()

    def wait() -> None:
        time.sleep(watcher.settings["patience_s"])
        ask()
        started.wait(START_S)  # on a busy machine it takes longer than the window
        time.sleep(watcher.settings["window_s"])
        ask()

    def ask() -> None:
        if signal.getsignal(number) is toggle and watcher.source in ("", "time"):
            signal.pthread_kill(threading.main_thread().ident or 0, number)

    signal.signal(number, toggle)
    threading.Thread(target=wait, daemon=True, name=NAME).start()


def install(path: str) -> Watcher:
    """Get ready to watch this process and those it starts through multiprocessing."""
    import multiprocessing.spawn as spawn
    import multiprocessing.util as util

    with open(path, encoding="utf-8") as file:
        watcher = Watcher(json.load(file))
    sys.meta_path.insert(0, TorchFinder(watcher))
    command_line = spawn.get_command_line

    def get_command_line(**arguments: Any) -> list[str]:
        words = command_line(**arguments)
        if "-c" in words:
            here = os.path.abspath(__file__)
            load = f"from runpy import run_path;run_path({here!r})['install']({os.path.abspath(path)!r});"
            words[words.index("-c") + 1] = load + words[words.index("-c") + 1]
        return words

    # multiprocessing ends its children without unwinding what stood below them when they were forked.
    at_end: Any = lambda watcher: util.Finalize(None, watcher.end, exitpriority=0)  # noqa: E731
    spawn.get_command_line = get_command_line
    _before_leaving(watcher)
    util.register_after_fork(watcher, at_end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=watcher.begin_process)
    if "--multiprocessing-fork" in sys.argv:
        watcher.child = True
        at_end(watcher)
    return watcher


def _before_leaving(watcher: Watcher) -> None:
    """Scripts that would hang in threads or in CUDA at their end leave by `os._exit`: what is recorded is written before."""
    leave = os._exit

    def _exit(status: int) -> Any:
        with contextlib.suppress(*FAILURES):
            watcher.end()
        leave(status)

    os._exit = _exit


def _own_traceback(watcher: Watcher) -> None:
    """A failing script shows its own traceback, without our frames above it."""
    show = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        ours = {__file__, runpy.__file__, "<frozen runpy>"}
        while trace is not None and trace.tb_frame.f_code.co_filename in ours:
            trace = trace.tb_next
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = excepthook


# The script itself.


def run(words: list[str]) -> None:
    """Run `SETTINGS [-m] SCRIPT ARGS...` as Python itself would run the script."""
    settings, *words = words
    watcher = install(settings)
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch reads it once; without a GPU it would print an ERROR line
    _own_traceback(watcher)
    as_module = words[0] == "-m"
    target, arguments = words[as_module], words[as_module + 1 :]
    if as_module and target in ("torch.distributed.run", "torch.distributed.launch"):
        arguments = _through_launcher(arguments, settings)
    sys.argv = [target, *arguments]
    main = sys.modules["__main__"]
    for name in [name for name in vars(main) if not name.startswith("__")]:
        delattr(main, name)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd() if as_module else os.path.dirname(os.path.realpath(target))
    try:
        if as_module:
            runpy._run_module_as_main(target)  # type: ignore[attr-defined]
        else:
            # Python names it so, in tracebacks as well: absolute, or a script that changes its folder would lose its lines.
            path = os.path.join(os.getcwd(), target)
            main.__file__, main.__spec__, main.__doc__ = path, None, None
            main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec")
            exec(code, vars(main))
    finally:
        watcher.end()


def _through_launcher(arguments: list[str], settings: str) -> list[str]:
    """The arguments of torchrun, changed so that each rank runs through this file too."""
    launcher: Any = importlib.import_module("torch.distributed.run")
    parsed = launcher.parse_args(arguments)
    del sys.modules["torch.distributed.run"]  # or runpy warns that it is about to run what is imported already
    cut = len(arguments) - len(parsed.training_script_args) - 1
    before, script = [word for word in arguments[:cut] if word not in ("-m", "--module")], arguments[cut:]
    return [*before, os.path.abspath(__file__), settings, *(["-m"] if parsed.module else []), *script]


if __name__ == "__main__":
    # Under a name of its own: the script takes over `__main__`.
    spec = importlib.util.spec_from_file_location(NAME, os.path.abspath(__file__))
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = hook
    spec.loader.exec_module(hook)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may have been started with it ignored
    hook.run(sys.argv[1:])
