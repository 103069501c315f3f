"""Stories of other devices, benchmarks and odd recordings, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm, torch_1_9
from building.other_devices import private_use, xpu
from stories.models import ADD, CONV_32, CONV_OPS, FLASH, NVJET, RELU, SDPA, TO, blocks
from stories.of_answering import ARGMAX
from stories.of_makers import NAVI31, OF_NVIDIA
from stories.of_requests import NOT_TRAINED
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import GITHUB, Story

ORIN = {
    "id": 0, "name": "Orin", "totalGlobalMem": 65_890_000_000, "computeMajor": 8, "computeMinor": 7, "warpSize": 32,
    "numSms": 16,
}  # fmt: skip
B70 = {"id": 0, "name": "Intel(R) Arc(TM) Pro B70 Graphics", "total_memory": 34_000_000_000, "max_compute_units": 256}


class Cut(Clocked):
    """A recording whose file ends in the middle of an event."""

    def content(self) -> str:
        """The first four fifths of the text."""
        text = super().content()
        return text[: len(text) * 4 // 5]


def _lists_of_each_layer() -> Clocked:
    """A vision tower on Gaudi2: `cu_seqlens.tolist()` in each of 27 layers waits for all before it; read once, it waits once."""
    world = Clocked(marks=False)
    for _ in range(4):
        for _ in range(27):
            for dur in (800, 800, 2_400, 800):
                world.kernel_of("aten::linear/hpu::linear", "gemm", dur, host=40)
            world.kernel_of("aten::sub", "sub", 8, host=40)
            world.copied("DtoH", 72, path="aten::to/aten::_to_copy/aten::copy_")
            world.idle(500)
            world.kernel_of("hpu::sdpa_recomp_fwd", "sdpa_recomp_fwd", 1_500, host=90)
            world.kernel_of("aten::gelu", "gelu", 200, host=40)
    return private_use(world)  # type: ignore[return-value]


def _sent_behind_the_pass() -> Clocked:
    """A ViT on a Jetson Orin: `.to("cuda")` seems slow from the third image on; it waits for the pass of the image before."""
    world = Clocked(marks=False)
    for _ in range(10):
        world.idle(36_000)
        world.copied("HtoD", 13 * 3 * 224 * 224 * 4, rate=9_000)
        for _ in range(24):
            for dur in (2_300, 800, 3_100, 3_100):
                world.kernel_of("aten::linear/aten::addmm", NVJET, dur, host=60)
            world.kernel_of(SDPA, FLASH, 1_100, host=120)
            world.kernel_of("aten::gelu", ADD, 500, host=50)
    world.top["deviceProperties"] = [ORIN]
    return world


def _fixed_cost_of_experts() -> Clocked:
    """vLLM on an Arc Pro B70: experts cost 5 to 6.6 ms a token that a dense model does not pay, in launches of small kernels."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            for _ in range(48):
                world.kernel_of("_C::rms_norm", "vllm::rms_norm_kernel", 3, host=20, call=14)
                world.kernel_of("aten::linear/aten::mm", "gemm_kernel", 14, host=34, call=14)
                world.kernel_of("_vllm_fa2_C::varlen_fwd", "XeFMHAFwdSplitKVKernel", 9, host=40, call=14)
                world.kernel_of("aten::linear/aten::mm", "gemm_kernel", 10, host=34, call=14)
                for op, name in (("_moe_C::topk_softmax", "TopKSoftmax"), ("_moe_C::remap_hidden_states", "RemapHiddenStates"),
                                 ("_C::silu_and_mul", "ActAndMul"), ("_moe_C::moe_gather", "MoeGather")):  # fmt: skip
                    world.kernel_of(op, f"vllm::moe::{name}", 4, host=36, call=14)
                world.kernel_of("_xpu_C::cutlass_grouped_gemm", "GroupedGemm", 26, host=70, call=14)
                world.kernel_of("_xpu_C::cutlass_grouped_gemm", "GroupedGemm", 16, host=70, call=14)
            world.kernel_of("aten::argmax", "ArgMax", 12, host=40, call=14)
            world.copied("DtoH", 8, path=TO)
    xpu(world)
    world.top["deviceProperties"] = [B70]
    return world


def _first_image_starts_miopen() -> Clocked:
    """Face detection on a Radeon: the first image starts MIOpen and takes 40 times as long as the others, which are fast."""
    world = Clocked("rocm", marks=False)
    for number in range(8):
        with world.inside("detect"):
            for index in range(60):
                world.kernel_of(
                    "aten::conv2d/aten::convolution/aten::_convolution/aten::miopen_convolution", "miopenSp3AsmConv_v30_3_1_gfx9",
                    110, host=70 + (22_000 if number == 0 else 0), api="hipExtModuleLaunchKernel",
                )  # fmt: skip
                world.kernel_of("aten::relu", RELU, 12, host=20 + index % 3)
            world.copied("DtoH", 4_000, path=TO)
    rocm(world)
    world.top["deviceProperties"] = [NAVI31]
    return world


