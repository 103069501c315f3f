"""What holds of every file, whatever it holds."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from analyzer.analysis import Analysis, CauseTime
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.opening.saved import load
from analyzer.report import formats
from rules import RULES
from traces.errors import AdvisorError
from traces.progress import silent
from traces.reader.read import read_every

# The errors of users and files: 70 would be a bug.
_REFUSING = (2, 3, 4)
# Frames of all kinds, the rules' own work and the reports, beside what grows with the file. Peak memory only grows, so the limit is
# of the whole run.
_CONSTANT_BYTES = 300 << 20
_TIMES_THE_FILE = 20
# CPU time. A case of the largest seeds takes a fifth of a second; what is quadratic in 60 kB is not seen below this, and what is
# cubic or hangs is.
_CONSTANT_S, _S_PER_MB = 8.0, 20.0


class Watch:
    """Checks files one after another, and knows how much memory the process had before the first."""

    def __init__(self) -> None:
        self._before = _peak_bytes()
        self._largest = 0

    def check(self, path: Path, number: int = 0) -> str:
        """Read, explain and report a file.

        Args:
            path: The file.
            number: Chooses the format that is written beside JSON; all are if 0.

        Returns:
            `refused` or `explained`.

        Raises:
            AssertionError: A property does not hold.
            Exception: What reached the surface.
        """
        began = time.process_time()
        outcome = _explain(path, number)
        size = path.stat().st_size
        self._largest = max(self._largest, size)
        used = time.process_time() - began
        assert used <= _CONSTANT_S + _S_PER_MB * size / 1e6, f"{used:.1f} s of CPU for {size:,} bytes"
        grown = _peak_bytes() - self._before
        assert grown <= _CONSTANT_BYTES + _TIMES_THE_FILE * self._largest, f"{grown:,} bytes for {self._largest:,}"
        return outcome


def _explain(path: Path, number: int) -> str:
    try:
        traces = read_every(path, silent)
    except AdvisorError as error:
        if error.exit_code not in _REFUSING:
            raise
        return "refused"
    for trace in traces[:2]:
        facts = Facts(trace)
        analysis = explain_facts(facts, rules=RULES).analysis
        assert not facts.failures, list(facts.failures.values())
        crashed = [check for check in analysis.checks if check.state == "crashed"]
        assert not crashed, crashed
        _adds_up(analysis)
        _renders(analysis, path, number)
    return "explained"


def _adds_up(analysis: Analysis) -> None:
    """Every nanosecond has an owner, and nothing saves more than there is."""
    summary = analysis.summary
    for waterfall in (summary.waterfall, *(device.waterfall for device in summary.devices)):
        assert _total(waterfall) == summary.window_ns
    for row in analysis.steps:
        assert _total(row.causes) == row.dur_ns, row
    assert 0 <= summary.reachable_step_ns <= summary.step_ns.mean, summary
    for finding in analysis.findings:
        # What lies between the steps (ID004) is in none of them, and may be longer than they are.
        most = summary.step_ns.mean if finding.steps.seen else max(finding.saving.ns_per_step_max, 0)
        assert 0 <= finding.saving.ns_per_step_max <= most, finding
        assert 0 <= finding.saving.ratio_max <= 1, finding
        assert 0 <= finding.steps.seen <= max(finding.steps.of, 1), finding


def _total(waterfall: tuple[CauseTime, ...]) -> int:
    assert all(part.ns >= 0 for part in waterfall), waterfall
    return sum(part.ns for part in waterfall)


def _renders(analysis: Analysis, path: Path, number: int) -> None:
    names = sorted(formats.BY_NAME)
    for form in names if number == 0 else ("json", names[number % len(names)]):
        text = formats.render(analysis, form)
        assert text.endswith("\n"), form
        text.encode()
        if form == "json":
            # Strict: what JSON does not know, other programs cannot read.
            json.loads(text, parse_constant=_refuse)
            report = path.with_name("report-of-case.json")
            report.write_text(text, encoding="utf-8")
            assert load(report) == analysis


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in the JSON report")


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
