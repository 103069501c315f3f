"""Some of the calls that make the host wait for the device: how often, how long, for what."""

from __future__ import annotations

import msgspec
import pandas as pd

from analyzer.spans.intervals import IntervalSet

# Ops below a copy that the program asks for itself.
_COPIES = ("aten::to", "aten::_to_copy", "aten::copy_", "aten::_copy_from")


class WaitingCalls(msgspec.Struct, frozen=True):
    """Waiting calls of some reasons.

    Args:
        frame: One row per call; see `waits.Waits.calls`.
    """

    frame: pd.DataFrame

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def waits(self) -> int:
        """How often the host waits: the copy and the synchronisation of one op are one wait."""
        return int(self.frame["unit"].nunique())

    @property
    def blocked_ns(self) -> int:
        """How long the host is in them."""
        return int(self.frame["dur_ns"].sum())

    @property
    def idle_ns(self) -> int:
        """Device-idle time that they own."""
        return int(self.frame["idle_ns"].sum())

    @property
    def device_ns(self) -> int:
        """How long the copies take that they wait for."""
        return int(self.frame["device_ns"].sum())

    @property
    def bytes(self) -> int:
        """What those move."""
        return int(self.frame["size_bytes"].sum())

    def inside(self, time: IntervalSet) -> WaitingCalls:
        """Those that begin in some of the host's time."""
        return WaitingCalls(self.frame[time.contains(self.frame["start_ns"].to_numpy())])

    @property
    def asker(self) -> str | None:
        """The op that copies of its own accord for over half of the time the host is blocked; None without one."""
        blocked = self.frame.groupby("asker", observed=True)["dur_ns"].sum()
        found = str(blocked.idxmax())
        return found if found and 2 * blocked.max() > blocked.sum() else None

    @property
    def collective(self) -> str | None:
        """The collective whose call the host waits for over half of the time it is blocked; None without one."""
        blocked = self.frame.groupby("collective", observed=True)["dur_ns"].sum()
        found = str(blocked.idxmax())
        return found if found and 2 * blocked.max() > blocked.sum() else None

    @property
    def copied(self) -> bool:
        """Whether most of the waits are plain copies, as `.to("cpu")` makes one, and no reads of a single value (`aten::item`)."""
        waits = self.frame.groupby("unit")["op"].first()
        return 2 * int(waits.isin(_COPIES).sum()) > len(waits)

    @property
    def longest(self) -> str:
        """The op, or the call outside of ops, that the host is blocked in for longest."""
        names = self.frame["op"].where(self.frame["op"] != "", self.frame["name"])
        return str(self.frame.groupby(names, observed=True)["dur_ns"].sum().idxmax())

    @property
    def costliest_op(self) -> str:
        """The op in which the device idles longest."""
        return str(self.frame.groupby("op", observed=True)["idle_ns"].sum().idxmax())

    @property
    def costliest_call(self) -> str:
        """The call in which it does."""
        return str(self.frame.groupby("name", observed=True)["idle_ns"].sum().idxmax())

    def by_op(self) -> list[tuple[str, str, int, int, int]]:
        """(op, call, number, nanoseconds the host is blocked, nanoseconds the device idles), the costliest first."""
        calls = self.frame
        ops = calls["op"].where(calls["op"] != "", "(no op)")
        groups = (
            calls.assign(op=ops)
            .groupby(["op", "name"], sort=True, observed=True)[["dur_ns", "idle_ns"]]
            .agg(["size", "sum"])
        )
        rows = (
            (str(op), str(name), int(row[0]), int(row[1]), int(row[3]))
            for (op, name), row in zip(groups.index, groups.to_numpy(), strict=True)
        )
        return sorted(rows, key=lambda row: (-row[4], row))
