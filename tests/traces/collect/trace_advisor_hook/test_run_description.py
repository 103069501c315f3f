"""How many ranks of the job share the machine: as the launcher says it, or where they meet on it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from traces.collect.trace_advisor_hook.run_description import local_ranks, parameter_bytes


@pytest.mark.parametrize(
    ("environment", "ranks"),
    [
        ({"LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1"}, 2),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 4),
        ({"MASTER_ADDR": "localhost"}, 8),
        ({"MASTER_ADDR": "10.0.0.1"}, None),
        ({"LOCAL_WORLD_SIZE": "many"}, None),
        # A digit to Python, and no number.
        ({"LOCAL_WORLD_SIZE": "²"}, None),
        ({}, None),
    ],
)
def test_who_shares_the_machine(environment: dict[str, str], ranks: int | None) -> None:
    """A job of eight."""
    assert local_ranks(8, environment) == ranks


@pytest.mark.parametrize(("kind", "each"), [("float32", 4), ("float64", 8)])
def test_what_the_parameters_take_says_their_bits(kind: str, each: int) -> None:
    model = torch.nn.Linear(3, 4).to(getattr(torch, kind))
    assert parameter_bytes(torch.optim.SGD(model.parameters(), 0.1)) == 16 * each
    assert parameter_bytes(None) is None
