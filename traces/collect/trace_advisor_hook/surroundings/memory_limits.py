"""How much memory this process and its children may have."""

from __future__ import annotations

import contextlib
import importlib
import os

from ..common import FAILURES


def memory() -> dict[str, int] | None:
    """Bytes that this process and its children may have in all, and how many of them are left; None where nobody tells.

    A container may have less than its machine: of all limits the lowest counts.
    """
    found = []
    with contextlib.suppress(*FAILURES):
        if os.path.exists("/proc/meminfo"):
            kib = _numbers("/proc/meminfo")
            found.append((kib["MemTotal:"] * 1024, kib["MemAvailable:"] * 1024))
        else:
            memory = importlib.import_module("psutil").virtualmemory()
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
