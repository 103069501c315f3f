"""A symptom of `facts.health` as a finding: the measuring and the limits are there, page and fix are here."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Column, Evidence, Finding, Outcome, Saving, Severity, Table, clear
from rules.commands import arguments_note, collect


def _marked(facts: Facts) -> Advice:
    """Iterations of a loop that trains, else requests or batches."""
    many, call, one = "loader", "train_step", "batch"
    if facts.model.infers:
        many, call, one = ("batches", "run", "batch") if facts.model.may_train else ("requests", "answer", "request")
    return Advice(
        "python",
        "with profile(\n"
        f"    activities=[{', '.join(_activities(facts))}],\n"
        "    schedule=schedule(wait=5, warmup=2, active=6, repeat=1),\n"
        '    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"),\n'
        ") as prof:\n"
        f"    for {one} in {many}:\n"
        f"        {call}({one})\n"
        "        prof.step()",
        "Waits for five steps, warms up for two, records six, and exports them when they are done.",
    )


def _activities(facts: Facts) -> tuple[str, ...]:
    """What to record: the device where the program uses one."""
    cpu = "ProfilerActivity.CPU"
    # Torch has no activity for a device that only its maker's profiler records.
    if facts.device.main is None and (facts.device.elsewhere or not facts.device.unrecorded):
        return (cpu,)
    # A device that registers itself (Gaudi, Ascend, ...) is torch's PrivateUse1.
    named = {"cuda": "CUDA", "rocm": "CUDA", "cpu": "CUDA", "xpu": "XPU", "mtia": "MTIA"}
    return (cpu, f"ProfilerActivity.{named.get(facts.device.kind, 'PrivateUse1')}")


def scheduled(facts: Facts) -> Advice:
    """Record whole steps behind the start-up: by the command that recorded, else by a schedule."""
    if not facts.recording.by_command:
        return _marked(facts)
    return Advice(
        "shell",
        collect(facts, "--wait 40", "--active 6"),
        "Waits for 40 steps instead of 20 and records six: the run has to be longer than that." + arguments_note(facts),
    )


def plain(facts: Facts) -> Advice:
    """Measure without what slows the host down, and look for the place in a recording of its own."""
    return Advice(
        "shell",
        f"{collect(facts, '-o plain.json')}   # how much: no stacks, no memory\n"
        f"{collect(facts, '-o where.json', '--stacks', '--active 2')}",
        "Two recordings: a plain one to measure, a short one with details to find the place." + arguments_note(facts),
    )


def report(
    facts: Facts, code: str, otherwise: str, fix: tuple[Advice, ...], evidence: tuple[Evidence, ...] = ()
) -> Iterator[Finding | Outcome]:
    """The symptoms of one code as a finding of its own, without a saving: better recording makes nothing faster.

    Args:
        facts: The measurements.
        code: The symptoms' code.
        otherwise: The measured value, for the case that there is no symptom.
        fix: How to record better.
        evidence: Numbers behind the messages.
    """
    mine = [symptom for symptom in facts.health.symptoms if symptom.code == code]
    if not mine:
        yield clear(otherwise)
        return
    yield Finding(
        why=" ".join(symptom.message for symptom in mine),
        saving=Saving(basis="recording better makes nothing faster; it makes the other figures right"),
        fix=(
            *fix,
            *(Advice("text", f"{symptom.fix[:1].upper()}{symptom.fix[1:]}.") for symptom in mine if symptom.fix),
        ),
        verify=f"Record again: {code} should be clear.",
        steps_seen=facts.steps.count,
        evidence=evidence,
        severity_cap=Severity.INFO,
    )


def longest(title: str, rows: list[tuple[str, int, int]]) -> Table:
    """A table of names with how often they occur and how long they take together, nanoseconds."""
    return Table(title, (Column("call", "text"), Column("calls", "count"), Column("together", "ns")), tuple(rows))
