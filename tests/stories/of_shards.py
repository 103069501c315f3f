"""Stories of one rank of several that share a model, written down before the tool was asked: TP, PP, EP, CP and sequences."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, FLASH, FLASH_BACK, GATHER, NVJET, SDPA, update
from stories.of_answering import ARGMAX, PAGED
from stories.of_serving import OF_TRAINING, RMS
from stories.of_whole_jobs import CUSTOM, OF_REPLICAS, SEND
from stories.story import GITHUB, Story

GEMM_FP8 = (
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<7168u, 2048u, 128u, 128u, 128u, 32u, 4u, 128u, (deep_gemm::GemmType)2>(p)"
)
DISPATCH = (
    "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, int*, long*, int*, int*, void const*, int)"
)
COMBINE = "void deep_ep::internode_ll::combine<false, 7168, 9>(void*, void*, int*, void*, void const*, long const*, float const*)"
MLA = (
    "void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>>(p)"
)
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)>>(int, at::native::direct_copy_kernel_cuda const&)"
)


def _info(rank: int, size: int) -> dict[str, dict[str, object]]:
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": size, "nccl_version": "2.21.5"}}


def _waits_in_custom_reduce() -> Clocked:
    """vLLM V1, DeepSeek R1, TP 8: kernels of a pass sum to 51 ms, all-reduces to 34 of these; without waiting they took 1 ms."""
    world = Clocked(marks=False, top=_info(1, 8))
    one = [
        (RMS, 4),
        (GEMM_FP8, 20),
        (MLA, 22),
        (NVJET, 14),
        (CUSTOM, 280),
        (RMS, 4),
        (NVJET, 6),
        (GEMM_FP8, 60),
        (ADD, 3),
        (GEMM_FP8, 40),
        (CUSTOM, 280),
    ]
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_32(32)"):
            world.idle(260)
            world.graph(one * 61, host=260)
            world.kernel_of("aten::argmax", ARGMAX, 14)
            world.copied("DtoH", 256, path="aten::to/aten::_to_copy/aten::copy_")
        world.idle(120)
    return world


def _waits_in_dispatch() -> Clocked:
    """SGLang, EP 16, low latency: the call that sends takes 25 us, the one that receives 4.6 ms: it waits for late ranks."""
    world = Clocked(marks=False, top=_info(4, 16))
    for _ in range(6):
        with world.inside("step[DECODE bs=50]"):
            for _ in range(5):
                world.kernel_of("sgl_kernel::fused_add_rmsnorm", RMS, 5)
                world.kernel_of("deep_gemm::fp8_gemm_nt", GEMM_FP8, 40, host=26)
                world.kernel_of("sgl_kernel::flash_mla", MLA, 70, host=30)
                world.kernel_of("deep_gemm::fp8_gemm_nt", GEMM_FP8, 30, host=26)
                world.kernel_of("sgl_kernel::moe_fused_gate", ADD, 8)
                world.kernel_of(None, DISPATCH, 25, call=6, api="cudaLaunchKernelExC")
                world.kernel_of(None, DISPATCH, 4_620, call=6, api="cudaLaunchKernelExC")
                world.kernel_of("deep_gemm::m_grouped_fp8_gemm_nt_masked", GEMM_FP8, 120, host=30)
                world.kernel_of("sgl_kernel::silu_and_mul", ADD, 14)
                world.kernel_of("deep_gemm::m_grouped_fp8_gemm_nt_masked", GEMM_FP8, 70, host=30)
                world.kernel_of(None, COMBINE, 20, call=6, api="cudaLaunchKernelExC")
                world.kernel_of(None, COMBINE, 160, call=6, api="cudaLaunchKernelExC")
            world.kernel_of("aten::argmax", ARGMAX, 14)
            world.copied("DtoH", 400, path="aten::to/aten::_to_copy/aten::copy_")
    return world


def _waits_for_its_turn() -> Clocked:
    """vLLM, the second of four stages, one batch in flight: three quarters of each token it waits for what the first sends."""
    world = Clocked(marks=False, top=_info(1, 4))
    stage = [(RMS, 4), (NVJET, 18), (PAGED, 16), (NVJET, 12), (RMS, 4), (NVJET, 26), (ADD, 3), (NVJET, 17)] * 16

    def message(kind: str, dur: float) -> None:
        end = world.collective(
            kind, dur, kernel=SEND, stream=24, after=world.busy_until.get(7, 0), size=4, group="pp", elements=128 * 5120
        )
        world.busy_until[7] = end + 2

    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_128(128)"):
            world.idle(260)
            message("recv", 5_600)
            world.graph(stage, host=120)
            message("send", 40)
            world.synchronize("cudaStreamSynchronize")
        world.idle(150)
    return world


def _second_gather_exposed() -> Clocked:
    """llama3-style context parallelism: keys and values are gathered by two calls, of which attention hides only one."""
    world = Clocked(top=_info(0, 8))

    def gathered(after: float) -> float:
        return world.collective(
            "_allgather_base", 900, kernel=GATHER, after=after, size=8, group="context_parallel", elements=16 << 20
        )

    for _ in range(4):
        for back in (False, True):
            for _ in range(12):
                world.kernel_of("aten::native_layer_norm", RMS, 20)
                world.kernel_of("aten::linear/aten::mm", NVJET, 700 * (1 + back))
                end = gathered(world.busy_until[7])
                world.kernel_of(SDPA, FLASH_BACK if back else FLASH, 1_000 * (1 + back), host=30, after=end + 3)
                end = gathered(end)
                world.busy_until[7] = max(world.busy_until[7], end + 3)
                world.kernel_of("aten::linear/aten::mm", NVJET, 260 * (1 + back))
                world.kernel_of("aten::linear/aten::mm", NVJET, 900 * (1 + back))
                if not back:
                    end = gathered(world.busy_until[7])
                    world.busy_until[7] = end + 3
        update(world)
        world.synchronize()
    return world


def _heads_for_sequence() -> Clocked:
    """A video transformer over eight GPUs, Ulysses: permuted, exchanged by NCCL, permuted again around attention, in each layer."""
    world = Clocked(marks=False, top=_info(0, 8))

    def exchanged(times: int) -> None:
        for _ in range(times):
            world.kernel_of("aten::contiguous/aten::clone/aten::copy_", COPY, 70, host=24)
            end = world.collective(
                "all_to_allv",
                420,
                kernel=SEND,
                after=world.busy_until[7],
                size=8,
                group="ulysses",
                elements=9_400 * 24 * 128,
            )
            world.busy_until[7] = end + 3
            world.kernel_of("aten::contiguous/aten::clone/aten::copy_", COPY, 70, host=24)

    for number in range(4):
        with world.marked(number), world.inside("denoising_step"):
            for _ in range(40):
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, 190)
                exchanged(3)
                world.kernel_of(SDPA, FLASH, 1_500, host=30)
                exchanged(1)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 190)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 640)
                world.kernel_of("aten::gelu", ADD, 60)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 640)
            for _ in range(3):
                world.kernel_of("aten::mul", ADD, 12)
    world.synchronize()
    return world


def _counts_by_gloo() -> Clocked:
    """vLLM, DP over two machines: before each pass the host reduces counts of tokens by gloo over the network; the device waits."""
    world = Clocked(marks=False, top=_info(0, 16))
    one = [
        (RMS, 4),
        (GEMM_FP8, 20),
        (MLA, 22),
        (NVJET, 14),
        (RMS, 4),
        (DISPATCH, 30),
        (GEMM_FP8, 60),
        (ADD, 3),
        (GEMM_FP8, 40),
        (COMBINE, 40),
    ]
    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_24(24)"):
            world.idle(300)
            begin = world.now
            with world.within("c10d::allreduce_"):
                world.idle(30)
            world.idle(7_400)
            world.annotation("gloo:all_reduce", begin + 20, world.now - begin - 40, 5001)
            world.graph(one * 58, host=240)
            world.kernel_of("aten::argmax", ARGMAX, 14)
            world.copied("DtoH", 192, path="aten::to/aten::_to_copy/aten::copy_")
        world.idle(200)
    return world


STORIES = (
    Story(
        "all-reduces that wait", "LLM serving, TP, one rank", GITHUB + "vllm-project/vllm/issues/21852",
        "the kernels' time is a wait for other ranks, not what the exchange takes: look at all ranks", _waits_in_custom_reduce,
        bound=("communication", "mixed"), told=("CO001", "~other ranks|all ranks|every rank|ranks together|late rank"),
        never=("CO005", "~NVLink is", *OF_REPLICAS, *OF_TRAINING),
    ),
    Story(
        "receiving part of a dispatch", "LLM serving, EP, one rank", GITHUB + "sgl-project/sglang/issues/6669",
        "the call that receives waits for tokens from ranks that are late", _waits_in_dispatch, bound=("communication",),
        told=("CO001", "~other ranks|all ranks|every rank|late"), never=("ID001", "GR004", *OF_REPLICAS, *OF_TRAINING),
    ),
    Story(
        "second of four stages", "LLM serving, PP, one rank", GITHUB + "vllm-project/vllm/issues/28270",
        "one batch is in flight, so a stage waits for the others: more batches at a time", _waits_for_its_turn,
        bound=("communication",), told=("CO001|CO008", "~batch"),
        never=("~[Ii]nterleav", "~Schedule1F1B|micro-?batch", "~accumulat", "PG006", "~Only device work",  *OF_REPLICAS,
        *OF_TRAINING),
    ),
    Story(
        "second of two gathers", "LLM pretraining, CP, one rank", GITHUB + "zhuzilin/ring-flash-attention/pull/50",
        "attention hides one of two gathers: keys and values in one call", _second_gather_exposed,
        bound=("communication", "mixed", "compute"), told=("CO001|CO002",), never=("~bucket_cap_mb", "~no_sync",
        "~set_modules_to_forward_prefetch", "DL001"),
    ),
    Story(
        "heads for sequence", "video generation, Ulysses, one rank", GITHUB + "flashinfer-ai/flashinfer/pull/3820",
        "permuting, exchanging and permuting around attention: one kernel that does all, or fewer exchanges", _heads_for_sequence,
        bound=("communication", "mixed", "compute"), told=("CO001", "~Ulysses"), never=("CO005", *OF_REPLICAS, *OF_TRAINING),
    ),
    Story(
        "counts of tokens by gloo", "LLM serving, DP and EP, one rank", GITHUB + "vllm-project/vllm-ascend/pull/4983",
        "the host reduces counts over the network before each pass: leave that out, or do it on the device", _counts_by_gloo,
        bound=("communication", "mixed"), told=("CO006", "~before each pass"),
        never=("GR004", "~find_unused", "~reduce-overhead", "~small messages", "~async_scheduling", *OF_REPLICAS, *OF_TRAINING),
    ),
)  # fmt: skip
