"""Runs of a comparison without names of people, machines and folders: a baseline lives in a repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from analyzer.compare.snapshot import Snapshot
from analyzer.report.redact import Project, cleaner, mapped


def redact_runs(runs: Sequence[Snapshot], project: Project) -> list[Snapshot]:
    """The same runs with every string made fit to be shown to anybody; doing it twice changes nothing more.

    Args:
        runs: What was taken down of each run.
        project: Where the user's own code lies and what must not be told of this machine.
    """
    text = cleaner(project)
    return [_redacted(run, text) for run in runs]


def _redacted(run: Snapshot, text: Callable[[str], str]) -> Snapshot:
    plain = msgspec.convert(mapped(msgspec.to_builtins(run), text, text), Snapshot)
    # Names of kernels and ops are the keys here.
    return msgspec.structs.replace(plain, kernels_ns=_renamed(run.kernels_ns, text), ops_ns=_renamed(run.ops_ns, text))


def _renamed(times: Mapping[str, float], text: Callable[[str], str]) -> dict[str, float]:
    """Times by their new names; those of names that became one are added up."""
    renamed: dict[str, float] = {}
    for name, ns in times.items():
        renamed[text(name)] = renamed.get(text(name), 0.0) + ns
    return renamed
