"""Stories of models that make tokens, written down, demands and all, before the tool was asked: caches, experts, drafts."""

from __future__ import annotations

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, FLASH, NVJET, SDPA, TO, sent_and_waited
from stories.of_answering import ARGMAX, FILL, PAGED
from stories.of_engines import EXPERTS
from stories.of_requests import COMPARED, NONZERO, NOT_TRAINED
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import GITHUB, Story

INT8 = "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize32x32x64_stage4_warpsize2x2x1_tensor16x8x32"
QUANTISED = "void kInt8VectorQuant<__half, 1024, 0>(__half*, signed char*, float*, float, int, int)"
DEQUANTISED = "void kdequant_mm_int32_fp16<4, 128, 512>(int*, float*, float*, __half*, __half*, int, int, int)"
SHARED = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, int, int)"
INDEXED = (
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<"
    "at::native::OpaqueType<2>>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)>>(p)"
)


def _decoder(scale: float = 1.0) -> list[tuple[str, float]]:
    """Kernels of one layer that makes a token of each text."""
    one = [(RMS, 3), (GEMV, 14), (PAGED, 9), (GEMV, 10), (RMS, 3), (GEMV, 30), (ADD, 3), (GEMV, 18)]
    return [(name, dur * scale) for name, dur in one]


def eager_layer(world: Clocked, scale: float = 1.0, *, host: float = 15) -> None:
    """A layer of a small language model, op by op, for one text."""
    for op in ("aten::pow", "aten::mean", "aten::rsqrt", "aten::mul"):
        world.kernel_of(op, ADD, 2.5, host=host)
    for _ in range(3):
        world.kernel_of("aten::linear/aten::mm", GEMV, 8 * scale, host=host * 1.4)
    for op in ("aten::mul", "aten::neg", "aten::cat", "aten::add"):
        world.kernel_of(op, ADD, 2.5, host=host)
    world.kernel_of("aten::index_copy_", INDEXED, 3, host=host * 1.5)
    world.kernel_of("aten::index_copy_", INDEXED, 3, host=host * 1.5)
    world.kernel_of(SDPA, FLASH, 9, host=host * 2.5)
    world.kernel_of("aten::linear/aten::mm", GEMV, 8 * scale, host=host * 1.4)
    for _ in range(3):
        world.kernel_of("aten::linear/aten::mm", GEMV, 16 * scale, host=host * 1.4)
    world.kernel_of("aten::silu", ADD, 2.5, host=host)


def _logprobs_of_accepted() -> Clocked:
    """vLLM's rejection sampler picks accepted tokens by a mask: each pass waits for how many there are, then the draft begins."""
    world = Clocked(marks=False)
    for _ in range(12):
        with world.inside("execute_context_0(0)_generation_16(64)"):
            world.graph(_decoder(2.0) * 32, host=180)
            world.kernel_of("aten::argmax", ARGMAX, 14)
            for _ in range(2):
                with world.within("aten::index"), world.within("aten::nonzero"):
                    world.kernel_of(None, NONZERO, 6)
                    world.copied("DtoH", 8, path=None)
                world.kernel_of("aten::index", INDEXED, 6, host=20)
            for op in ("aten::log_softmax", "aten::topk", "aten::gather", "aten::cat"):
                world.kernel_of(op, RMS, 12, host=40)
            world.idle(1_400)
            for _ in range(3):
                world.graph(_decoder(), host=70)
                world.kernel_of("aten::argmax", ARGMAX, 8, host=30)
    return world


def _static_and_eager() -> Clocked:
    """transformers with `cache_implementation="static"` and no compiler: 48 tokens a second, with it 227."""
    world = Clocked(marks=False)
    for _ in range(30):
        for _ in range(24):
            eager_layer(world)
        world.kernel_of("aten::linear/aten::mm", GEMV, 90)
        world.kernel_of("aten::argmax", ARGMAX, 9)
        world.read_value()
    return world


