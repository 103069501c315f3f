"""PY002: a loss that goes through its batch sample by sample, between the last layer and the backward pass."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Confidence, Severity, State
from building.builders import AUTOGRAD, TraceBuilder
from building.clocked import Clocked
from rules.python.drawn import FOR_ALL
from rules.python.element_loop import RULE
from rules.python.python_overhead import RULE as PYTHON
from rules.python.repeated_small_ops import RULE as SMALL
from running.one_rule import judged, run

STEP = 10_000
UNIT = ("aten::select", "aten::select", "aten::sub", "aten::add")


def world(
    *,
    samples: int = 40,
    each: float = 8,
    device: str | None = None,
    unit: tuple[str, ...] = UNIT,
    inside: str | None = None,
    backward: bool = True,
    busy: bool = False,
) -> TraceBuilder:
    """Steps of 10 ms: a layer of 1 ms, then `samples` times the unit with 2 us of Python between ops, then the backward pass."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 990, **{"Sequence number": number * 1_000})
        start = at + 1_000
        length = samples * len(unit) * (each + 2)
        if inside == "loader":
            builder.loader(start, length)
        elif inside is not None:
            builder.op(inside, start, length)
        for index in range(samples * len(unit)):
            when = start + index * (each + 2)
            builder.op(unit[index % len(unit)], when, each, **{"Sequence number": number * 1_000 + 1 + index})
        if device:
            builder.launch(at, kernel_start=at + 5, kernel_dur=9_990 if busy else 990)
            builder.launch(start + length, kernel_start=start + length + 5, kernel_dur=100)
        if backward:
            thread = AUTOGRAD if device else None
            extra = {"thread": thread} if thread else {}
            node = "autograd::engine::evaluate_function: SubBackward0"
            builder.op(node, at + 9_000, 500, **extra, **{"Sequence number": number * 1_000 + 2})
            builder.op(
                "autograd::engine::evaluate_function: AddmmBackward0",
                at + 9_600,
                300,
                **extra,
                **{"Sequence number": number * 1_000},
            )
    return builder


