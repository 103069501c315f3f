"""Stories of engines, adapters and engines' graphs, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, FLASH, NVJET, SDPA, TO
from stories.of_answering import ARGMAX, FILL, PAGED
from stories.of_requests import NOT_TRAINED
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import GITHUB, Story

SPLIT_KV = "_fwd_grouped_kernel_stage1"
BITS = "void at::native::vectorized_elementwise_kernel<4, at::native::BitwiseAndFunctor<unsigned char>, std::array<char*, 3ul>>"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<1u>, unsigned int>"
TENSORRT = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32_stage4_warpsize2x2x1_g1_tensor16x8x16"
EXPERTS = "fused_moe_kernel"


def _decoding(layers: int, *, attention: float = 9, scale: float = 1.0) -> list[tuple[str, float]]:
    """Kernels of one pass that makes a token."""
    one = [(RMS, 3), (GEMV, 14), (PAGED, attention), (GEMV, 10), (RMS, 3), (GEMV, 30), (ADD, 3), (GEMV, 18)]
    return [(name, dur * scale) for name, dur in one] * layers


def _lengths_between() -> Clocked:
    """SGLang's speculative decoding: lengths come to the host between verification and draft, which then waits for launches."""
    world = Clocked(marks=False)
    for _ in range(12):
        with world.inside("step[TARGET_VERIFY bs=8]"):
            world.graph(_decoding(28), host=120)
            world.kernel_of("sgl_kernel::verify_tree_greedy", ARGMAX, 9)
        world.copied("DtoH", 64, path=TO)
        world.idle(260)
        for _ in range(14):
            world.kernel_of("aten::index_select", FILL, 2)
        world.idle(320)
        for _ in range(4):
            world.graph(_decoding(1), host=70)
            world.kernel_of("aten::topk", ARGMAX, 6)
    return world


def _padded_to_sixteen() -> Clocked:
    """DeepSeek-R1 with nine requests: the graph is of sixteen; with one for nine a token takes a fifth less."""
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_9(9)"):
            world.idle(180)
            world.copied("HtoD", 9 * 8, pinned=True)
            world.graph(_decoding(61, scale=2.2), host=240)
            world.kernel_of(
                "aten::linear/aten::mm",
                NVJET,
                60,
                args={"Input Dims": [[9, 7168], [7168, 129280]], "Input type": ["c10::BFloat16"] * 2},
            )
            world.kernel_of(
                "aten::argmax", ARGMAX, 12, args={"Input Dims": [[9, 129280]], "Input type": ["c10::BFloat16"]}
            )
            world.copied("DtoH", 72, path=TO)
    return world


def _untuned_experts() -> Clocked:
    """Experts on RTX 5090s without a tuned configuration: fused_moe_kernel is most of each token, 3 to 6 times too long."""
    world = Clocked(marks=False)
    one = [
        (RMS, 3),
        (NVJET, 12),
        (PAGED, 8),
        (NVJET, 10),
        ("moe_align_block_size_kernel", 5),
        (EXPERTS, 240),
        (ADD, 3),
        (EXPERTS, 130),
        (ADD, 4),
    ]
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_16(16)"):
            world.idle(200)
            world.graph(one * 48, host=260)
            world.kernel_of("aten::argmax", ARGMAX, 12)
            world.copied("DtoH", 128, path=TO)
            world.idle(150)
    return world


def _blocks_not_there() -> Clocked:
    """vLLM with a remote cache: six requests wait for keys and values, the engine's steps do nothing for 350 ms."""
    world = Clocked(marks=False)
    for _ in range(5):
        for _ in range(6):
            with world.inside("execute_context_0(0)_generation_24(24)"):
                world.graph(_decoding(32), host=150)
                world.kernel_of("aten::argmax", ARGMAX, 12)
                world.copied("DtoH", 192, path=TO)
            world.idle(220)
        with world.stack(
            "vllm/v1/engine/core.py(1001): run_busy_loop",
            "vllm/distributed/kv_transfer/kv_connector/v1/lmcache_connector.py(90): wait_for_layer_load",
            "threading.py(604): wait",
        ):
            world.idle(350_000)
    return world


def _engines_that_wait() -> Clocked:
    """Torch-TensorRT with twelve engines between ops of torch: each runs on a stream of its own, and its call waits for it."""
    world = Clocked()
    for number in range(6):
        with world.marked(number):
            for _ in range(12):
                with world.within("tensorrt::execute_engine"):
                    world.idle(35)
                    for _ in range(9):
                        world.kernel_of(None, TENSORRT, 18, stream=13, api="cuLaunchKernel")
                    world.busy_until[13] = max(world.busy_until.values())
                    world.synchronize("cudaStreamSynchronize")
                world.kernel_of("aten::roll", ADD, 9)
                world.kernel_of("aten::index", ADD, 8)
            world.copied("DtoH", 4_000, path=TO)
    return world


