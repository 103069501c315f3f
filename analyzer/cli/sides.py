"""The sides of a comparison as they are named on the command line: files, folders, baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.compare.snapshot import Snapshot

_TRACE_ENDINGS = (".json", ".json.gz", ".json.zst")


def traces_of(path: Path) -> list[Path]:
    """The traces a path names: the file itself, or those directly inside the folder, by name.

    Raises:
        UsageError: The folder holds none.
    """
    if not path.is_dir():
        return [path]
    found = sorted(item for item in path.iterdir() if item.is_file() and item.name.endswith(_TRACE_ENDINGS))
    if not found:
        raise UsageError(f"{path} holds no trace", where=str(path), fix="name a folder with .json or .json.gz files")
    return found


def snapshots_of(paths: list[Path]) -> list[Snapshot]:
    """Analyses every trace and keeps what a comparison needs."""
    from analyzer.compare.snapshot import snapshot
    from analyzer.explain import Options, analyse_with_facts

    taken = []
    for path in paths:
        with ProgressLine() as progress:
            explained = analyse_with_facts(path, Options(), progress)
        if explained.facts is None:
            raise UsageError(f"{path} is a report, not a trace", where=str(path), fix="compare the traces themselves")
        taken.append(snapshot(explained.analysis, explained.facts))
    return taken
