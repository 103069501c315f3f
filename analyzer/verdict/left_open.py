"""Verdicts that a recording leaves open: of next to nothing, without its device or its ops, or of kernels that may communicate."""

from __future__ import annotations

from analyzer.analysis import BoundBy, Verdict
from analyzer.facts import Facts
from analyzer.facts.device.launches import from_source
from analyzer.units import count, share
from analyzer.verdict.case import Case
from analyzer.verdict.shares import BOUND_PART_OF_LOSS, BOUND_RATIO, NAME_LENGTH, STANDS_OUT
from traces.trace import Capability

# What the host's side alone cannot decide: either may be waiting for a device that was not recorded.
_HOST_SIDE: dict[BoundBy, str] = {"python": "is outside any op", "compute": "is inside ops"}
# Of the kernels so many need a known launch: before the others an idle device may wait for something else.
_LAUNCHED_RATIO = 0.9
# One call that is recorded by itself, as of a small benchmark, is a handful of ops.
_TOO_FEW = 5
_READS = ("aten::_local_scalar_dense", "aten::item")


def device_not_recorded(case: Case) -> Verdict | None:
    """Where the host waits for may be a device of which nothing was recorded."""
    if case.found.bound_by not in _HOST_SIDE or not case.facts.device.unrecorded:
        return None
    text = (
        f"Unclear: for {share(case.found.ratio)} of the step the host {_HOST_SIDE[case.found.bound_by]}; whether it waits for the "
        f"device there was not recorded.{_longest(case.facts)}"
    )
    return case.says("unknown", text)


def _longest(facts: Facts) -> str:
    """The op that takes a third of the steps or more: one that reads a value waits for all that was asked for before."""
    longest = facts.kernels.longest_op
    if longest is None or facts.steps.ratio(longest.ns) < STANDS_OUT:
        return ""
    reads = ", which reads a value off the device and waits until it has one," if longest.name in _READS else ""
    return f" The op `{longest.name[:NAME_LENGTH]}`{reads} takes {share(min(facts.steps.ratio(longest.ns), 1.0))}."


def host_not_recorded(case: Case) -> Verdict | None:
    """Where only calls of the device's runtime tell of the host, an idle device waits for the next of them: why is not recorded."""
    facts, totals = case.facts, case.totals
    if case.found.bound_by != "unknown" or Capability.HOST_OPS in facts.trace.capabilities:
        return None
    launched, kernels = facts.time.launched, facts.kernels.named.frame
    if not len(kernels) or int(from_source(launched, "kernels").sum()) < _LAUNCHED_RATIO * len(kernels):
        return None
    if totals.get("unexplained", 0) < BOUND_PART_OF_LOSS * case.found.ratio * sum(totals.values()):
        return None
    text = (
        f"Unclear: for {share(case.found.ratio)} of the step the device idles until its next work is launched: it waits for the "
        "host, and what the host does meanwhile was not recorded."
    )
    return case.says("unknown", text)


def ops_left_out(case: Case) -> Verdict | None:
    """Where a file was freed of most of its ops what is lost cannot be told from what was left out; what computes is there."""
    thinned = case.facts.health.thinned
    if thinned is None or not thinned.mostly or case.found.bound_by == "compute":
        return None
    return case.says("unknown", f"Unclear: {thinned.words}; what was left out looks like idle time.")


def too_little(case: Case) -> Verdict | None:
    """Where a recording without steps holds next to nothing, it shows what was recorded and not what a program waits for."""
    trace = case.facts.trace
    held = len(trace.ops) + len(trace.kernels) + len(trace.copies)
    if case.facts.steps.source != "whole-trace" or held >= _TOO_FEW:
        return None
    what = count(held, "op or kernel", "ops and kernels")
    return case.says("unknown", f"Unclear: the recording holds {what}, too little to say what the program waits for.")


def in_doubt(case: Case) -> Verdict | None:
    """Where most of what counts as computing is in kernels that may as well communicate: neither is said."""
    facts, found = case.facts, case.found
    if found.bound_by != "compute" or facts.device.main is None:
        return None
    kernels = facts.kernels.named
    part = facts.steps.ratio((kernels.spans(kernels.doubtful) & facts.time.waterfall.owned("compute")).total_ns)
    if part < BOUND_RATIO or found.ratio - part >= BOUND_PART_OF_LOSS:
        return None
    name = kernels.longest(kernels.doubtful, 1)[0][0][:NAME_LENGTH]
    text = (
        f"Unclear: for {share(part)} of the step the device is in kernels such as `{name}`, which may compute or communicate; "
        "neither their arguments nor what launched them tell which."
    )
    return Verdict(bound_by="unknown", ratio=part, text=text)
