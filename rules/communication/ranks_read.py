"""What the traces of a job's ranks that were read tell of one of them: whether it waits in its collectives, or moves data."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, waiting_for_others
from analyzer.finding import Advice
from analyzer.ranks.document import LateRank
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, rate
from rules.communication.kinds import SMALL_BYTES, mostly_numbers

# One rank's tensor is all that is reduced or sent.
_WHOLE = ("all_reduce", "allreduce", "reduce", "broadcast")
# Eight cards that reduce over PCIe 3.0 without peer-to-peer copies reach 3 to 5 GB/s of what each gives (nccl-tests, `algbw`).
_WITHIN_A_MACHINE = 2e9
# Capacity factors of 1 to 1.25 are usual (Switch Transformers, table 1).
UNEVEN_RATIO = 1.2


def every_rank_is_here(facts: Facts) -> bool:
    """Whether the traces of all ranks of the job were read, and hold collectives of one another."""
    return facts.job is not None and facts.job.every_rank_is_here


def every_rank_is_read(facts: Facts) -> bool:
    """Whether the traces of all ranks of the job were read, whether or not their collectives could be matched."""
    size = None if facts.job is None else facts.job.job.world_size
    return facts.job is not None and size is not None and len(facts.job.used) >= size


def devices_of_one_process(facts: Facts) -> int:
    """How many devices take part in the collectives, where one process drives them all; 0 where there are others, or may be."""
    if (facts.recording.world_size or 1) > 1 or facts.job is not None:
        return 0
    taking = sum(bool(device.collective & facts.steps.window) for device in facts.device.all)
    return taking if taking > 1 else 0


def movable(facts: Facts) -> IntervalSet:
    """Exposed communication that sending less, or beside compute, can shorten: all but what is known to be waiting for other ranks.

    Stages of a pipeline wait however even they are, which more micro-batches shorten: there it is what one waits for a late rank.
    """
    exposed, place = facts.communication.collectives.exposed, facts.job
    row = None if place is None or not place.job.matched.matched else place.row
    if place is None or row is None or not row.exposed_ns:
        return exposed
    waits = 0 if facts.communication.passing.stages else row.exposed_waiting_least_ns or 0
    if place.late is not None and place.late.of_rank and not place.is_late:
        waits = max(waits, min(row.exposed_waiting_most_ns or 0, place.late.waited_ns_per_step))
    return exposed.scaled(1 - min(waits / row.exposed_ns, 1.0))


def waiting_or_transferring(facts: Facts) -> str:
    """What the time inside collectives is, as far as the ranks that were read tell: one sentence."""
    place = facts.job
    row = place.row if place is not None else None
    if place is not None and len(place.used) > 1 and not place.job.matched.matched:
        return "Collectives of these ranks could not be matched (CO003): waiting cannot be told from transferring."
    if place is None or row is None or not place.job.matched.matched:
        if mostly_numbers(facts):
            return "Most of it is in collectives of a few numbers: that is waiting for ranks that come later, not transferring."
        devices = devices_of_one_process(facts)
        if devices:
            return (
                f"One process gives them to {devices} devices, one after the other: each waits in a collective until the last has "
                "come to it."
            )
        return f"One rank's trace cannot tell waiting for another rank from transferring.{_slowly(facts)}"
    late, waited = place.late, facts.steps.per_step(waiting_for_others(facts.steps, facts.time, place).total_ns)
    if late is not None and waited:
        return f"{duration(waited)} of it a step is waiting for rank {late.rank} (CO003)."
    exposed = facts.steps.per_step(facts.communication.collectives.exposed.total_ns)
    held = row.exposed_ns or 0
    held_ratio = len(place.job.steps) / max(facts.steps.count, 1)
    elsewhere = exposed - held * held_ratio
    if 2 * elsewhere > exposed:
        return (
            f"{duration(elsewhere)} of it a step lies in steps that other ranks leave out of their figures: whether it is waiting "
            "for those cannot be told."
        )
    least, most = row.exposed_waiting_least_ns or 0, row.exposed_waiting_most_ns or 0
    if 2 * most <= held:
        paced = f" {place.job.pace}" if place.job.pace else ""
        return f"By the {len(place.used)} ranks read it is for the most part transferring.{paced}"
    unread = "" if place.every_rank_is_here else ", those that were not read among them"
    return f"{_between(least, most)} of the {duration(held)} that nothing hides inside them is waiting for other ranks{unread}."


def _slowly(facts: Facts) -> str:
    """Where large sums travel slower than between devices of one machine: how fast, as a sentence; else empty.

    What is gathered or exchanged is left out: of that one rank's tensors do not tell how much travels.
    """
    found = facts.communication.collectives
    calls = found.calls
    large = calls[(calls["kind"].isin(_WHOLE) & (calls["size_bytes"] >= SMALL_BYTES)).to_numpy(dtype=bool)]
    lasting = facts.communication.spans_of(large)
    if facts.device.main is None or not lasting or 2 * (found.exposed & lasting).total_ns < found.exposed.total_ns:
        return ""
    per_s = float(large["size_bytes"].sum()) / (lasting.total_ns / 1e9)
    if per_s >= _WITHIN_A_MACHINE:
        return ""
    return (
        f" Sums of 1 MiB and more come to {rate(per_s, 'B')}: devices of one machine reach several times that on 16 lanes of PCIe, "
        "so that most of it is waiting where all ranks are on such a one; fewer lanes, or a network, may be as slow."
    )


_ONE_EACH = Advice(
    "text",
    "One process for each device (`torchrun`; to train, `DistributedDataParallel`): each launches for its own device alone.",
    "No other rank has to be recorded: all devices that take part are in this trace.",
)
_EVEN_FIRST = Advice(
    "text",
    "Make the ranks take equally long between collectives first: the job's own verdict says which of them, or which stage, others "
    "wait for.",
    "Most of this is waiting for other ranks: sending less and hiding more shorten the rest alone.",
)


_LATE_FIRST = Advice(
    "text",
    "Speed up this rank first: the others wait for it, and its own report names in what it spends more than they do.",
    "What it moves and what it waits for come after that: neither makes it late.",
)


def others_wait_for_it(facts: Facts) -> bool:
    """Whether this rank is late, or in the stage that sets the pace of a pipeline: less to send ends no sooner for the others."""
    place = facts.job
    pipe = None if place is None else place.job.pipeline
    if place is None or place.slow_stage is None or pipe is None:
        return is_late(facts)
    return is_late(facts) or any(one.stage == pipe.slowest and place.rank in one.ranks for one in pipe.stages)


def is_late(facts: Facts) -> bool:
    """Whether this is the rank that the job's verdict names."""
    late = None if facts.job is None else facts.job.late
    return facts.job is not None and late is not None and late.of_rank and facts.job.is_late


