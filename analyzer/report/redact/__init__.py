"""What leaves the machine without names of people, machines and folders, and without secrets (rule PG009).

The document already holds allow-listed figures only. What is left are strings of the trace: kernel names, ranges, stacks, file
names. Every one of them passes here, whatever its key, before a report is drawn from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar, cast

import msgspec

from analyzer.analysis import Analysis
from analyzer.hardware.peaks import PEAKS
from analyzer.report.redact.paths import Project, inside_packages, is_absolute, relative
from analyzer.report.redact.secrets import without_secrets
from analyzer.report.redact.writings import in_any
from traces.patterns import Pattern

__all__ = ["Project", "cleaner", "mapped", "redact", "renamed"]

Time = TypeVar("Time", int, float)
Kept = TypeVar("Kept")

# torch's tensorboard_trace_handler names its files `<host>_<pid>.<time>.pt.trace.json`.
_HANDLER_NAME = Pattern(r"(?<![\w.-])[\w.-]+_(\d+\.\d+\.pt\.trace\.json)")
# Words made of letters and digits that are no secret: digests and ids the program wrote itself. A report or a summary that is read
# back may be anybody's: what is not made like one of ours passes as other text does.
_ID = Pattern(r"[A-Z]{2}\d{3}-[0-9a-f]{4}(?:-\d{1,6})?")
_OWN_KEYS = {
    "sha256": Pattern(r"[0-9a-f]{64}"),
    "schema_version": Pattern(r"\d{1,4}\.\d{1,4}"),
    **dict.fromkeys(("id", "explained_by", "overlaps_with", "ids", "without_place"), _ID),
}
# Where figures of devices were read: reports cite it, address and all.
_CITED = frozenset(peak.document for peak in PEAKS)
# What stands under these is told by names of the trace, not by names of ours.
_NAMES_KEYS = frozenset({"kernels", "kernels_ns", "ops_ns", "operators_ns"})


def redact(analysis: Analysis, project: Project) -> Analysis:
    """The same document with every string made fit to be shown to anybody.

    Args:
        analysis: The document.
        project: Where the user's own code lies and what must not be told of this machine.
    """
    project = project.with_root(_common_folder(analysis))
    text = cleaner(project)
    return mapped(analysis, text, lambda path: text(_whole_path(path, project)))


def cleaner(project: Project) -> Callable[[str], str]:
    """What makes one string fit to be shown; it remembers those it has seen."""

    def plain(value: str) -> str:
        renamed = _HANDLER_NAME.sub(r"worker_\1", relative(value, project))
        return project.without_names(without_secrets(renamed))

    return cache(lambda value: value if value in _CITED else in_any(value, plain))


def mapped(value: Kept, text: Callable[[str], str], path: Callable[[str], str]) -> Kept:
    """The document, or a part of one, with every string replaced.

    Args:
        value: Structs, mappings, lists and tuples of strings and numbers.
        text: Makes one string fit to be shown.
        path: The same for what stands under `file`, which is a path as a whole, blanks and all.

    Raises:
        TypeError: It holds anything else, of which nobody knows whether strings are in it.
    """
    return cast("Kept", _mapped(value, text, path, ""))


def _mapped(value: object, text: Callable[[str], str], path: Callable[[str], str], key: str) -> object:
    if isinstance(value, str):
        if (own := _OWN_KEYS.get(key)) is not None and own.fullmatch(value):
            return value
        return path(value) if key == "file" else text(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, msgspec.Struct):
        fields = {name: _mapped(getattr(value, name), text, path, name) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, dict):
        if key in _NAMES_KEYS:
            return renamed(value, text)
        return {name: _mapped(item, text, path, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, text, path, key) for item in value)
    raise TypeError(f"no part of a document: {type(value).__name__} under {key!r}")


def renamed(times: Mapping[str, Time], text: Callable[[str], str]) -> dict[str, Time]:
    """Times by their new names; those of names that became one are added up."""
    found: dict[str, Time] = {}
    for name, ns in times.items():
        new = text(name)
        found[new] = found[new] + ns if new in found else ns
    return found


def _whole_path(path: str, project: Project) -> str:
    return project.shown(path) if is_absolute(path) or ".." in re.split(r"[\\/]", path) else path


def _common_folder(analysis: Analysis) -> str | None:
    """The folder that holds all the user's own files named by findings: the project, where we are not in it."""
    files = [finding.location.file for finding in analysis.findings if finding.location is not None]
    own = [file for file in files if file.startswith("/") and not inside_packages(file)]
    return os.path.commonpath([os.path.dirname(file) for file in own]) if own else None