def stalled(builder: TraceBuilder, *, every: int, by: float) -> TraceBuilder:
    """The same loops, but that one op in so many takes longer, and the others come later by as much."""
    for number in range(3):
        loop = [
            event
            for event in builder.events
            if event["name"] in UNIT and number * STEP <= event["ts"] < (number + 1) * STEP
        ]
        for index, event in enumerate(loop):
            event["ts"] += by * (index // every)
            event["dur"] += by if index % every == every - 1 else 0
    return builder


def test_ops_that_stood_still_make_small_ops_no_large_ones() -> None:
    """Three ops a step that take 2 ms instead of 8 us make 46 us of the mean."""
    quiet, noisy = judged(RULE, world()), judged(RULE, stalled(world(), every=50, by=2_000))
    assert noisy.finding.saving.kernel_ns > quiet.finding.saving.kernel_ns > 0
    long = judged(RULE, world(samples=15, each=100))
    assert long.finding.saving.kernel_ns == 0


def test_fires_on_the_cpu_with_all_but_one_repetition() -> None:
    found = judged(RULE, world())
    # 40 x 4 ops of 8 us with 2 us between them, less the last gap: 1,598 us, and 500 us in the backward pass.
    loop = 3 * (40 * 4 * 8 + 500) * (1 - 1 / 40)
    between = 3 * (40 * 4 - 1) * 2 * (1 - 1 / 40)
    assert found.finding.saving.kernel_ns == pytest.approx(loop * 1_000, abs=2)
    assert found.finding.saving.claims.total_ns == pytest.approx(between * 1_000, abs=500)
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.title == "Loss computed in a Python loop"
    assert "the same 4 ops (`select, select, sub, add`) run 40 times in a row" in found.finding.why
    assert "1.6 ms and 500 us in its backward pass of each 10 ms step" in found.finding.why


def test_on_a_device_only_its_idle_time_counts() -> None:
    assert judged(RULE, world(device="cuda")).finding.saving.claims.total_ns > 3 * 1_500_000
    assert judged(RULE, world(device="cuda", busy=True)).finding.saving.claims.total_ns == 0


def test_the_body_of_a_box_loss_written_by_hand_is_long() -> None:
    """An overlap of two boxes by coordinates takes 30 ops; as long a turn with a layer in it is a block of a model."""
    corner = ("aten::slice", "aten::slice", "aten::max")
    side = ("aten::select", "aten::select", "aten::sub")
    body = (
        *corner,
        *corner,
        "aten::clamp",
        *side * 6,
        "aten::mul",
        "aten::add",
        "aten::div",
        "aten::rsub",
        "aten::add_",
    )
    found = judged(RULE, world(samples=12, each=3, unit=body))
    assert f"the same {len(body)} ops" in found.finding.why
    assert len(body) > 16
    assert run(RULE, world(samples=12, each=3, unit=(*body, "aten::addmm"))).state is State.CLEAR


def test_long_ops_would_take_their_time_in_one_call_as_well() -> None:
    found = judged(RULE, world(samples=12, each=100))
    assert found.finding.saving.kernel_ns == 0


def holding(inner: int, ns_each: float) -> TraceBuilder:
    """The loop of ops of 40 us, each of which calls some shorter ones."""
    builder = world(samples=15, each=40)
    for event in [event for event in builder.events if event["name"] in UNIT]:
        for number in range(inner):
            builder.op("aten::as_strided", event["ts"] + 1 + number * (ns_each + 1), ns_each)
    return builder


def test_of_long_ops_what_the_short_ones_in_them_take_is_counted() -> None:
    """Of 40 us four ops of 8 us are dispatch as the 8 us around them are; one of 35 us computes, and only what is around it is."""
    short, long = (judged(RULE, holding(*inner)).finding.saving.kernel_ns for inner in ((4, 8), (1, 35)))
    assert short == pytest.approx(3 * (15 * 4 * 40 + 500) * 1_000 * (1 - 1 / 15), rel=0.2)
    assert 0 < long < short / 4


@pytest.mark.parametrize(("median_ns", "counts"), [(175_000, False), (290_000, False), (370_000, True)])
def test_on_a_slow_core_longer_ops_are_dispatch_and_on_a_shared_one_not(median_ns: int, counts: bool) -> None:
    """Half of the rounds of an empty loop take 1.7 or 2.1 times as long as on a quiet core: 40 us are as 24 or 19 us there."""
    builder = world(samples=15, each=40)
    builder.top["advisor"] = {"python_loop": {"turns": 10_000, "median_ns": median_ns, "mean_ns": 1_000_000}}
    found = judged(RULE, builder).finding
    assert (found.saving.kernel_ns > 0) is counts


def test_a_loop_elsewhere_is_not_called_a_loss() -> None:
    found = judged(RULE, world(backward=False))
    assert found.finding.title is None
    assert "in the step" in found.finding.why


def test_a_recurrent_network_is_inherent() -> None:
    result = run(RULE, world(unit=("aten::select", "aten::rnn_tanh_cell")))
    assert result.state is State.CLEAR
    assert "steps in time" in result.reason


@pytest.mark.parametrize("inside", ["loader", "aten::lstm", "SomeBackward0"])
def test_loops_of_others_do_not_count(inside: str) -> None:
    assert run(RULE, world(inside=inside)).state is State.CLEAR


def test_a_loop_inside_the_users_own_function_counts() -> None:
    assert run(RULE, world(inside="MyLoss")).state is State.FIRED


def test_rows_of_an_unbound_tensor_are_elements_too() -> None:
    builder = world(unit=("aten::sub", "aten::pow"))
    assert run(RULE, builder).state is State.CLEAR
    for number in range(3):
        builder.op("aten::unbind", number * STEP + 992, 5)
    assert run(RULE, builder).state is State.FIRED


@pytest.mark.parametrize(("unit", "of_samples"), [(UNIT, False), (("aten::slice", "aten::cross_entropy_loss"), True)])
def test_only_a_loss_of_samples_is_known_to_need_no_turn_before_it(unit: tuple[str, ...], of_samples: bool) -> None:
    assert bool(judged(RULE, world(unit=unit)).finding.caveats) is not of_samples


def branching(*, turns: int = 40, unlike: bool = False, layer: str = "aten::div") -> TraceBuilder:
    """Steps of 10 ms that begin with a loop in which three turns of seven have one op more; or all turns differ."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        when = float(at)
        for turn in range(turns):
            more = (f"aten::made_up_{turn}",) if unlike else ("aten::flip",) if turn % 7 in (0, 2, 3) else ()
            for name in ("aten::select", layer, *more, "aten::sub"):
                builder.op(name, when, 18)
                when += 20
        builder.op("aten::linear", when, at + STEP - when)
    return builder


def test_a_branch_in_the_loop_does_not_hide_it() -> None:
    found = judged(RULE, branching())
    assert "much the same 3 ops (`select, div, sub`), in some turns also `flip`, run 39 times" in found.finding.why
    assert found.confidence is Confidence.MEDIUM
    # 39 turns that have one behind them, of 60 us; 18 of them take 20 us more.
    loop = 3 * (39 * 60 + 18 * 20) * (1 - 1 / 39)
    assert found.finding.saving.total_ns == pytest.approx(loop * 1_000, rel=0.01)


@pytest.mark.parametrize("rare", ["aten::roll", "aten::flip"])
def test_a_loop_whose_branches_differ_between_steps_is_told_once(rare: str) -> None:
    """One step takes a rarer branch as well, one none at all: each has other kinds of turns."""
    builder = TraceBuilder(None)
    for number, taken in enumerate(((), ("aten::flip",), ("aten::flip", rare))):
        at = number * STEP
        builder.step(number, at, STEP)
        when = float(at)
        for turn in range(60):
            more = taken[:1] if turn % 7 in (0, 2, 3) else taken[-1:] if turn % 7 == 5 else ()
            for name in ("aten::select", "aten::div", *more, "aten::sub"):
                builder.op(name, when, 18)
                when += 20
        builder.op("aten::linear", when, at + STEP - when)
    assert len(Facts(builder.trace()).loops.found) == 1
    assert run(RULE, builder).state is State.FIRED


def masked(*, unlike: bool = False, layer: str | None = None) -> TraceBuilder:
    """Steps of 10 ms with a loss for each of 60 classes: a mask, and what it takes where it holds some; or all turns differ."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 900, **{"Sequence number": number * 1_000})
        when = at + 1_000.0
        for turn in range(60):
            taken = ("aten::index", "aten::index", layer or "aten::cross_entropy_loss", "aten::add")
            more = (f"aten::made_up_{turn}",) if unlike else taken if turn * turn % 11 in (1, 3) else ()
            for name in ("aten::eq", "aten::any", *more):
                builder.op(name, when, 13)
                when += 15
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(node, at + 9_000, 500, **{"Sequence number": number * 1_000})
    return builder


def test_a_loss_class_by_class_is_one_loop_whichever_classes_are_there() -> None:
    found = judged(RULE, masked())
    # 59 turns that have one behind them, of two ops; some of them take four more.
    more = sum(turn * turn % 11 in (1, 3) for turn in range(59))
    assert "run 59 times in a row between the model's last layer and the backward pass" in found.finding.why
    loop = 3 * (59 * 2 + more * 4) * 15 * (1 - 1 / 59)
    assert found.finding.saving.total_ns == pytest.approx(loop * 1_000, rel=0.01)
    assert "index_add_" in found.finding.fix[0].code


def test_masks_before_layers_and_masks_without_a_pattern_are_no_loop() -> None:
    assert run(RULE, masked(unlike=True)).state is State.CLEAR
    assert run(RULE, masked(layer="aten::linear")).state is State.CLEAR


def test_values_that_each_turn_reads_are_read_once() -> None:
    """Nothing that reads a value into Python runs under vmap."""
    read = judged(RULE, world(unit=("aten::select", "aten::argmax", "aten::item"))).finding.fix
    assert "(output.argmax(1) == target).sum()" in read[0].code
    assert not any("vmap" in one.code for one in read)
    assert any("vmap" in one.code for one in judged(RULE, world()).finding.fix)


@pytest.mark.parametrize(
    ("unit", "backward", "loss"),
    [
        (("aten::select", "aten::argmax", "aten::item"), False, False),
        (("aten::select", "aten::argmax", "aten::item"), True, True),
        (("aten::select", "aten::mul", "aten::add"), False, False),
        (("aten::select", "aten::argmax", "aten::add"), False, False),
        (("aten::select", "aten::argmax", "aten::add"), True, True),
    ],
    ids=["predictions counted", "a gradient comes back", "returns added up", "a metric", "a loss"],
)
def test_turns_that_get_no_gradient_are_no_loss(unit: tuple[str, ...], backward: bool, loss: bool) -> None:
    builder = world(unit=unit)
    if not backward:
        for event in builder.events:
            if "SubBackward0" in event["name"]:
                del event["args"]["Sequence number"]
    found = judged(RULE, builder).finding
    assert (found.title == "Loss computed in a Python loop") is loss
    assert ("compare the loss" in found.verify) is loss
    assert ("No gradient comes back to it" in found.why) is not loss
    assert ("metric.compute()" in found.fix[0].code) is not loss
    assert not any("loss = loss" in fix.code for fix in found.fix) or loss


def test_without_numbers_it_is_not_known_whether_a_gradient_comes_back() -> None:
    """Ops inside a function of autograd have none either, and the function's own backward pass gives theirs."""
    builder = world()
    for event in builder.events:
        if event["name"] in UNIT:
            del event["args"]["Sequence number"]
    found = judged(RULE, builder).finding
    assert found.title is None
    assert "No gradient" not in found.why


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (("select", "item", "select", "slice", "fill_"), "torch.arange(x.shape[1]"),
        (("select", "item", "select", "slice", "slice", "copy_"), "patches.permute"),
        (("select", "item", "select", "slice", "mean"), "torch.arange(x.shape[1]"),
        (("select", "item", "select", "mul", "select", "mul", "add", "select", "copy_"), "out = a * x + b * y"),
        (("item", "item", "select", "select", "add_", "select", "select", "copy_"), "torch.bincount"),
        (("select", "item", "select", "select", "fill_"), "x[torch.arange(len(x)), n] = 1"),
        (("select", "argmax", "item"), "(output.argmax(1) == target).sum()"),
    ],
    ids=["masked", "pasted", "parts taken", "factors", "counted", "one element", "only read"],
)
def test_turns_that_read_numbers_to_write_get_what_writes_at_once(unit: tuple[str, ...], said: str) -> None:
    fix = judged(RULE, world(unit=tuple(f"aten::{name}" for name in unit), backward=False)).finding.fix
    assert said in fix[0].code
    # What is only read is counted on whole tensors; what says where to write cannot be.
    assert any("correct +=" in one.code for one in fix) is (said == "(output.argmax(1) == target).sum()")
    assert any(".tolist()" in one.code for one in fix) is (said != "(output.argmax(1) == target).sum()")


