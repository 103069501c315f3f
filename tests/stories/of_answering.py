"""Stories of engines that answer requests, written down, demands and all, before the tool was asked: vLLM, SGLang, TensorRT-LLM."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import repeated_ids
from stories.models import ADD, FLASH, NVJET, RELU, SDPA
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import Story

GITHUB = "https://github.com/"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int)"
PUT = (
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl<"
    "at::native::OpaqueType<2>>(at::TensorIterator&, c10::ArrayRef<long>, c10::ArrayRef<long>)>>(p)"
)
ARGMAX = RELU.replace("clamp_min_scalar", "argmax")
PAGED = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>>(p)"
TO_HOST = "aten::to/aten::_to_copy/aten::copy_"
A3090 = {
    "id": 0, "name": "NVIDIA GeForce RTX 3090", "totalGlobalMem": 25_430_786_048, "computeMajor": 8, "computeMinor": 6,
    "warpSize": 32, "numSms": 82,
}  # fmt: skip


def _decoder(count: int, scale: float = 1.0) -> list[tuple[str, float]]:
    """Kernels of one pass of so many layers, as a graph replays them: 100 us each."""
    one = [(RMS, 4), (NVJET, 18), (PAGED, 16), (NVJET, 12), (RMS, 4), (NVJET, 26), (ADD, 3), (NVJET, 17)]
    return [(name, dur * scale) for name, dur in one] * count


def _sent(world: Clocked, size: int) -> None:
    """A tensor of the host goes to the device; the call waits until it is there."""
    world.copied("HtoD", size)


def _read_back(world: Clocked, size: int) -> None:
    """`.to("cpu")`."""
    world.copied("DtoH", size, path=TO_HOST)


def _suppressed_by_list() -> Clocked:
    """Whisper in TensorRT-LLM: `logits[..., ids] = -inf` with a list sends it anew for each request and token, 3,000 times."""
    world = Clocked(marks=False)
    norm = "void tensorrt_llm::kernels::generalLayerNorm<__half, true>(__half const*, __half const*, __half*, float, int, int)"
    for _ in range(14):
        world.idle(260)
        world.graph([(norm if name == RMS else name, dur) for name, dur in _decoder(4, 0.5)], host=60)
        for _ in range(32):
            world.host_op("aten::select", 4)
            _sent(world, 90 * 8)
            world.kernel_of("aten::index_put_/aten::_index_put_impl_", PUT, 3, host=22)
        world.kernel_of("aten::argmax", ARGMAX, 14)
        _read_back(world, 32 * 8)
        world.idle(240)
    return world


def _bias_set_one_by_one() -> Clocked:
    """Whisper in SGLang: 88 suppressed tokens of each request are set one by one, `logit_bias[i, key] = value`; 9 % of the time."""
    world = Clocked(marks=False)
    for _ in range(6):
        with world.inside("step[EXTEND bs=8 toks=12000]"):
            for _ in range(8):
                for _ in range(88):
                    world.host_op("aten::select", 3)
                    world.host_op("aten::select", 3)
                    world.kernel_of("aten::fill_", FILL, 1.5, host=11)
            for _ in range(6):
                for dur in (40, 40, 40, 90, 40, 110, 12, 110):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
            world.kernel_of("aten::add_", ADD, 6)
            _read_back(world, 64)
        for _ in range(10):
            with world.inside("step[DECODE bs=8]"):
                world.idle(420)
                world.graph(_decoder(6), host=60)
                world.kernel_of("aten::add_", ADD, 6)
                world.kernel_of("aten::argmax", ARGMAX, 10)
                _read_back(world, 64)
    return world


def _mask_of_a_grammar() -> Clocked:
    """vLLM with xgrammar: the mask of the words allowed is sent blocking, so the sampler is launched only behind the pass; 5 %."""
    world = Clocked(marks=False)
    for _ in range(20):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            world.idle(300)
            world.graph([(GEMV, 70)] * 128 + [(PAGED, 20)] * 32 + [(RMS, 4)] * 64, host=220)
            world.idle(180)
            _sent(world, 128_256 // 8)
            world.kernel_of(None, "void apply_token_bitmask_inplace_kernel<__nv_bfloat16, int4, 8>(p)", 5)
            for op in (
                "aten::div_",
                "aten::softmax/aten::_softmax",
                "aten::exponential_",
                "aten::div_",
                "aten::argmax",
            ):
                world.kernel_of(op, ADD, 12, host=24)
            _read_back(world, 8)
            world.idle(120)
    return world


def _cache_swapped() -> Clocked:
    """vLLM's cache offload: a call per layer and block of 32 KB, from pinned memory, thousands of them; 7 times as fast in one."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_16(16)"):
            for direction in ("HtoD", "DtoH"):
                for _ in range(32):
                    with world.within("_C_cache_ops::swap_blocks"):
                        for _ in range(24):
                            world.copied(direction, 32_768, pinned=True, path=None, rate=24_000)
            world.graph(_decoder(32), host=200)
            world.kernel_of("aten::argmax", ARGMAX, 10)
            _read_back(world, 16 * 8)
            world.idle(300)
    return world


