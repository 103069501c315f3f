"""The work of each op against torch's own counter, on recordings made here: forward and backward, with random sizes."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.hardware.call import Work
from analyzer.hardware.work import PRODUCTS, work_of

torch = pytest.importorskip("torch")

from torch.profiler import profile  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode, flop_registry  # noqa: E402

# The last of them that torch learned to count: where it counts this one, it counts what is compared below.
COUNTS_ATTENTION = pytest.mark.skipif(
    getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None) not in flop_registry,
    reason="this torch's own counter knows neither attention on the CPU nor scaled products",
)


def _tensor(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, requires_grad=True)


def _products(rng: random.Random) -> torch.Tensor:
    b, m, k, n = (rng.randint(2, 9) for _ in range(4))
    linear = torch.nn.Linear(k, n)(_tensor(b, m, k)).sum()
    return (
        linear + torch.mm(_tensor(m, k), _tensor(k, n)).sum() + torch.bmm(_tensor(b, m, k), _tensor(b, k, n)).sum()
        + torch.addmm(_tensor(n), _tensor(m, k), _tensor(k, n)).sum()
        + torch.baddbmm(_tensor(b, m, n), _tensor(b, m, k), _tensor(b, k, n)).sum()
    )  # fmt: skip


def _convolutions(rng: random.Random) -> torch.Tensor:
    c, out, side = rng.randint(2, 5), rng.randint(2, 6), rng.randint(9, 14)
    stride, padding, dilation = rng.randint(1, 3), rng.randint(0, 2), rng.randint(1, 2)
    first = torch.nn.Conv2d(c, out, 3, stride=stride, padding=padding, dilation=dilation)
    second = torch.nn.ConvTranspose2d(c, out, 3, stride=stride, padding=padding, output_padding=stride - 1)
    third = torch.nn.Conv1d(c, out, 2, stride=stride)
    # The first takes an image that wants no gradient, as the first layer of a model does.
    return (
        first(torch.randn(2, c, side, side)).sum() + second(_tensor(2, c, side, side)).sum()
        + third(_tensor(3, c, side)).sum()
    )  # fmt: skip


def _attention(rng: random.Random) -> torch.Tensor:
    batch, heads, queries, keys, width = (rng.randint(2, 8) for _ in range(5))
    query, key, value = (_tensor(batch, heads, length, width * 8) for length in (queries, keys, keys))
    return torch.nn.functional.scaled_dot_product_attention(query, key, value).sum()


def _recorded(path: Path, run: Callable[[random.Random], torch.Tensor], seed: int) -> tuple[int, Counter[str]]:
    """FLOPs by the recording's own ops, those inside counted ones left out, and how many of each there were."""
    with profile(record_shapes=True) as recorded:
        run(random.Random(seed)).backward()
    recorded.export_chrome_trace(str(path))
    events = [one for one in json.loads(path.read_text())["traceEvents"] if one.get("cat") == "cpu_op"]
    flops, seen, until = 0, Counter[str](), dict[object, float]()
    for event in sorted(events, key=lambda one: (one["ts"], -one["dur"])):
        if event["name"] not in PRODUCTS or event["ts"] < until.get(event["tid"], 0.0):
            continue
        until[event["tid"]] = event["ts"] + event["dur"]
        texts = [json.dumps(event["args"].get(key, [])) for key in ("Input Dims", "Input type", "Concrete Inputs")]
        work = work_of(event["name"], *texts)
        assert isinstance(work, Work), (event["name"], work)
        flops, seen = flops + work.flops, seen + Counter([event["name"]])
    return flops, seen


@pytest.mark.parametrize("run", [_products, _convolutions, pytest.param(_attention, marks=COUNTS_ATTENTION)])
@pytest.mark.parametrize("seed", [0, 1])
def test_work_is_what_torch_counts(tmp_path: Path, run: Callable[[random.Random], torch.Tensor], seed: int) -> None:
    with FlopCounterMode(display=False) as counter:
        run(random.Random(seed)).backward()
    flops, seen = _recorded(tmp_path / "t.json", run, seed)
    assert seen
    assert flops == counter.get_total_flops() > 0


