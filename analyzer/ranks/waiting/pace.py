"""How fast the busiest group moves data that no equal group moves as well, beside what links of each kind bring.

One group alone may be as slow as its links are, or slower than they should be. What is measured is told all the same, with what it
is like: whoever knows the machine sees whether that is too little.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import Link
from analyzer.units import count, rate, size

# Small messages tell latency, and fewer are chance (as `bandwidth`).
_LEAST_BYTES = 1_000_000
_TIMES = 3
# Eight cards reach most of what NVLink brings from here on; of less the start is half of it.
_TELLING_BYTES = 8_000_000
# What each link of a ring carries, bytes a second, as nccl-tests count it (`busbw`, PERFORMANCE.md): eight cards over PCIe 3.0
# without peer-to-peer copies reach 3 to 5 GB/s, over 16 lanes of PCIe 4.0 or 5.0 10 to 40; NVLink and xGMI 100 and more.
_PCIE = 3e9
_BETWEEN_DEVICES = 50e9
# And between machines, all adapters of one together.
_ETHERNET = 1.5e9
_ONE_ADAPTER = 15e9
_HOW = "(`nvidia-smi topo -m`, `NCCL_DEBUG=INFO`)"
_OF_AMD = "(`rocm-smi --showtopo`, `NCCL_DEBUG=INFO`)"
# Threads of gloo add up what they receive, and lack cores where others do.
_OF_GLOO = (
    ": no more than a network of 10 Gbit/s brings, or than gloo's threads get through on their cores. Where there is a faster "
    "adapter, look whether gloo takes it (`GLOO_SOCKET_IFNAME`)"
)


def pace(table: Table, links: Sequence[Link]) -> str:
    """One sentence on the busiest link that no two equal ones can be held against; empty without one of devices or machines.

    Args:
        table: The rows.
        links: How fast data moves, the busiest first.
    """
    on_cpu = any(one.device_kind == "cpu" for one in table.summaries)
    host = {one.rank: one.host for one in table.summaries}
    for link in links:
        hosts = {host.get(rank) for rank in link.ranks}
        if on_cpu and (None in hosts or len(hosts) < 2):
            # What a host's cores move is no link's doing.
            continue
        if link.peers_bytes_per_s is None and link.size_bytes >= _LEAST_BYTES and link.count >= _TIMES and link.ranks:
            where = _where(len(hosts)) if None not in hosts else ""
            told = (
                f"The busiest, {link.kind} of {size(link.size_bytes)} among {count(len(link.ranks), 'rank')}{where}, "
            )
            told += f"moves {rate(link.bus_bytes_per_s, 'B')} over each link"
            how = _OF_AMD if any(one.device_kind == "rocm" for one in table.summaries) else _HOW
            tells = where and link.size_bytes >= _TELLING_BYTES
            if on_cpu:
                return f"{told}{_OF_GLOO if tells and link.bus_bytes_per_s < _ETHERNET else ''}."
            return f"{told}{_like(link.bus_bytes_per_s, len(hosts), how) if tells else ''}."
    return ""


def _where(hosts: int) -> str:
    return " of one machine" if hosts == 1 else f" on {hosts} machines"


def _like(per_s: float, hosts: int, how: str) -> str:
    """What brings so much, and what would bring more."""
    if hosts > 1:
        if per_s < _ETHERNET:
            return (
                ": as a network of 10 Gbit/s does. Where there are faster adapters, look whether they are taken (`NCCL_DEBUG=INFO` "
                "names NET/IB or NET/Socket)"
            )
        if per_s < _ONE_ADAPTER:
            return (
                ": as one adapter of 25 to 100 Gbit/s does. Where machines have more of them, look whether all are taken "
                "(`NCCL_DEBUG=INFO`)"
            )
        return ""
    if per_s < _PCIE:
        return (
            f": less than 16 lanes of PCIe bring. Lanes are few, or data goes through the host's memory or sockets, as with "
            f"`NCCL_P2P_DISABLE=1` {how}"
        )
    if per_s < _BETWEEN_DEVICES:
        return (
            f": as PCIe does. Where these devices are joined by NVLink or xGMI, that brings several times as much: look whether it "
            f"is taken {how}"
        )
    return ""
