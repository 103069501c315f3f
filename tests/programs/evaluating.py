"""Programs that run a model without training it: an evaluation over a data set, or answers to requests."""

from __future__ import annotations

from contextlib import ExitStack

from building.clocked import Clocked
from stories.models import FUSED_ADAM, layers, layers_back


def passes(
    *, loader: bool = False, function: str | None = None, checks: str | None = None, around: str | None = None,
    name: str | None = None,
) -> Clocked:  # fmt: skip
    """Eight forward passes of 10 ms that are not marked, in front of each 20 ms in which the next input is got.

    Args:
        loader: Whether a DataLoader gives it.
        function: Of the program, around all passes.
        checks: Of the program, in front of each pass, in which no op runs.
        around: A range around all passes.
        name: Of a range around each.
    """
    world = Clocked(marks=False)
    with ExitStack() as whole:
        if around is not None:
            whole.enter_context(world.inside(around))
        if function is not None:
            whole.enter_context(world.stack("main.py(20): main", f"main.py(80): {function}"))
        for _ in range(8):
            with ExitStack() as each:
                if name is not None:
                    each.enter_context(world.inside(name))
                if loader:
                    world.load(20_000)
                elif checks is not None:
                    with world.stack("main.py(20): main", f"main.py(90): {checks}"):
                        world.idle(20_000)
                else:
                    world.idle(20_000)
                world.copied("HtoD", 4 << 20)
                layers(world, 6)
                world.read_value()
    return world


def turns(kinds: str, *, loader: bool = True, replayed: bool = False, marks: bool = False) -> Clocked:
    """Iterations one after the other: `t` trains for 24 ms, `e` runs the model forward for 10, `a` trains without an update.

    Args:
        kinds: A letter for each.
        loader: Whether those that only run the model draw batches.
        replayed: Whether those are whole steps that a graph replays.
        marks: Whether steps are marked.
    """
    world = Clocked(marks=marks)
    for number, kind in enumerate(kinds):
        with world.marked(number):
            if loader or kind != "e":
                world.load(3_000, workers=2)
            if kind == "e" and replayed:
                world.graph([("gemm", 7_000)])
            else:
                layers(world, 4)
            if kind != "e":
                layers_back(world, 4)
            if kind == "t":
                begin = world.now
                world.kernel_of("aten::_fused_adamw_", FUSED_ADAM, 300)
                world.optimizer(begin, world.now - begin, "AdamW")
            world.read_value()
    return world
