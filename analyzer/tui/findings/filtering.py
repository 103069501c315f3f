"""The filter's language: words, and `sev:high`, `rule:DL`, `cat:input`, `conf:low`; all must match."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from analyzer.analysis import FindingDocument

_FIELDS: dict[str, Callable[[FindingDocument], str]] = {
    "sev": lambda finding: finding.severity,
    "rule": lambda finding: finding.rule.casefold(),
    "conf": lambda finding: finding.confidence,
}
_ORDERS: dict[str, Callable[[FindingDocument], tuple[object, ...]]] = {
    "rank": lambda finding: (finding.rank,),
    "saving": lambda finding: (-finding.saving.expected_ns, finding.rank),
    "rule": lambda finding: (finding.rule, finding.rank),
}
ORDERS = tuple(_ORDERS)


def matches(finding: FindingDocument, query: str) -> bool:
    """Whether every word of the query matches."""
    return all(_matches_word(finding, word) for word in query.casefold().split())


def _matches_word(finding: FindingDocument, word: str) -> bool:
    field, colon, wanted = word.partition(":")
    if colon and field in _FIELDS:
        return _FIELDS[field](finding).startswith(wanted)
    if colon and field == "cat":
        return wanted in finding.family.casefold()
    text = " ".join((finding.rule, finding.title, finding.name, finding.family, finding.why)).casefold()
    return word in text


def arrange(findings: Iterable[FindingDocument], cards: Iterable[FindingDocument], order: str) -> list[FindingDocument]:
    """Cards first, each group in `order`."""
    ids = {finding.id for finding in cards}
    key = _ORDERS[order]
    return sorted(findings, key=lambda finding: (finding.id not in ids, *key(finding)))
