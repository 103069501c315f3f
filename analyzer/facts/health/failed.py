"""Measurements that failed: what the document is made of instead, and how far it may be believed then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.isolation import FactError
from analyzer.facts.time.waterfall import Waterfall

# How a check of the trace is named among the failures.
OF_TRUST = "doubt:"
# Without these nothing is known of where the time goes; without others some rules cannot tell, and say so themselves.
_CORE = ("device.work", "device.launched", "device.found", "steps", "host.main_thread", "host.threads", "waterfall")


def check(waterfall: Waterfall, failures: Mapping[str, FactError]) -> Iterator[Symptom]:
    """Whether a measurement failed that every figure rests on, or one that would have told of doubts."""
    # It is made of all the others: asked for it, they have been measured or have failed.
    divided = waterfall.window
    if not divided and not failures:
        return
    core = [name for name in failures if name in _CORE]
    names = core or list(failures)
    if names:
        first = failures[names[0]]
        more = f" ({len(failures) - 1} more failed)" if len(failures) > 1 else ""
        where = "nothing is known of where its time goes" if core else "what it would have shown is missing"
        yield Symptom(
            None,
            Gravity.UNUSABLE if core else Gravity.CAUTION,
            f"advisor could not measure `{first.name}` on this trace{more}, so {where}: {first.reason}. That is a "
            "fault of advisor; please report it.",
            None,
            len(failures),
        )
