"""Several ranks that are equally late: who they are, what they have in common, and why they do more than the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import Together
from analyzer.ranks.waiting.causes import EXPLAINED_RATIO, why_late
from analyzer.ranks.waiting.peers import Peers


def together(table: Table, peers: Peers, places: Sequence[int], saved_ns: float) -> Together:
    """Some ranks beside those of their peers that are none of them.

    Args:
        table: The rows.
        peers: Each rank beside its peers.
        places: The ranks that do more, as places in the table.
        saved_ns: What the job's step is shorter by with all of them as their peers.
    """
    whys = []
    for place in places:
        label = peers.label[place]
        others = [
            table.summaries[one] for one in np.flatnonzero(peers.label == label).tolist() if one not in set(places)
        ]
        excess = peers.excess_ns[place]
        whys.append(why_late(table.summaries[place], others, float(np.nanmean(excess))))
    causes = {why.cause for why in whys if why.explained_ratio >= EXPLAINED_RATIO}
    alike = len(causes) == 1 and len(whys) > 0 and all(why.explained_ratio >= EXPLAINED_RATIO for why in whys)
    hosts = {table.summaries[place].host for place in places}
    whole = {place for place, one in enumerate(table.summaries) if one.host in hosts}
    return Together(
        ranks=tuple(sorted(table.ranks[place] for place in places)),
        saved_ns_per_step=int(saved_ns),
        cause=causes.pop() if alike else "not clear",
        cause_detail=whys[0].detail if alike else "",
        one_machine=len(hosts) == 1
        and None not in hosts
        and whole == set(places)
        and len(whole) < len(table.summaries),
    )


def often_late(peers: Peers, place: int, floor_ns: float, ratio: float) -> bool:
    """Whether a rank does more than its peers by so much in such a share of its steps."""
    mine = peers.excess_ns[place][~np.isnan(peers.excess_ns[place])]
    return len(mine) > 0 and float((mine >= floor_ns).mean()) >= ratio
