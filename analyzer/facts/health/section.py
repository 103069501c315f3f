"""How far the trace can be believed: every check of it, and what came of it.

`analyzer.engine.trust` turns the symptoms into the verdict; the rules under `rules/profiling` turn them into pages and findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.health import failed
from analyzer.facts.health.clocks import late_work, resolution, scale, synchronised, unlikely
from analyzer.facts.health.complete import (
    coverage,
    cut,
    graphs,
    missing_durations,
    missing_launches,
    repairs,
    thinned,
    unanswered,
    unknown_categories,
)
from analyzer.facts.health.disturbance import artefacts, crowding, instrumentation
from analyzer.facts.health.linked import awaited, backward, collective_arguments, correlation, merged
from analyzer.facts.health.steps import few, warmup
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.section import HostFacts
from analyzer.facts.input.section import InputFacts
from analyzer.facts.isolation import fact
from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.steps.outside import OutsideSteps, outside_steps
from analyzer.facts.time.section import TimeFacts


class HealthFacts(Section):
    """Reasons to doubt the trace, and what they rest on.

    Args:
        recording: What is known beside the events.
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
        input: Waiting for data.
    """

    NAME = "health"

    def __init__(
        self,
        recording: RecordingFacts,
        device: DeviceFacts,
        steps: Steps,
        host: HostFacts,
        time: TimeFacts,
        input: InputFacts,
    ) -> None:
        super().__init__(device.trace, device.failures)
        self._recording, self._device, self._steps = recording, device, steps
        self._host, self._time, self._input = host, time, input

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Every symptom of the trace, gravest first; measured once for the verdict and for the hygiene rules.

        What a check that fails would have found is not known, and said to be so.
        """
        found: list[Symptom] = []
        for name in CHECKS:
            if not (name in _OF_ONE_PROCESS and _of_several(found)):
                found += self._checked(name)
        # Last: the others show what cannot be measured.
        found += failed.check(self._time.waterfall, self.failures)
        return tuple(sorted(found, key=lambda symptom: -symptom.gravity))

    def _checked(self, name: str) -> tuple[Symptom, ...]:
        return self.attempt(f"{failed.OF_TRUST} {name}", lambda: tuple(CHECKS[name](self)), ())

    @fact
    def doubted(self) -> frozenset[str]:
        """Codes of the symptoms that make figures of the used steps doubtful."""
        return frozenset(one.code for one in self.symptoms if one.code and one.gravity >= Gravity.CAUTION)

    @fact
    def warmup(self) -> warmup.WarmUp:
        """Start-up work inside the used steps; see `warmup.warmup_time`."""
        return warmup.warmup_time(self.trace, self._device, self._steps)

    @fact
    def outside_steps(self) -> OutsideSteps:
        """What was recorded and lies in no step."""
        return outside_steps(self.trace, self._steps)

    @fact
    def sparse_host_events(self) -> int | None:
        """Ops and calls of the training thread where there is less than one a step; else None."""
        return coverage.sparse_host_events(self.trace, self._device, self._steps, self._host)

    @fact
    def thinned(self) -> thinned.Thinned | None:
        """Ops that are missing between those in the file; None where hardly any is."""
        return thinned.thinned(self.trace)

    @fact
    def heavy_options(self) -> tuple[str, ...]:
        """Options of the recording that cost host time on every op."""
        return instrumentation.heavy_options(self.trace)

    @fact
    def launches_without_op(self) -> float:
        """Share of the kernels launched in the used steps whose launch lies inside no op; 0 without kernels."""
        return coverage.launches_without_op(self._host, self._time)


# Of several processes in one file steps, streams and times beside one another are odd because they are merged, which is said.
_OF_ONE_PROCESS = ("few", "warmup", "late_work", "unlikely")


def _of_several(found: Iterable[Symptom]) -> bool:
    """Whether several ranks were merged into the file."""
    return any(one.code == "PG007" and one.gravity is Gravity.UNUSABLE for one in found)


# Asked in this order: whether the file is of one process first. What each check is made of stands here, so that
# none of them needs all of the facts.
CHECKS: Mapping[str, Callable[[HealthFacts], Iterable[Symptom]]] = {
    "merged": lambda of: merged.check(of.trace, of._host),
    "cut": lambda of: cut.check(of.trace, of._device, of._steps),
    "coverage": lambda of: coverage.check(of.trace, of._device, of._steps, of._host),
    "unanswered": lambda of: unanswered.check(of.trace, of._steps, of._host, of._time),
    "thinned": lambda of: thinned.check(of.thinned),
    "missing_durations": lambda of: missing_durations.check(of.trace),
    "missing_launches": lambda of: missing_launches.check(of.trace, of._device, of._steps, of._host),
    "unknown_categories": lambda of: unknown_categories.check(of.trace),
    "graphs": lambda of: graphs.check(of.trace, of._device, of._steps),
    "repairs": lambda of: repairs.check(of.trace),
    "few": lambda of: few.check(of.trace, of._steps, of._host.threads.anywhere("compile")),
    "warmup": lambda of: warmup.check(of.trace, of._steps, of.warmup),
    "instrumentation": lambda of: instrumentation.check(of.trace, of._steps, of._time, of._host.described_ops),
    "crowding": lambda of: crowding.check(of._recording, of._device, of._steps, of._time, of._input),
    "correlation": lambda of: correlation.check(of.trace, of._device, of._steps),
    "backward": lambda of: backward.check(of.trace),
    "awaited": lambda of: awaited.check(of.trace),
    "collective_arguments": lambda of: collective_arguments.check(of.trace),
    "synchronised": lambda of: synchronised.check(of.trace),
    "artefacts": lambda of: artefacts.check(of.trace, of._steps, of._time),
    "late_work": lambda of: late_work.check(of.trace, of._device, of._steps),
    "resolution": lambda of: resolution.check(of.trace),
    "scale": lambda of: scale.check(of.trace),
    "unlikely": lambda of: unlikely.check(of.trace, of._steps, of._device.launched),
}