@pytest.mark.parametrize(
    ("unit", "gradient", "said"),
    [
        (
            ("select", "eq", "eq", "__and__", "sum", "item", "__or__", "sum", "item"),
            False,
            "torch.bincount(target.flatten()",
        ),
        (("select", "argmax", "select", "eq", "item"), False, "correct +="),
        (("select", "eq", "sum", "item"), False, "correct +="),
        (("select", "item", "sub", "neg", "mul", "smooth_l1_loss"), True, "values.detach()"),
        (("select", "item", "sub", "neg", "mul"), False, "correct +="),
    ],
    ids=["of each class", "of each sample", "of one value", "a loss", "no gradient"],
)
def test_turns_that_only_read_are_told_by_what_they_read_for(unit: tuple[str, ...], gradient: bool, said: str) -> None:
    fix = judged(RULE, world(unit=tuple(f"aten::{name}" for name in unit), backward=gradient)).finding.fix
    assert said in fix[0].code


OVERLAP = (
    "select",
    "select",
    "slice",
    "slice",
    "max",
    "slice",
    "slice",
    "min",
    "sub",
    "clamp",
    "mul",
    "sub",
    "div",
    "lt",
    "item",
)


@pytest.mark.parametrize(("left_out", "of_boxes"), [("", True), ("max", False), ("clamp", False), ("div", False)])
def test_boxes_compared_pair_by_pair_have_an_op_for_all(left_out: str, of_boxes: bool) -> None:
    unit = tuple(f"aten::{name}" for name in OVERLAP if name != left_out)
    fix = judged(RULE, world(unit=unit, samples=20, backward=False)).finding.fix
    assert ("torchvision.ops.nms(" in fix[0].code) is of_boxes