def _heard_and_written() -> Clocked:
    """Whisper answers three clips: an encoder that fills the device for 40 ms, then 40 tokens op by op that do not."""
    world = Clocked(marks=False)
    for _ in range(3):
        world.copied("HtoD", 30 * 100 * 80 * 4)
        for _ in range(32):
            world.kernel_of("aten::layer_norm/aten::native_layer_norm", RMS, 20, host=22)
            for dur in (110, 110, 110):
                world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
            world.kernel_of(SDPA, FLASH, 260, host=34)
            for dur in (110, 260, 260):
                world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
            world.kernel_of("aten::gelu", ADD, 22)
        for _ in range(40):
            for _ in range(4):
                for _ in range(2):
                    eager_layer(world, 0.5)
            world.kernel_of("aten::linear/aten::mm", GEMV, 40)
            world.kernel_of("aten::argmax", ARGMAX, 9)
            world.read_value()
    return world


def _experts_one_by_one() -> Clocked:
    """A small mixture of experts: for each expert of each layer the host asks whether, and where, the mask is set."""
    world = Clocked(marks=False)
    for _ in range(8):
        for _ in range(8):
            eager_layer(world)
            world.kernel_of("aten::topk", ARGMAX, 8, host=24)
            for _ in range(4):
                world.kernel_of("aten::eq", COMPARED, 2)
                world.kernel_of("aten::any", RMS, 3)
                world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
                with world.within("aten::nonzero"):
                    world.kernel_of(None, NONZERO, 5)
                    world.copied("DtoH", 8, path=None)
                world.kernel_of("aten::index", INDEXED, 4, host=20)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::mm", GEMV, 9, host=20)
                world.kernel_of("aten::mul", ADD, 2)
                world.kernel_of("aten::index_add_", INDEXED, 4, host=18)
        world.kernel_of("aten::linear/aten::mm", GEMV, 30)
        world.kernel_of("aten::argmax", ARGMAX, 9)
        world.read_value()
    return world


def _outliers_looked_for() -> Clocked:
    """bitsandbytes, LLM.int8() with a threshold: `outliers.any()` is read in each of 224 linear layers of a token."""
    world = Clocked(marks=False)
    for _ in range(4):
        for _ in range(32):
            for op in ("aten::pow", "aten::mean", "aten::mul"):
                world.kernel_of(op, ADD, 3, host=14)
            for dur in (12, 12, 12, 12, 28, 28, 28):
                with world.stack(
                    "transformers/models/llama/modeling_llama.py(180): forward",
                    "bitsandbytes/nn/modules.py(990): forward",
                ):
                    world.kernel_of("aten::abs", ADD, 3, host=12)
                    world.kernel_of("aten::ge", COMPARED, 3, host=12)
                    world.kernel_of("aten::any", RMS, 3, host=14)
                    world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
                    world.kernel_of("bitsandbytes::int8_vectorwise_quant", QUANTISED, 5, host=45)
                    world.kernel_of("bitsandbytes::int8_linear_matmul", INT8, dur, host=40)
                    world.kernel_of("bitsandbytes::int8_mm_dequant", DEQUANTISED, 4, host=30)
            world.kernel_of(SDPA, FLASH, 9, host=34)
        world.kernel_of("aten::linear/aten::mm", GEMV, 190)
        world.kernel_of("aten::argmax", ARGMAX, 12)
        world.read_value()
    return world


