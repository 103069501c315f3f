"""The result as Markdown for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.tuning import Tuning
from analyzer.page import tuning as words
from analyzer.report.markdown.escape import cell, code, figure, prose
from analyzer.report.markdown.evidence_tables import table


def render(tuning: Tuning) -> str:
    """The result, ending in a newline."""
    return "\n\n".join(block for block in _blocks(tuning) if block) + "\n"


def _blocks(tuning: Tuning) -> Iterator[str]:
    yield f"### {prose(words.headline(tuning), 400)}"
    if tuning.trials:
        rows = []
        for trial in tuning.trials:
            change, rules, promised, measured, interval, verdict = words.row(trial)
            rows.append(
                [
                    code(change, 40),
                    cell(rules),
                    figure(promised),
                    figure(measured),
                    figure(interval),
                    verdict,
                ]
            )
        yield table(words.HEADS, "llrrrl", rows)
        yield "\n".join(
            f"- {code(trial.change, 40)} {prose(said, 400)}"
            for trial in tuning.trials
            if (said := words.said(trial, tuning.epoch_steps))
        )
    for one in tuning.recommended:
        where = f" `{words.place(one)}`" if one.file else ""
        carried = f" {words.carries(one)}" if one.alone_ratio is not None else ""
        kind = "diff" if one.diff.startswith("---") else "text"
        fence = "`" * max(3, _longest_fence(one.diff) + 1)
        yield f"**{prose(one.change, 60)}**{where}{carried}\n\n{fence}{kind}\n{one.diff}\n{fence}"
    hand = list(words.by_hand(tuning))
    if hand:
        yield "**Only a change of the program brings**\n\n" + "\n".join(f"- {prose(line, 200)}" for line in hand)
    yield prose(" ".join(words.method(tuning)), 2000)


def _longest_fence(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
