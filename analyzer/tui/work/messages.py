"""What the worker tells the app; every screen gets its state from these and from its own widgets' messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from analyzer.analysis import Analysis, FindingDocument
from analyzer.analysis.first_look import FirstLook
from traces.errors import AdvisorError

if TYPE_CHECKING:
    from analyzer.tui.answer.opened import Opened


@dataclass
class Progressed(Message):
    """The analysis reached a point: `done` of `total` (0: unknown) in `stage`."""

    stage: str
    done: int
    total: int


@dataclass
class FirstLooked(Message):
    """The trace is read and measured; rules have yet to run."""

    look: FirstLook


@dataclass
class Analysed(Message):
    """The analysis is there, with what it was made from."""

    opened: Opened


@dataclass
class TraceWanted(Message):
    """Someone wants to look at a finding, or at the drawn step, in Perfetto."""

    finding: FindingDocument | None


@dataclass
class Deepening(Message):
    """More evidence is looked for, for the answer at `index`."""

    index: int


@dataclass
class Deepened(Message):
    """The look for more evidence for the answer at `index` is over: there is a document with it, or a reason why not."""

    analysis: Analysis | None
    index: int
    problem: str | None = None


@dataclass
class EditWanted(Message):
    """Someone wants to open the place of a finding in the editor."""

    finding: FindingDocument


@dataclass
class ProveWanted(Message):
    """Someone wants to know how to apply a finding, and how to prove that it helped."""

    finding: FindingDocument


class DeeperUnwanted(Message):
    """Someone does not want to wait for more evidence."""


@dataclass
class RankWanted(Message):
    """Someone wants to see the rank at `index`."""

    index: int


@dataclass
class Failed(Message):
    """The trace could not be read."""

    error: AdvisorError


class CancelWanted(Message):
    """Someone does not want to wait for the analysis."""


class Stopped(Message):
    """The analysis was cancelled."""


@dataclass
class FindingWanted(Message):
    """Someone wants to see the finding with this id."""

    identity: str


@dataclass
class PlaceWanted(Message):
    """Someone wants to see where in the step a finding lies."""

    finding: FindingDocument


@dataclass
class AcceptanceWanted(Message):
    """Someone wants to live with a finding."""

    finding: FindingDocument