@pytest.mark.parametrize("seed", [0, 1])
def test_a_product_by_a_vector_is_one_by_a_matrix_of_one_column(tmp_path: Path, seed: int) -> None:
    """Which torch's own counter knows, where it leaves out those by a vector."""

    def by_vector(rng: random.Random) -> torch.Tensor:
        m, k = rng.randint(2, 9), rng.randint(2, 9)
        matrix, vector, result = _tensor(m, k), torch.randn(k), torch.randn(m)
        return (
            torch.mv(matrix, vector).sum() + torch.addmv(result, matrix, vector).sum() + torch.dot(_tensor(k), vector)
        )

    def by_column(rng: random.Random) -> None:
        m, k = rng.randint(2, 9), rng.randint(2, 9)
        for rows in (m, m, 1):
            torch.mm(torch.randn(rows, k), torch.randn(k, 1))

    with FlopCounterMode(display=False) as counter:
        by_column(random.Random(seed))
    # The gradients of these are outer products: no sum over anything.
    flops, seen = _recorded(tmp_path / "t.json", by_vector, seed)
    assert seen == {"aten::mv": 1, "aten::addmv": 1, "aten::dot": 1}
    assert flops == counter.get_total_flops() > 0


def test_every_op_torch_counts_has_a_formula() -> None:
    known = {f"aten::{one.__name__}" for one in flop_registry if isinstance(one, torch._ops.OpOverloadPacket)}
    assert known <= set(PRODUCTS)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [((32, 16), (4, 16, 24), (32, 24)), ((4, 8, 16), (16, 32), (8, 32)), ((8, 32), (32, 24), (4, 8, 24)),
     ((4, 8, 16), (4, 16, 24), (4, 8, 24))],
)  # fmt: skip
def test_a_grouped_product_is_the_sum_of_its_groups(
    left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]
) -> None:
    """Where its four groups of eight fill it: torch itself computes it by one product for each group."""
    tensors = [torch.randn(shape, dtype=torch.bfloat16) for shape in (left, right)]
    ends = None if len(left) == len(right) == 3 else torch.arange(8, 33, 8, dtype=torch.int32)
    with FlopCounterMode(display=False) as counter:
        (torch.bmm(*tensors) if ends is None else torch.mm(*(_flat(one) for one in tensors)))
    told = work_of(
        "aten::_grouped_mm", json.dumps([left, right, [4]]), json.dumps(["c10::BFloat16", "c10::BFloat16", "int"])
    )
    made = torch.nn.functional.grouped_mm(*tensors, offs=ends) if hasattr(torch.nn.functional, "grouped_mm") else None
    assert made is None or tuple(made.shape) == result
    sizes = sum(one.numel() for one in tensors) + torch.empty(result, device="meta").numel()
    assert told == Work(counter.get_total_flops(), 2 * sizes)


def _flat(one: torch.Tensor) -> torch.Tensor:
    """The matrix that each row of a grouped product meets."""
    return one if one.dim() == 2 else one[0]


@pytest.mark.parametrize("name", ["addmm_", "baddbmm_", "_addmm_activation"])
def test_products_in_place_and_with_an_activation_do_the_same(name: str) -> None:
    batch = [2] if name.startswith("badd") else []
    dims = json.dumps([[*batch, 2, 5], [*batch, 2, 3], [*batch, 3, 5]])
    plain = name.removesuffix("_").removeprefix("_").removesuffix("_activation")
    assert work_of(f"aten::{name}", dims) == work_of(f"aten::{plain}", dims) != "no formula for this op"


SHAPES = {"query": (2, 4, 5, 8), "key": (2, 2, 7, 8), "value": (2, 2, 7, 16), "gradient": (2, 4, 5, 16)}


@COUNTS_ATTENTION
@pytest.mark.parametrize("name", sorted(name for name in PRODUCTS if "dot_product" in name and "override" not in name))
def test_attention_of_every_backend_is_counted_as_by_torch(name: str) -> None:
    formula = flop_registry[getattr(torch.ops.aten, name.removeprefix("aten::"))]
    named = (["gradient"] if name.endswith("backward") else []) + ["query", "key", "value"]
    tensors = [torch.empty(SHAPES[one], device="meta") for one in named]
    work = work_of(name, json.dumps([SHAPES[one] for one in named]))
    assert isinstance(work, Work)
    assert work.flops == formula(*tensors, out_val=tensors[0])


_WITH_MASKS = sorted(name for name in PRODUCTS if "attention" in name)