def shared_ratio(place: JobPlace) -> float:
    """How much of what others wait for the late rank is gained where its work goes to them; 1 where it need not.

    What experts get, shards of a table or a larger batch somebody has to compute: of a group of two ranks half of it comes to the
    other one. Work of kinds that no other rank has may be left out, or done at another time.
    """
    late = place.late
    if late is None or late.cause not in ("imbalance", "not clear"):
        return 1.0
    mine = next((one for one in place.job.uneven if one.rank == late.rank and one.ratio >= UNEVEN_RATIO), None)
    if mine is not None:
        return 1 - 1 / max(len(mine.ranks), 2)
    return 1.0 if late.cause != "imbalance" or late.runs_more else 1 - 1 / max(_members(place, late), 2)


def _members(place: JobPlace, late: LateRank) -> int:
    """How many ranks may share the work of the late one: those of its group, else all that are here."""
    found = (one for one in place.job.groups if one.name == late.group and late.rank in one.ranks)
    group = next(found, None)
    return len(place.used) if group is None else len(group.ranks)


def _mostly_waits(facts: Facts) -> bool:
    """Whether more than half of what nothing hides is known to be waiting: of stages that is so however even they are."""
    if facts.communication.passing.stages:
        return False
    row = None if facts.job is None or not facts.job.job.matched.matched else facts.job.row
    return row is not None and 2 * (row.exposed_waiting_least_ns or 0) > (row.exposed_ns or 0)


# Less than this part of the larger bound is no bound that tells anything.
_LEAST_BOUND = 0.05


def _between(least_ns: int, most_ns: int) -> str:
    """Two bounds in words; one number where they read alike."""
    low, high = duration(least_ns), duration(most_ns)
    if low == high:
        return high
    return f"{low} to {high}" if least_ns >= _LEAST_BOUND * most_ns else f"Up to {high}"


def with_all_ranks(
    facts: Facts, changes: tuple[Advice, ...], certain: frozenset[Advice] = frozenset()
) -> tuple[Advice, ...]:
    """Changes with what to do about other ranks: waiting or transferring? Only all ranks together can tell.

    Where they are all here, it is what to do first if it is waiting. Stages of a pipeline wait however even they are: there the
    changes come first. So do those that pay whether or not a rank is late.

    Args:
        facts: The measurements.
        changes: What shortens or hides what is sent.
        certain: Those of them that one rank's trace shows to pay.
    """
    first = (_LATE_FIRST,) if is_late(facts) else ()
    if every_rank_is_read(facts):
        return (*(first or ((_EVEN_FIRST,) if _mostly_waits(facts) else ())), *changes)
    if devices_of_one_process(facts):
        return (*first, _ONE_EACH, *changes)
    size = facts.recording.world_size
    ranks = f"all {size} ranks" if size is not None else "all ranks"
    if facts.communication.passing.stages and facts.communication.served_part is None:
        stages = Advice(
            "text",
            f"Record {ranks} over the same steps: together they tell how long each stage works.",
            "What a stage waits for beyond the beginning and the end of a step is the stage that works longest.",
        )
        return (*first, *changes, stages)
    compare = Advice(
        "text",
        f"Record {ranks} over the same steps and compare how long each spends in the same collective.",
        "The rank with the shortest time arrived last: it is the one to speed up, and the others then stop waiting.",
    )
    sure = tuple(one for one in changes if one in certain)
    return (*first, *sure, compare, *(one for one in changes if one not in certain))