@pytest.mark.parametrize(("left_out", "may_be"), [("", True), ("is_nonzero", False), ("div", False), ("gt", False)])
def test_boxes_compared_by_pythons_own_numbers_may_be_it(left_out: str, may_be: bool) -> None:
    names = ("select", "select", "gt", "is_nonzero", "sub", "mul", "add", "div")
    unit = tuple(f"aten::{name}" for name in names if name != left_out)
    fix = judged(RULE, world(unit=unit, samples=20, backward=False)).finding.fix
    assert ("torchvision.ops.nms(" in fix[0].code) is may_be
    assert len(fix) > 1 or not may_be


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ("select select cosine_similarity div exp add", "F.normalize(a, dim=1) @ F.normalize(b, dim=1).T"),
        ("select select sub pow sum min add", "torch.cdist(a, b)"),
        ("select sub linalg_vector_norm min add", "torch.cdist(a, b)"),
        ("select add argmax item select sub exp sum log add", "torch.logsumexp("),
        ("select select sub pow sum add", "loss = f(output, target).sum()"),
        ("select sub exp sum log add", "loss = f(output, target).sum()"),
    ],
    ids=["angles", "nearest", "nearest by norms", "log-sum-exp", "distances of one index", "no largest"],
)
def test_what_turns_compute_says_what_computes_it_at_once(names: str, code: str) -> None:
    unit = tuple(f"aten::{name}" for name in names.split())
    assert code in judged(RULE, world(unit=unit, samples=20)).finding.fix[0].code