@pytest.mark.parametrize("name", _WITH_MASKS)
def test_a_causal_mask_is_looked_for_where_torch_records_it(name: str) -> None:
    """Three queries and three keys: of nine pairs six are left."""
    op = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    if op is None:
        pytest.skip("this torch has no such op")
    places = {one.name: place for place, one in enumerate(op.default._schema.arguments)}
    flag = places.get("is_causal", places.get("custom_mask_type"))
    assert flag is not None
    shape = [2, 4, 3, 8] if "dot_product" in name else [2, 3, 4, 8]
    dims = json.dumps([shape] * (4 if name.endswith("backward") else 3))
    causal = ("True", "False") if "is_causal" in places else ("1", "0")
    values = [["True" if place not in (flag, 4) else "" for place in range(len(places))] for _ in causal]
    for text, one in zip(values, causal, strict=True):
        text[flag] = one
    masked, whole = (work_of(name, dims, "", json.dumps(text)) for text in values)
    unknown = work_of(name, dims)
    assert isinstance(masked, Work)
    assert isinstance(whole, Work)
    assert unknown == whole
    assert (masked.flops, masked.needed) == (whole.flops, whole.flops * 6 // 9)
    assert whole.needed == whole.flops


@pytest.mark.parametrize(("queries", "keys", "left"), [(4, 4, 10), (1, 1, 1), (2, 4, 3), (4, 2, 3), (0, 4, 0)])
def test_of_uneven_lengths_the_corner_counts_that_leaves_out_more(queries: int, keys: int, left: int) -> None:
    dims = json.dumps([[1, 1, queries, 8], [1, 1, keys, 8], [1, 1, keys, 8]])
    work = work_of("aten::_scaled_dot_product_flash_attention", dims, "", '["", "", "", "0.", "True", "False"]')
    assert isinstance(work, Work)
    assert work.needed == left * 2 * 2 * 8


@COUNTS_ATTENTION
def test_scaled_products_and_library_convolutions_are_counted_as_by_torch() -> None:
    scaled = flop_registry[torch.ops.aten._scaled_mm]((3, 16), (16, 5), (), ())
    work = work_of(
        "aten::_scaled_mm", "[[3, 16], [16, 5], [], []]", '["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "", ""]'
    )
    assert work == Work(scaled, 3 * 16 + 16 * 5 + 2 * 3 * 5)
    weight = torch.empty(6, 2, 3, 3, device="meta")
    out = torch.nn.functional.conv2d(torch.empty(2, 4, 9, 9, device="meta"), weight, stride=2, padding=1, groups=2)
    counted = flop_registry[torch.ops.aten.cudnn_convolution](
        (2, 4, 9, 9), (6, 2, 3, 3), None, None, None, None, False, out_val=out
    )
    values = '["", "", "[1, 1]", "[2, 2]", "[1, 1]", "2"]'
    assert work_of("aten::cudnn_convolution", "[[2, 4, 9, 9], [6, 2, 3, 3], [], [], [], []]", "", values) == Work(
        counted, None
    )


@pytest.mark.parametrize("library", ["cudnn", "miopen", "mkldnn"])
def test_each_gradient_of_a_library_s_convolution_is_that_of_the_whole(library: str) -> None:
    """Before torch 1.11 each had an op of its own; the size of what it makes is its first argument, as a value."""
    gradient, data, weight = [2, 6, 4, 4], [2, 4, 8, 8], [6, 2, 3, 3]
    weights = "weights" if library == "mkldnn" else "weight"
    for name, dims, size, mask in (
        (f"aten::{library}_convolution_backward_input", [[], gradient, weight], data, "[True, False, False]"),
        (f"aten::{library}_convolution_backward_{weights}", [[], gradient, data], weight, "[False, True, False]"),
    ):
        values = ["", "", "", "[6]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", mask]
        whole = work_of("aten::convolution_backward", json.dumps([gradient, data, weight]), "", json.dumps(values))
        found = work_of(name, json.dumps(dims), "", json.dumps([str(size)]))
        assert isinstance(whole, Work)
        assert isinstance(found, Work)
        assert found.flops == whole.flops > 0
    # As torch before 2.0 recorded it, without values.
    assert isinstance(work_of(f"aten::{library}_convolution_backward_input", json.dumps([[], gradient, weight])), Work)
    unknown = work_of(f"aten::{library}_convolution_backward_{weights}", json.dumps([[], gradient, data]))
    assert unknown == "the value of input 0 is not recorded"


def test_a_device_s_own_convolution_backward_has_its_arguments_elsewhere() -> None:
    dims = json.dumps([[2, 6, 4, 4], [2, 4, 8, 8], [6, 2, 3, 3]])
    values = ["", "", "", "[6]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", "[True, True, False]"]
    whole = work_of("aten::convolution_backward", dims, "", json.dumps(values))
    own = work_of("aten::convolution_backward_overrideable", dims, "", json.dumps(values[:3] + values[4:]))
    assert own == whole
    assert isinstance(own, Work)


def test_a_grouped_convolution_has_three_products_of_one_size() -> None:
    """Torch's counter takes a gradient of the weight for that of an ungrouped convolution: groups times what it is."""
    values = '["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "4", "[true, true, false]"]'
    dims = "[[2, 8, 5, 5], [2, 4, 7, 7], [8, 1, 3, 3], [], [], [], [], [], [], [], []]"
    assert work_of("aten::convolution_backward", dims, "", values) == Work(2 * (2 * 2 * 8 * 1 * 9 * 25), None)


@pytest.mark.parametrize(
    ("name", "dims", "values"),
    [
        ("aten::mm", "", ""),
        ("aten::mm", "[[2, 3], [4, 5]]", ""),
        ("aten::mm", "not json", ""),
        ("aten::convolution", "[[2, 4, 9, 9], [8, 4, 3, 3], [8], [], [], [], [], [], []]", ""),
        ("aten::_flash_attention_forward", "[[64, 4, 8], [64, 4, 8], [64, 4, 8], [9], [9]]", ""),
        ("aten::_efficient_attention_forward", "[[1, 64, 4, 8], [1, 64, 4, 8], [1, 64, 4, 8], [], [9], [9]]", ""),
        ("aten::linear", "[[2, 3], [5, 3], [5]]", ""),
    ],
)
def test_what_is_not_recorded_is_not_made_up(name: str, dims: str, values: str) -> None:
    assert isinstance(work_of(name, dims, "", values), str)


CONVOLUTION = ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]


