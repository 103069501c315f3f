"""How much a Markdown report tells: less and less until it fits where it is to be pasted."""

from __future__ import annotations

from dataclasses import dataclass

# GitHub refuses a body of more than 65,536 characters.
BUDGET = 60_000


@dataclass(frozen=True)
class Detail:
    """One amount of detail.

    Args:
        left_out: What the reader does not see, in words; empty for everything.
        evidence: Whether findings show their numbers.
        small_findings: Whether findings of severity low and info are listed.
        code: Whether fixes show their code.
        rows: Most findings in the table.
        paragraph: Most characters of one paragraph.
        checks: Most checks named in each group.
    """

    left_out: str = ""
    evidence: bool = True
    small_findings: bool = True
    code: bool = True
    rows: int = 1_000
    paragraph: int = 2_400
    checks: int = 200


# In the order in which a reader misses it least.
LEVELS = (
    Detail(),
    Detail("the evidence", evidence=False),
    Detail("the evidence and findings of low severity", evidence=False, small_findings=False),
    Detail("the evidence, findings of low severity and code", evidence=False, small_findings=False, code=False),
    Detail(
        "the evidence, code and all but the first findings",
        evidence=False, small_findings=False, code=False, rows=50, paragraph=600, checks=60,
    ),
    Detail(
        "most details",
        evidence=False, small_findings=False, code=False, rows=20, paragraph=200, checks=10,
    ),
)  # fmt: skip
