"""Programs that only run a model: fixes that fit an engine, a compiled model, sequences and quantised weights, and no others."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.kernels.names import family_of
from analyzer.finding import State
from building.clocked import Clocked
from building.other_devices import mps
from rules.idle.launch_bound import RULE as LAUNCHES
from rules.inference.weights_per_token import RULE as WEIGHTS
from rules.kernels.hardware_bound import RULE as HARDWARE
from rules.profiling.lost_device_events import RULE as LOST
from rules.profiling.missing_step_marks import RULE as MARKS
from rules.profiling.sensitive_content import RULE as PRIVATE
from rules.python.python_overhead import RULE as PYTHON
from rules.transfer.layout_churn import RULE as LAYOUT
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged, run
from stories.of_quantised import STORIES as QUANTISED

GEMM = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
AWQ = "void vllm::awq::gemm_forward_4bit_cuda_m16nXk32<128>(int, int, __half*, int*, __half*, int*, int, int, int, __half*)"


def said(world: Clocked, rule: object) -> str:
    finding = judged(rule, world).finding  # type: ignore[arg-type]
    return "\n".join([finding.why, *(f"{fix.code}\n{fix.note}" for fix in finding.fix)])


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("_static_quant_fp8", "quantize"),
        ("void vllm::scaled_fp8_quant_kernel<c10::BFloat16>(c10::Float8_e4m3fn*, c10::BFloat16 const*)", "quantize"),
        ("void per_token_group_quant_8bit_kernel<__nv_bfloat16, __nv_fp8_e4m3, false>(void const*)", "quantize"),
        ("void tensorrt_llm::kernels::quantize_with_block_size<0, __nv_bfloat16, 16, false>(int, int)", "quantize"),
        ("void vllm::rms_norm_per_token_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(p)", "norm"),
        ("void kDoubleRowColQuant<64, 4, 16, 256, 1>(__half*, float*, float*, char*, char*)", "other"),
        ("_bgmv_shrink_kernel", "adapter"),
        ("_lora_expand_kernel", "adapter"),
        ("_sgemm_lora_a_kernel", "adapter"),
        ("Im3d2Col", "conv"),
        ("Col2Im3dU", "conv"),
    ],
)
def test_names_say_what_scales_adapts_and_unfolds(name: str, family: str) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    ("op", "kernel", "told"),
    [
        (
            "sgl_kernel::causal_conv1d_fwd",
            "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4>>(p)",
            False,
        ),
        ("aten::conv2d/aten::convolution", "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc", True),
    ],
)
def test_a_memory_format_is_advised_for_images_alone(op: str, kernel: str, told: bool) -> None:
    world = Clocked(marks=False)
    for _ in range(5):
        with world.inside("step[EXTEND bs=1 toks=4096]"):
            for _ in range(10):
                world.kernel_of("aten::linear/aten::mm", GEMM, 300)
                world.kernel_of("aten::contiguous/aten::clone/aten::copy_", COPY, 200, host=22)
                world.kernel_of(op, kernel, 200)
            world.synchronize()
    assert ("channels_last" in said(world, LAYOUT)) is told
    # Nothing is concatenated here.
    assert "torch.cat" not in said(world, LAYOUT)


def _sent(name: str) -> Clocked:
    world = Clocked(marks=False)
    for _ in range(6):
        with world.inside(name):
            world.copied("HtoD", 60_000_000, rate=6_000)
            for _ in range(12):
                world.kernel_of("aten::linear/aten::mm", GEMM, 300)
            if name == "train":
                begin = world.now
                world.kernel_of("aten::_foreach_add_", COPY, 200)
                world.optimizer(begin, world.now - begin)
            world.synchronize()
    return world


@pytest.mark.parametrize(
    ("name", "told"),
    [("step[EXTEND bs=1 toks=4096]", "The engine sends"), ("predict", "pinned.copy_(inputs)"), ("train", "DataLoader")],
)
def test_inputs_are_pinned_where_they_are_made(name: str, told: str) -> None:
    text = said(_sent(name), PAGEABLE)
    assert told in text
    assert ("DataLoader" in text) is (name != "step[EXTEND bs=1 toks=4096]")


@pytest.mark.parametrize(("op", "told"), [("TorchDynamo Cache Lookup", True), ("my::lookup", False)])
def test_what_a_compiler_checks_is_not_moved_to_the_device(op: str, told: bool) -> None:
    world = Clocked(marks=False)
    for _ in range(10):
        world.host_op(op, 2_300)
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(20):
                world.kernel_of("aten::mm", GEMM, 60, host=11)
        world.read_value()
    text = said(world, LAUNCHES)
    assert ("guard_filter_fn" in text) is told
    assert ("tensors that lie on the GPU" in text) is not told


def test_the_way_into_a_compiled_region_is_no_data_to_prepare() -> None:
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("Pregraph bytecode"):
            world.idle(1_500)
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(20):
                world.kernel_of("aten::mm", GEMM, 60, host=11)
        world.read_value()
    text = said(world, PYTHON)
    assert "guards" in text
    assert "DataLoader" not in text


@pytest.mark.parametrize(("slow", "told"), [((0, 1), True), ((0, 7, 15), False)])
def test_calls_that_are_long_at_first_alone_are_warmed_up(slow: tuple[int, ...], told: bool) -> None:
    world = Clocked(marks=False)
    for number in range(16):
        for layer in range(4):
            world.kernel_of("aten::linear/aten::addmm", GEMM, 200)
            world.kernel_of("lib::attention", GEMM, 100, host=60 + (90_000 if number in slow and layer == 0 else 0))
        world.read_value()
    text = said(world, LAUNCHES)
    assert ("the first of 64" in text) is told
    assert ("before it serves" in text) is told


def test_a_function_of_the_engine_is_named_where_stacks_tell() -> None:
    world = Clocked(marks=False)
    for _ in range(6):
        with world.stack(
            "sglang/srt/managers/scheduler.py(925): event_loop", "sglang/srt/managers/schedule_batch.py(341): from_dict"
        ):
            world.idle(20_000)
        with world.inside("step[EXTEND bs=1 toks=9200]"):
            for _ in range(10):
                world.kernel_of("aten::linear/aten::mm", GEMM, 500)
            world.synchronize()
    text = said(world, PYTHON)
    assert "inside `from_dict`, called by `event_loop`" in text
    assert "advisor collect" not in text


@pytest.mark.parametrize(("kernel", "told"), [(AWQ, True), (GEMM, False)])
def test_weights_of_few_bits_are_not_quantised_again(kernel: str, told: bool) -> None:
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            world.graph([(kernel, 230), (kernel, 150)] * 32, host=100)
            world.synchronize()
    assert ("Marlin" in said(world, WEIGHTS)) is told
    assert ("Quantization" in said(world, HARDWARE)) is not told


def test_passes_of_an_engine_need_no_marks() -> None:
    world, other = QUANTISED[0].make(), QUANTISED[0].make()
    assert run(MARKS, world).state is State.CLEAR
    for event in other.events:
        event["name"] = "answer" if event["name"].startswith("execute_") else event["name"]
    assert run(MARKS, other).state is State.FIRED


def test_ranges_of_the_host_are_no_recording_of_the_device_alone() -> None:
    world, other = _replayed(), _replayed()
    assert run(LOST, world).state is State.CLEAR
    other.events[:] = [event for event in other.events if event["cat"] != "user_annotation"]
    assert run(LOST, other).state is State.FIRED


def _replayed() -> Clocked:
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_4(4)"):
            world.graph([(GEMM, 230), (COPY, 20)] * 16, host=100)
            world.synchronize()
    return world


def test_apples_gpu_is_no_activity_of_torch() -> None:
    world = Clocked(None, marks=False)
    for number in range(6):
        with world.marked(number), world.inside("generate"):
            world.host_op("aten::linear/aten::_mps_linear", 70)
            world.host_op("aten::to/aten::_to_copy/aten::copy_", 9_500)
    assert "CUDA" not in said(mps(world), LOST)  # type: ignore[arg-type]


def test_a_product_that_takes_a_third_of_a_cpus_steps_is_named() -> None:
    world = Clocked(None, marks=False)
    for _ in range(10):
        with world.inside("inference"):
            world.host_op("aten::linear/aten::addmm", 9_000)
            world.host_op("aten::relu", 800)
    assert "`aten::addmm`" in explain_facts(Facts(world.trace())).analysis.summary.verdict.text


@pytest.mark.parametrize(("key", "told"), [("nccl_version", False), ("job_owner", True)])
def test_what_torch_says_of_a_job_is_harmless(key: str, told: bool) -> None:
    info = {"backend": "nccl", "rank": 0, "world_size": 8, "pg_count": 1, key: "2.21.5"}
    world = Clocked(top={"distributedInfo": info})
    for _ in world.steps(4):
        world.kernel_of("aten::mm", GEMM, 300)
    assert (run(PRIVATE, world).state is State.FIRED) is told