def _encoder_of_speech() -> Clocked:
    """Whisper's encoder on an H200, op by op: 399 kernels, 29.1 of 30.2 ms busy; a graph brings next to nothing."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.marked(number), world.inside("audio_encoder"):
            world.copied("HtoD", 30 * 100 * 128 * 2)
            for _ in range(32):
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", RMS, 20, host=22)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, 90)
                world.kernel_of(SDPA, FLASH, 150, host=34)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 90)
                world.kernel_of("aten::add", ADD, 14)
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", RMS, 20, host=22)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 150)
                world.kernel_of("aten::gelu", ADD, 22)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 150)
                world.kernel_of("aten::add", ADD, 14)
            world.synchronize("cudaStreamSynchronize")
    return world


def _vocoder_op_by_op() -> Clocked:
    """The same server's vocoder without its graph: 836 kernels are 5.8 of 20 ms; replayed 6.4 ms."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.marked(number), world.inside("code2wav"):
            for _ in range(104):
                for op, dur in (("aten::pow", 5), ("aten::sin", 5), ("aten::mul", 5), ("aten::add", 5)):
                    world.kernel_of(op, ADD, dur, host=20)
                world.kernel_of("aten::conv1d/aten::convolution/aten::cudnn_convolution", NVJET, 14, host=44)
                for op, dur in (("aten::add_", 5), ("aten::cat", 6), ("aten::slice/aten::copy_", 6)):
                    world.kernel_of(op, ADD, dur, host=20)
            world.copied("DtoH", 96_000, path=TO)
    return world


def _unpacked_each_pass() -> Clocked:
    """FLUX from a GGUF file: each linear layer unpacks its weights with ops of torch; with a kernel for it 5.3 s instead of 6.4."""
    world = Clocked(marks=False)
    for _ in range(2):
        for _ in range(57):
            for dur in (900, 900, 2_400, 2_400):
                for op in (
                    "aten::bitwise_and",
                    "aten::bitwise_right_shift",
                    "aten::bitwise_or",
                    "aten::mul",
                    "aten::sub",
                ):
                    world.kernel_of(op, BITS, 45, host=12)
                world.kernel_of("aten::cat", CAT, 60, host=16)
                world.kernel_of(TO, ADD, 50, host=20)
                world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
            world.kernel_of(SDPA, FLASH, 2_200, host=34)
            world.kernel_of("aten::gelu", ADD, 60)
    world.synchronize("cudaStreamSynchronize")
    return world


def _merged_for_each_prompt() -> Clocked:
    """SDXL with another adapter for each prompt: loaded and merged into all weights, 2 to 4 s, for a second of denoising."""
    world = Clocked(marks=False)
    for _ in range(3):
        with world.stack(
            "serve.py(40): answer",
            "diffusers/loaders/lora_base.py(520): fuse_lora",
            "peft/tuners/lora/layer.py(480): merge",
        ):
            for _ in range(560):
                world.copied("HtoD", 160_000)
                world.copied("HtoD", 160_000)
                world.idle(900)
                world.kernel_of("aten::matmul/aten::mm", NVJET, 14, host=30)
                world.kernel_of("aten::mul", ADD, 8, host=20)
                world.kernel_of("aten::add_", ADD, 9, host=20)
        with world.stack(
            "serve.py(44): answer",
            "diffusers/pipelines/stable_diffusion_xl/pipeline_stable_diffusion_xl.py(1200): __call__",
        ):
            for _ in range(8):
                for _ in range(70):
                    for dur in (240, 240, 240, 500, 260):
                        world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
                    world.kernel_of(SDPA, FLASH, 300, host=34)
            world.copied("DtoH", 3_000_000, path=TO)
    return world