def _plan_reads_back() -> Clocked:
    """SGLang with EAGLE: FlashInfer's plan() reads three tensors back for each pass; the next graph is launched behind that."""
    world = Clocked(marks=False)
    for _ in range(16):
        with world.inside("step[TARGET_VERIFY bs=8]"):
            for _ in range(3):
                _read_back(world, 36)
            world.idle(420)
            world.graph(_decoder(48), host=260)
        with world.inside("step[DRAFT_EXTEND_V2 bs=8]"):
            for _ in range(3):
                _read_back(world, 36)
            world.idle(420)
            world.graph(_decoder(2), host=40)
            world.idle(160)
            world.graph(_decoder(2), host=40)
    return world


def _drafter_without_graph() -> Clocked:
    """vLLM with a draft model: its graphs are captured and never used, so that drafting costs more than verifying."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_4(20)"):
            with world.inside("gpu_model_runner: preprocess"):
                world.idle(260)
            with world.inside("gpu_model_runner: forward"):
                world.graph(_decoder(48), host=260)
            with world.inside("gpu_model_runner: sample"):
                world.kernel_of(None, "rejection_greedy_sample_kernel", 6)
            with world.inside("gpu_model_runner: draft"):
                for _ in range(4):
                    for _ in range(24):
                        world.kernel_of("_C::fused_add_rms_norm", RMS, 3, host=16)
                        world.kernel_of("aten::linear/aten::mm", GEMV, 7, host=17)
                        world.kernel_of("_C::rotary_embedding", ADD, 2, host=15)
                        world.kernel_of("_C_cache_ops::reshape_and_cache_flash", ADD, 2, host=15)
                        world.kernel_of("vllm::unified_attention_with_output", PAGED, 7, host=48)
                        world.kernel_of("aten::linear/aten::mm", GEMV, 6, host=17)
                        world.kernel_of("_C::fused_add_rms_norm", RMS, 3, host=16)
                        world.kernel_of("aten::linear/aten::mm", GEMV, 12, host=17)
                        world.kernel_of("_C::silu_and_mul", ADD, 2, host=14)
                        world.kernel_of("aten::linear/aten::mm", GEMV, 8, host=17)
                    world.kernel_of("aten::argmax", ARGMAX, 10)
            with world.inside("gpu_model_runner: bookkeep"):
                _read_back(world, 160)
                world.idle(200)
    return world


def _mask_pinned_each_step() -> Clocked:
    """vLLM in a container: filling and pinning a mask of 12.6 MB on the host, by a throttled pool of threads, between passes."""
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_256(256)"):
            world.idle(400)
            world.host_op("aten::full/aten::fill_", 5_200)
            with world.within("aten::pin_memory"), world.within("aten::_pin_memory"):
                world.runtime("cudaHostAlloc", world.now, 1_900)
                world.now += 1_905
                world.host_op("aten::copy_", 2_800)
            world.copied("HtoD", 12_600_000, pinned=True, rate=48_000)
            world.graph(_decoder(64), host=220)
            world.kernel_of(None, "void apply_token_bitmask_inplace_kernel<float, int4, 8>(p)", 30)
            world.kernel_of("aten::argmax", ARGMAX, 60)
            _read_back(world, 256 * 8)
    return world


def _prompts_before_tokens() -> Clocked:
    """SGLang without mixed chunks: passes that read a prompt of 600 tokens let 18 texts wait; mixed with them, 14-18 % more."""
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("step[EXTEND bs=1 toks=600]"):
            world.idle(150)
            for _ in range(28):
                world.kernel_of("sgl_kernel::fused_add_rmsnorm", RMS, 6)
                world.kernel_of("aten::linear/aten::mm", NVJET, 46)
                world.kernel_of("flashinfer::batch_prefill", FLASH, 30, host=22)
                world.kernel_of("aten::linear/aten::mm", NVJET, 34)
                world.kernel_of("aten::linear/aten::mm", NVJET, 150)
            _read_back(world, 8)
        for _ in range(2):
            with world.inside("step[DECODE bs=18]"):
                world.idle(150)
                world.graph(_decoder(28, 1.6), host=120)
                world.kernel_of("aten::argmax", ARGMAX, 12)
                _read_back(world, 18 * 8)
    return world


def _without_requests() -> Clocked:
    """vLLM under a light load: between the requests the engine's thread waits on its queue; no fault of the program."""
    world = Clocked(marks=False)
    for _ in range(5):
        with world.stack(
            "vllm/v1/engine/core.py(905): run_busy_loop",
            "vllm/v1/engine/core.py(912): _process_input_queue",
            "queue.py(154): get",
            "threading.py(355): wait",
            "<method 'acquire' of '_thread.lock' objects>",
        ):
            world.now += 420_000
        for _ in range(8):
            with (
                world.stack(
                    "vllm/v1/engine/core.py(905): run_busy_loop", "vllm/v1/engine/core.py(936): _process_engine_step"
                ),
                world.inside("execute_context_0(0)_generation_1(1)"),
            ):
                world.idle(300)
                world.graph(_decoder(32), host=180)
                world.kernel_of("aten::argmax", ARGMAX, 10)
                _read_back(world, 8)
                world.idle(150)
    return world