@pytest.mark.parametrize(("others", "named"), [(("aten::select",), "count"), (UNIT, None)])
def test_the_function_is_the_one_that_calls_all_ops_of_a_turn(others: tuple[str, ...], named: str | None) -> None:
    """Of the op that begins a turn another function makes four calls of five; where it makes all ops, nobody knows."""
    builder = world()
    rows = [{"op": op, "file": "train.py", "line": 30, "function": "act", "count": 400} for op in others]
    rows += [{"op": op, "file": "train.py", "line": 10, "function": "count", "count": 100} for op in UNIT]
    builder.top["advisor"] = {"where": rows}
    found = judged(RULE, builder).finding.location
    assert found is not None
    assert found.function == (named or "act")


@pytest.mark.parametrize("gradient", [True, False])
def test_a_recursion_without_a_gradient_may_run_on_numbers(gradient: bool) -> None:
    unit = ("aten::select", "aten::mul", "aten::add", "aten::select", "aten::copy_")
    fix = judged(RULE, world(unit=unit, backward=gradient)).finding.fix
    assert any("numpy" in one.code for one in fix) is not gradient


@pytest.mark.parametrize(
    ("unit", "numbers"),
    [(("select", "mul", "add"), True), (("select", "flip", "mul", "add"), False), (("select", "roll", "add"), False)],
)
def test_what_turns_or_shifts_a_tensor_runs_on_no_numbers(unit: tuple[str, ...], *, numbers: bool) -> None:
    fix = judged(RULE, world(unit=tuple(f"aten::{name}" for name in unit), backward=False)).finding.fix
    assert any("numpy" in one.code for one in fix) is numbers


def blurred(values: int, *, shapes: bool, device: str | None = None, each: float = 8) -> TraceBuilder:
    """`y[i] = x[i] * factor + y[i - 1]` of so many values a turn."""
    builder = world(
        unit=tuple(f"aten::{name}" for name in ("select", "mul", "add")), backward=False, device=device, each=each
    )
    for event in builder.events if shapes else ():
        if event["name"].startswith("aten::"):
            whole = event["name"] in ("aten::select", "aten::linear")
            event["args"] |= {"Input Dims": [[40, values], []] if whole else [[values], []]}
    return builder


def advised(builder: TraceBuilder) -> list[str]:
    """The code of what is advised for its loop."""
    return [one.code for one in judged(RULE, builder).finding.fix]


@pytest.mark.parametrize("device", [None, "cuda"])
@pytest.mark.parametrize(("values", "few"), [(1, True), (4096, True), (4097, False), (150_528, False)])
def test_turns_of_whole_images_run_on_no_numbers(values: int, device: str | None, *, few: bool) -> None:
    assert any("numpy" in code for code in advised(blurred(values, shapes=True, device=device))) is few


@pytest.mark.parametrize(("each", "few"), [(8, True), (40, False)])
def test_long_ops_on_the_cpu_are_of_many_values_where_no_shapes_tell(each: float, *, few: bool) -> None:
    assert any("numpy" in code for code in advised(blurred(1, shapes=False, each=each))) is few


