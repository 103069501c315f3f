"""The job before its ranks: its verdict, who costs it how much, and what a step would take without."""

from __future__ import annotations

from analyzer.analysis import Analysis
from analyzer.ranks.document import Job
from analyzer.report.markdown.escape import cell, prose
from analyzer.units import duration, share

_ROWS = 16


def job(analysis: Analysis) -> str:
    """The block; empty where the trace stands alone."""
    found = analysis.job
    if found is None:
        return ""
    size = f" of {found.world_size}" if found.world_size and found.world_size > found.present else ""
    head = f"**Job {prose(found.name)}: {found.present}{size} ranks, {duration(found.step_ns)} a step.** "
    blocks = [head + prose(found.verdict.text, 600), _late(found), _what_if(found), _ranks(found)]
    return "\n\n".join(block for block in blocks if block)


def _late(found: Job) -> str:
    if not found.late:
        return ""
    rows = [
        f"| {one.rank} | {duration(one.waited_ns_per_step)} | {share(one.waited_ns_per_step / max(found.step_ns, 1))} "
        f"| {one.steps_late} of {one.of} | {one.cause} | {cell(one.cause_detail)} |"
        for one in found.late[:_ROWS]
    ]
    return "\n".join(
        [
            "| late rank | costs the job a step | of it | late in steps | cause | why |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _what_if(found: Job) -> str:
    rows = [
        f"| {cell(one.ideal)} | {duration(one.step_ns)} | {duration(one.saved_ns_per_step)} |"
        for one in found.what_if[:5]
    ]
    return "\n".join(["| with | a step takes | less |", "|---|---|---|", *rows]) if rows else ""


def _ranks(found: Job) -> str:
    used = [row for row in found.ranks if row.state == "ok"]
    rows = [
        f"| {row.rank} | {duration(row.step_ns or 0)} | {duration(row.waiting_ns or 0)} | {duration(row.transfer_ns or 0)} |"
        for row in used[:_ROWS]
    ]
    named = "".join(f"\n- not used: {cell(one.file)}: {cell(one.reason)}" for one in found.failed[:_ROWS])
    table = "\n".join(["| rank | step | waits for others | moves data |", "|---|---|---|---|", *rows])
    return table + ("\n" + named if named else "")