def _outliers_counted() -> Clocked:
    """LLM.int8() on a 3090: each linear layer is six kernels and a count read back; 155 ms a token, in half precision 33."""
    world = Clocked(marks=False)
    half = {"Input type": ["c10::Half", "c10::Half"]}
    turing = "turing_int8_i8816gemm_int8_128x128_ldg16_relu_stages_32x1_tn"
    for _ in range(6):
        for _ in range(32):
            world.kernel_of("aten::pow", ADD.replace("c10::BFloat16", "c10::Half"), 3, args=half)
            world.kernel_of("aten::mean", RMS, 4, args=half)
            for _ in range(7):
                with world.within("MatMul8bitLt"):
                    world.kernel_of("aten::contiguous/aten::clone/aten::copy_", ADD, 3)
                    world.idle(40)
                    world.kernel_of(
                        None, "void kgetColRowStats<__half, 64, 4, 16, 256, 1>(__half*, float*, float*, int*, float)", 5
                    )
                    world.read_value()
                    world.kernel_of(
                        None, "void kDoubleRowColQuant<64, 4, 16, 256, 1>(__half*, float*, float*, char*, char*)", 4
                    )
                    world.idle(30)
                    world.kernel_of(
                        None, "void kTransformRowToFormat<256, 8, 32, 256, 0, 3>(char*, char*, int, int)", 4
                    )
                    world.kernel_of(None, turing, 24)
                    world.kernel_of(
                        None, "void kdequant_mm_int32_fp16<4, 128, 512>(int*, float*, float*, __half*, float*)", 4
                    )
                    world.idle(35)
            world.kernel_of(SDPA, FLASH, 8, host=30)
        world.kernel_of("aten::argmax", ARGMAX, 10)
        world.read_value()
    world.top |= {"deviceProperties": [dict(A3090)], "cuda_runtime_version": 11080}
    return repeated_ids(world)  # type: ignore[return-value]


