"""How far a tuning is: what its events come to so far, for a screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.analysis.tuning import Promise, TrialDocument
from analyzer.tune.events import Baseline, Event, Judged, Note, Planned, Running, Timed


@dataclass
class Row:
    """One change, and its runs so far.

    Args:
        name: As the catalogue calls it; `together` and `without NAME` for combinations.
        title: In words; empty for combinations.
        promise: What its findings state; None for combinations.
        runs: Value and step of each run in order; None where it has none.
        running: The value that runs now; None while it waits or is over.
        turn: Which turn runs.
        trial: What came of it; None before.
    """

    name: str
    title: str = ""
    promise: Promise | None = None
    runs: list[tuple[str, float | None]] = field(default_factory=list)
    running: str | None = None
    turn: int = 0
    trial: TrialDocument | None = None

    @property
    def step_ns(self) -> float | None:
        """The step of its last run that has one."""
        return next((step for _, step in reversed(self.runs) if step is not None), None)


class Live:
    """All of it, told by `hear`.

    Args:
        script: What is tuned, for a title.
        budget_s: How long it may take.
    """

    def __init__(self, script: str, budget_s: float) -> None:
        self.script = script
        self.budget_s = budget_s
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.baseline: list[float] = []
        self.step_ns = 0.0
        self.noise_ratio = 0.0
        self.measuring = False

    def hear(self, event: Event) -> None:
        """Take in what happened."""
        if isinstance(event, Note):
            self.notes.append(event.text)
        elif isinstance(event, Planned):
            self.rows = [Row(one.name, one.title, one.promise) for one in event.changes]
        elif isinstance(event, Baseline):
            self.baseline.append(event.last_ns)
            self.step_ns, self.noise_ratio = event.step_ns, event.noise_ratio
        elif isinstance(event, Running):
            self._running(event)
        elif isinstance(event, Timed):
            row = self._row(event.change)
            row.runs.append((event.value, event.step_ns))
            row.running = None
        elif isinstance(event, Judged):
            row = self._row(event.trial.change.partition("=")[0])
            row.trial, row.running = event.trial, None

    def _running(self, event: Running) -> None:
        self.measuring = not event.change
        if event.change:
            row = self._row(event.change)
            row.running, row.turn = event.value, event.turn

    def _row(self, name: str) -> Row:
        found = next((row for row in self.rows if row.name == name), None)
        if found is None:
            found = Row(name)
            self.rows.append(found)
        return found
