"""What the machine does meanwhile: cores, disk, memory, GPU."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import time
from typing import Any

from ..common import FAILURES
from .memory_limits import memory


def usage(workers: list[int]) -> dict[str, Any]:
    """CPU seconds, bytes read and memory of this process and of a loader's workers, now."""
    return {
        "at": time.monotonic(),
        "own": _process(os.getpid()),
        "workers": {pid: _process(pid) for pid in workers},
    }


def _process(pid: int) -> dict[str, Any] | None:
    """CPU time and time without a core in ns, bytes read from disk, resident bytes; None where the system does not tell."""
    with contextlib.suppress(*FAILURES, IndexError):
        if os.path.exists("/proc/self/stat"):
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/io") as file:
                read = next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))
            tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
            resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            cpu = (int(fields[11]) + int(fields[12])) * tick
            return {"cpu_ns": cpu, "read": read, "resident": resident, "waited_ns": _waited_ns(pid)}
        psutil: Any = importlib.import_module("psutil")
        process = psutil.Process(pid)
        times = process.cpu_times()
        read = process.io_counters().read_bytes if hasattr(process, "io_counters") else 0
        resident = process.memory_info().rss
        return {"cpu_ns": int((times.user + times.system) * 1e9), "read": read, "resident": resident, "waited_ns": None}
    return None


def _waited_ns(pid: int) -> int | None:
    """For how long the first thread of a process was ready to run and had no core; None where the system does not tell."""
    with contextlib.suppress(*FAILURES, IndexError), open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[1])
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
        "worker_core_wait_ratio": [
            round((new["waited_ns"] - old["waited_ns"]) / 1e9 / seconds, 3)
            for old, new in known[1:]
            if old["waited_ns"] is not None and new["waited_ns"] is not None
        ],
        "disk_read_bytes_per_s": round(sum(new["read"] - old["read"] for old, new in known) / seconds)
        if known
        else None,
        "resident_bytes": sum(new["resident"] for _, new in known) or None,
        "worker_private_bytes": [_private_bytes(pid) for pid in before["workers"]],
        "memory": memory(),
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
