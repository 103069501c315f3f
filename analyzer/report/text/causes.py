"""How the causes look in text: the fills of their bars and their colours."""

from __future__ import annotations

from analyzer.cause_names import Cause
from analyzer.page.words.vocabulary import is_work
from analyzer.report.style import Role

# Fills tell the parts of the stacked bar apart where there is no colour.
FILLS: dict[Cause, str] = {
    "compute": "█", "communication": "▓", "copy": "▓", "input": "▒", "sync": "░", "launch": "▄", "optimizer": "▄",
}  # fmt: skip
OTHER_FILL = "·"


def role(cause: Cause) -> Role:
    """Cool for work of the device, warm for what could go."""
    return "useful" if is_work(cause) else "waste"