@pytest.mark.parametrize("shapes", [True, False])
def test_what_may_be_of_any_field_is_told_in_words_of_none(*, shapes: bool) -> None:
    """`select`, `mul` and `add` are a filter's as well as those of returns."""
    assert not [code for code in advised(blurred(1, shapes=shapes)) if "reward" in code or "log_prob" in code]


@pytest.mark.parametrize("draw", [(), ("rand",), ("rand", "item"), ("uniform_",)])
def test_turns_that_draw_numbers_draw_them_for_all_at_once(draw: tuple[str, ...]) -> None:
    unit = tuple(f"aten::{name}" for name in ("select", *draw, "flip", "mul"))
    fix = judged(RULE, world(unit=unit, backward=False)).finding.fix
    assert ("torch.rand(len(x)" in fix[0].code) is bool(draw)
    if draw:
        assert not [one for one in fix if "numpy" in one.code or "correct +=" in one.code or "recursion" in one.code]


def test_the_code_that_draws_for_all_does_what_each_turn_did() -> None:
    torch = pytest.importorskip("torch")
    code = FOR_ALL.code
    removed, added = ("\n".join(line[1:] for line in code.splitlines() if line.startswith(sign)) for sign in ("-", "+"))
    images = torch.arange(24.0).view(2, 3, 2, 2)
    for part in (removed, added):
        names = {"torch": torch, "x": images.clone()}
        exec(part, names)
        for one, before in zip(names["x"], images, strict=True):
            assert any(torch.equal(one, may) for may in (before, before.flip(-1)))


def test_turns_that_all_differ_and_layers_are_no_loop() -> None:
    assert run(RULE, branching(unlike=True)).state is State.CLEAR
    assert run(RULE, branching(layer="aten::conv2d")).state is State.CLEAR
    assert run(RULE, branching(turns=20)).state is State.CLEAR
    assert run(RULE, branching(turns=21)).state is State.FIRED


def test_what_the_engine_does_between_the_nodes_of_a_loop_is_its_own() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 990, **{"Sequence number": 1_000 * number})
        for index in range(40):
            builder.op(
                "aten::select", at + 1_000 + index * 20, 8, **{"Sequence number": 1_000 * number + 2 * index + 1}
            )
            builder.op("aten::sub", at + 1_010 + index * 20, 8, **{"Sequence number": 1_000 * number + 2 * index + 2})
        builder.op("aten::ones_like", at + 3_000, 10)
        for index in range(80):
            node = "autograd::engine::evaluate_function: SubBackward0"
            builder.op(node, at + 3_050 + index * 30, 20, **{"Sequence number": 1_000 * number + 80 - index})
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(node, at + 3_050 + 80 * 30, 500, **{"Sequence number": 1_000 * number})
    (loop,) = Facts(builder.trace()).loops.found
    # 40 us in which the engine counts, 78 nodes with what follows them, and the last one, after which another's node comes; the
    # node of the loop's last op may be that of what follows the loop.
    assert loop.backward.total_ns == 3 * (40 + 78 * 30 + 20) * 1_000


def after_the_backward_pass(*unit: str) -> TraceBuilder:
    """Steps in which three small ops run for each of 40 parameters once the backward pass is over."""
    builder = world(samples=0, backward=False)
    for number in range(3):
        builder.op("autograd::engine::evaluate_function: SubBackward0", number * STEP + 2_000, 500)
        for index in range(120):
            builder.op(unit[index % 3], number * STEP + 4_000 + index * 10, 8)
    return builder


@pytest.mark.parametrize(
    ("last", "state"),
    [("torch.distributed.ddp.reducer::copy_bucket_to_grad", State.CLEAR), ("aten::add", State.FIRED)],
)
def test_what_ddp_does_with_each_gradient_is_no_loop_of_the_program(last: str, state: State) -> None:
    """With `find_unused_parameters` its reducer looks up each parameter of a bucket, in C++."""
    assert run(RULE, after_the_backward_pass("aten::select", "aten::item", last)).state is state


def test_its_time_is_not_claimed_by_the_rules_on_python_and_small_ops() -> None:
    assert run(SMALL, world()).state is State.CLEAR
    facts = Facts(world().trace())
    other = judged(PYTHON, world())
    loop = facts.loops.found[0].spans
    assert not (other.finding.saving.claims & loop)


# 40 x 4 ops take 160 x (each + 2) us of 10 ms.
@pytest.mark.parametrize(("samples", "state"), [(9, State.CLEAR), (10, State.FIRED)])
def test_boundary_of_repetitions(samples: int, state: State) -> None:
    assert run(RULE, world(samples=samples)).state is state


