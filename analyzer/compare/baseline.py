"""Baselines: snapshots under a name, as small JSON files that a repository can keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from analyzer.compare.snapshot import SNAPSHOT_VERSION, Snapshot
from traces.errors import UsageError
from traces.patterns import Pattern
from traces.replacing import replacing

FOLDER = Path(".advisor") / "baselines"
_NAME = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The file: one or several runs under a name."""

    version: str
    name: str
    runs: tuple[Snapshot, ...]


def baseline_path(name: str, folder: Path = FOLDER) -> Path:
    """Where a baseline is kept.

    Raises:
        UsageError: The name could leave the folder or be no file name.
    """
    if not _NAME.match(name):
        raise UsageError(
            f"{name[:60]!r} is no name for a baseline", fix="use letters, digits, dot, dash and underscore"
        )
    return folder / f"{name}.json"


def save_baseline(name: str, runs: Sequence[Snapshot], folder: Path = FOLDER) -> Path:
    """Writes a baseline, whole or not at all."""
    path = baseline_path(name, folder)
    text = msgspec.json.format(
        msgspec.json.encode(Baseline(version=SNAPSHOT_VERSION, name=name, runs=tuple(runs)), order="deterministic"),
        indent=1,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text + b"\n")
    except OSError as error:
        raise UsageError(
            "the baseline cannot be written",
            where=str(path),
            why=error.strerror,
            fix="run it where files may be written, and make sure that the disk has room",
        ) from error
    return path


def load_baseline(name: str, folder: Path = FOLDER) -> tuple[Snapshot, ...]:
    """Reads a baseline by its name, or from a path that ends in .json.

    Raises:
        UsageError: There is none of that name, or the file is not one.
    """
    path = Path(name) if name.endswith(".json") else baseline_path(name, folder)
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        known = sorted(item.stem for item in folder.glob("*.json"))
        has = f"saved in {folder}: {', '.join(known)}" if known else f"none has been saved in {folder}"
        raise UsageError(
            f"there is no baseline {name!r}", where=str(path), why=has, fix="advisor baseline save NAME TRACE"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError("the baseline is damaged", where=str(path), why=str(error), fix="save it again") from error
    if baseline.version.partition(".")[0] != SNAPSHOT_VERSION.partition(".")[0]:
        raise UsageError(
            f"the baseline has format {baseline.version}",
            where=str(path),
            why=f"this is {SNAPSHOT_VERSION}",
            fix="save it again",
        )
    return baseline.runs
