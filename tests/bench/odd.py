"""What advisor and HolisticTraceAnalysis do with one trace in every odd way that files are found in, as a Markdown table.

    python tests/bench/odd.py [-o traces/README.md]

Each trace is read in a process of its own, with a time limit. `same` is the busy time of the sound trace. A number that
differs where the times in the file are sound, and no word about it, is in bold.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import multiprocessing
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from building.odd_variants import Variant, variants  # noqa: E402

LIMIT_S = 120
TOLERANCE = 0.003
# What each tool says of a file: a sentence, busy time in nanoseconds where it gives one, and whether it gives a warning.
Answer = tuple[str, float | None, bool]
BEGIN, END = "<!-- odd traces: begin -->", "<!-- odd traces: end -->"


def main() -> int:
    """Run every variant through every tool and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="replace the table in this file")
    parser.add_argument("--only", type=int, help="this row of the catalogue only")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    chosen = [one for one in variants() if options.only in (None, one.row) or one.row == 0]
    table = "\n".join(rows(chosen)) + "\n"
    sys.stdout.write(table)
    if options.output:
        page = options.output.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        options.output.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")
    return 0


def rows(chosen: list[Variant]) -> list[str]:
    """The table: the first variant is the sound trace, whose answers the others are held against."""
    tools: dict[str, Callable[[Path], Answer]] = {"advisor": advisor, "HTA": hta}
    version = importlib.metadata.version("HolisticTraceAnalysis")
    pandas = importlib.metadata.version("pandas")
    base = {name: ask(tool, chosen[0])[1] for name, tool in tools.items()}
    lines = [
        f"Written by `python tests/bench/odd.py -o traces/README.md` on {time.strftime('%Y-%m-%d')}: "
        f"HTA {version}, pandas {pandas}, Python {platform.python_version()}.",
        "",
        "| row | oddity | advisor | HTA |",
        "|---|---|---|---|",
    ]
    totals: dict[str, dict[str, int]] = {name: {} for name in tools}
    for variant in chosen[1:]:
        cells = []
        for name, tool in tools.items():
            kind, cell = judged(ask(tool, variant), base[name], variant)
            totals[name][kind] = totals[name].get(kind, 0) + 1
            cells.append(cell)
        lines.append(f"| {variant.row} | {variant.name} | {' | '.join(cells)} |")
        sys.stderr.write(lines[-1] + "\n")
    lines.append("")
    lines += [
        f"{name}: {', '.join(f'{count} {kind}' for kind, count in sorted(found.items()))}."
        for name, found in totals.items()
    ]
    return lines


def judged(answer: Answer, base: float | None, variant: Variant) -> tuple[str, str]:
    """The kind of the answer, for the totals, and the cell."""
    said, busy, warned = answer
    if busy is None or not base:
        return ("traceback" if said.startswith("traceback") else "refused in words"), said
    ratio = busy / base
    amount = "same" if abs(ratio - 1) < TOLERANCE else f"busy {ratio:,.4g} x"
    if amount != "same" and variant.same and not warned:
        return "wrong without a warning", f"**{amount}, no warning**"
    kind = "same" if amount == "same" else "another number, told" if warned else "another number"
    return kind, f"{amount}; {said}" if said else amount


def ask(tool: Callable[[Path], Answer], variant: Variant) -> Answer:
    """One tool on one file, in a process of its own."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="odd-") as folder:
        path = Path(folder) / variant.file
        path.write_bytes(variant.content)
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_asked, args=(tool, path, sender))
        process.start()
        sender.close()
        answer = receiver.recv() if receiver.poll(LIMIT_S) else (f"no answer in {LIMIT_S} s", None, False)
        process.kill()
        process.join()
    return answer


def _asked(tool: Callable[[Path], Answer], path: Path, sender: Connection) -> None:
    """In the process: the tool's prints and warnings go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        sender.send(tool(path))
    except BaseException as error:  # whatever ends a tool is its answer
        sender.send((f"traceback: {type(error).__name__}", None, False))


def advisor(path: Path) -> Answer:
    """What `advisor explain` answers."""
    from analyzer.explain import Options
    from analyzer.opening import open_paths
    from traces.errors import UnreadableTraceError
    from traces.progress import silent

    try:
        analysis = open_paths([path], Options(), silent).first.analysis
    except UnreadableTraceError as error:
        return f"refused: {_short(error.what)}", None, True
    grave = analysis.trust.verdict == "unusable"
    repairs = sum(repair.count for repair in analysis.repairs)
    said = [f"{repairs} repaired ({', '.join(repair.kind for repair in analysis.repairs)})"] if repairs else []
    said += [_short(one.message.split(" Next time")[0]) for one in analysis.trust.reasons[:1] if one.code]
    said += [f"{len(analysis.ranks)} ranks"] if analysis.ranks else []
    if grave:
        return f"no advice: {'; '.join(said)}", None, True
    busy = (analysis.summary.gpu_busy_ratio or 0.0) * analysis.summary.window_ns
    return "; ".join(said), busy, analysis.trust.verdict != "ok" or bool(analysis.trace.steps.excluded)


def hta(path: Path) -> Answer:
    """What parsing and the temporal breakdown answer; HTA's own warnings are about its configuration, not the file."""
    import warnings

    from hta.trace_analysis import TraceAnalysis

    warnings.simplefilter("ignore")
    found = TraceAnalysis(trace_files={0: str(path)}, trace_dir="").get_temporal_breakdown(visualize=False)
    row = found.iloc[0]
    return "", float(row["compute_time(us)"] + row["non_compute_time(us)"]) * 1000, False


def _short(text: str) -> str:
    """A message without the name of the file, and short enough for a cell."""
    text = re.sub(r"\bt(?:race)?\.json(?:\.gz)?\b", "it", text).replace("|", "/").rstrip(".")
    return text if len(text) <= 110 else text[:109].rsplit(" ", 1)[0] + " …"


if __name__ == "__main__":
    raise SystemExit(main())
