"""The critical path through replayed CUDA graphs: what a shorter kernel brings where dependencies are recorded, and where not."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from analyzer.facts import Facts
from analyzer.spans.arrays import BoolArray
from building.builders import TraceBuilder
from programs.graphs import FIRST_EDGE, FORK, Node, flow, replays
from rules.evidence import kernel_saving


def on(facts: Facts, *places: int, nodes: int = len(FORK)) -> BoolArray:
    """The kernels at these places of every replay."""
    frame = facts.kernels.named.frame
    order = np.lexsort((frame["stream"].to_numpy(), frame["start_ns"].to_numpy()))
    chosen = np.zeros(len(frame), dtype=bool)
    chosen[order[np.isin(np.arange(len(frame)) % nodes, places)]] = True
    return chosen


def test_only_the_longer_branch_of_a_fork_is_critical() -> None:
    facts = Facts(replays().trace())
    paths = facts.kernels.graph_paths
    assert (paths.replays, paths.known) == (4, 4)
    assert (paths.critical == on(facts, 0, 1, 3)).all()


@pytest.mark.parametrize(
    ("places", "ratio", "beside"),
    [
        ((2,), 1.0, 1.0), ((1,), 0.5, 0.0), ((0, 3), 1.0, 0.0),
        # From 600 down to nothing: the branch beside it, of 200, is what remains.
        ((1,), 1.0, 200 / 600),
        # Both branches gone: 600 of 800 are gained.
        ((1, 2), 1.0, 200 / 800),
    ],
)  # fmt: skip
def test_what_shortening_brings_is_what_the_replay_ends_earlier(
    places: tuple[int, ...], ratio: float, beside: float
) -> None:
    facts = Facts(replays().trace())
    found = facts.kernels.graph_paths.beside_ratio([(on(facts, *places), ratio)])
    assert found == pytest.approx(beside, abs=0.001)


def test_two_branches_of_one_length_gain_nothing_alone() -> None:
    nodes = (Node(0, 100, 7), Node(105, 300, 7, (0,)), Node(105, 300, 13, (0,)), Node(410, 50, 7, (1, 2)))
    facts = Facts(replays(nodes).trace())
    paths = facts.kernels.graph_paths
    assert paths.beside_ratio([(on(facts, 1), 0.5)]) == pytest.approx(1.0)
    assert paths.beside_ratio([(on(facts, 1, 2), 0.5)]) == pytest.approx(0.5)


def test_a_stream_does_one_thing_after_the_other() -> None:
    """The second node of stream 13 waits for the first of it, whatever the graph says: shortening that one brings all of it."""
    nodes = (
        Node(0, 100, 7), Node(105, 300, 13, (0,)), Node(410, 300, 13, (0,)), Node(105, 100, 7, (0,)), Node(715, 50, 7, (2, 3)),
    )  # fmt: skip
    facts = Facts(replays(nodes).trace())
    first = (facts.kernels.named.frame["stream"] == 13).to_numpy()
    assert facts.kernels.graph_paths.known == 4
    assert facts.kernels.graph_paths.beside_ratio([(first, 0.3)]) == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize("edges", [False, True])
def test_only_what_is_likely_changes(edges: bool) -> None:
    facts = Facts(replays(edges=edges).trace())
    rows = on(facts, 2)
    saving = kernel_saving(facts, 4 * 200_000, "kernels of the short branch", of=((rows, 1.0),))
    assert saving.kernel_ns == 4 * 200_000
    assert (saving.usual_kernel_ns == 0) is edges
    assert ("100 % of it runs beside the critical path" in saving.basis) is edges


LATE = (Node(0, 100, 7), Node(105, 600, 7, (0,)), Node(105, 200, 13, (0,)), Node(710, 100, 13, (1, 2)))


@pytest.mark.parametrize(
    ("nodes", "lost", "known"),
    [
        # It waits for nothing that is recorded, and begins late.
        (FORK, (0, 1), 0),
        # It begins long after the only one that it is known to wait for.
        (LATE, (1, 3), 0),
        # The stream says the same as the dependency.
        (FORK, (1, 3), 4), (LATE, (2, 3), 4), (LATE, (9, 9), 4),
    ],
)  # fmt: skip
def test_a_dependency_that_is_not_recorded_is_not_guessed(
    nodes: tuple[Node, ...], lost: tuple[int, int], known: int
) -> None:
    paths = Facts(replays(nodes, lost=[lost]).trace()).kernels.graph_paths
    assert (paths.replays, paths.known) == (4, known)


def test_a_node_that_waits_for_room_makes_its_replay_unknown() -> None:
    """Why it begins late no dependency says: the device may have been full, and then anything shorter helps."""
    nodes = (Node(0, 100, 7), Node(105, 600, 7, (0,)), Node(500, 200, 13, (0,)), Node(710, 100, 7, (1, 2)))
    assert Facts(replays(nodes).trace()).kernels.graph_paths.known == 0


@pytest.mark.parametrize("shift", [0.5, 0.001])
def test_an_end_that_fits_no_node_makes_its_replay_unknown(shift: float) -> None:
    builder = replays()
    ends = [event for event in builder.events if event["ph"] == "s"]
    # The first replay's only; a nanosecond is rounding.
    ends[0]["ts"] += shift
    facts = Facts(builder.trace())
    assert facts.kernels.graph_paths.known == (3 if shift > 0.1 else 4)
    assert facts.kernels.graph_paths.replays == 4


def test_a_dependency_of_which_neither_node_is_known_makes_replays_of_its_time_unknown() -> None:
    builder = replays()
    flow(builder, "s", FIRST_EDGE + 500, 99, 300)
    flow(builder, "f", FIRST_EDGE + 500, 98, 310)
    assert Facts(builder.trace()).kernels.graph_paths.known == 3


def test_half_a_dependency_makes_its_replay_unknown() -> None:
    builder = replays()
    builder.events.remove(next(event for event in builder.events if event["ph"] == "f"))
    assert Facts(builder.trace()).kernels.graph_paths.known == 3


def test_nodes_that_only_record_an_event_or_call_the_host_are_no_kernels() -> None:
    builder = replays()
    for name, kind in (("EventRecord", "graph_event_node"), ("HostNode: callback", "graph_host_node")):
        arguments = {"device": 0, "stream": 21, "correlation": 1}
        builder.event(name, kind, 400, 60, pid=0, tid=21, args=arguments)
    facts = Facts(builder.trace())
    assert facts.trace.unknown_categories == ()
    assert len(facts.kernels.named.frame) == 4 * len(FORK)
    assert "HostNode: callback" not in set(facts.kernels.named.frame["name"])


def test_other_flows_are_no_dependencies() -> None:
    builder = replays(edges=False)
    flow(builder, "s", 77, 7, 40)
    flow(builder, "f", 77, 7, 45)
    for odd in ("abc", {"a": 1}, None, -1, 2**80):
        flow(builder, "f", odd, 7, 45)  # type: ignore[arg-type]
    trace = builder.trace()
    assert len(trace.graph_edges) == 0
    assert trace.repairs == ()
    assert Facts(trace).kernels.graph_paths.beside_ratio([(Facts(trace).kernels.named.every, 1.0)]) == 0.0


def test_without_a_device_there_are_none() -> None:
    facts = Facts(TraceBuilder(None).step(0, 0, 100).trace())
    assert facts.kernels.graph_paths.replays == 0
    assert facts.kernels.graph_paths.beside_ratio([]) == 0.0


def test_torch_itself_draws_them_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own exporter on made-up records of one replay: nodes, and which other nodes each waits for."""
    # Only the numbers of calls are taken from there.
    names: Any = ModuleType("cupti.cupti")
    names.Driver_api_trace_cbid = names.Runtime_api_trace_cbid = MagicMock()
    monkeypatch.setitem(sys.modules, "cupti", ModuleType("cupti"))
    monkeypatch.setitem(sys.modules, "cupti.cupti", names)
    exporter = pytest.importorskip("torch.profiler._cuspy.trace", reason="torch before 2.15")
    builder = replays(steps=1, edges=False)
    work = [event for event in builder.events if event["cat"] == "kernel"]
    rows = []
    for place, event in enumerate(work):
        start, dur = (round(event[key] * 1_000) for key in ("ts", "dur"))
        rows.append((event["args"]["correlation"], place + 1, 0, event["tid"], start, start + dur))
    awaits = {place + 1: [one + 1 for one in node.awaits] for place, node in enumerate(FORK) if node.awaits}
    builder.events += exporter._graph_dependency_flow_events(rows, awaits, base_ns=0)
    paths = Facts(builder.trace()).kernels.graph_paths
    assert (paths.replays, paths.known) == (1, 1)
    assert (paths.critical == on(Facts(builder.trace()), 0, 1, 3)).all()