@pytest.mark.parametrize(("limit", "state"), [(0.211, State.CLEAR), (0.209, State.FIRED)])
def test_boundary_of_the_share(limit: float, state: State) -> None:
    assert run(RULE, world(), limits={"min_ratio": limit}).state is state


def test_names_the_users_line() -> None:
    builder = world()
    for number in range(3):
        builder.python("/srv/project/train.py(5): main", number * STEP, STEP)
        builder.python("/srv/project/losses.py(12): hinge", number * STEP + 990, 2_000)
        builder.python("torch/_tensor.py(30): __getitem__", number * STEP + 995, 100)
    found = judged(RULE, builder)
    assert found.finding.location is not None
    assert (found.finding.location.file, found.finding.location.begins, found.finding.location.function) == (
        "losses.py",
        12,
        "hinge",
    )


def test_device_traces_without_host_ops_cannot_tell() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 100).kernel("k", 200, 100)
    assert run(RULE, builder).state is State.CANNOT_TELL


@pytest.mark.parametrize(("unit", "grouped"), [(("aten::eq", "aten::index", "aten::mean"), True), (UNIT, False)])
def test_a_loop_over_groups_gets_one_pass_over_them(unit: tuple[str, ...], grouped: bool) -> None:
    fix = judged(RULE, world(unit=unit)).finding.fix
    assert ("index_add_" in fix[0].code) is grouped
    # A loop over groups needs no turn before it; any other may, and then stays a loop.
    assert ("torch.compile" in fix[-1].code) is not grouped


def test_the_line_comes_from_an_op_that_only_the_loop_calls() -> None:
    builder = world()
    place = {"file": "train.py", "function": "looped_loss", "line": 10}
    other = {"file": "train.py", "function": "main", "line": 22}
    builder.top["advisor"] = {
        "where": [
            {"op": "aten::select", "count": 80} | place,
            {"op": "aten::select", "count": 80} | other,  # the loader indexes as well
            {"op": "aten::sub", "count": 40} | place,
        ]
    }
    found = judged(RULE, builder).finding
    assert found.location is not None
    assert (found.location.line, found.location.begins, found.location.function) == (None, 10, "looped_loss")


@pytest.mark.parametrize(
    ("unit", "listed"),
    [
        (("aten::index", "aten::sum"), True),
        (("aten::index", "aten::sub", "aten::abs", "aten::sum"), False),
        (UNIT, False),
    ],
)
def test_rows_taken_by_lists_and_added_up_are_added_in_one_pass(unit: tuple[str, ...], listed: bool) -> None:
    fix = judged(RULE, world(unit=unit)).finding.fix
    assert any("repeat_interleave" in advice.code for advice in fix) is listed


@pytest.mark.parametrize(
    ("every", "told"), [(1, True), (2, False), (None, False)], ids=["each turn", "each other", "none"]
)
def test_turns_that_copy_off_the_device_get_one_copy_for_all(every: int | None, *, told: bool) -> None:
    builder = Clocked()
    for _ in builder.steps(4):
        builder.kernel_of("aten::linear/aten::addmm", "ampere_sgemm_128x64_tn", 400)
        for turn in range(24):
            builder.kernel_of("aten::index", "vectorized_elementwise_kernel<4>", 5)
            builder.kernel_of("aten::cdist", "vectorized_elementwise_kernel<4>", 5)
            if every is not None and turn % every == 0:
                builder.copied("DtoH", 64_000)
                builder.idle(200)
            else:
                builder.host_op("aten::to", 20)
    found = judged(RULE, builder).finding
    assert ("one copy for all" in found.fix[0].code) is told
    assert found.why.endswith(" They wait 24 times a step for values off the GPU.") is told


@pytest.mark.parametrize(("op", "found"), [("tensorrt::execute_engine", False), ("mine::small", True)])
def test_parts_of_a_model_that_run_as_one_op_are_layers_not_elements(op: str, *, found: bool) -> None:
    unit = (op, "aten::select", "aten::add")
    assert (run(RULE, world(unit=unit)).state is State.FIRED) is found


