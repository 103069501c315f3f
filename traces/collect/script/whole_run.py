"""What is known of a script's whole run, beside the steps that were recorded: the key `run` of a recording's metadata."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec

from traces.collect.output.files import write_atomically
from traces.collect.output.paths import PathCleaner

# What shows every step from the first to the last: calls of a model are watched only as long as they are recorded.
WHOLE = ("optimizer", "backward", "loader")
# Places with less of the time than the first so many say nothing more.
_MOST_PLACES = 100


def course(told: dict[str, Any], project: Path) -> dict[str, Any]:
    """What the hook told of a run, without a path of this machine.

    Args:
        told: From `Course.told` and `Sampler.told` of the hook.
        project: Folder that paths become relative to.
    """
    cleaner = PathCleaner(project)
    between = told["between"]
    usual = between["usual"]
    cleaned = {"places": _cleaned(between["places"], cleaner)}
    return told | {"between": between | cleaned | {"usual": usual | {"places": _cleaned(usual["places"], cleaner)}}}


def _cleaned(places: list[dict[str, Any]], cleaner: PathCleaner) -> list[dict[str, Any]]:
    return [cleaner.clean(place) for place in places[:_MOST_PLACES]]


def write_course(path: Path, run: dict[str, Any]) -> None:
    """Replace what a written recording says of the run; its events stay byte for byte.

    Raises:
        OSError: The file cannot be read.
        msgspec.DecodeError: It is no trace any more.
        UsageError: It cannot be written.
    """
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    document = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    advisor = msgspec.json.decode(document["advisor"], type=dict[str, Any])
    if advisor.get("run") == run:
        return
    document["advisor"] = msgspec.Raw(msgspec.json.encode(advisor | {"run": run}))
    write_atomically(path, msgspec.json.encode(document))
