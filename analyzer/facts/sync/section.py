"""How the host waits for the device."""

from __future__ import annotations

from functools import cached_property

from analyzer.facts.device.section import DeviceFacts
from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.isolation import fact
from analyzer.facts.section import Section
from analyzer.facts.steps.find import Steps
from analyzer.facts.sync.anomaly import AnomalyChecks, EagerChecks, anomaly, eager_checks
from analyzer.facts.sync.asked_in_turn import asked_in_turn
from analyzer.facts.sync.awaited_copies import awaited_copies
from analyzer.facts.sync.behind import behind, waiting_beside
from analyzer.facts.sync.followed import followed_by
from analyzer.facts.sync.op_gaps import Silence, after_reads, entering, silences
from analyzer.facts.sync.read_places import checking, checks, neighbour
from analyzer.facts.sync.removable import removable
from analyzer.facts.sync.wait_reasons import OF_PROGRAM
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.facts.sync.waits import Waits, host_reads, waits
from analyzer.facts.time.section import TimeFacts
from analyzer.spans.intervals import EMPTY, IntervalSet


class SyncFacts(Section):
    """Calls that make the host wait.

    Args:
        device: Work of the devices.
        steps: The steps.
        host: What the host's threads do.
        time: Whose each nanosecond is.
    """

    NAME = "sync"

    def __init__(self, device: DeviceFacts, steps: Steps, host: HostFacts, time: TimeFacts) -> None:
        super().__init__(device.trace, device.failures)
        self._device, self._steps, self._host, self._time = device, steps, host, time

    @fact
    def waits(self) -> Waits:
        """Calls that make the host wait for the device."""
        return waits(self.trace, self._device, self._steps, self._host, self._time)

    def line_of(self, calls: WaitingCalls) -> CodeLine | None:
        """The user's line that most of the lost time of some calls comes from; None without stacks."""
        frame = calls.frame
        threads, start, weight = (frame[name].to_numpy() for name in ("thread", "start_ns", "idle_ns"))
        return self._host.stacks.commonest(threads, start, self._host.main_thread, weight + 1)

    def neighbour_of(self, calls: WaitingCalls) -> tuple[str, float] | None:
        """The op that most of these calls stand next to, with the word for the side, and their share; None where none does."""
        return neighbour(self._host, calls) if len(calls) else None

    def followed_by(self, calls: WaitingCalls, name: str) -> float:
        """The share of some calls behind which an op comes soon; see `followed.followed_by`."""
        return followed_by(self._host, calls, name) if len(calls) else 0.0

    def checks(self, calls: WaitingCalls) -> float:
        """The share of some reads that answer a check; see `read_places.checks`."""
        return checks(self._host, calls) if len(calls) else 0.0

    def checking(self, calls: WaitingCalls) -> IntervalSet:
        """Host time of checks that some reads answer, and around them; see `read_places.checking`."""
        return checking(self._host, calls) if len(calls) else EMPTY

    def removable(self, *reasons: str, copied: IntervalSet = EMPTY) -> IntervalSet:
        """Device-idle time that may end with the calls that have these reasons; see `removable.removable`."""
        return removable(self.waits, reasons, copied)

    @fact
    def programs_removable(self) -> IntervalSet:
        """The same of the waits that the program asks for, and could do without or do later, with what they copy."""
        return self.removable(*OF_PROGRAM, copied=self.waits.copied(*OF_PROGRAM))

    @fact
    def programs_free_ns(self) -> int:
        """For how long the host stands in these waits while the device works; see `free_ns`."""
        return self.free_ns(*OF_PROGRAM)

    @fact
    def programs_waits(self) -> WaitingCalls:
        """The calls of these waits."""
        return self.waits.of(*OF_PROGRAM)

    def behind(self, host: IntervalSet) -> IntervalSet:
        """Device-idle time behind some work of the host that ends sooner where that goes; see `behind.behind`."""
        if self._device.main is None:
            return EMPTY
        waiting = waiting_beside(self.waits, host, self._host.main_thread)
        host = host & (self._steps.host_window | self._steps.window)
        return behind(host, self._waiting_for_host, waiting)

    @cached_property
    def _waiting_for_host(self) -> IntervalSet:
        """Device-idle time but that of work which waits although it was launched; asked for with each work of the host."""
        return self._time.idle - (self._time.waterfall.owned("device_wait") - self._time.device_waits.starting)

    def free_ns(self, *reasons: str) -> int:
        """For how long the host stands in the calls that have these reasons while the device works: it loses nothing by that.

        What only the copies take that they wait for is work that is there for them alone.
        """
        calls = IntervalSet.of_rows(self.waits.calls, self.waits.asked_by(reasons)) - self.waits.copied(*reasons)
        return ((calls - self._time.idle) & self._steps.window).total_ns

    @fact
    def awaited_copies(self) -> WaitingCalls:
        """The program's own waits behind which it finds what was copied to the host."""
        return awaited_copies(self.trace, self.waits)

    @fact
    def anomaly(self) -> AnomalyChecks:
        """NaN checks of autograd's anomaly mode."""
        return anomaly(self.trace, self._steps, self._host)

    @fact
    def eager_checks(self) -> EagerChecks:
        """What ops alone tell of a backward pass and of NaN checks, where the engine's functions were not recorded."""
        return eager_checks(self.trace, self._steps)

    @fact
    def host_reads(self) -> int:
        """How many single values the used steps read that lie on the host."""
        return host_reads(self.trace, self._steps, self.waits)

    @fact
    def asked_in_turn(self) -> float:
        """How often a step asks its model and reads the answer before it asks again, mean."""
        return asked_in_turn(self.trace, self._steps)

    def silences(self, time: IntervalSet) -> tuple[Silence, ...]:
        """Which ops stretches of the training thread's time lie between, the longest together first."""
        return silences(self.trace, self._host, time)

    def entering(self, time: IntervalSet) -> IntervalSet:
        """The stretches behind which torch's loader, backward pass or optimizer begins; see `op_gaps.entering`."""
        return entering(self._host, time)

    def after_reads(self, time: IntervalSet) -> IntervalSet:
        """The stretches that follow the reading of a value."""
        return after_reads(self.trace, self._host, self.waits, time)

    def after_sizes(self, time: IntervalSet) -> IntervalSet:
        """The stretches that follow the reading of a result's size, as `nonzero` does."""
        return after_reads(self.trace, self._host, self.waits, time, ("shape",))
