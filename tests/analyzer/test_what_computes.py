"""A compute-bound run is told what is computed: kinds of kernels, and one that stands out."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.verdict.what_computes import what_computes
from building.builders import TraceBuilder
from rules import RULES

GEMM, CONV, GELU = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32",
    "sm80_xmma_fprop_implicit_gemm_bf16",
    "vectorized_elementwise_kernel<4>",
)
ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_{}<float>, std::array<char*, 3ul>>(int)"
)


def facts_with(*kernels: tuple[str, float]) -> Facts:
    """Three steps of 10 ms, filled with kernels of so many microseconds one after the other."""
    builder = TraceBuilder()
    for number in range(3):
        at = clock = number * 10_000.0
        builder.step(number, at, 10_000)
        for index, (name, dur) in enumerate(kernels):
            builder.launch(at + 10 * index, kernel_start=clock, kernel_dur=dur, name=name)
            clock += dur
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        (
            ((GEMM, 3_000), (GEMM + "x", 3_000), (GELU, 3_000)),
            "Of the computing: matrix products 67 %, pointwise kernels 33 %; ",
        ),
        (((CONV, 2_000), (CONV + "y", 2_500), (CONV + "z", 2_500), (GELU, 500)), "Of the computing: convolutions 93 %"),
        # The type that is returned is no name, and every kernel of some namespaces is called `kernel`.
        (
            (("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(p)", 6_000), (GEMM, 3_000)),
            "matrix products 100 %; the kernel `gemvx::kernel` alone 67 %.",
        ),
        ((("void my::scan<4>(float*)", 6_000), (GEMM, 3_000)), "matrix products 33 %; the kernel `scan` alone 67 %."),
        # Instances of one template are one kernel; what runs different functors over tensors is not.
        (
            (("void my::scan<4>(float*)", 3_000), ("void my::scan<8>(float*)", 3_000), (GEMM, 3_000)),
            "matrix products 33 %; the kernel `scan` alone 67 %.",
        ),
        (
            (("void my::scan<4>(float*)", 2_500), ("void my::sum<8>(float*)", 2_500), (GEMM, 2_500), (CONV, 2_400)),
            "matrix products 25 %, convolutions 24 %; 51 % in kernels whose names tell no kind, `scan` first.",
        ),
        (((ELEMENTWISE.format("add"), 6_000), (GEMM, 3_000)), "; the kernel `elementwise add` alone 67 %."),
        (
            ((ELEMENTWISE.format("add"), 2_500), (ELEMENTWISE.format("mul"), 2_500), (GEMM, 3_500)),
            "pointwise kernels 59 %, matrix products 41 %; the kernel `sm90_xmma_gemm_bf16bf16_bf16f32_f32` alone 41 %.",
        ),
        (
            (("void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(p)", 6_000), (GEMM, 3_000)),
            "running sums 67 %, matrix products 33 %; the kernel `tensor_kernel_scan_innermost_dim` alone 67 %.",
        ),
        (
            (("void at::native::batch_norm_backward_kernel<float>(p)", 6_000), ("void vector_fft<16u, 2u>(p)", 3_000)),
            "normalisation 67 %, Fourier transforms 33 %",
        ),
        # What no kind is known of is told by its longest kernel, unless that stands out by itself.
        (
            ((GEMM, 4_500), ("frobnicate", 2_500), ("merge", 1_000)),
            "matrix products 56 %; the kernel `sm90_xmma_gemm_bf16bf16_bf16f32_f32` alone 56 %; "
            "44 % in kernels whose names tell no kind, `frobnicate` first.",
        ),
        (((GEMM, 4_500), (GELU, 4_000), ("merge", 500)), "matrix products 50 %, pointwise kernels 44 %; "),
        (
            (("frobnicate", 8_000), ("merge", 500)),
            "The names of its work do not say whether that is computing: the kernel `frobnicate` alone 94 %.",
        ),
    ],
)
def test_what_computes(kernels: tuple[tuple[str, float], ...], words: str) -> None:
    assert words in what_computes(facts_with(*kernels))


@pytest.mark.parametrize(
    ("ops", "launched"),
    [
        (("aten::slow_conv_dilated3d",), ", launched by `aten::slow_conv_dilated3d`"),
        (("aten::addmm",), ""),
        (("aten::gelu",), ""),
        (("aten::scan_backward",), ""),
        (("aten::first", "aten::second"), ""),
    ],
    ids=["an op", "a product", "what launches all", "named alike", "several ops"],
)
def test_the_op_behind_a_kernel_that_stands_out_is_named_where_the_kernel_does_not_tell(
    ops: tuple[str, ...], launched: str
) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for index, op in enumerate(ops * 2):
            each = 6_000 / len(ops) / 2
            builder.launch(
                at + index * 20,
                kernel_start=at + 100 + each * index,
                kernel_dur=each,
                name="scan_backward_kernel",
                op=op,
            )
        builder.launch(at + 200, kernel_start=at + 6_100, kernel_dur=3_000, name=GEMM, op="aten::gelu")
    said = what_computes(Facts(builder.trace()))
    assert said.endswith(f"; the kernel `scan_backward_kernel` alone 67 %{launched}.")


def test_nothing_is_said_of_a_single_kernel_that_is_all_there_is() -> None:
    assert "alone" not in what_computes(facts_with((GEMM, 9_000)))


def test_only_a_compute_bound_run_is_told() -> None:
    bound = explain_facts(facts_with((GEMM, 9_000)), rules=RULES).analysis.summary.verdict
    assert (bound.bound_by, "Of the computing" in bound.text) == ("compute", True)
    idle = explain_facts(facts_with((GEMM, 900)), rules=RULES).analysis.summary.verdict
    assert "Of the computing" not in idle.text


@pytest.mark.parametrize(
    ("op", "dur", "words"),
    [
        ("aten::_coalesce", 8_000, "The op `aten::_coalesce` alone takes 80 %."),
        ("aten::_coalesce", 3_000, ""),
        ("aten::addmm", 8_000, "The op `aten::addmm` alone takes 80 %."),
        ("aten::addmm", 3_000, ""),
    ],
)
def test_without_a_device_an_op_that_stands_out_is_named(op: str, dur: float, words: str) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op("aten::wrapper", at, dur + 1_800)
        builder.op(op, at + 10, dur)
        for index in range(4):
            builder.op(f"aten::op{index}", at + 100 + dur + index * 400, 390)
    assert what_computes(Facts(builder.trace())) == words


def with_function(name: str, node: str, *, own: float, called: float = 500) -> Facts:
    """Steps of 10 ms with a function whose call and node take `own` each beside an op inside, and other ops in the rest."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for place, span in ((0, name), (5_000, node)):
            builder.op(span, at + place, own + called)
            builder.op("aten::mul", at + place + 1, called)
            for index in range(4):
                part = (4_900 - own - called) / 4
                builder.op(f"aten::op{index}", at + place + own + called + index * part, part - 1)
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("name", "node", "own", "words"),
    [
        ("SoftDTW", "SoftDTWBackward", 1_500, "Of the step 30 % is in `SoftDTW`, a `torch.autograd.Function`"),
        ("SoftDTW", "SoftDTWBackward", 400, ""),
        ("SoftDTW", "SoftDTWBackward0", 1_500, ""),
        ("aten::addmm", "AddmmBackward", 1_500, ""),
        ("CompiledFunction", "CompiledFunctionBackward", 1_500, ""),
    ],
)
def test_without_a_device_a_function_written_in_python_is_no_op(name: str, node: str, own: float, words: str) -> None:
    said = what_computes(with_function(name, node, own=own))
    assert said.startswith(words)
    assert bool(said) is bool(words)


