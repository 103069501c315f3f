"""What the trace shows of collectives, and whether it can say anything of other ranks: why a rule has nothing to look at."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace
from analyzer.finding import Outcome, cannot_tell, not_applicable
from analyzer.units import count

_SHOWN = 3


def not_seen(facts: Facts) -> Outcome | None:
    """Why no collective takes time here; None where one runs.

    A program that calls collectives without others to talk to, or through a process that was not recorded, leaves ranges on the
    host, and nothing on the device.
    """
    found = facts.communication.collectives
    if found.running:
        return None
    if not len(found.calls):
        return not_applicable("no collective in the used steps")
    if facts.device.main is None:
        return None
    kinds = ", ".join(f"`{kind}`" for kind in found.kinds[:_SHOWN])
    called = f"{count(len(found.calls), 'collective is', 'collectives are')} called in the used steps ({kinds})"
    alone = ": the trace says that the job has one rank" if facts.recording.alone else ""
    return not_applicable(f"{called}, but no kernel of one runs on the device{alone}")


def among_others(facts: Facts) -> JobPlace | Outcome:
    """This rank's place among the ranks that were read; why it cannot be held against others where it has none."""
    found = facts.communication.collectives
    if not found.running and not len(found.calls):
        return not_applicable("no collective in the used steps")
    if facts.job is not None and len(facts.job.used) > 1:
        return facts.job
    if facts.recording.alone:
        return not_applicable("the trace says that the job has one rank: there is no other")
    return cannot_tell("needs the traces of the other ranks: advisor explain FOLDER")
