"""Snapshots made by hand."""

from __future__ import annotations

import msgspec

from analyzer.compare.snapshot import SNAPSHOT_VERSION, Conditions, FindingState, Snapshot

CONDITIONS = Conditions(
    device="H100",
    world_size=1,
    number_formats=("float",),
    batch=64,
    torch="2.9",
    cuda="12.6",
    stacks=False,
    memory=False,
    shapes=True,
    steps_from="ProfilerStep",
)


def finding(rule: str, ns: int, shares: tuple[str, ...] = (), explained_by: tuple[str, ...] = ()) -> FindingState:
    return FindingState(
        id=f"{rule}-0000",
        rule=rule,
        title=f"title of {rule}",
        severity="high",
        ns_per_step_max=ns,
        overlaps_with=shares,
        explained_by=explained_by,
    )


def snapshot(step_ns: int = 10_000_000, count: int = 30, **changes: object) -> Snapshot:
    """A run of nearly equal steps whose time is all compute."""
    plain = Snapshot(
        version=SNAPSHOT_VERSION,
        name="trace.json",
        sha256="0" * 64,
        trust="ok",
        conditions=CONDITIONS,
        steps_ns=tuple(step_ns + index % 5 * step_ns // 1000 for index in range(count)),
        waterfall_ns={"compute": float(step_ns)},
        findings=(),
        quiet=("DL001", "SY001"),
        kernels_ns={},
        ops_ns={},
    )
    return msgspec.structs.replace(plain, **changes)