def _few_blocks_of_attention() -> Clocked:
    """SGLang's Triton attention, one request of 64,000 tokens on an A100: eight splits leave three quarters of it without work."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(6):
        with world.inside("step[DECODE bs=1]"):
            world.idle(150)
            for _ in range(32):
                world.kernel_of("sgl_kernel::rmsnorm", RMS, 4, host=9)
                world.kernel_of("aten::linear/aten::mm", GEMV, 30, host=10)
                at = {"grid": [1, 4, 8], "block": [128, 1, 1], "blocks per SM": 0.3, "warps per SM": 1.2}
                world.kernel_of(None, SPLIT_KV, 420, api="cuLaunchKernelEx", **at)
                world.kernel_of(None, "_fwd_kernel_stage2", 7, api="cuLaunchKernelEx")
                world.kernel_of("aten::linear/aten::mm", GEMV, 20, host=10)
                world.kernel_of("aten::linear/aten::mm", GEMV, 110, host=10)
                world.kernel_of("aten::linear/aten::mm", GEMV, 60, host=10)
            world.copied("DtoH", 8, path=TO)
    return world


def _prompt_in_chunks() -> Clocked:
    """vLLM reads a prompt of 32,000 tokens in chunks of 2,048, twelve texts go on beside it: each chunk is full of work."""
    world = Clocked(marks=False)
    for _ in range(14):
        with world.inside("execute_context_1(2048)_generation_12(12)"):
            world.idle(300)
            world.copied("HtoD", 2_060 * 8, pinned=True)
            for _ in range(32):
                world.kernel_of(None, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", 14, api="cuLaunchKernel")
                world.kernel_of("aten::mm", NVJET, 290)
                world.kernel_of("vllm::unified_attention_with_output", FLASH, 210, host=40)
                world.kernel_of("aten::mm", NVJET, 200)
                world.kernel_of("aten::mm", NVJET, 760)
                world.kernel_of(None, "triton_poi_fused_mul_silu_slice_1", 30, api="cuLaunchKernel")
                world.kernel_of("aten::mm", NVJET, 400)
            world.copied("DtoH", 104, path=TO)
    return world


STORIES = (
    Story(
        "lengths between draft and verification", "LLM serving, speculative", GITHUB + "sgl-project/sglang/pull/27979",
        "the host waits for lengths before it can launch the next draft: an upper bound that it has already", _lengths_between,
        bound=("sync", "launch", "python", "copy", "mixed", "compute"), 
        told=("SY002|SY001|IN001|ID001|PY001", "~_to_copy|to the host|copy"),
        never=("PR001", "~advisor collect|num_workers", "GR004", *OF_TRAINING),
    ),
    Story(
        "nine requests, a graph of sixteen", "LLM serving, CUDA graphs", GITHUB + "vllm-project/vllm/pull/12920",
        "the pass is padded to the next captured size: capture more sizes", _padded_to_sixteen, bound=("compute",),
        told=("~cudagraph_capture_sizes|padd",), never=("ID001", "GR004", "PR001", "SY002", *OF_TRAINING),
    ),
    Story(
        "experts without a tuned configuration", "LLM serving, MoE", GITHUB + "vllm-project/vllm/issues/48732",
        "the kernel of the experts is most of a token: tune its configuration", _untuned_experts, bound=("compute",),
        told=("~fused_moe_kernel",), never=("ID001", "GR004", "GR001", "PR001", "KE001", *OF_TRAINING),
    ),
    Story(
        "cache not there yet", "LLM serving, KV transfer", GITHUB + "vllm-project/vllm/issues/41784",
        "the engine waits 350 ms for keys and values of other machines: fetch them earlier", _blocks_not_there,
        told=("~wait_for_layer_load|kv_connector|350 ms|35\\d ms",), never=("GR004", "~reduce-overhead", "PR001", "~num_workers",
        "~gc\\.freeze", *OF_TRAINING),
    ),
    Story(
        "engines that wait for themselves", "vision, TensorRT", GITHUB + "pytorch/TensorRT/issues/3977",
        "each engine's call waits for its stream: one wait for all of them", _engines_that_wait,
        bound=("sync", "launch", "mixed", "compute"), told=("SY003|ID001", "~execute_engine"), never=("PR001", "~num_workers",
        "~torch\\.cuda\\.synchronize\\(\\) is called by you", *OF_TRAINING),
    ),
    Story(
        "encoder of speech, busy", "speech, Whisper", GITHUB + "sgl-project/sglang-omni/pull/2182",
        "busy for 96 %: a graph brings nothing", _encoder_of_speech, bound=("compute",),
        never=("ID001", "GR004", "SY003", "PY001", "PR001", "GR001", "XF001", *NOT_TRAINED),
    ),
    Story(
        "vocoder without its graph", "speech, vocoder", GITHUB + "sgl-project/sglang-omni/pull/2182",
        "29 % busy, bound by launches: replayed from a graph 92 %", _vocoder_op_by_op, bound=("launch",),
        told=("ID001|GR004", "~CUDA graph|reduce-overhead|make_graphed"), never=("PR001", "SY002", "KE001", *OF_TRAINING),
    ),
    Story(
        "weights unpacked in each pass", "diffusion, GGUF", GITHUB + "huggingface/diffusers/pull/11869",
        "ops of torch unpack the weights in front of each product: a kernel that does it", _unpacked_each_pass, bound=("compute",),
        told=("PR006|GR001", "~unpacks"), never=("PR001", "ID001", "GR004", "PR004", *OF_TRAINING),
    ),
    Story(
        "adapter merged for each prompt", "diffusion, LoRA", GITHUB + "siliconflow/onediff/pull/656",
        "loading and merging takes longer than denoising: keep adapters loaded, or merge once", _merged_for_each_prompt,
        bound=("copy", "python", "launch", "mixed"), told=("~adapter", "~fuse_lora|merge"), never=("PR001", *NOT_TRAINED),
    ),
    Story(
        "few blocks of attention", "LLM serving, long context", GITHUB + "sgl-project/sglang/pull/27786",
        "a grid of 32 blocks on 108 multiprocessors: more splits of keys and values", _few_blocks_of_attention, bound=("compute",),
        told=("KE001", "~_fwd_grouped_kernel_stage1"), never=("PR001", "ID001", "~batch_size=", *OF_TRAINING),
    ),
    Story(
        "prompt in chunks", "LLM serving, chunked prefill", GITHUB + "vllm-project/vllm/pull/3236",
        "chunks with texts beside them are bound by products", _prompt_in_chunks, bound=("compute",),
        never=("ID001", "IN001", "GR004", "GR001", "PR001", "SY002", "IN003", "~enforce_eager|CUDA graph", *OF_TRAINING),
    ),
)  # fmt: skip
