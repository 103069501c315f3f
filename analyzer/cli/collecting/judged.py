"""Whether a trace that was just written is worth reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traces.errors import UnreadableTraceError

if TYPE_CHECKING:
    from analyzer.engine.trust import TrustGrade
    from traces.collect.script.session import Verdict


def judge(path: Path) -> Verdict:
    """Read a written trace back and grade it, before anybody bases advice on it."""
    from analyzer.engine.trust import grade
    from analyzer.facts import Facts
    from traces.collect.script.session import Verdict
    from traces.reader.read import read

    try:
        trust = grade(Facts(read(path)))
    except UnreadableTraceError as error:
        return Verdict(usable=False, message=str(error), again=True)
    usable = trust.verdict != "unusable"
    return Verdict(usable, _first_reason(trust), again=not usable or any(one.passes for one in trust.symptoms))


def _first_reason(trust: TrustGrade) -> str:
    if trust.verdict == "ok" or not trust.symptoms:
        return ""
    worst = trust.symptoms[0]
    return f"{worst.message} Fix: {worst.fix}" if worst.fix else worst.message
