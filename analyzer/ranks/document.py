"""The job as a part of the document: what `analyzer.ranks.merge` makes of all ranks."""

from __future__ import annotations

from typing import Literal

import msgspec

from analyzer.ranks.job_part import JobPart
from analyzer.ranks.slowed import Contended, Contention, Contrast

RankState = Literal["ok", "unreadable", "missing", "doubled", "untrusted"]
GroupKind = Literal["dp", "tp", "pp", "ep", "other"]
CauseClass = Literal["device", "imbalance", "host", "link", "stage", "not clear"]
HeldUpBy = Literal["late rank", "several ranks", "slow link", "slow stage", "nobody", "not clear"]
ConfidenceLevel = Literal["high", "medium", "low"]


class JobVerdict(JobPart, frozen=True, kw_only=True):
    """Who or what holds the job up: `late[0]`, several ranks at once, a slow link, a slow stage.

    `ratio` is the share of the step that it costs. "nobody" is said only where nearly all time in collectives could be held
    against other ranks, and all ranks are here.
    """

    held_up_by: HeldUpBy
    rank: int | None
    ratio: float
    text: str


class JobRank(JobPart, frozen=True, kw_only=True):
    """One rank, or one that is not here.

    `cost_ns` is what the job's step would be shorter by without what this rank does beyond its peers, None where that was not
    played. `in_collectives_ns` and `waiting_ns` count the time in several collectives at once once. `transfer_ns` is what is left
    of the first without the second: where members are not here it may be waiting for those. Of `exposed_ns`, the time in
    collectives that nothing hides, at least `exposed_waiting_least_ns` and at most `exposed_waiting_most_ns` are waiting: where in
    a collective compute hides it is not known, nor what one is that could not be matched. `waiting_by_step_ns` tells the least of
    each of `Job.steps`. `host` is the number of the machine, equal for ranks that share one.
    """

    rank: int | None
    state: RankState
    host: int | None = None
    file: str | None = None
    step_ns: int | None = None
    waterfall: dict[str, int] = msgspec.field(default_factory=dict)
    in_collectives_ns: int | None = None
    waiting_ns: int | None = None
    transfer_ns: int | None = None
    exposed_ns: int | None = None
    exposed_waiting_least_ns: int | None = None
    exposed_waiting_most_ns: int | None = None
    cost_ns: int | None = None
    bound_by: str | None = None
    verdict: str | None = None
    trust: str | None = None
    stage: int | None = None
    waiting_by_step_ns: tuple[int, ...] = ()


class JobGroup(JobPart, frozen=True, kw_only=True):
    """A process group: `present` of its `size` members are here."""

    name: str | None
    description: str | None
    ranks: tuple[int, ...]
    size: int | None
    present: int
    kind: GroupKind
    collectives: int


class LateRank(JobPart, frozen=True, kw_only=True):
    """A rank that does more than its peers, for which others wait: `waited_ns_per_step` is what the job's step loses by it.

    `cause` is named where it explains at least 80 % of that; `cause_detail` says it in words. Of a link `rank` is the first rank at
    its ends, and nobody's fault. `since_step` is the first step in
    which the rank was late, None where it is late from the first one on. With `at_most` members of its groups are not here: they
    may be as late, and the job then loses less by this one. `chance_ratio` is how likely it is that of all late steps one rank of
    its peers has as many by chance, and at such distances. `runs_more` says that it runs kernels which its peers do not, or run
    less often. `every` is from one step to the next in which it is late, where that is always as many; None where it is not.
    """

    rank: int
    group: str | None
    steps_late: int
    of: int
    since_step: int | None
    waited_ns_per_step: int
    cause: CauseClass
    cause_detail: str
    explained_ratio: float
    confidence: ConfidenceLevel
    at_most: bool = False
    chance_ratio: float = 1.0
    runs_more: bool = False
    every: int | None = None

    @property
    def of_rank(self) -> bool:
        """Whether it is the rank itself that is late, not the stage it is in, nor the link it sends over."""
        return self.cause not in ("stage", "link")


class OtherLoop(JobPart, frozen=True, kw_only=True):
    """Ranks that run another loop, such as an evaluation, in some steps while the others wait for them; or that save a state there.

    `waited_ns` is what the others wait there beyond what they do in other steps, all of these steps together, in the median; no
    other figure of the job counts it. `waited_ratio` is its share of the time that they recorded.
    """

    ranks: tuple[int, ...]
    steps: tuple[int, ...]
    waited_ns: int
    waited_ratio: float
    saves: bool = False


class WhatIf(JobPart, frozen=True, kw_only=True):
    """The job played again with something made ideal. `slowdown` is the recorded step over that one.

    With `at_most` ranks are missing that may hold the job up as well: it saves no more than that.
    """

    ideal: str
    scope: str
    step_ns: int
    saved_ns_per_step: int
    slowdown: float
    at_most: bool = False


