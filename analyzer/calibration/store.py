"""Where pairs are: those that ship with the package, and those of this machine, kept only where that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from analyzer.analysis import Calibrated
from analyzer.calibration.pairs import Pair, records

SHIPPED = Path(__file__).with_name("shipped.json")


def own_file() -> Path:
    """The file of this machine: `calibration.jsonl` in the user's folder for data."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(data) / "trace-advisor" / "calibration.jsonl"


def shipped() -> tuple[Pair, ...]:
    """The pairs of the zoo, as `python -m analyzer.calibration.shipped` took them from its table."""
    return msgspec.json.decode(SHIPPED.read_bytes(), type=tuple[Pair, ...])


def calibrated() -> tuple[Calibrated, ...]:
    """What all pairs say, those that ship with the package and those of this machine."""
    return tuple(records((*shipped(), *own())))


def own() -> Iterator[Pair]:
    """The pairs of this machine; a line that cannot be read is left out."""
    try:
        # What is no file, a pipe say, may never give what it holds.
        lines = own_file().read_bytes().splitlines() if own_file().is_file() else []
    except OSError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Pair)
        except (msgspec.DecodeError, RecursionError):
            continue


def keep(pairs: Iterable[Pair]) -> int:
    """Add pairs to the file of this machine; how many there were.

    Raises:
        OSError: It cannot be written.
    """
    lines = [msgspec.json.encode(pair) + b"\n" for pair in pairs]
    if lines:
        file = own_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.writelines(lines)
    return len(lines)