def _compiled_on_the_cpu() -> Clocked:
    """A compiled BERT on a CPU: mkl::_mkl_linear is most of it, fused loops the rest: a healthy recording."""
    world = Clocked(None, marks=False)
    for _ in range(12):
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(24):
                for dur in (620, 620, 620, 620, 2_500, 2_500):
                    world.host_op("mkl::_mkl_linear", dur)
                world.host_op("aten::bmm", 300)
                world.host_op("graph_0_cpp_fused__softmax_add_div_3", 160)
                world.host_op("aten::bmm", 300)
                world.host_op("graph_0_cpp_fused_add_native_layer_norm_5", 110)
                world.host_op("graph_0_cpp_fused_gelu_6", 210)
    return world


def _timed_with_two_waits() -> Clocked:
    """A test of speed: input made on the host, two waits, the network, the clock without one: the waits are the network."""
    world = Clocked(marks=False)
    for _ in range(20):
        world.host_op("aten::randn/aten::normal_", 1_900)
        world.copied("HtoD", 3 * 768 * 768 * 4)
        world.synchronize()
        world.synchronize()
        blocks(world, 60, 3.6)
    world.synchronize()
    return torch_1_9(world)  # type: ignore[return-value]


def _launched_ahead() -> Clocked:
    """100 passes of a ResNet are launched without a wait, one at the end: each lasts as long as its kernels."""
    world = Clocked(marks=False)
    for _ in range(30):
        blocks(world, 53, 1.3, host=8)
        world.kernel_of("aten::linear/aten::addmm", NVJET, 12)
    world.synchronize()
    return world


def _many_tokens_marked() -> Clocked:
    """gpt-fast, compiled with graphs, each of 900 tokens marked: weights are read for each token, nothing waits."""
    world = Clocked()
    one = [("triton_red_fused__to_copy_mean_mul_1", 3), (GEMV, 22), (FLASH, 6), (GEMV, 14), (GEMV, 48), (GEMV, 26)]
    for number in range(900):
        with world.marked(number):
            world.kernel_of("aten::copy_", ADD, 2, host=10)
            world.graph(one * 4, host=60)
            world.kernel_of("aten::argmax", ARGMAX, 5, host=14)
    return world


def _end_cut_off() -> Clocked:
    """A file too large for the viewer, of which somebody cut the end away: what is left is told, and that the end is missing."""
    world = Cut()
    for number in range(8):
        with world.marked(number):
            world.copied("HtoD", 32 * 3 * 224 * 224 * 4)
            blocks(world, 53, 2.0)
            world.copied("DtoH", 32 * 4_000, path=TO)
    return world


def _ranks_in_one_file() -> Clocked:
    """SGLang's merger: four ranks in one file, processes named by their rank; each of them decodes at the same time."""
    world = Clocked(marks=False, top={"merged_from": 4})
    events = []
    for rank in range(4):
        part = Clocked(marks=False)
        part._next_id += rank * 1_000_000
        for _ in range(8):
            with part.inside("step[DECODE bs=32]"):
                part.idle(200)
                part.graph([(RMS, 4), (NVJET, 60), (FLASH, 40), (NVJET, 40), (NVJET, 120), (NVJET, 70)] * 32, host=160)
                part.kernel_of("aten::argmax", ARGMAX, 12)
                part.copied("DtoH", 256, path=TO)
        for event in part.events:
            event["pid"] = f"[TP{rank:02}] {event['pid']}"
        events += part.events
    world.events = events
    return world


def _captures_recorded() -> Clocked:
    """SGLang records the capture of its graphs: calls are captured, so almost none of their kernels run."""
    world = Clocked(marks=False)
    for size in (32, 16, 8, 4, 2, 1):
        with world.inside(f"capture bs={size}"):
            world.runtime("cudaStreamBeginCapture_v10000", world.now, 30)
            world.now += 40
            for _ in range(28):
                for op in (
                    "sgl_kernel::rmsnorm",
                    "aten::linear/aten::mm",
                    "sgl_kernel::fwd",
                    "aten::linear/aten::mm",
                    "aten::linear/aten::mm",
                ):
                    begin = world.now
                    world.host_op(op, 22)
                    world.runtime("cudaLaunchKernel", begin + 6, 4)
            world.runtime("cudaStreamEndCapture_v10000", world.now, 90)
            world.runtime("cudaGraphInstantiateWithFlags_v11040", world.now + 100, 3_000)
            world.now += 3_200
        world.kernel_of("aten::fill_", ADD, 3)
        world.synchronize()
    return world


