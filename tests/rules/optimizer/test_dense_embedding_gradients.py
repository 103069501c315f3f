"""OP006: a table of a million rows of which a batch looks up a few thousand, with a dense gradient and an update of all rows."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from building.builders import AUTOGRAD, TraceBuilder
from rules import RULES
from rules.optimizer.dense_embedding_gradients import RULE
from running.one_rule import judged, run

STEP = 100_000
ROWS, WIDTH = 1_000_000, 32
TABLE, LAYER = [ROWS, WIDTH], [1, WIDTH]
# What each class of torch.optim does to one parameter.
PASSES = {
    "SGD": ("aten::add_",),
    "Adagrad": ("aten::addcmul_", "aten::sqrt", "aten::add_", "aten::addcdiv_"),
    "Adam": ("aten::lerp_", "aten::mul_", "aten::addcmul_", "aten::sqrt", "aten::div_", "aten::add_", "aten::addcdiv_"),
    "RMSprop": ("aten::mul_", "aten::addcmul_", "aten::sqrt", "aten::addcdiv_"),
    "momentum": ("aten::mul_", "aten::add_", "aten::add_"),
}


class _Step:
    """One step at a moment; on a device each op launches one kernel, which runs in a row behind the others."""

    def __init__(self, builder: TraceBuilder, at: float) -> None:
        self.builder, self.at, self.free = builder, at, at + 100

    def op(self, name: str, dur: float, dims: list[object], *, thread: int, sequence: int | None = None) -> None:
        """An op of such inputs, whose kernel runs for `dur`; without a device it takes as long itself."""
        args: dict[str, object] = {"Input Dims": dims}
        if sequence is not None:
            args["Sequence number"] = sequence
        host = dur if self.builder.device is None else 20
        self.builder.op(name, self.at, host, thread=thread, **args)
        if self.builder.device is not None:
            self.builder.launch(self.at + 1, kernel_start=self.free, kernel_dur=dur - 2, op=None, thread=thread)
            self.free += dur
        self.at += host + 1

    def lookups(self, count: int, indices: int, table: list[int], sequence: int) -> None:
        """Lookups of as many rows each."""
        for _ in range(count):
            self.op("aten::embedding", 500, [table, [indices], [], [], []], thread=4242, sequence=sequence)

    def gradient(
        self, name: str, thread: int, fill: float, indices: int, table: list[int], *, adding: float | None
    ) -> None:
        """A dense gradient: a table of zeros, to which the rows are added; then it is added to another of its table."""
        begin = self.at
        self.at += 10
        self.op("aten::zero_", fill, [table], thread=thread)
        self.op("aten::add_", 1_000, [[indices, WIDTH]], thread=thread)
        dims = [[indices, WIDTH], [indices], [], [], []]
        self.builder.op(name, begin, self.at - begin, thread=thread, **{"Input Dims": dims})
        if adding is not None:
            self.op("aten::add", adding, [table, table, []], thread=thread)

    def update(self, op: str, dur: float, tables: list[list[int]], of_list: list[object] | None) -> None:
        """One op of the optimizer: of each table, or of a list."""
        if of_list is not None:
            self.op(op.replace("aten::", "aten::_foreach_"), dur, [of_list, of_list, []], thread=4242)
            return
        for table in tables:
            self.op(op, dur, [table, table, []], thread=4242)


def world(
    *, device: str | None = None, optimizer: str = "SGD", indices: int = 5_000, rows: int = ROWS, fill: float = 20_000,
    each: float = 8_000, tied: bool = False, shapes: bool = True, lists: bool = False, hidden: bool = False, steps: int = 3,
    clipped: bool = False, bag: bool = False, penalty: bool = False, reduced: bool = False, tables: int = 1, lookups: int = 1,
) -> TraceBuilder:  # fmt: skip
    """Steps of 100 ms: a lookup, its gradient with zeros for `fill`, a head, and an update that passes over the table.

    With several tables of that shape, or several lookups of each, all of it as often, and gradients of one table are added up.
    """
    builder = TraceBuilder(device)
    table: list[int] = [rows, WIDTH]
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        step = _Step(builder, at + 100)
        backward = 4242 if device is None else AUTOGRAD
        step.lookups(tables * lookups, indices, table, 10 * number)
        if penalty:
            step.op("aten::pow", 500, [table, []], thread=4242, sequence=10 * number + 1)
        weight = table if tied else LAYER
        step.op("aten::linear", 2_000, [[indices, WIDTH], weight, []], thread=4242, sequence=10 * number + 2)
        name = "aten::_embedding_bag_dense_backward" if bag else "aten::embedding_dense_backward"
        for lookup in range(tables * lookups):
            step.gradient(name, backward, fill, indices, table, adding=each if lookup % lookups else None)
        if clipped:
            step.op("aten::linalg_vector_norm", each, [table, []], thread=4242)
        if reduced:
            builder.launch(
                step.at, kernel_start=step.free, kernel_dur=3_000, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
                op="c10d::allreduce_", stream=20,
            )  # fmt: skip
            step.at, step.free = step.at + 10, step.free + 3_000
        begin = step.at
        step.at += 10
        hiding: list[object] = [] if hidden else [*[table] * tables, [rows, WIDTH * 3]]
        for op in PASSES[optimizer]:
            step.update(op, each, [table] * tables, hiding if lists else None)
        kind = "SGD" if optimizer == "momentum" else optimizer
        builder.optimizer(begin, step.at - begin, kind)
        if device is not None:
            # The rest of the step computes: what kernels get shorter by reaches the clock.
            step.op("aten::mm", (number + 1) * STEP - step.free, [[8, 8], [8, 8]], thread=4242)
        if not shapes:
            for event in builder.events:
                event.get("args", {}).pop("Input Dims", None)
    return builder


@pytest.mark.parametrize("device", [None, "cuda"])
def test_fires_with_zeros_and_passes(device: str | None) -> None:
    found = judged(RULE, world(device=device))
    assert found.confidence is Confidence.HIGH
    assert "1,000,000 rows, of which an update looks up at most 0.5 %" in found.finding.why
    assert "zeros takes 20 ms, and 8.0 ms go into ops" in found.finding.why
    assert found.finding.saving.usual_ns == pytest.approx(3 * (20e6 + 0.995 * 8e6), rel=0.1)
    (fix,) = found.finding.fix
    assert "sparse=True" in fix.code
    assert "the result is the same" in fix.note


def test_the_bound_holds_the_whole_gradient_on_a_device() -> None:
    saving = judged(RULE, world(device="cuda")).finding.saving
    assert saving.kernel_ns == pytest.approx(3 * (20e6 + 1e6 + 8e6), rel=0.01)


def test_a_bag_is_a_table_too() -> None:
    assert run(RULE, world(bag=True)).state is State.FIRED


def test_adam_gets_another_optimizer_and_hears_what_changes() -> None:
    found = judged(RULE, world(optimizer="Adam", each=2_000))
    assert found.confidence is Confidence.MEDIUM
    assert "SparseAdam" in found.finding.fix[0].code
    assert any("moves rows that are not in the batch" in caveat for caveat in found.finding.caveats)


def test_clipping_passes_over_the_gradient_too() -> None:
    plain, clipped = (judged(RULE, world(clipped=each)).finding.saving for each in (False, True))
    assert clipped.usual_ns - plain.usual_ns == pytest.approx(3 * 0.995 * 8e6, rel=0.01)


def test_of_a_list_only_the_part_of_the_table_counts() -> None:
    found = judged(RULE, world(device="cuda", lists=True)).finding
    assert "2.0 ms go into ops" in found.why


def test_lists_without_shapes_are_in_the_bound_alone() -> None:
    found = judged(RULE, world(device="cuda", lists=True, hidden=True))
    assert "was not recorded" in found.finding.why
    assert "was not recorded" in found.finding.saving.basis
    assert found.finding.saving.kernel_ns == pytest.approx(3 * 29e6, rel=0.01)
    assert found.finding.saving.usual_ns < 3 * 20.1e6
    assert found.confidence is Confidence.MEDIUM


def fused_notes(builder: TraceBuilder) -> list[str]:
    """What stands beside each `fused=True` for all parameters."""
    found = explain_facts(Facts(builder.trace()), rules=RULES).analysis.findings
    return [fix.note for one in found for fix in one.fix if "fused=True" in fix.code]


@pytest.mark.parametrize("tied", [False, True])
def test_a_fused_update_is_not_advised_for_the_table(tied: bool) -> None:
    """Where the table's gradient may become sparse, no fused optimizer takes it."""
    notes = fused_notes(world(device="cuda", optimizer="Adagrad", each=6_000, lists=True, tied=tied))
    assert notes
    assert all(("an optimizer of its own" in note) is not tied for note in notes)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"tied": True}, "aten::linear"),
        ({"penalty": True}, "aten::pow"),
        ({"optimizer": "momentum", "each": 3_000}, "more than once"),
        ({"optimizer": "RMSprop", "each": 3_000}, "RMSprop takes no sparse gradients"),
        ({"indices": 200_000}, "20 % of a table's rows"),
        ({"device": "cuda", "reduced": True}, "NCCL"),
    ],
    ids=["tied", "penalised", "momentum", "another optimizer", "many rows", "reduced by NCCL"],
)
def test_leaves_alone_what_sparse_gradients_do_not_go_with(what: dict[str, object], words: str) -> None:
    result = run(RULE, world(**what))  # type: ignore[arg-type]
    assert result.state is State.CLEAR
    assert words in result.reason


