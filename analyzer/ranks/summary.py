"""The summary of a rank: what the merge of a job needs of one trace, a thousandth of its size.

Columns stand in lists beside each other, because a rank has thousands of collectives and a summary has to travel. Times are
nanoseconds from the rank's own zero, `origin_ns` is that zero on the rank's own clock. What is unknown is None.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from analyzer.ranks.process_group import GroupPart
from analyzer.ranks.summary_part import Amount, Moment, Part, Rank, RankCount, Whole

SUMMARY_VERSION = "1.0"
# What tells a summary from every other JSON document.
SUMMARY_KIND = "advisor-rank-summary"

# Shown as it is: nothing else may stand in its place.
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{0,64}$")]
RankSource = Literal["distributedInfo", "file name", "asked"]


class StepPart(Part, frozen=True, kw_only=True, gc=False):
    """A used step: its extent, what each cause owns of it, and what its products have to compute.

    `product_flops` are floating-point operations by the shapes of ops; None where no shapes were recorded.
    """

    number: Moment
    start_ns: Moment
    dur_ns: Whole
    causes: dict[str, Whole]
    product_flops: Amount | None = None


class OtherLoopPart(Part, frozen=True, kw_only=True, gc=False):
    """A step that is in no figure of the rank, as it holds another loop: an evaluation, a rollout; or `saves` a state."""

    number: Moment
    dur_ns: Whole
    saves: bool = False


class CollectiveColumns(Part, frozen=True, kw_only=True, gc=False):
    """The collectives and messages of the used steps, by when they could begin: one entry per collective in each list.

    The messages of a batch have an entry each, all with the start, duration and stream of their one kernel; `exposed_ns` and
    `own_ns` stand in the first.

    Args:
        step: Place in `RankSummary.steps`.
        group: Place in `RankSummary.groups`.
        kind: Place in `RankSummary.kinds`.
        sequence: Number within the group as torch counts, None where it states none.
        peer: The other rank of a message between two, else None.
        peer_place: Its place in a group that the message does not name, else None; None where no message says one.
        sent_bytes: What the rank puts in.
        received_bytes: What it gets out.
        start_ns: When the rank begins it.
        dur_ns: How long the rank is in it.
        ready_ns: When it could begin: earlier than it does where it queues on its stream behind another; None where none queues.
        exposed_ns: How much of that nothing hides, and no collective before it is in still: each nanosecond counts once.
        computing_ns: How much of `dur_ns` the device computes meanwhile; None where that is unknown.
        stream: The device's stream, or the place of the thread among all by their numbers, which grow as threads are started.
        own_ns: By cause, what lies between when the collective before (or the first step) could begin and when this one could.
        splits: By place in the lists: elements for each member of an all-to-all with uneven parts.
    """

    step: list[Whole] = msgspec.field(default_factory=list)
    group: list[Whole] = msgspec.field(default_factory=list)
    kind: list[Whole] = msgspec.field(default_factory=list)
    sequence: list[Moment | None] = msgspec.field(default_factory=list)
    peer: list[Moment | None] = msgspec.field(default_factory=list)
    peer_place: list[Whole | None] | None = None
    sent_bytes: list[Whole | None] = msgspec.field(default_factory=list)
    received_bytes: list[Whole | None] = msgspec.field(default_factory=list)
    start_ns: list[Moment] = msgspec.field(default_factory=list)
    dur_ns: list[Whole] = msgspec.field(default_factory=list)
    ready_ns: list[Moment] | None = None
    exposed_ns: list[Whole] = msgspec.field(default_factory=list)
    computing_ns: list[Whole] | None = None
    stream: list[Moment] = msgspec.field(default_factory=list)
    own_ns: dict[str, list[Whole]] = msgspec.field(default_factory=dict)
    splits: dict[Whole, list[Whole]] = msgspec.field(default_factory=dict)


class KernelRow(Part, frozen=True, kw_only=True, gc=False, array_like=True):
    """Kernels of one name and shape in the used steps (ops on a CPU): how many, and their time.

    `beside_count` and `beside_ns` are of those that a collective runs beside. `shape` is a fingerprint, empty where unknown. `work`
    is what one call of its op has to do, floating-point operations of products and bytes of all else: it compares calls of one op;
    None where that is unknown.
    """

    name: str
    shape: str
    count: Whole
    dur_ns: Whole
    beside_count: Whole = 0
    beside_ns: Whole = 0
    work: Amount | None = None


class FindingPart(Part, frozen=True, kw_only=True, gc=False):
    """A finding of the rank's own report."""

    id: str
    rule: str
    title: str
    severity: str
    ns_per_step: Whole


