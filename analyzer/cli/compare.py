"""`advisor compare`: did my change help?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from analyzer.cli import output, sides
from analyzer.cli.terminal import style_for
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.compare.comparison import Comparison
    from analyzer.compare.gate import GateResult

GATE_FAILED = 1
_ENDINGS = {".md": "markdown", ".json": "json", ".txt": "text"}


@click.command("compare", short_help="Say whether a change helped, beyond noise.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="BEFORE... AFTER...")
@click.option("--baseline", metavar="NAME", help="Take BEFORE from a saved baseline; every PATH is then AFTER.")
@click.option("--format", "stated", type=click.Choice(["text", "markdown", "json"]), help="Print in this format.")
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option(
    "--gate", "gate_text", metavar="LIMIT",
    help="Exit with 1 on a real regression beyond the limit: step_ns<=+3%, several with commas, or a file of them.",
)  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    baseline: str | None,
    stated: str | None,
    target: Path | None,
    gate_text: str | None,
) -> None:
    """Say whether a change helped, beyond noise.

    BEFORE and AFTER are traces, or folders with several runs of one configuration. Two paths are one side each;
    an even number of files is split in the middle.
    """
    from analyzer.compare.comparison import compare
    from analyzer.compare.gate import apply_gate, parse_gate

    form = stated or (_ENDINGS.get(target.suffix) if target else None) or "text"
    limits = parse_gate(gate_text) if gate_text is not None else None
    before, after = _sides(paths, baseline)
    if target is not None:
        for path in paths:
            output.check(target, path)
    if baseline is not None:
        from analyzer.compare.baseline import load_baseline

        first = list(load_baseline(baseline))
    else:
        first = sides.snapshots_of(before)
    comparison = compare(first, sides.snapshots_of(after))
    gate = apply_gate(comparison, limits) if limits is not None else None
    output.write(_rendered(comparison, gate, form, target), target)
    ctx.exit(GATE_FAILED if gate is not None and not gate.passed else 0)


def _sides(paths: tuple[Path, ...], baseline: str | None) -> tuple[list[Path], list[Path]]:
    """The traces of each side.

    Raises:
        UsageError: The number of paths does not say which side each belongs to.
    """
    from analyzer.job import traces_in

    if baseline is not None:
        if not paths:
            raise UsageError("no trace to compare with the baseline", fix="advisor compare --baseline NAME TRACE...")
        return [], traces_in(paths)
    if len(paths) < 2 or len(paths) % 2:
        raise UsageError(
            f"{len(paths)} path{'s' if len(paths) != 1 else ''} given: it is not clear which is before and which after",
            fix="give two paths (files or folders), or as many files before as after",
        )
    half = len(paths) // 2
    return traces_in(paths[:half]), traces_in(paths[half:])


def _rendered(comparison: Comparison, gate: GateResult | None, form: str, target: Path | None) -> str:
    if form == "json":
        from analyzer.report.comparison import json

        return json.render(comparison, gate)
    if form == "markdown":
        from analyzer.report.comparison import markdown

        return markdown.render(comparison, gate)
    from analyzer.report.comparison import text
    from analyzer.report.style import Style

    in_file = target is not None and str(target) != "-"
    rendered = text.render(comparison, gate, Style() if in_file else style_for(sys.stdout))
    return rendered if in_file else output.encodable(rendered)
