"""Activations that are kept on the host until the backward pass asks for them: no batch, and no weights."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.clocked import Clocked
from rules.sync.blocking_copy_out import RULE as OUT
from rules.transfer.exposed_input_copies import RULE as EXPOSED
from rules.transfer.pageable_copies import RULE as IN
from running.one_rule import judged
from stories.models import layer


def world(*, backwards: bool = True, sizes: tuple[int, int] = (48, 48), pinned: bool = False) -> Clocked:
    """Each of twelve layers copies its activations to the host, and each node of the backward pass, or the loop, asks for some."""
    found = Clocked()
    for _ in found.steps(4):
        found.load(50, workers=4)
        found.copied("HtoD", 1 << 20, pinned=True)
        for _ in range(12):
            layer(found)
            found.copied("DtoH", sizes[0] << 20, pinned=pinned)
        if not backwards:
            for _ in range(12):
                found.copied("HtoD", sizes[1] << 20)
        with found.backward():
            for _ in range(12):
                with found.node("MmBackward0"):
                    if backwards:
                        found.copied("HtoD", sizes[1] << 20, pinned=pinned, blocks=True)
                    layer(found, 2, backward=True)
    return found


def test_they_are_saved_from_pinned_memory_or_computed_again() -> None:
    for rule in (IN, OUT):
        codes = [fix.code for fix in judged(rule, world()).finding.fix]
        assert any("save_on_cpu(pin_memory=True)" in code for code in codes)
        assert any("checkpoint(" in code for code in codes)
        assert not any("DataLoader(" in code or "offload()" in code for code in codes)


@pytest.mark.parametrize("pinned", [False, True])
def test_copies_that_delay_kernels_are_no_batches_either(*, pinned: bool) -> None:
    finding = judged(EXPOSED, world(pinned=pinned)).finding
    codes = "\n".join(fix.code for fix in finding.fix)
    assert "activations" in finding.why
    assert ("save_on_cpu(pin_memory=True)" in codes, "use_streams=True" in codes) == (not pinned, pinned)
    assert "iter(loader)" not in codes


@pytest.mark.parametrize(
    ("how", "saved"),
    [({}, True), ({"backwards": False}, False), ({"sizes": (48, 20)}, False)],
    ids=["asked for backwards", "asked for by the loop", "of other sizes"],
)
def test_what_comes_back_to_the_backward_pass_was_saved(how: dict[str, object], *, saved: bool) -> None:
    facts = Facts(world(**how).trace())  # type: ignore[arg-type]
    assert facts.transfer.activations_saved is saved
