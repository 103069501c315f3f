"""A rank among the others of its job, as `advisor explain FOLDER` holds them against each other."""

from __future__ import annotations

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace
from analyzer.job.summarize import summarize
from analyzer.options import Options
from analyzer.ranks.merge import merge

# No rule: what ranks are held against each other by is measured without them.
_NO_RULES = Options(select=("none",))


def among(first: Facts, *others: Facts) -> Facts:
    """Measurements of the first rank, which knows of the others."""
    every = (first, *others)
    job = merge([summarize(explain_facts(one, _NO_RULES), one) for one in every])
    rank = first.trace.meta.distributed.get("rank")
    return Facts(first.trace, job=JobPlace(job, rank if isinstance(rank, int) else 0))
