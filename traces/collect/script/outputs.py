"""The files of one run of a script: their names, and what becomes of older ones that the run did not replace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traces.collect.output.files import Spare
from traces.collect.script.config import ScriptConfig
from traces.errors import UsageError

_RANK = re.compile(r"rank\d+\.json(\.gz)?")
# No reader takes a file that ends so for a trace of a folder.
_OLDER = ".older"


class Outputs:
    """Names of what a run writes: one file, or one folder with a file for each rank.

    Args:
        config: What was asked for.

    Attributes:
        names: The file of each process so far, by its number.
        set_aside: Older files by their new names, once the run is over.
    """

    def __init__(self, config: ScriptConfig) -> None:
        self._output = config.output
        self._compress_from = config.compress_from
        self._spare = Spare()
        self.names: dict[int, Path] = {}
        self._older = {path: path.stat() for path in self._places() if path.is_file()}
        self.set_aside: list[Path] = []

    @property
    def folder(self) -> Path:
        """Where the files of several ranks lie: `out/trace` for `out/trace.json`."""
        stem, dot, _ = self._output.name.partition(".")
        return self._output.with_name(stem if dot and stem else f"{self._output.name}.ranks")

    def name(self, status: dict[str, Any], size: int) -> Path:
        """The file of a process, the same each time: with its rank, or a number where several processes have none.

        Args:
            status: What the process tells of itself.
            size: Bytes of its first recording; many are compressed where nobody asked for that very name.

        Raises:
            UsageError: There is no folder for the ranks.
        """
        if status["pid"] in self.names:
            return self.names[status["pid"]]
        if status["rank"] is not None and status["world_size"] > 1:
            path = self._of_rank(status["rank"])
        else:
            path = _insert(self._output, str(len(self.names) + 1)) if self.names else self._output
        if self._compress_from is not None and size >= self._compress_from and path.suffix != ".gz":
            path = path.with_name(f"{path.name}.gz")
        return self.names.setdefault(status["pid"], path)

    def kept_elsewhere(self, status: dict[str, Any], content: bytes) -> tuple[Path, int] | None:
        """Write the file of a process to the run's folder among the temporary files; None where no room is there.

        Args:
            status: What the process tells of itself.
            content: What to write.
        """
        kept = self._spare.keep(self.names[status["pid"]].name, content)
        if kept is not None:
            self.names[status["pid"]] = kept[0]
        return kept

    def common_folder(self, paths: Sequence[Path]) -> Path | None:
        """The folder that holds files of ranks and nothing else, those of other processes too; None where these lie in none.

        What was kept elsewhere for want of room is one process's own.
        """
        folders = {path.parent for path in paths}
        if len(folders) > 1:
            return None
        of_ranks = (self.folder, self._spare.folder) if len(paths) > 1 else (self.folder,)
        return next((folder for folder in folders if folder in of_ranks), None)

    @contextmanager
    def older_set_aside(self) -> Iterator[None]:
        """When this is left, what lay there before and was not replaced gets another name: nobody shall take it for the new one."""
        try:
            yield
        finally:
            for path, before in self._older.items():
                if path.exists() and _same(path.stat(), before):
                    aside = path.with_name(path.name + _OLDER)
                    os.replace(path, aside)
                    self.set_aside.append(aside)

    def _of_rank(self, rank: int) -> Path:
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot make the folder {self.folder} for the ranks' files: {error.strerror or error}",
                fix="give another name with --output: its files go to a folder of that name",
            ) from error
        # A folder is read by the endings of its files: without one they would be nobody's traces.
        suffixes = self._output.name.partition(".")[2] or "json"
        return self.folder / f"rank{rank}.{suffixes}"

    def _places(self) -> Iterator[Path]:
        """Where a recording of an earlier run would be taken for one of this."""
        yield self._output
        if self._compress_from is not None and self._output.suffix != ".gz":
            yield self._output.with_name(f"{self._output.name}.gz")
        if self.folder.is_dir():
            yield from (path for path in sorted(self.folder.iterdir()) if _RANK.fullmatch(path.name))


def _same(now: os.stat_result, before: os.stat_result) -> bool:
    return (now.st_ino, now.st_mtime_ns, now.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)


def _insert(path: Path, part: str) -> Path:
    """`a/trace.json.gz` and `2` -> `a/trace.2.json.gz`."""
    stem, dot, suffixes = path.name.partition(".")
    return path.with_name(f"{stem}.{part}{dot}{suffixes}")