@pytest.mark.parametrize(
    ("unit", "said", "never"),
    [
        (("aten::select", "torchvision::nms", "aten::index"), "batched_nms", "vmap"),
        (("aten::select", "mypackage::interpolate"), "y = f(x)", "vmap"),
        (("aten::select", "aten::nonzero"), "y = f(x)", "torch.compile"),
        (("aten::select", "aten::sub", "aten::pow"), "vmap", "batched_nms"),
    ],
)
def test_vmap_is_advised_for_ops_that_it_has_a_rule_for(unit: tuple[str, ...], said: str, never: str) -> None:
    codes = [fix.code for fix in judged(RULE, world(unit=unit, backward=False)).finding.fix]
    assert any(said in code for code in codes)
    assert not any(never in code for code in codes)


GATHERED = ("aten::view", "aten::empty", "aten::select", "aten::copy_", "aten::select", "aten::copy_")
SHARDED = ("aten::narrow", "aten::copy_")


def of_library(
    unit: tuple[str, ...], *, around: str | None, thread: int | None = None, each: bool = False
) -> TraceBuilder:
    """Steps of 10 ms with thirty turns, inside a range of this name, each in one of its own or all in one, or inside none."""
    builder = TraceBuilder(None)
    there = {"thread": thread} if thread else {}
    dur = 200 / len(unit)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, 990)
        if around is not None and not each:
            builder.annotation(around, at + 1_000, 30 * 220, **there)
        for index in range(30):
            begin = at + 1_000 + index * 220
            if around is not None and each:
                builder.annotation(around, begin, 210, **there)
            for place, name in enumerate(unit):
                builder.op(name, begin + 2 + place * dur, dur - 2, **there)
    return builder


def test_what_gloo_copies_on_a_thread_of_its_own_is_no_loop_of_the_program() -> None:
    gathering = of_library(GATHERED, around="gloo:all_gather", thread=77, each=True)
    assert run(RULE, gathering).state is State.CLEAR
    assert run(RULE, of_library(GATHERED, around=None, thread=77)).state is State.FIRED


def test_what_fsdp_does_with_each_parameter_of_a_unit_is_no_loop_of_the_program() -> None:
    assert run(RULE, of_library(SHARDED, around="FSDP::post_backward_reduce (1)")).state is State.CLEAR
    assert run(RULE, of_library(SHARDED, around="for each part")).state is State.FIRED


def test_a_loop_beside_a_message_on_its_way_is_the_programs() -> None:
    assert run(RULE, of_library(SHARDED, around="gloo:send")).state is State.FIRED


@pytest.mark.parametrize("op", ["aten::argsort", "aten::mul"])
def test_what_sorts_behind_the_update_may_be_a_metric_of_a_library(op: str) -> None:
    """Steps end with the update, so that what lies behind it begins the next one."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(40):
            for place, name in enumerate(("aten::select", op, "aten::sub")):
                builder.op(name, at + 45 * index + 15 * place, 12)
        builder.op("aten::linear", at + 2_000, 990, **{"Sequence number": number * 1_000})
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(node, at + 9_000, 500, **{"Sequence number": number * 1_000})
    found = judged(RULE, builder).finding
    assert ("metric.compute()" in found.fix[0].code) is (op == "aten::argsort")


@pytest.mark.parametrize(
    ("unit", "before", "said"),
    [
        (("select", "add", "item"), True, "starts.tolist()"),
        (("select", "add", "_local_scalar_dense"), True, "starts.tolist()"),
        (("select", "eq", "item"), True, "correct +="),
        (("select", "item"), True, "correct +="),
        (("select", "add", "item"), False, "metric.compute()"),
    ],
    ids=["places", "places of elements", "compared", "read alone", "behind the model"],
)
def test_numbers_computed_before_the_model_are_places_in_the_data(
    unit: tuple[str, ...], before: bool, said: str
) -> None:
    builder = TraceBuilder(None)
    for step in range(3):
        at = step * 10_000.0
        builder.step(step, at, 10_000)
        builder.op("aten::linear", at + (8_000 if before else 0), 100, **{"Sequence number": 10 * step + 1})
        node = "autograd::engine::evaluate_function: AddmmBackward0"
        builder.op(node, at + 9_000, 100, **{"Sequence number": 10 * step + 1})
        for turn in range(100):
            for place, name in enumerate(unit):
                builder.op(f"aten::{name}", at + 500 + 60 * turn + 15 * place, 10)
    assert said in judged(RULE, builder).finding.fix[0].code
