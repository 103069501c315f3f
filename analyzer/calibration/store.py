"""Where pairs are: those that ship with the package, and those of this machine, kept only where that was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from analyzer.analysis.tuning import Tuning
from analyzer.calibration.pairs import Pair

SHIPPED = Path(__file__).with_name("shipped.json")


def own_file() -> Path:
    """The file of this machine: `calibration.jsonl` in the user's folder for data."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(data) / "trace-advisor" / "calibration.jsonl"


def shipped() -> tuple[Pair, ...]:
    """The pairs of the zoo, as `python -m analyzer.calibration.shipped` took them from its table."""
    return msgspec.json.decode(SHIPPED.read_bytes(), type=tuple[Pair, ...])


def own() -> Iterator[Pair]:
    """The pairs of this machine; a line that cannot be read is left out."""
    try:
        lines = own_file().read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Pair)
        except msgspec.DecodeError:
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


def of_tuning(tuning: Tuning) -> Iterator[Pair]:
    """The pairs of a tuning: of trials that were measured and are of one rule, as nobody can say which of several was right."""
    for trial in tuning.trials:
        if trial.measured_ratio is None or trial.low_ratio is None or len(trial.rules) != 1:
            continue
        yield Pair(
            rule=trial.rules[0],
            source="tune",
            name=trial.change,
            promised_ratio=trial.promised_ratio,
            measured_ratio=max(trial.measured_ratio, 0.0),
            noise_ratio=max(tuning.noise_ratio, trial.measured_ratio - trial.low_ratio),
            date=tuning.date,
        )
