"""Memory that this process can still have: what the machine has left, its container allows, or its own limit does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_UNREADABLE = (OSError, ValueError, IndexError)
# Folder of limits below which a process's group lies, and its files: most, used, and the part of it that is given back.
_GROUPS = (
    ("", Path("/sys/fs/cgroup"), ("memory.max", "memory.current", "inactive_file")),
    (
        "memory",
        Path("/sys/fs/cgroup/memory"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ),
)


def available_bytes() -> int | None:
    """Memory that can be had now, by the lowest of all limits; None where nothing says."""
    return min((max(left, 0) for left in (*_of_the_machine(), *_of_the_groups(), *_of_the_process())), default=None)


def _of_the_machine() -> Iterator[int]:
    with suppress(*_UNREADABLE):
        yield _numbers(Path("/proc/meminfo"))["MemAvailable:"] * 1024
        return
    with suppress(AttributeError, *_UNREADABLE):
        yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_the_groups() -> Iterator[int]:
    """What the control groups of this process (a container, a batch job) allow."""
    groups = []
    with suppress(*_UNREADABLE):
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in groups:
        for controller, root, (most, used, given_back) in _GROUPS:
            if controller not in controllers.split(","):
                continue
            # The limit of a group that holds this one holds too; within a container its own is the root.
            below = root / path.lstrip("/")
            for folder in (below, *below.parents[: len(below.parts) - len(root.parts)]):
                with suppress(KeyError, *_UNREADABLE):  # "max", or no such file: no limit here
                    limit = int((folder / most).read_text())
                    idle = _numbers(folder / "memory.stat")[given_back]
                    yield limit - int((folder / used).read_text()) + idle


def _of_the_process() -> Iterator[int]:
    """What `ulimit -v` allows."""
    with suppress(ImportError, KeyError, *_UNREADABLE):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield limit - _numbers(Path("/proc/self/status"))["VmSize:"] * 1024


def _numbers(path: Path) -> dict[str, int]:
    """The first number of each line, by the word before it."""
    lines = (line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
