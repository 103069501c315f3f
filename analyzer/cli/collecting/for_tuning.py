"""The recording that a tuning begins with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.collecting.judged import judge
from traces.errors import UntrustedTraceError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis
    from analyzer.tune.events import Tell
    from analyzer.tune.session import Wanted

# Steps are found from these where a loop trains; from others it only runs a model, or nothing that repeats.
_TRAINS = ("optimizer", "backward", "loader")


def recorded(wanted: Wanted, tell: Tell) -> Analysis:
    """Records the script, guarded, and explains the recording; the one of an earlier call where that is resumed."""
    from analyzer.explain import analyse
    from analyzer.tune.run_folder import RECORDING
    from traces.collect.output.attached import is_whole

    trace = (wanted.folder / RECORDING).resolve()
    kept = wanted.resume and trace.exists()
    whole = kept and is_whole(trace)
    if not whole:
        from analyzer.tune.events import Note

        tell(Note(f"{'the recording is damaged: ' if kept else ''}recording the script as it is"))
        _record(wanted, trace)
    return analyse(trace)


def _record(wanted: Wanted, trace: Path) -> None:
    """Record it where it can change nothing.

    Raises:
        UntrustedTraceError: It cannot be recorded, so that nobody knows what to try.
    """
    from traces.collect.script.session import ScriptConfig, collect_script

    script, log = wanted.script, wanted.folder / "record.log"
    config = ScriptConfig(
        target=script.target, module=script.module, arguments=script.arguments, python=script.python, output=trace,
        stop=True, guarded=max(60.0, wanted.budget_s / 2), log=log,
    )  # fmt: skip
    result = collect_script(config, judge)
    if not result.recordings:
        raise UntrustedTraceError(
            f"nothing can be tuned: {result.problem}", where=str(log), fix=result.fix or "run it with advisor collect"
        )
    best = result.recordings[0]
    if best.source not in _TRAINS:
        raise UntrustedTraceError(
            "no training loop was found: no optimizer stepped, nothing ran backward, no DataLoader gave batches",
            fix="name the script that trains",
        )
    if not best.verdict.usable:
        raise UntrustedTraceError("the recording is of no use", why=best.verdict.message, fix="advisor collect --help")
    if best.path != trace:
        best.path.replace(trace)