def _eight_bits_one_text() -> Clocked:
    """vLLM, `load_in_8bit`, one text on an A100: a third of the time turns weights to half in front of each product."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(6):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            for _ in range(32):
                world.kernel_of("_C::rms_norm", RMS, 4, host=10)
                for dur in (60, 40, 110, 80):
                    world.kernel_of("bitsandbytes::int8_vectorwise_dequant/aten::mul", ADD, dur * 0.8, host=24)
                    world.kernel_of("aten::linear/aten::mm", GEMV, dur, host=16)
                world.kernel_of("vllm::unified_attention_with_output", PAGED, 12, host=30)
            world.kernel_of("aten::argmax", ARGMAX, 12)
            world.copied("DtoH", 8, path=TO)
    return world


def _sampled_on_the_host() -> Clocked:
    """`torch.multinomial(probas.cpu(), 1).to(device)` for each token of a small model: without `.cpu()` a fifth more tokens."""
    world = Clocked(marks=False)
    for _ in range(30):
        for _ in range(12):
            eager_layer(world, host=9)
        world.kernel_of("aten::linear/aten::mm", GEMV, 90)
        world.kernel_of("aten::softmax/aten::_softmax", RMS, 20, host=22)
        world.copied("DtoH", 151_936 * 4, rate=3_000, path=TO)
        world.host_op("aten::multinomial", 1_900)
        sent_and_waited(world, 8)
    return world


def _inputs_of_the_graph() -> Clocked:
    """lmdeploy, GLM with draft tokens: between two graphs dozens of small kernels fill buffers, reject and stop."""
    world = Clocked(marks=False)
    for _ in range(12):
        world.graph(_decoder(1.2) * 40, host=200)
        for _ in range(30):
            world.kernel_of("aten::index_select", FILL, 2, host=22)
        world.read_value()
        for _ in range(210):
            # Nothing of it repeats: buffers, masks, lengths, tables.
            ops = ("aten::copy_", "aten::fill_", "aten::add", "aten::where", "aten::cumsum", "aten::sub", "aten::eq")
            world.kernel_of(world._random.choice(ops), FILL, 2, host=15)
    return world


def _experts_of_two() -> Clocked:
    """Qwen3-Omni on two GPUs, one rank: 98 % busy, experts are most of a pass, all-reduces are 8 %."""
    world = Clocked(marks=False, top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}})
    one = [(RMS, 4), (NVJET, 30), (PAGED, 28), (NVJET, 22), (SHARED, 14), (RMS, 4), (EXPERTS, 150), (ADD, 4), (EXPERTS, 90),
           (SHARED, 14)]  # fmt: skip
    for _ in range(12):
        with world.inside("step[DECODE bs=32]"):
            world.graph(one * 48, host=260)
            world.kernel_of("aten::argmax", ARGMAX, 14)
        world.copied("DtoH", 256, path=TO)
        world.idle(80)
    return world


def _schedules_sent() -> Clocked:
    """gLLM: batches in graphs of 24 ms, and 22 ms between them in which the schedule is sent to each rank in turn."""
    world = Clocked(marks=False)
    for _ in range(10):
        world.copied("HtoD", 256 * 64, pinned=True)
        world.graph(_decoder(7.0) * 36, host=240)
        world.kernel_of("aten::argmax", ARGMAX, 14)
        world.copied("DtoH", 2_048, path=TO)
        world.idle(22_000)
    return world


def _awaited_behind_a_pass() -> Clocked:
    """SGLang's overlapped scheduler waits for the copy of the last batch while the next one runs: the device is never idle."""
    world = Clocked(marks=False)
    for _ in range(14):
        with world.inside("step[DECODE bs=64]"):
            world.graph(_decoder(2.5) * 36, host=220)
            world.kernel_of("aten::argmax", ARGMAX, 14)
            world.copied("DtoH", 512, pinned=True, path=TO)
        begin, end = world.now, world.busy_until[7] - 700
        if end > begin:
            world.runtime("cudaEventSynchronize", begin, end - begin)
            world.now = end + 5
        world.idle(450)
    world.synchronize()
    return world


