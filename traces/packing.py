"""How a trace that is written is compressed: as its name says, where it ends in .gz, and not at all else."""

from __future__ import annotations

from pathlib import Path

from traces.errors import UsageError

PACKED = ".gz"
_OTHERS = (".zst", ".bz2", ".xz", ".zip", ".7z", ".tgz", ".lz4", ".br")


def check_packing(path: Path) -> None:
    """Refuses a name that promises a compression which the file would not have.

    Raises:
        UsageError: It ends in another one's letters, or in large ones.
    """
    ending = path.suffix
    if ending in _OTHERS or (ending != PACKED and ending.lower() in (PACKED, *_OTHERS)):
        raise UsageError(
            f"{path.name} would not be what its name says",
            where="-o/--output",
            why="a trace is written as JSON, and compressed where its name ends in .gz",
            fix=f"name it {path.with_suffix(PACKED).name}",
        )