class Link(JobPart, frozen=True, kw_only=True):
    """How fast a group moves data: bytes of one kind and size of collective, over the time from the last arrival on.

    `ranks` are the group's members, of messages the two that exchange them. `bus_bytes_per_s` counts what goes over each link
    (nccl-tests, PERFORMANCE.md). `peers_bytes_per_s` is the median of other groups, or pairs, of as many members over as many
    hosts, with the same collective; None where there are fewer than two.
    """

    group: str | None
    ranks: tuple[int, ...]
    kind: str
    size_bytes: int
    count: int
    bytes_per_s: float
    bus_bytes_per_s: float
    peers_bytes_per_s: float | None
    slow: bool


class Uneven(JobPart, frozen=True, kw_only=True):
    """An all-to-all whose members do not get the same: `ratio` is the most over the mean, `rank` gets the most."""

    group: str | None
    ranks: tuple[int, ...]
    rank: int
    ratio: float
    count: int


class Stage(JobPart, frozen=True, kw_only=True):
    """A stage of the pipeline and what a rank of it works a step."""

    stage: int
    ranks: tuple[int, ...]
    work_ns: int


class PipelinePart(JobPart, frozen=True, kw_only=True):
    """The pipeline: `bubble_ratio` is the share of the step in which ranks wait for messages; `slowest` sets the pace.

    `stated` is whether the program calls the group one of a pipeline: else ranks send to each other along a chain. `messages` is
    how many a rank sends to one neighbour a step, in the median: as many as micro-batches, or chunks of interleaved ones, where
    each takes one message.
    """

    stages: tuple[Stage, ...]
    bubble_ratio: float
    slowest: int
    stated: bool = False
    messages: int | None = None


class Clock(JobPart, frozen=True, kw_only=True):
    """Whether clocks of all hosts could be fitted to each other; no skew below `error_ns` is claimed."""

    aligned: bool
    error_ns: int | None
    hosts: int


class Failed(JobPart, frozen=True, kw_only=True):
    """A file that gave no rank, or whose rank is not used."""

    file: str
    rank: int | None
    reason: str


class MatchCount(JobPart, frozen=True, kw_only=True):
    """How many entries of collectives there are: matched with other ranks', without another, and contradicting one another.

    `why_none` says what the traces lack where none is matched, or where no step is on all ranks, if that is known.
    """

    matched: int
    alone: int
    contradicting: int
    why_none: str | None = None


class Turns(JobPart, frozen=True, kw_only=True):
    """Steps each of which waits for another rank: `why` says what that does longer, empty where no cause explains most of it.

    `saved_ns_per_step` is what a step would be shorter by with `ideal`.
    """

    why: str
    saved_ns_per_step: int
    ideal: str = "the same work shared evenly"


class Together(JobPart, frozen=True, kw_only=True):
    """Ranks that do more than their peers, of which each alone costs nothing: the others would wait for the next one.

    `saved_ns_per_step` is what the job's step is shorter by with all of them as their peers. `cause` is named where it explains at
    least 80 % of what each does more. With `one_machine` they are all ranks of one machine, and others are elsewhere.
    """

    ranks: tuple[int, ...]
    saved_ns_per_step: int
    cause: CauseClass
    cause_detail: str
    one_machine: bool


class Job(JobPart, frozen=True, kw_only=True):
    """All ranks of one job together. `steps` are the step numbers that `ranks[].waiting_by_step_ns` stands beside.

    `turns` is None where no step, or each for the same rank, waits. `pace` says in a sentence how fast the busiest link moves data
    that no two equal ones can be held against; it is empty where none does. `together` is None where no ranks are late together.
    """

    name: str
    world_size: int | None
    present: int
    step_ns: int
    verdict: JobVerdict
    steps: tuple[int, ...]
    ranks: tuple[JobRank, ...]
    groups: tuple[JobGroup, ...]
    late: tuple[LateRank, ...]
    what_if: tuple[WhatIf, ...]
    links: tuple[Link, ...]
    uneven: tuple[Uneven, ...]
    pipeline: PipelinePart | None
    clock: Clock
    contrast: Contrast | None
    contention: Contention | None
    contended: tuple[Contended, ...] = ()
    other_loops: tuple[OtherLoop, ...] = ()
    turns: Turns | None = None
    together: Together | None = None
    pace: str = ""
    matched: MatchCount
    failed: tuple[Failed, ...]

    @property
    def missing(self) -> int:
        """Ranks of the job whose traces are not here."""
        return sum(row.state == "missing" for row in self.ranks)
