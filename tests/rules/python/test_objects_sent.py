"""PY001 beside collectives of Python objects: tensors take their place; not beside tensors that are gathered."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from jobs.gloo_ddp import ddp
from rules.python.python_overhead import RULE
from running.one_rule import judged


def test_objects_are_named_and_tensors_advised() -> None:
    found = judged(RULE, ddp(objects=3_000)).finding
    assert "of it lies in `all_gather_object` or directly beside" in found.why
    assert "all_reduce(numbers)" in found.fix[0].code
    assert "gymnasium" not in "".join(fix.code for fix in found.fix)


def test_tensors_that_are_gathered_are_no_objects() -> None:
    found = judged(RULE, ddp(tensors=3_000)).finding
    assert "_object" not in found.why
    assert "all_reduce(numbers)" not in "".join(fix.code for fix in found.fix)


@pytest.mark.parametrize(("objects", "functions"), [(1_000, ("all_gather_object",)), (None, ())])
def test_their_time_is_from_pickling_to_unpickling(objects: float | None, functions: tuple[str, ...]) -> None:
    facts = Facts(ddp(objects=objects).trace())
    found = facts.communication.objects
    assert found.functions == functions
    # Two collectives of a millisecond, and some ops, stand between; what follows the last op of four steps nobody knows.
    expected = 4_270_000 - 1_000_000 / 4 if objects is not None else 0
    assert facts.steps.per_step(found.time.total_ns) == pytest.approx(expected, rel=0.02)