def _images_one_by_one() -> Clocked:
    """An endpoint that runs images as they come, one a pass, on a T4's worth of work: passes of one do not fill the device."""
    world = Clocked(marks=False)
    for number in range(16):
        with world.marked(number):
            world.idle(6_500)
            world.copied("HtoD", 3 * 224 * 224 * 4)
            for _ in range(53):
                shapes = {"Input Dims": [[1, 64, 56, 56], [64, 64, 3, 3]], "Input type": ["float", "float"]}
                world.kernel_of(CONV_OPS, CONV_32, 14, host=34, args=shapes)
                world.kernel_of("aten::relu_/aten::clamp_min_", RELU, 3, host=14)
            world.copied("DtoH", 4_000, path=TO)
            world.idle(1_500)
    return world


STORIES = (
    Story(
        "lengths listed in each layer", "multimodal serving, Gaudi", GITHUB + "vllm-project/vllm-gaudi/pull/1182",
        "each layer waits for a list of the same lengths: read once", _lists_of_each_layer,
        bound=("compute", "sync", "copy", "launch", "mixed"),
        told=("SY002|PY001", "~copied to the host"), never=("~CUDA|cuda", "PR001", "~overlap_schedule", *OF_NVIDIA, *NOT_TRAINED),
    ),
    Story(
        "image sent behind a pass", "vision, Jetson", GITHUB + "pytorch/pytorch/issues/142232",
        "the copy waits for the pass of the image before: the pass is what takes long", _sent_behind_the_pass, bound=("compute",),
        never=("XF001", "XF002", "DL001", "SY002", "ID001", "GR004", "PY001", *NOT_TRAINED),
    ),
    Story(
        "fixed cost of experts", "LLM serving, XPU", GITHUB + "vllm-project/vllm-xpu-kernels/issues/509",
        "small kernels are launched one by one: replay a graph", _fixed_cost_of_experts, bound=("launch", "mixed"),
        told=("ID001|GR004|IN001",), never=("~CUDA|cuda", "PR001", "CP001", *OF_NVIDIA, *OF_TRAINING),
    ),
    Story(
        "first image starts MIOpen", "vision, ROCm", GITHUB + "pytorch/vision/issues/2682",
        "the first image is start-up: not what others take", _first_image_starts_miopen,
        told=("~first|warm",), never=("GR004", "~num_workers", "~cudnn", *OF_NVIDIA, *OF_TRAINING),
    ),
    Story(
        "compiled BERT on a CPU", "NLP, CPU, compiled", GITHUB + "pytorch/tutorials/pull/2430",
        "linear layers take most of it, pointwise work is fused", _compiled_on_the_cpu, bound=("compute", "unknown"),
        told=("~mkl::_mkl_linear",), never=("PY001", "PY003", "CP001", "GR002", "~torch\\.compile\\(model",
        "~CUDA|cuda", *OF_TRAINING),
    ),
    Story(
        "test of speed with two waits", "benchmark, torch 1.9", GITHUB + "pytorch/pytorch/issues/18012",
        "without a wait only launches are timed; what the waits take is the network", _timed_with_two_waits, bound=("compute",),
        never=("SY003", "ID001", "GR004", "XF001", "PY001", *OF_TRAINING),
    ),
    Story(
        "passes launched ahead", "benchmark, vision", GITHUB + "microsoft/onnxruntime/issues/10303",
        "the host is far ahead of the device: only kernels count", _launched_ahead, bound=("compute",),
        never=("ID001", "GR004", "SY003", "PY001", "~a request", *OF_TRAINING),
    ),
    Story(
        "900 tokens, each marked", "LLM inference, compiled", "https://pytorch.org/blog/accelerating-generative-ai-2/",
        "weights are read for each token: bound by memory", _many_tokens_marked, bound=("compute",),
        never=("ID001", "GR004", "SY003", "GR001", "PR001", "PG003", *OF_TRAINING),
    ),
    Story(
        "end cut off", "vision, a file cut short", GITHUB + "pytorch/kineto/issues/805",
        "the last part of the file is missing: what is left is whole steps and a piece", _end_cut_off,
        bound=("compute",), never=("ID001", "GR004", "PG006", *NOT_TRAINED),
    ),
    Story(
        "four ranks in one file", "LLM serving, TP, merged", GITHUB + "sgl-project/sglang/pull/11413",
        "four processes at the same time: one rank is told, or that several are there", _ranks_in_one_file,
         never=("ID001", "GR004", "PY001", "CO004", "KE001", *OF_TRAINING),
    ),
    Story(
        "captures recorded", "LLM serving, start-up", GITHUB + "sgl-project/sglang/pull/24370",
        "what is recorded is the capture of graphs, which runs nothing", _captures_recorded,
        never=("ID001", "GR004", "PY001", "~lost|CUPTI", "SY003", *OF_TRAINING),
    ),
    Story(
        "images one by one", "vision, serving", "https://docs.pytorch.org/serve/performance_guide.html",
        "a pass for each image: several in one", _images_one_by_one, bound=("python", "launch", "mixed", "input"),
        told=("PY001|ID001|ID002|IN005",), never=("PR001", "KE001", "GR001"),
    ),
)  # fmt: skip