STORIES = (
    Story(
        "log-probabilities of accepted tokens", "LLM serving, speculative", GITHUB + "vllm-project/vllm/pull/31336",
        "masks make the host wait for a count, the device then waits for the host: keep shapes static", _logprobs_of_accepted,
        bound=("sync", "launch", "python", "mixed", "copy", "compute"),
        told=("SY004|SY002|SY001|IN001|PY001", "~nonzero|mask|boolean"),
        never=("PR001", "GR004", "~num_workers", *OF_TRAINING),
    ),
    Story(
        "static cache without the compiler", "LLM inference, transformers", GITHUB + "huggingface/transformers/issues/30707",
        "the host launches kernel by kernel: compile with reduce-overhead, the cache is static already", _static_and_eager,
        bound=("launch",), told=("ID001|IN001|GR004", "~reduce-overhead|CUDA graph"),
        never=("PR001", "KE001", "SY001", *OF_TRAINING),
    ),
    Story(
        "clips heard, tokens written", "speech, Whisper", GITHUB + "huggingface/transformers/pull/31166",
        "decoding is bound by launches, encoding is not: a static cache and a graph for decoding", _heard_and_written,
        bound=("launch", "mixed"), told=("ID001|IN001|GR004",), never=("PR001", "XF001", "SY001", "GR001", *NOT_TRAINED),
    ),
    Story(
        "experts asked one by one", "LLM inference, MoE", GITHUB + "jingyaogong/minimind/issues/835",
        "three waits for each expert: sort tokens by expert, one wait a layer", _experts_one_by_one,
        bound=("launch", "sync", "mixed"), told=("SY001|SY004", "~is_nonzero|nonzero"), never=("PR001", "GR004", *OF_TRAINING),
    ),
    Story(
        "outliers looked for in each layer", "LLM inference, bitsandbytes",
        GITHUB + "bitsandbytes-foundation/bitsandbytes/pull/1401",
        "a value is read in each linear layer: no threshold, or another format", _outliers_looked_for,
        bound=("launch", "sync", "python", "mixed"), told=("SY001", "~bitsandbytes"), never=("PR001", "GR004", *OF_TRAINING),
    ),
    Story(
        "eight bits for one text", "LLM serving, bitsandbytes", GITHUB + "vllm-project/vllm/pull/44684",
        "weights are unpacked in front of each product: a format whose kernel reads it", _eight_bits_one_text, bound=("compute",),
        told=("~dequant|unpack",), never=("PR001", "ID001", "GR004", "GR001", "KE001", *OF_TRAINING),
    ),
    Story(
        "sampled on the host", "LLM inference", GITHUB + "rasbt/reasoning-from-scratch/issues/177",
        "probabilities travel to the host for each token: sample where they are", _sampled_on_the_host,
        bound=("launch", "copy", "python", "sync", "mixed"), told=("SY002|SY001|ID001|IN001", "~multinomial|copied to the host"),
        never=("PR001", "XF001", "~num_workers", *OF_TRAINING),
    ),
    Story(
        "inputs of a graph, kernel by kernel", "LLM serving, speculative", GITHUB + "InternLM/lmdeploy/pull/4877",
        "small kernels between graphs: fuse what fills buffers", _inputs_of_the_graph,
        bound=("launch", "mixed"), told=("ID001|IN001|GR001|GR004",), never=("PR001", "~num_workers", "IN002", *OF_TRAINING),
    ),
    Story(
        "experts of two GPUs, one rank", "LLM serving, TP, MoE", GITHUB + "sgl-project/sglang-omni/issues/760",
        "98 % busy: experts first, all-reduces are secondary", _experts_of_two, bound=("compute",), told=("~fused_moe_kernel",),
        never=("ID001", "IN001", "GR004", "PR001", "CO005", "~gradient", *OF_TRAINING),
    ),
    Story(
        "schedules sent between batches", "LLM serving, graphs", GITHUB + "gty111/gLLM/issues/148",
        "the host needs 22 ms between batches: nothing that a graph could take away", _schedules_sent,
        bound=("python", "launch", "mixed"), told=("PY001|IN001",),
        never=("GR004", "ID001", "PR001", "~reduce-overhead|make_graphed", *NOT_TRAINED),
    ),
    Story(
        "copy awaited behind a pass", "LLM serving, overlapped", GITHUB + "sgl-project/sglang/issues/10514",
        "the host waits beside a busy device: nothing is lost", _awaited_behind_a_pass, bound=("compute",),
        never=("SY001", "SY002", "SY003", "ID001", "IN001", "PY001", "GR004", "PR001", *OF_TRAINING),
    ),
)  # fmt: skip