class CutPart(Part, frozen=True, kw_only=True, gc=False):
    """What was left out to keep the summary small: kernel rows first, collectives last, by whole steps."""

    kernels: Whole = 0
    splits: Whole = 0
    steps: Whole = 0
    collectives: Whole = 0


class RankSummary(Part, frozen=True, kw_only=True, gc=False):
    """One rank.

    Args:
        kind: `advisor-rank-summary`.
        schema_version: Version of this document.
        tool_version: Version of advisor that wrote it.
        file: Name of the trace, without folders.
        sha256: Of the trace.
        rank: Rank within the job; None where nothing says it.
        rank_source: Where that stands.
        world_size: How many ranks the job has; None where nothing says it.
        host: A fingerprint of the machine's name, equal for ranks of one machine; None where the trace does not name it.
        device: Name of the device.
        device_kind: cuda, rocm, cpu, ...
        devices: Devices with work in this process; figures are of the first.
        versions: Of the software, by its name, as far as the trace states them.
        origin_ns: The rank's zero on its own clock.
        trust: Whether the trace can be believed: ok, caution or unusable.
        doubts: Why not.
        bound_by: What the rank is bound by.
        verdict: The same as a sentence.
        batch_size: Samples a batch, as `advisor collect` recorded it.
        core_wait_ratio: Share of the steps in which the training thread could run and had no core, as recorded.
        few_cores: Whether it may use fewer cores than there are ranks of the job on its machine.
        interrupted_ns: What single ops of the used steps take longer than the same ones in most of them, by milliseconds, as where
            they lack a core; None on a device, or where the steps are too few to tell.
        backend: Of the default process group.
        steps: The used steps.
        other_loops: Steps that hold another loop, and are none of those.
        groups: Process groups.
        stated_groups: Those that the trace says the rank is in, in the order in which they were made, where it has collectives of
            which it does not say the group; else none.
        kinds: Names of kinds of collectives.
        collectives: All collectives of the used steps.
        tail_ns: By cause, what lies behind when the last collective could begin.
        kernels: By time, the most first.
        findings: The rank's own, best first.
        cut: What was left out.
    """

    kind: str = SUMMARY_KIND
    schema_version: str = SUMMARY_VERSION
    tool_version: str
    file: str
    sha256: Digest
    rank: Rank | None
    rank_source: RankSource | None
    world_size: RankCount | None
    host: str | None
    device: str | None
    device_kind: str
    devices: Whole
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    origin_ns: Moment
    trust: Literal["ok", "caution", "unusable"]
    doubts: tuple[str, ...]
    bound_by: str
    verdict: str
    batch_size: Whole | None = None
    core_wait_ratio: float | None = None
    few_cores: bool = False
    interrupted_ns: Whole | None = None
    backend: str | None = None
    steps: tuple[StepPart, ...]
    other_loops: tuple[OtherLoopPart, ...] = ()
    groups: tuple[GroupPart, ...]
    stated_groups: tuple[GroupPart, ...] = ()
    kinds: tuple[str, ...]
    collectives: CollectiveColumns
    tail_ns: dict[str, Whole]
    kernels: tuple[KernelRow, ...]
    findings: tuple[FindingPart, ...]
    cut: CutPart = CutPart()

    @property
    def window_ns(self) -> int:
        """Length of all used steps together."""
        return sum(step.dur_ns for step in self.steps)
