"""The program's own line that makes its loader, with other arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.facts import Facts
from rules.own_call import as_diff, with_arguments

# torch's loader, and its arguments before `num_workers`: data set, batch size, shuffle, sampler, batch sampler.
_TORCHS, _BEFORE_WORKERS, _BEFORE_BATCH_SIZE = "DataLoader", 5, 1


def with_own(facts: Facts, arguments: Mapping[str, object]) -> str | None:
    """A diff of that line, in which it has arguments that stand behind those of the batch; None where nobody knows the line.

    Args:
        facts: The measurements.
        arguments: By their names in torch's DataLoader.
    """
    return _changed(facts, {name: repr(value) for name, value in arguments.items()}, _BEFORE_WORKERS)


def with_own_batch_size(facts: Facts, now: int, then: int) -> str | None:
    """The same with another batch size, where the line has the number itself, by its name."""
    maker = facts.recording.loader_maker
    if maker is None or maker.text is None or not re.search(rf"\bbatch_size\s*=\s*{now}\b", maker.text):
        return None
    return _changed(facts, {"batch_size": repr(then)}, _BEFORE_BATCH_SIZE)


def _changed(facts: Facts, arguments: Mapping[str, str], most_in_order: int) -> str | None:
    maker = facts.recording.loader_maker
    # A class derived from it may take other arguments.
    if maker is None or maker.package is not None or maker.text is None or maker.class_name != _TORCHS:
        return None
    changed = with_arguments(maker.text, maker.class_name, arguments, most_in_order=most_in_order)
    return None if changed is None or changed == maker.text else as_diff(maker.text, changed)
