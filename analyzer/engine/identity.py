"""The name by which a finding is known from run to run: accepted findings and baselines are kept by it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from analyzer.finding import Finding
from analyzer.rule import Rule


def identity_of(rule: Rule, finding: Finding) -> str:
    """The rule with a short digest of file and function, else of its cause: no numbers and no line, or baselines break."""
    place = finding.location
    title = re.sub(r"\d+", "", finding.title or "")
    cause = f"{place.file}|{place.function}" if place else f"{rule.meta.name}|{title}"
    return f"{rule.meta.code}-{hashlib.sha256(cause.encode('utf-8', 'replace')).hexdigest()[:4]}"


def distinct(identities: Sequence[str]) -> list[str]:
    """The same names, those that stand several times numbered from their second on."""
    seen: dict[str, int] = {}
    result = []
    for identity in identities:
        times = seen.get(identity, 0)
        seen[identity] = times + 1
        result.append(f"{identity}-{times + 1}" if times else identity)
    return result
