"""Long stretches in which nothing runs: recorded pauses of Python's garbage collector, isolated gaps, and gaps that may be either.

No moment is in two of the three: recorded collections first, then long isolated gaps, then shorter ones in which the whole process
was silent.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.waterfall import Waterfall
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import is_any
from traces.patterns import Pattern
from traces.trace import Trace

# A gap this long is no dispatch any more (Nsight Systems reports device gaps from 500 ms; most steps here are shorter than that).
LONG_GAP_NS = 50_000_000
LONG_GAP_OF_STEP = 0.25
# Silence of the whole process this long is no work of Python between two ops (rules.md PY004).
SILENCE_NS = 10_000_000
# What happens in every other step is the program's habit, not an isolated event.
_ISOLATED_SHARE = 0.5
# At least this part of a gap must be the host's own doing; else its cause has a rule of its own.
_OWN_PART = 0.6
_HOST_CAUSES = ("python", "framework", "launch", "unexplained", "transfer_call")
_MIN_STEPS = 3

# Calls that are known to take long, by what stands in a Python frame's or a range's name.
_KNOWN = (
    (
        "saving",
        Pattern(r"torch/serialization\.py\(\d+\): save|save_checkpoint|save_pretrained|checkpoint/state_dict_saver"),
    ),
    ("plotting", Pattern(r"matplotlib|plotly|seaborn|savefig")),
    ("image files", Pattern(r"PIL/|cv2|imageio")),
    ("logging", Pattern(r"wandb|tensorboard|mlflow|comet_ml|built-in function print|logging/__init__")),
    ("progress bar", Pattern(r"tqdm")),
    ("evaluation", Pattern(r"\b(?:validat\w*|evaluat\w*|eval_\w+|val_\w+|test_epoch)\b", re.IGNORECASE)),
)


class Pauses(msgspec.Struct, frozen=True):
    """Pauses in the used steps, disjoint.

    Args:
        collected: Garbage collections that the profiler recorded, but those inside a compilation.
        isolated: Long gaps that occur in less than half of the used steps, as far as the host's own work fills them.
        silent: Shorter gaps with no event on any thread of the process, in less than half of the used steps; none where every
            collection was recorded, and silence is therefore something else.
        habitual: Long gaps that occur in at least half of the used steps.
        judged: Whether there are enough steps to tell isolated from habitual.
        limit_ns: Length from which a gap is long here.
    """

    collected: IntervalSet
    isolated: IntervalSet
    silent: IntervalSet
    habitual: IntervalSet
    judged: bool
    limit_ns: int

    @property
    def all(self) -> IntervalSet:
        """Pauses that have rules of their own."""
        return self.collected | self.isolated | self.silent


def pauses(
    trace: Trace,
    recording: RecordingFacts,
    device: DeviceFacts,
    steps: Steps,
    host: HostFacts,
    idle: IntervalSet,
    waterfall: Waterfall,
    waiting: IntervalSet,
) -> Pauses:
    """Finds the pauses; waiting for what others hand over is none."""
    used = steps.used
    median = float(np.median(used["dur_ns"].to_numpy())) if len(used) else 0.0
    limit = int(max(LONG_GAP_NS, LONG_GAP_OF_STEP * median))
    judged = len(used) >= _MIN_STEPS
    lost = steps.window - waterfall.owned("compute") if device.main is None else idle
    # A compiler makes a million objects: what is collected while it works goes with it.
    collected = (host.threads.anywhere("gc") - host.threads.anywhere("compile")) & steps.window & lost
    long = _own(waterfall, _at_least(_gaps(trace, device, steps, waterfall) - waiting, limit)) - collected
    isolated = long if judged and steps.count_with(long) < _ISOLATED_SHARE * len(used) else EMPTY
    silent = _at_least(_silence(trace, steps), SILENCE_NS) & (waterfall.owned("python") - waiting)
    silent = _at_least(silent - collected - isolated, SILENCE_NS)
    unknown = not recording.collected.gc_recorded
    seldom = unknown and len(used) > _MIN_STEPS and steps.count_with(silent) < _ISOLATED_SHARE * len(used)
    return Pauses(collected, isolated, silent if seldom else EMPTY, long - isolated, judged, limit)


def known_activity(trace: Trace, time: IntervalSet) -> str | None:
    """What Python frames or the program's own ranges say a pause is, in one word; None where they say nothing."""
    best: tuple[int, str] | None = None
    for frame in (trace.python, trace.annotations):
        if not len(frame):
            continue
        categories = frame["name"].cat.categories.astype(str)
        codes = frame["name"].cat.codes.to_numpy()
        for word, pattern in _KNOWN:
            matches = np.array([pattern.search(name) is not None for name in categories], dtype=bool)
            known = (IntervalSet.of_rows(frame, matches[codes]) & time).total_ns
            if known * 2 > time.total_ns and (best is None or known > best[0]):
                best = (known, word)
    return best[1] if best else None


def _gaps(trace: Trace, device: DeviceFacts, steps: Steps, waterfall: Waterfall) -> IntervalSet:
    """Gaps between device work (on a CPU-only trace: between ops), without what the profiler's own work is in."""
    if device.main is None:
        gaps = waterfall.owned("python")
    else:
        busy = device.main.busy
        gaps = IntervalSet(busy.end_ns[:-1], busy.start_ns[1:])
    overhead = trace.overhead
    touched = IntervalSet.of_rows(overhead)
    clean = touched.overlap_with(gaps.start_ns, gaps.end_ns) == 0
    return IntervalSet(gaps.start_ns[clean], gaps.end_ns[clean]) & steps.window


def _at_least(time: IntervalSet, limit_ns: int) -> IntervalSet:
    long = time.end_ns - time.start_ns >= limit_ns
    return IntervalSet(time.start_ns[long], time.end_ns[long])


def _own(waterfall: Waterfall, gaps: IntervalSet) -> IntervalSet:
    """The part of each gap that the host's own work fills, of gaps in which that is most."""
    mine = waterfall.owned(*_HOST_CAUSES)
    part = mine.overlap_with(gaps.start_ns, gaps.end_ns)
    mostly = part >= _OWN_PART * (gaps.end_ns - gaps.start_ns)
    return IntervalSet(gaps.start_ns[mostly], gaps.end_ns[mostly]) & mine


def _silence(trace: Trace, steps: Steps) -> IntervalSet:
    """Time in the used steps with no event of the host on any thread."""
    ranges, known = trace.annotations, ~is_any(trace.annotations["kind"], "module", "again", "user")
    frames = (trace.ops, trace.runtime, trace.python, trace.gc, trace.collectives, trace.overhead)
    return steps.window - IntervalSet.union([IntervalSet.of_rows(ranges, known), *map(IntervalSet.of_rows, frames)])
