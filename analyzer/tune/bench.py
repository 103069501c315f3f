"""Runs of the script, kept: each is written down when it is over, so that what was measured outlives us, and is found again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from analyzer.tune.run_folder import RUNS
from traces.collect.tune.trial import Asked, Changes, Ran, Script

Runner = Callable[[Script, Asked, Path], Ran]
# A run takes about as long as the first one; one that takes so many times as long hangs.
_PATIENCE = 4.0
_LEAST_S = 60.0
# Eleven days: no step takes so long.
_MOST_NS = 10**15
_MOST_S = 10**6
_MOST_STEPS = 10**12


class OutOfBudgetError(Exception):
    """There is no time left for another run."""


class Bench:
    """Runs the script and keeps what came of it.

    Args:
        script: What to run.
        folder: Takes `runs.jsonl` and the logs.
        runner: Runs it once.
        budget_s: How long all runs may take together.
        seed: For the generators.
        resume: Whether runs that are written down already count.
    """

    def __init__(
        self, script: Script, folder: Path, runner: Runner, budget_s: float, seed: int, *, resume: bool = False
    ) -> None:
        self.script = script
        self.folder = folder
        self.runner = runner
        self.seed = seed
        self.ends = time.monotonic() + budget_s
        self.file = folder / RUNS
        self.kept: dict[str, list[Ran]] = {}
        self.number = 0
        self.longest_s = 0.0
        self._earlier_s = 0.0
        self.asked = Asked(seed=seed)
        if resume and self.file.exists():
            self._read()
        else:
            self.file.unlink(missing_ok=True)

    def _read(self) -> None:
        content = self.file.read_bytes()
        for line in content.splitlines():
            # Cut by what ended us, or changed since: what is no run is measured again.
            with suppress(msgspec.DecodeError, RecursionError):
                row = msgspec.json.decode(line, type=_Kept)
                if _is_of_use(row):
                    self.kept.setdefault(row.key, []).append(row.ran)
        if content and not content.endswith(b"\n"):
            # Or the next run would stand on the line that was cut, and be lost with it.
            with self.file.open("ab") as file:
                file.write(b"\n")

    def run(self, changes: Changes, environment: dict[str, str] | None = None, warmup: int = 0) -> Ran:
        """One run with these changes: one that is kept, or a new one.

        Args:
            changes: Values by name; empty for the script as it is.
            environment: Variables that they need.
            warmup: Steps to let pass beyond the usual ones.

        Raises:
            OutOfBudgetError: There is no time for it.
        """
        key = json.dumps(changes, sort_keys=True)
        if self.kept.get(key):
            kept = self.kept[key].pop(0)
            self._earlier_s += kept.wall_s
            return kept
        if time.monotonic() + self.longest_s > self.ends:
            raise OutOfBudgetError
        self.number += 1
        asked = replace(self.asked, changes=changes, environment=environment or {}, warmup=self.asked.warmup + warmup)
        ran = self.runner(self.script, asked, self.folder / f"run-{self.number:03}.log")
        if ran.ending == "measured":
            self.longest_s = max(self.longest_s, ran.wall_s)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "ran": asdict(ran)}) + "\n")
        return ran

    def clock_s(self) -> float:
        """A clock that a run of an earlier call moves on by what that took, when it is taken over."""
        return time.monotonic() + self._earlier_s

    def settle(self, first: Ran, least_ns: int) -> None:
        """Choose how many steps a run times, by what the first one took: as many for all, that curves can be compared."""
        steps = len(first.times_ns)
        wanted = max(self.asked.least, min(400, round(least_ns / max(first.step_ns, 1.0))))
        patience = max(_LEAST_S, _PATIENCE * first.wall_s)
        self.asked = replace(self.asked, steps=min(steps, wanted), timeout_s=patience, least_ns=0)


class _Kept(msgspec.Struct):
    """A line of `runs.jsonl`: the changes as JSON, and what came of them."""

    key: str
    ran: Ran


def _is_of_use(row: _Kept) -> bool:
    """Whether a kept run saves one: it has times that a script may have, or says why a change has none."""
    ran = row.ran
    if not 0 <= ran.wall_s < _MOST_S:
        return False
    if ran.ending != "measured":
        # The script as it is may run this time.
        return row.key != json.dumps({})
    return (
        bool(ran.times_ns)
        and all(0 < time_ns < _MOST_NS for time_ns in (*ran.times_ns, ran.step_ns))
        and (ran.lacked_ns is None or 0 <= ran.lacked_ns < ran.step_ns)
        and 0 <= ran.setup_ns < _MOST_NS
        and 0 <= ran.steps_before < _MOST_STEPS
        and (ran.epoch_steps is None or 0 < ran.epoch_steps < _MOST_STEPS)
        and all(_is_place(call) for calls in ran.calls.values() for call in calls)
    )


def _is_place(call: dict[str, Any]) -> bool:
    return isinstance(call.get("file"), str) and type(call.get("line")) is int and isinstance(call.get("name"), str)