def test_what_a_function_calls_is_not_its_own_time() -> None:
    assert "SoftDTW" not in what_computes(with_function("SoftDTW", "SoftDTWBackward", own=300, called=2_000))


@pytest.mark.parametrize("around", [True, False])
def test_an_op_around_the_range_that_marks_a_step_counts_in_the_first_step_too(around: bool) -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * 10_000.0
        builder.annotation(f"batch {number}", at + 10, 9_900)
        builder.op("Torch-Compiled Region: 0/0", at if around else at + 20, 9_890 if around else 9_880)
        builder.op("aten::bmm", at + 9_000, 400)
    assert what_computes(Facts(builder.trace())) == "The op `Torch-Compiled Region: 0/0` alone takes 95 %."


@pytest.mark.parametrize(
    ("dur", "words"),
    [
        # Before the product that takes 49 %: models are made of products.
        (5_000, "The step of `Adam` alone takes 50 %."),
        (3_000, "The op `aten::addmm` alone takes 69 %."),
    ],
)
def test_without_a_device_an_update_that_stands_out_is_named_before_a_product(dur: float, words: str) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000).optimizer(at, dur)
        for index in range(10):
            builder.op(f"aten::op{index % 5}_", at + 10 + index * dur / 10, dur / 10 - 20)
        builder.op("aten::addmm", at + dur + 10, 9_900 - dur)
    assert what_computes(Facts(builder.trace())) == words


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(("dur", "named"), [(6_000, "the optimizer alone 60 %."), (4_000, " alone takes 40 %.")])
def test_the_verdict_says_once_how_much_the_optimizer_takes(dur: float, named: str, *, fused: bool) -> None:
    builder = TraceBuilder(None)
    for number in range(6):
        at = number * 10_000.0
        builder.step(number, at, 10_000).optimizer(at, dur).op("aten::addmm", at + dur, 9_990 - dur)
        for index in range(1 if fused else 10):
            name = "aten::_fused_adam_" if fused else f"aten::op{index}_"
            builder.op(name, at + 10 + index * dur / 10, dur - 20 if fused else dur / 10 - 20)
    text = explain_facts(Facts(builder.trace()), rules=RULES).analysis.summary.verdict.text
    assert text.endswith(named)
    assert text.count("alone") == 1