def _without_cache() -> Clocked:
    """A sampler of its own over a 1B model, `use_cache=False`: each token computes the whole text anew; 61 s, with the cache 8."""
    world = Clocked(marks=False)

    def product(tokens: int, into: int, out: int) -> None:
        shapes = {"Input Dims": [[tokens, into], [into, out]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
        world.kernel_of("aten::linear/aten::matmul/aten::mm", NVJET, tokens * into * out * 2 / 3.2e8, args=shapes)

    for tokens in range(1_200, 1_212):
        words = {"Input Dims": [[128_256, 2_048], [1, tokens], [], [], []], "Input type": ["c10::BFloat16", "long int"]}
        world.kernel_of("aten::embedding/aten::index_select", ADD, 4, args=words)
        for _ in range(16):
            world.kernel_of("aten::mul", ADD, 6)
            product(tokens, 2_048, 3_072)
            dims = [[1, 32, tokens, 64], [1, 32, tokens, 64], [1, 32, tokens, 64], [], [], [], [], []]
            world.kernel_of(SDPA, FLASH, 60, host=30, args={"Input Dims": dims, "Input type": ["c10::BFloat16"] * 3})
            product(tokens, 2_048, 2_048)
            world.kernel_of("aten::mul", ADD, 6)
            product(tokens, 2_048, 16_384)
            world.kernel_of("aten::silu", ADD, 14)
            product(tokens, 8_192, 2_048)
        product(tokens, 2_048, 128_256)
        world.kernel_of("aten::argmax", ARGMAX, 10)
        world.read_value()
    return world


STORIES = (
    Story(
        "tokens suppressed by a list", "speech, TensorRT-LLM", GITHUB + "NVIDIA/TensorRT-LLM/pull/17583",
        "a list as index is sent to the device for each request and token: an index kept there", _suppressed_by_list,
        bound=("copy", "sync", "launch", "mixed"), told=("XF003|XF004|XF007|XF001|PY002", "~index_put_|list|index"),
        never=("XF006", "XF002", "GR004", "~pin_memory=True", "~num_workers", "PR001", *OF_TRAINING),
    ),
    Story(
        "bias of logits, entry by entry", "speech, SGLang", GITHUB + "sgl-project/sglang-omni/pull/1592",
        "each entry is a select and a fill: ids in one tensor, written at once", _bias_set_one_by_one,
        bound=("launch", "mixed", "compute"), told=("PY002|PY003|ID001", "~fill_"),
        never=("KE001", "OP001", "PR001", "~zero_grad", *OF_TRAINING),
    ),
    Story(
        "mask of a grammar sent blocking", "LLM serving, xgrammar", GITHUB + "vllm-project/vllm/pull/12563",
        "the copy waits for the pass, and only then the sampler is launched: non_blocking=True", _mask_of_a_grammar,
        bound=("compute",), told=("XF001|XF003|XF007|ID001|ID003|IN001", "~non_blocking"),
        never=("GR004", "XF006", "XF002", "PY001", *OF_TRAINING),
    ),
    Story(
        "cache swapped block by block", "LLM serving, offload", GITHUB + "vllm-project/vllm/pull/38460",
        "thousands of copies of 32 KB: one call for all of them", _cache_swapped,
        bound=("copy", "launch", "mixed"), told=("XF003", "~swap_blocks|one call|batch"),
        never=("XF001", "XF006", "GR004", "~pin_memory", "~uint8", "~collate", *OF_TRAINING),
    ),
    Story(
        "FlashInfer's plan reads back", "LLM serving, EAGLE", GITHUB + "sgl-project/sglang/pull/27689",
        "plan() copies three tensors to the host, which waits for the pass before: keep them on the host too", _plan_reads_back,
        # What the host does behind each copy is told as well, and that it follows them.
        told=("SY001|SY002", "~after values were copied"), never=("GR004", "XF001", "~zero_grad", "IN003", *OF_TRAINING),
    ),
    Story(
        "drafter without its graph", "LLM serving, speculative", GITHUB + "vllm-project/vllm/pull/47460",
        "the draft model is launched kernel by kernel: replay its graph", _drafter_without_graph,
        bound=("launch",), told=("GR004|ID001|IN001", "~graph"), never=("PR001", "KE001", "IN002", "SY002", *OF_TRAINING),
    ),
    Story(
        "mask pinned in each step", "LLM serving, container", GITHUB + "vllm-project/vllm/pull/49919",
        "fills and pins on the host between the passes: one thread, a buffer kept pinned", _mask_pinned_each_step,
        told=("~aten::fill_|aten::full|pin_memory",),
        never=("XF001", "XF006", "~num_workers", "GR004", "~Compute-bound", *OF_TRAINING),
    ),
    Story(
        "prompts before tokens", "LLM serving, SGLang", GITHUB + "sgl-project/sglang-omni/pull/789",
        "passes for prompts alone let texts wait: mixed chunks", _prompts_before_tokens,
        bound=("compute",), told=("IN004", "~chunk"), never=("GR004", "PR001", "~DataLoader", *OF_TRAINING),
    ),
    Story(
        "server without requests", "LLM serving, light load",
        GITHUB + "NVIDIA-AI-Blueprints/video-search-and-summarization/pull/2220",
        "idle for want of requests: nothing to be improved, load it and record again", _without_requests,
        told=("~[Rr]equests|queue|waits? for work",),
        never=("PY001", "GR004", "ID001", "ID002", "ID004", "SY001", "~^Python-bound", "~^Launch-bound", *OF_TRAINING),
    ),
    Story(
        "LLM.int8() counts outliers", "LLM inference, int8", GITHUB + "bitsandbytes-foundation/bitsandbytes/issues/347",
        "six kernels and a read for each layer: half precision, or kernels for inference", _outliers_counted,
        bound=("sync", "launch", "mixed"), told=("SY001|ID001", "~MatMul8bitLt|LLM.int8|bitsandbytes"),
        never=("PR001", "PR002", "PR003", "KE001", *OF_TRAINING),
    ),
    Story(
        "text computed anew for each token", "LLM inference", GITHUB + "sam-paech/antislop-sampler/pull/2",
        "no cache of keys and values: use_cache=True", _without_cache, bound=("compute",),
        told=("~use_cache|past_key_values|[Kk]eys and values|KV cache",),
        never=("IN003", "DL009", "GR004", "PR001", "~larger batch", *OF_TRAINING),
    ),
)  # fmt: skip
