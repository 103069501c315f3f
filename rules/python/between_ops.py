"""Where in the program host code outside ops lies, as far as the ops around it tell."""

from __future__ import annotations

import re

from analyzer.facts import Facts
from analyzer.facts.sync.op_gaps import BACKWARD, GRADIENT_OF_LOSS
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from traces.patterns import Pattern
from traces.reader.names.vocabulary import annotation_kind, is_backward_node

# A place that holds less of the time than this is one of many.
WORTH_A_PLACE = 0.25
MOST = 0.5
_NAME_LENGTH = 60
# What `.numpy()` and `.tolist()` call last, on the host.
_HANDED_OVER = ("aten::resolve_neg", "aten::resolve_conj")
# What a program or a library calls its own backward pass and update: `DeepSpeedZeroOptimizer.step`, `## backward ##`.
_OF_UPDATE = Pattern(r"optimi[sz]er|backward", re.IGNORECASE)


def between(facts: Facts, time: IntervalSet) -> str:
    """Which two ops the largest part lies between: all that is known of a place without stacks."""
    found = facts.sync.silences(time)
    if not found or found[0].total_ns < WORTH_A_PLACE * time.total_ns:
        return ""
    first, inside = found[0], facts.host.range_around(time)
    if first.before == BACKWARD:
        return f"; {share(first.total_ns / time.total_ns)} of it lies between nodes of the backward pass"
    place = f", inside the range `{inside[:_NAME_LENGTH]}`" if inside is not None else ""
    place += ", between the backward pass and the update" if behind_backward(facts, time) else ""
    before = f"`{first.before}`" + (" (`.numpy()` and `.tolist()` end with it)" if first.before in _HANDED_OVER else "")
    return f"; {share(first.total_ns / time.total_ns)} of it lies after {before} and before `{first.after}`{place}"


def on_arrays(facts: Facts, time: IntervalSet) -> bool:
    """Whether the place that is named of the time follows a tensor that became an array or a list."""
    found = facts.sync.silences(time)
    return bool(found) and found[0].total_ns >= WORTH_A_PLACE * time.total_ns and found[0].before in _HANDED_OVER


def in_backward(facts: Facts, time: IntervalSet) -> bool:
    """Whether most of the time lies between nodes of the backward pass, where a program has no code but hooks."""
    found = facts.sync.silences(time)
    return bool(found) and found[0].before == BACKWARD and found[0].total_ns > MOST * time.total_ns


def in_update(facts: Facts, time: IntervalSet) -> bool:
    """Whether the time, or the place that is named of it, lies where no program prepares data: from the loss to its update."""
    if behind_backward(facts, time):
        return True
    inside = facts.host.range_around(time)
    if inside is not None and _OF_UPDATE.search(inside):
        return True
    found = facts.sync.silences(time)
    within = sum(one.total_ns for one in found if _leads_to_update(one.after))
    named = bool(found) and found[0].total_ns >= WORTH_A_PLACE * time.total_ns and _leads_to_update(found[0].after)
    return named or within > MOST * time.total_ns


def behind_backward(facts: Facts, time: IntervalSet) -> bool:
    """Whether most of the time lies between a backward pass and the end of the update behind it."""
    return (facts.model.before_updates & time).total_ns > MOST * time.total_ns


def clips(facts: Facts, time: IntervalSet) -> bool:
    """Whether that time holds a row of norms that may be of gradients, or follows one: these are clipped there, one by one."""
    leading, norms = facts.model.before_updates, facts.model.optimizing.norms
    return behind_backward(facts, time) and norms.of_gradients is not False and bool(leading & norms.time)


def _leads_to_update(name: str) -> bool:
    """Whether what begins next is the backward pass, from the gradient of the loss on, or the update behind it."""
    return name in (BACKWARD, GRADIENT_OF_LOSS) or is_backward_node(name) or annotation_kind(name) == "optimizer_step"


def acts_on_values(facts: Facts, time: IntervalSet) -> bool:
    """Whether most of the time follows the reading of a value that something may answer: it is acted on, as by a simulator."""
    found = facts.sync.silences(time)
    if not found or found[0].total_ns < WORTH_A_PLACE * time.total_ns or annotation_kind(found[0].after) == "loader":
        return False
    read = facts.sync.after_reads(time)
    if read.total_ns >= WORTH_A_PLACE * time.total_ns:
        return facts.transfer.may_answer(read)
    return found[0].before == "aten::item" and facts.transfer.may_answer(time)