@pytest.mark.parametrize(("every", "words"), [(10, " of that in `aten::bmm` and 10 % in `aten::mm`"), (100, "")])
def test_a_second_op_is_named_where_it_launches_some_of_the_kernels(every: int, words: str) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 5, kernel_dur=20, name="void other()", op="aten::add")
        for index in range(100):
            start = at + 50 + index * 90
            op = "aten::mm" if index % every == 0 else "aten::bmm"
            builder.launch(start, kernel_start=start + 8, kernel_dur=80, name="gemm", op=op)
    text = what_computes(Facts(builder.trace()))
    assert "`gemm` alone" in text
    assert (" and " in text) is bool(words)
    assert words in text


def test_softmax_is_a_kind_of_its_own() -> None:
    builder = TraceBuilder()
    name = "void (anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(p)"
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.launch(at, kernel_start=at + 10, kernel_dur=5_000, name=name)
        builder.launch(at + 20, kernel_start=at + 5_011, kernel_dur=4_900)
    assert "softmax 51 %, pointwise kernels 49 %" in what_computes(Facts(builder.trace()))


@pytest.mark.parametrize(("sequence", "told"), [(9, True), (None, False)], ids=["checkpointed", "a gradient"])
def test_without_a_device_what_is_computed_again_is_told(sequence: int | None, told: bool) -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        builder.op("aten::linear", at + 10, 2_000, **{"Sequence number": 7})
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 2_100, 7_800, **{"Sequence number": 7})
        again = {"Sequence number": sequence} if sequence is not None else {}
        builder.op("aten::linear", at + 2_200, 3_000, **again)
    said = what_computes(Facts(builder.trace()))
    assert said.endswith("Of the step 30 % computes activations again in the backward pass, as gradient checkpointing does to save "
                         "memory: where memory has room, that time can go.") is told  # fmt: skip
    assert ("again" in said) is told


@pytest.mark.parametrize(
    ("untrained", "said"),
    [
        (
            {"tensors": 2, "numbers": 90, "of_tensors": 4, "of_numbers": 100},
            "The backward pass computes gradients for 2 of 4 tensors (90 % of their numbers) that no optimizer updates",
        ),
        ({"tensors": 2, "numbers": 5, "of_tensors": 4, "of_numbers": 100}, ""),
        ({"tensors": 0, "numbers": 0, "of_tensors": 4, "of_numbers": 100}, ""),
        ({"tensors": 9, "numbers": 90, "of_tensors": 4, "of_numbers": 100}, ""),
        ("nonsense", ""),
        (None, ""),
    ],
)
@pytest.mark.parametrize("device", ["cuda", None])
def test_gradients_that_no_optimizer_takes_are_told(device: str | None, untrained: object, said: str) -> None:
    builder = TraceBuilder(device, advisor={"model": {"untrained": untrained}})
    builder.step(0, 0, 10_000)
    builder.op("aten::mm", 10, 900)
    builder.launch(20, kernel_start=100, kernel_dur=9_000, name=GEMM, op=None)
    words = what_computes(Facts(builder.trace()))
    assert said in words
    assert ("no optimizer updates" in words) is bool(said)
    assert "no optimizer updates" not in what_computes(Facts(builder.trace()), frozenset({"untaken_gradients"}))


@pytest.mark.parametrize("streams", [1, 2])
def test_a_kernel_beside_itself_counts_once(streams: int) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000.0
        builder.step(number, at, 10_000)
        for stream in range(streams):
            builder.launch(
                at + stream, kernel_start=at + 10, kernel_dur=5_000, name=GEMM, op="aten::mm", stream=7 + stream
            )
        builder.launch(at + 20, kernel_start=at + 5_011, kernel_dur=4_900)
    text = what_computes(Facts(builder.trace()))
    assert "matrix products 51 %" in text
    assert f"`{GEMM}` alone 51 %" in text
