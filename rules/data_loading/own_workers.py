"""Workers that a framework has beside torch's loader: who they are, and what feeds training faster than they do."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import count
from rules.data_loading import words
from rules.data_loading.advice import prepare_offline
from rules.data_loading.cheaper import cheaper_samples


def own_workers(facts: Facts) -> str:
    """`2 threads of the training process`, or `2 worker processes of the framework's own`."""
    known = facts.recording.collected
    number = known.own_workers or 0
    if known.own_processes:
        return f"{count(number, 'worker process', 'worker processes')} of the framework's own"
    return f"{count(number, 'thread')} of the training process"


def feed_own_workers(facts: Facts) -> tuple[Advice, ...]:
    """Processes instead of threads, more of them where cores are left, and less work for each batch."""
    return (*_processes(facts), *(prepare_offline(facts) or cheaper_samples(facts)))


def _processes(facts: Facts) -> tuple[Advice, ...]:
    known = facts.recording.collected
    now = known.own_workers or 1
    most = max(1, known.cores - 1) if known.cores is not None else 2 * now
    if not known.own_processes:
        why = "Threads of one process take turns: what Python computes in them does not run beside training. Processes do."
        return (words.loader(facts, {"num_workers": min(now, most)}, why),)
    if now >= most:
        return ()
    return (words.loader(facts, {"num_workers": most}, "More processes make more batches, as long as cores are idle."),)
