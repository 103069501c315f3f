"""The sides of a comparison as they are named on the command line: files, folders, baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.progress import ProgressLine
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.compare.snapshot import Snapshot


def snapshots_of(paths: Sequence[Path]) -> list[Snapshot]:
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
