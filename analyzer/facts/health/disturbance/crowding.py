"""Other work on the cores: the training thread could run and had to wait."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.input.section import InputFacts
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.units import count, share

# From here on it could be all of what the rules on host time take for a cause (PY001 and DL001 fire from 5 % of the step).
CROWDED_RATIO = 0.05


def check(
    recording: RecordingFacts, device: DeviceFacts, steps: Steps, time: TimeFacts, input: InputFacts
) -> Iterator[Symptom]:
    """A training thread, or workers, without a core: as the collector asked the system, or as short ops show it."""
    yield from _workers(recording, input)
    short, ratio, quiet = _lacked(recording, steps, time)
    if not short:
        return
    if input.wait.multi_process and not _only_while_recorded(recording, steps, time):
        # Workers that compete with training are the program's own doing, and DL007 and DL008 say so.
        yield Symptom(
            None,
            Gravity.NOTE,
            f"{short}: the loader's workers or other programs had them.",
            f"{quiet}, and with fewer workers than cores",
            1,
            ratio,
        )
        return
    yield Symptom(
        None,
        Gravity.CAUTION,
        f"{short}: other programs or threads had them, and that time counts as the host's own.",
        quiet,
        1,
        ratio,
        passes=True,
        # Without a device, ops wait for a core as much as what lies between them.
        touches=IDLE_CAUSES if device.main is not None else None,
        taken_ratio=ratio if device.main is None else None,
    )


def _lacked(recording: RecordingFacts, steps: Steps, time: TimeFacts) -> tuple[str, float, str]:
    """What the thread lacked, in words, as a share of the steps, and what to do; empty words where that is little."""
    asked = recording.collected.core_wait_ratio
    if asked is not None:
        short = (
            f"For {share(asked)} of the time of the recorded steps the training thread was ready to run and had no core"
        )
        return short if asked >= CROWDED_RATIO else "", asked, "record on a quiet machine"
    lacked, ratio = time.lacked_core, steps.ratio(time.without_core_ns)
    if lacked is None or ratio < CROWDED_RATIO:
        return "", ratio, ""
    short = (
        f"{count(lacked.ops, 'short op takes', 'short ops take')} milliseconds in {count(lacked.steps, 'step')}, "
        f"{share(lacked.ratio)} of what such ops take in all, as where the training thread has no core"
    )
    return short, ratio, "record on a quiet machine, with `advisor collect`, which asks the system"


def _workers(recording: RecordingFacts, input: InputFacts) -> Iterator[Symptom]:
    """Workers that others had the cores of: what training waits for them says little of the program."""
    crowded = recording.collected.workers_crowded_ratio
    if crowded is None or not input.wait.multi_process:
        return
    yield Symptom(
        None,
        Gravity.CAUTION,
        f"For {share(crowded)} of the time the loader's workers were ready to run and had no core: other programs had them, and "
        "training waits for batches that much longer.",
        "record on a quiet machine",
        1,
        crowded,
        passes=True,
        touches=("input",),
    )


def _only_while_recorded(recording: RecordingFacts, steps: Steps, time: TimeFacts) -> bool:
    """Whether steps waited for a core longer than a whole step takes without the profiler: workers would slow that one, too."""
    unprofiled = recording.collected.unprofiled_step_ns
    return unprofiled is not None and steps.per_step(time.without_core_ns) > unprofiled
