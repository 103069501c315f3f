"""Findings with a place in the code as SARIF 2.1.0, for GitHub's code scanning and for editors.

Only findings with a file of the project and a line: others would be rejected or attached to nothing. They show under
"Code scanning", in the security tab; performance is no vulnerability, so nothing here is an error. What holds a job of several
ranks up has no place in the code: it is a notification of the run, which viewers show beside the results.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from analyzer.analysis import Analysis, FindingDocument, SeverityName
from analyzer.page.findings import savings
from analyzer.page.findings.card import lowered
from analyzer.page.findings.places import own_file, own_line
from analyzer.page.job import job_page
from analyzer.page.words import safe
from analyzer.page.words.of_steps import put
from analyzer.report.markdown.escape import block, prose
from analyzer.units import share

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[SeverityName, str] = {"high": "warning", "medium": "warning", "low": "note", "info": "note"}
# GitHub shows 5,000 results of a run.
_MOST_RESULTS = 5_000
_LANGUAGES = {"diff": "diff", "python": "python", "shell": "bash", "text": ""}


def render(analysis: Analysis) -> str:
    """The log, ending in a newline."""
    placed = [one for one in analysis.findings if not one.explained_by and _uri(one) is not None][:_MOST_RESULTS]
    rules = {one.rule: one for one in reversed(placed)}
    order = sorted(rules)
    driver = {
        "name": "advisor",
        "fullName": "advisor, a bottleneck advisor for PyTorch profiler traces",
        "version": safe.name(analysis.tool.version, 40),
        "rules": [_rule(rules[code]) for code in order],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
        **_job(analysis),
        "results": [_result(one, order.index(one.rule)) for one in placed],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _job(analysis: Analysis) -> dict[str, Any]:
    """The job's verdict and who is late, as notifications of the run; nothing of a trace on its own."""
    page = job_page(analysis.job)
    if page is None:
        return {}
    late = [
        f"rank {rank} {put('costs the job a step', page.noun)} {cost}, late in {late_in}, {cause}: {why}"
        for rank, cost, late_in, cause, why in page.late
    ]
    notes = [
        {"level": "note", "message": {"text": text.replace("](", "] (")}}
        for text in (f"{page.title}. {page.verdict}", *late)
    ]
    return {"invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}]}


def unplaced(analysis: Analysis) -> int:
    """How many findings are left out because they have no line of the project's code."""
    return sum(not one.explained_by and _uri(one) is None for one in analysis.findings)


def _uri(finding: FindingDocument) -> str | None:
    """The file relative to the project's root; None without a line of the user's own."""
    file = own_file(finding.location)
    return quote(file) if file is not None and own_line(finding.location) is not None else None


def _rule(finding: FindingDocument) -> dict[str, Any]:
    fixes = "\n\n".join(
        prose(f"{fix.code} {fix.note}".strip())
        if fix.language == "text"
        else f"{prose(fix.note)}\n\n{block(fix.code, _LANGUAGES[fix.language])}"
        for fix in finding.fix
    )
    code = safe.name(finding.rule, 12)
    page = f"`advisor rule {code}` shows how this is measured."
    described: dict[str, Any] = {
        "id": f"advisor/{code}",
        "name": _camel(finding.name),
        "shortDescription": {"text": safe.name(finding.title)},
        # GitHub's service requires it (GH2012 of Microsoft's validator), the standard does not.
        "fullDescription": {"text": f"{safe.name(finding.title)}. {page.replace('`', '')}"},
        "help": {"text": page.replace("`", ""), "markdown": f"{fixes}\n\n{page}".strip()},
        "properties": {"tags": ["performance", safe.name(finding.family, 40)], "problem.severity": "warning"},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }
    links = [reference for reference in finding.references if reference.startswith("https://")]
    return {**described, "helpUri": links[0]} if links else described


def _suppressed(finding: FindingDocument) -> dict[str, Any]:
    """That the team lives with a finding, and why: viewers leave such a result out. Nothing of one that is not accepted."""
    if finding.accepted is None:
        return {}
    reason = safe.clean(finding.accepted[: safe.PROSE_LIMIT])
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": reason}]}


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name)) or "Finding"


def _result(finding: FindingDocument, index: int) -> dict[str, Any]:
    assert finding.location is not None
    gain = f"{savings.worth(finding)} ({share(finding.saving.stated_ratio)}), {finding.confidence} confidence"
    message = f"{safe.name(finding.title)}: {gain}. {safe.clean(finding.why[: safe.PROSE_LIMIT])}"
    place = {
        "artifactLocation": {"uri": _uri(finding), "uriBaseId": "SRCROOT"},
        "region": {"startLine": finding.location.jump_line},
    }
    location: dict[str, Any] = {"physicalLocation": place}
    if finding.location.function:
        name = safe.name(finding.location.function)
        location["logicalLocations"] = [{"name": name, "kind": "function"}]
    return {
        "ruleId": f"advisor/{safe.name(finding.rule, 12)}",
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        # `[text](address)` would be a link, in plain text too.
        "message": {"text": message.replace("](", "] (")},
        "locations": [location],
        "partialFingerprints": {"advisorFinding/v1": safe.name(finding.id, 60)},
        **_suppressed(finding),
        "properties": {
            "savingKind": finding.saving.kind,
            "savingNsPerStepMax": finding.saving.ns_per_step_max,
            "savingRatioMax": finding.saving.ratio_max,
            "savingNsPerStepExpected": finding.saving.expected_ns,
            "confidence": finding.confidence,
            **({"lowered": lowered(finding)} if finding.lowered_from is not None else {}),
        },
    }