@pytest.mark.parametrize("what", [{}, {"lists": True}, {"lists": True, "hidden": True}], ids=["ops", "lists", "hidden"])
def test_the_rows_of_all_tables_of_a_shape_are_counted_and_those_of_one_looked_up_again_are_not(
    what: dict[str, bool],
) -> None:
    device = "cuda" if what else None
    common = {"indices": 60_000, "fill": 4_000, "each": 2_000, "device": device}
    several = judged(RULE, world(tables=4, **common, **what)).finding  # type: ignore[arg-type]
    assert (
        "of 4 embeddings are whole tables of 1,000,000 rows each, of all of which an update looks up at most 6.0 %"
        in several.why
    )
    once = run(RULE, world(lookups=4, **common, **what))  # type: ignore[arg-type]
    assert once.state is State.CLEAR
    assert "24 % of a table's rows" in once.reason


def test_momentum_is_seen_in_the_passes_over_a_table_that_is_looked_up_several_times() -> None:
    result = run(RULE, world(lookups=4, indices=5_000, fill=4_000, each=2_000, optimizer="momentum"))
    assert result.state is State.CLEAR
    assert "more than once" in result.reason


@pytest.mark.parametrize("tables", [6, 7])
def test_one_pass_over_each_of_several_tables_is_no_momentum(tables: int) -> None:
    several = world(tables=tables, indices=5_000, fill=1_500, each=700, steps=5)
    assert run(RULE, several).state is State.FIRED
    moved = world(tables=tables, indices=5_000, fill=1_500, each=700, steps=5, optimizer="momentum")
    assert "more than once" in run(RULE, moved).reason


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"device": "cuda"}, "record_shapes=True"),
        ({"fill": 4_900}, "record_shapes=True"),
        ({"lookups": 2, "each": 12_000}, "adds up something as large"),
    ],
    ids=["on a device", "many rows", "summed"],
)
def test_cannot_tell_without_shapes(what: dict[str, object], words: str) -> None:
    result = run(RULE, world(shapes=False, **what))  # type: ignore[arg-type]
    assert result.state is State.CANNOT_TELL
    assert words in result.reason


