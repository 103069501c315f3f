"""What keeping samples is worth to a run that passes through its data a few times: the first time they are made all the same."""

from __future__ import annotations

from analyzer.facts import Facts

# With fewer passes most samples are made once as it is.
_TWICE = 1.5
# With more passes the first is a small part of what is saved.
_FEW = 4.5


def made_once_already(facts: Facts) -> bool:
    """Whether the run makes most samples once as it is."""
    passes = facts.recording.data_passes
    return passes is not None and passes < _TWICE


def sentence(facts: Facts) -> str:
    """Words to put behind advice that keeps samples; empty where the run passes through its data often, or nobody knows."""
    passes = facts.recording.data_passes
    if passes is None or passes >= _FEW:
        return ""
    if made_once_already(facts):
        return (
            " The run passes through its data once: there it saves nothing, unless they are kept in a file for the next run "
            "(`torch.save`)."
        )
    return f" The run passes through its data {passes:.0f} times: to make them once takes as long as one of these."


def in_a_file(facts: Facts) -> str:
    """Words to put behind advice that stores them: a run that makes each once gains nothing by it itself."""
    return (
        " The run passes through its data once: the next run gains by that, this one does not."
        if made_once_already(facts)
        else ""
    )
