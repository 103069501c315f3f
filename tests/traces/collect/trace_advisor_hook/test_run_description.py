"""How many ranks of the job share the machine: as the launcher says it, or where they meet on it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from traces.collect.trace_advisor_hook.run_description import local_ranks


@pytest.mark.parametrize(
    ("environment", "ranks"),
    [
        ({"LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1"}, 2),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 4),
        ({"MASTER_ADDR": "localhost"}, 8),
        ({"MASTER_ADDR": "10.0.0.1"}, None),
        ({"LOCAL_WORLD_SIZE": "many"}, None),
        ({}, None),
    ],
)
def test_who_shares_the_machine(environment: dict[str, str], ranks: int | None) -> None:
    """A job of eight."""
    assert local_ranks(8, environment) == ranks