def test_time_tells_without_shapes_how_few_rows_are_looked_up() -> None:
    found = judged(RULE, world(shapes=False))
    assert found.confidence is Confidence.MEDIUM
    assert "takes 20 ms" in found.finding.why
    assert "the lookups 500 us" in found.finding.why
    assert "at most about 2.5 %" in found.finding.why
    assert found.finding.saving.usual_ns == pytest.approx(3 * 20e6, rel=0.01)
    assert "sparse=True" in found.finding.fix[0].code
    assert "record_shapes=True" in found.finding.saving.basis


@pytest.mark.parametrize(("lacked", "fires"), [(0.05, True), (0.9, False)])
def test_time_tells_nothing_where_the_thread_had_no_core_for_as_long(lacked: float, *, fires: bool) -> None:
    builder = world(shapes=False)
    builder.top["advisor"] = {"core_wait_ratio": lacked}
    result = run(RULE, builder)
    assert bool(result.findings) is fires
    assert fires or "but the thread had no core for" in result.reason


def test_other_training_is_advised_with_less_confidence_without_shapes() -> None:
    found = judged(RULE, world(shapes=False, optimizer="Adam", each=2_000))
    assert found.confidence is Confidence.LOW
    assert "SparseAdam" in found.finding.fix[0].code


def test_momentum_is_seen_without_shapes() -> None:
    result = run(RULE, world(shapes=False, optimizer="momentum", each=3_000))
    assert result.state is State.CLEAR
    assert "more than once" in result.reason


def test_not_applicable_where_gradients_are_sparse() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * STEP, STEP)
        dims = {"Input Dims": [[5_000, WIDTH], [5_000], [], [], []]}
        builder.op("aten::embedding_sparse_backward", number * STEP, 100, **dims)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("fill", "state"), [(4_900, State.CLEAR), (5_100, State.FIRED)])
def test_boundary_of_time(fill: float, state: State) -> None:
    assert run(RULE, world(fill=fill, each=10)).state is state


@pytest.mark.parametrize(("indices", "state"), [(99_000, State.FIRED), (101_000, State.CLEAR)])
def test_boundary_of_rows(indices: int, state: State) -> None:
    assert run(RULE, world(indices=indices)).state is state