@pytest.mark.parametrize(
    ("name", "dims", "values"),
    [
        ("aten::convolution", [[2, 3, 9, 9], [4, 3, 3, 3]], [*CONVOLUTION[:3], "[0, 0]", *CONVOLUTION[4:]]),
        ("aten::convolution", [[2, 3, 9, 9, 9], [4, 3, 3, 3]], CONVOLUTION),
        ("aten::convolution", [[2], [4, 3, 3, 3]], CONVOLUTION),
        ("aten::convolution", [[2, 3, 2, 2], [4, 3, 5, 5]], CONVOLUTION),
        ("aten::cudnn_convolution", [[2, 3, 4], [2, 3, 4]], ["", "", "[0]", "[0]", "[0]"]),
        ("aten::_scaled_dot_product_flash_attention", [[2, 4, 5, 8], [2, 0, 7, 8], [2, 0, 7, 8]], []),
    ],
)
def test_what_cannot_have_run_is_not_counted(name: str, dims: object, values: object) -> None:
    assert isinstance(work_of(name, json.dumps(dims), "", json.dumps(values)), str)


def test_attention_without_heads_is_no_work() -> None:
    work = work_of(
        "aten::_scaled_dot_product_flash_attention", json.dumps([[2, 0, 5, 8]] * 3), json.dumps(["float"] * 3)
    )
    assert work == Work(0, 0)


def test_an_element_of_two_numbers_of_4_bits_counts_as_both() -> None:
    """Torch's own counter takes it for one number."""
    types = json.dumps(["c10::Float4_e2m1fn_x2"] * 2)
    assert work_of("aten::_scaled_mm", "[[16, 32], [32, 24]]", types) == Work(
        2 * 16 * 64 * 24, 16 * 32 + 32 * 24 + 2 * 16 * 24
    )


@pytest.mark.parametrize(
    ("name", "dims", "types", "moved"),
    [
        ("aten::add", [[8, 4], [4], []], ["c10::Half", "c10::Half", "Scalar"], 2 * (32 + 4 + 32)),
        ("aten::mul", [[8, 1], [1, 4]], ["c10::BFloat16", "float"], 16 + 16 + 4 * 32),
        ("aten::eq", [[8, 4], [8, 4]], ["long int", "long int"], 2 * 8 * 32 + 32),
        ("aten::copy_", [[8, 4], [8, 4], []], ["float", "c10::Half", "Scalar"], 4 * 32 + 2 * 32),
        ("aten::_softmax", [[8, 4], [], []], ["float", "Scalar", "Scalar"], 2 * 4 * 32),
        ("aten::embedding", [[100, 4], [2, 3]], ["float", "long int"], 8 * 6 + 2 * 4 * 24),
        ("aten::addmm", [[5], [2, 3], [3, 5]], ["float"] * 3, 4 * (5 + 6 + 15 + 10)),
        ("aten::mm", [[2, 3], [3, 5]], ["some type", "float"], None),
    ],
)
def test_bytes_are_inputs_and_outputs_once(name: str, dims: object, types: object, moved: int | None) -> None:
    work = work_of(name, json.dumps(dims), json.dumps(types))
    assert isinstance(work, Work)
    assert work.bytes == moved


@pytest.mark.parametrize(("dilation", "apart"), [("[1, 1]", 1), ("[1, 4]", 4)])
def test_how_far_apart_a_convolution_reads_is_known(dilation: str, apart: int) -> None:
    values = f'["", "", "", "[1, 1]", "[4, 4]", "{dilation}", "False", "[0, 0]", "1"]'
    work = work_of("aten::convolution", "[[2, 4, 32, 32], [6, 4, 3, 3], [], [], [], [], [], [], []]", "", values)
    assert isinstance(work, Work)
    assert work.dilation == apart
