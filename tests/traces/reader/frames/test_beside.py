"""Columns that lie beside one another are one as they are; others are copied."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.facts.host.tree import host_tree
from building.builders import TraceBuilder, as_read
from traces.reader.frames.beside import BESIDE, Beside, together
from traces.reader.names.vocabulary import Kind
from traces.trace import Trace

COLUMNS = ("start_ns", "end_ns", "thread")


def test_neighbours_are_not_copied_and_others_are() -> None:
    room = Beside({Kind.ANNOTATION: 0, Kind.OP: 3, Kind.RUNTIME: 2})
    empty, ops, calls = (room.of("start_ns", kind, rows) for kind, rows in zip(BESIDE, (0, 3, 2), strict=True))
    ops[:], calls[:] = (1, 2, 3), (4, 5)
    made = together([empty, ops, calls])
    assert made.tolist() == [1, 2, 3, 4, 5]
    assert np.shares_memory(made, ops)
    assert np.shares_memory(made, calls)
    assert not made.flags.writeable
    for parts in ([calls, ops], [ops[:2], calls], [ops, calls.copy()], [ops[::2], calls], [ops.copy(), calls.copy()]):
        made = together(parts)
        assert made.tolist() == np.concatenate(parts).tolist()
        assert not np.shares_memory(made, ops)
        assert not np.shares_memory(made, calls)
    assert together([empty]).tolist() == []


def test_a_kind_that_is_not_laid_there_has_its_own() -> None:
    room = Beside({kind: 1 for kind in BESIDE})
    assert not np.shares_memory(room.of("start_ns", Kind.KERNEL, 1), room.of("start_ns", Kind.OP, 1))


def trace(*, lost: bool) -> Trace:
    builder = TraceBuilder("cuda")
    for at in range(0, 3_000, 1_000):
        builder.step(at // 1_000, at, 1_000)
        builder.annotation("mine", at, 900)
        builder.op("aten::mm", at, 500)
        builder.op("aten::mul", at + 100, 300, thread=7)
        builder.launch(at + 50, kernel_start=at + 400, kernel_dur=100)
        builder.runtime("cudaStreamSynchronize", at + 300, 10, thread=7)
    if lost:
        # Taken out before frames are made, for what it says of its length: no hole is left between ops and calls.
        builder.op("aten::add", 2_900, -50)
    return as_read(builder.content())


@pytest.mark.parametrize("lost", [False, True])
def test_the_tree_of_the_host_is_made_of_the_frames_themselves(lost: bool) -> None:
    read = trace(lost=lost)
    tree = host_tree(read)
    assert len(read.ops) == 9
    for column in COLUMNS:
        parts = [frame[column].to_numpy() for frame in (read.annotations, read.ops, read.runtime)]
        assert tree.frame[column].to_numpy().tolist() == np.concatenate(parts).tolist()
        assert all(np.shares_memory(tree.frame[column].to_numpy(), part) for part in parts)


@pytest.mark.parametrize("modules", [0, 2])
def test_which_op_a_row_of_the_tree_is(modules: int) -> None:
    builder = TraceBuilder()
    for at in range(modules):
        builder.annotation(f"nn.Module: layer{at}", 1_000 * at, 10)
    builder.annotation("mine", 0, 900)
    for at, name in enumerate(("aten::mm", "aten::mul", "aten::mm")):
        builder.op(name, 100 * at, 50)
    read = as_read(builder.content())
    tree = host_tree(read)
    assert tree.ops(np.flatnonzero(tree.named("aten::mul"))).tolist() == [1]
    assert tree.ops(np.flatnonzero(tree.of_source("ops"))).tolist() == list(range(len(read.ops)))
