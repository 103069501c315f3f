"""PG005 calls that wait for the device while none is at work: what they wait for was not recorded, and looks like idle time."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.health.complete.coverage import LOST_CAUTION
from analyzer.facts.health.complete.repairs import FEWER_STEPS
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.unanswered import unanswered
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.labels import texts
from analyzer.units import duration, listed
from traces.trace import Trace


def check(trace: Trace, steps: Steps, host: HostFacts, time: TimeFacts) -> Iterator[Symptom]:
    """One symptom where that is a tenth of the used steps or more."""
    lost = host.threads.anywhere("unanswered") & time.waterfall.owned("unexplained")
    if steps.ratio(lost.total_ns) < LOST_CAUTION:
        return
    calls = unanswered(trace)
    names = listed([f"`{name}`" for name in sorted(set(texts(calls["name"])))[:2]])
    yield Symptom(
        "PG005",
        Gravity.CAUTION,
        f"For {duration(steps.per_step(lost.total_ns))} of {steps.each} the host waits in {names} while no recorded work runs: "
        "what it waits for is not in the file, or its thread got no core.",
        f"{FEWER_STEPS}; name the file as the profiler wrote it",
        len(calls),
        touches=IDLE_CAUSES,
    )
