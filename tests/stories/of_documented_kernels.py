"""Stories of kernels, copies and ranks whose cause is documented where they were reported, some beside the same without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from building.dialects import rocm
from stories.models import (
    ADD,
    CIJK,
    CONV,
    CONV_OPS,
    FLASH,
    FUSED_ADAM,
    GATHER,
    NVJET,
    RANKS,
    RELU,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    update,
)
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SENT = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda>>(int)"
ADDED = "void at::native::(anonymous namespace)::indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, true>(p)"
MOMENTS = "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>(p)"
TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, true, true, (cudnnKernelDataType_t)0>(p)"
FLOAT8 = "Cijk_Ailk_Bljk_B8F8BS_BH_Bias_HA_S_SAB_SAV_UserArgs_MT256x256x64_MI16x16x1_SN"


def _one_queue(cause: bool) -> Clocked:
    """verl sets CUDA_DEVICE_MAX_CONNECTIONS=1: FSDP2's reduce-scatters and the backward pass take turns."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        layers(world, 12)
        with world.backward():
            for _ in range(12):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                with world.node("torch::autograd::AccumulateGrad"), world.inside("FSDP::post_backward_reduce"):
                    end = world.collective("_reduce_scatter_base", 1_400, kernel=SCATTER, after=world.busy_until[7])
                    if cause:
                        world.busy_until[7] = end
        update(world)
        world.read_value()
    return world


def _casts_of_norms(cause: bool) -> Clocked:
    """torch 2.12 computes `rms_norm` in 32 bits under autocast: compiled, casts around it are kernels of their own."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(60, workers=4)
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(24):
                for name, dur in (
                    (("triton_poi_fused__to_copy_0", 90), ("triton_poi_fused__to_copy_2", 90)) if cause else ()
                ):
                    world.kernel_of(None, name, dur, api="cuLaunchKernel", call=5)
                name = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1"
                world.kernel_of(None, name, 60, api="cuLaunchKernel", call=5)
                world.kernel_of("aten::mm", NVJET, 500)
                world.kernel_of("aten::_flash_attention_forward", FLASH, 300)
        with world.backward(), world.node("CompiledFunctionBackward"):
            for _ in range(24):
                if cause:
                    world.kernel_of(None, "triton_poi_fused__to_copy_3", 180, api="cuLaunchKernel", call=5)
                world.kernel_of("aten::mm", NVJET, 1_200)
        update(world)
    return world


def _states_backed_up(pinned: bool) -> Clocked:
    """Colocated training backs its memory up and takes it back in each step: 18 GiB at 2.4 GiB/s, as nothing is pinned."""
    world = Clocked()
    rate = 25_000 if pinned else 2_576
    for _ in world.steps(3):
        for _ in range(120):
            world.copied("DtoH", 160 << 20, pinned=pinned, blocks=True, rate=rate, path=None)
        layers(world, 30, 20)
        for _ in range(120):
            world.copied("HtoD", 160 << 20, pinned=pinned, blocks=True, rate=rate, path=None)
        layers(world, 10, 20)
        layers_back(world, 10, 40)
        update(world)
    return world


def _gathered_behind() -> Clocked:
    """ZeRO 2 gathers parameters behind the update in buckets of 5e8: 2.6 s, in one piece 1.4 s."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        world.load(80, workers=4)
        layers(world, 20)
        layers_back(world, 20)
        begin = world.now
        for _ in range(3):
            world.kernel_of("aten::_fused_adamw_", FUSED_ADAM, 500, host=40)
        end = world.busy_until[7]
        for _ in range(8):
            end = world.collective("_allgather_base", 4_000, kernel=GATHER, after=end)
        world.busy_until[7] = end
        world.optimizer(begin, world.now - begin, "AdamW")
        world.read_value()
    return world


def _loss_summed() -> Clocked:
    """Two numbers are summed over all ranks for each micro-batch, only to be logged."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for index in range(16):
            layers(world, 2)
            dur = 30 + 900 * (index % 3)
            after = world.busy_until[7]
            end = world.collective("allreduce", dur, kernel=REDUCE, after=after, elements=2, dtype="Float")
            world.busy_until[7] = end
            layers_back(world, 2)
        update(world)
    return world


def _rollout() -> Clocked:
    """Gathers are half a percent of a rollout: another way to gather brings nothing."""
    world = Clocked(top=RANKS, marks=False)
    for number in range(6):
        with world.inside(f"rollout_step {number}"):
            for _ in range(20):
                world.collective("_allgather_base", 60, kernel=GATHER, after=world.busy_until.get(7, 0))
                layers(world, 4, 3)
            world.copied("DtoH", 64)
    return world


def _products_beside(cause: bool) -> Clocked:
    """DeepSeek's inference: products beside an exchange take a quarter longer, as the card is at its limit of power."""
    world = Clocked(top=RANKS)
    shapes = {"Input Dims": [[4096, 7168], [7168, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    for _ in world.steps(5):
        for index in range(40):
            beside = index % 2 == 0
            if beside:
                world.collective("all_to_allv", 900, kernel=SENT, after=world.busy_until.get(7, 0))
            dur = 125 if beside and cause else 100
            for _ in range(8):
                world.kernel_of("aten::mm", NVJET, dur, args=shapes, grid=[132, 1, 1], block=[384, 1, 1])
        world.copied("DtoH", 64)
    return world


def _slower(later: float) -> Clocked:
    """A B200 at its limit of power: 1,450 TFLOP/s at first, 1,237 later."""
    world = Clocked()
    for number in world.steps(24):
        factor = 1 + later * min(1, max(0, number - 8) / 8)
        for _ in range(20):
            world.kernel_of("aten::mm", NVJET, 1_600 * factor)
            world.kernel_of("aten::relu", RELU, 60)
        world.copied("DtoH", 64)
    return world


def _two_speeds() -> Clocked:
    """A GB10 goes from 63 to 94 ms a token by itself; its clock as reported stays."""
    world = Clocked(marks=False)
    for number in range(14):
        factor = 1.49 if number >= 6 else 1.0
        with world.inside("decode step"):
            nodes = [(NVJET, 400 * factor), (FLASH, 100 * factor), (NVJET, 700 * factor), (ADD, 20 * factor)]
            world.graph(nodes * 50, gap=0.5)
            world.copied("DtoH", 64)
            world.idle(400)
    return world


def _contended(dur: float) -> Clocked:
    """Half of 7.8 million indices point at one row: `index_add_` takes 18 ms."""
    world = Clocked()
    for _ in world.steps(5):
        layers(world, 4)
        world.kernel_of("aten::index_add_", ADDED, dur)
        layers_back(world, 4)
        update(world)
    return world


def _float8(tera: float) -> Clocked:
    """`_scaled_mm` on an MI300X: 110 TFLOP/s."""
    world = Clocked("rocm")
    inputs = ["c10::Float8_e5m2fnuz", "c10::Float8_e4m3fnuz", "float", "float", "", "", ""]
    shapes = {"Input Dims": [[16384, 8192], [8192, 8192], [], [], [], [], []], "Input type": inputs}
    for _ in world.steps(4):
        for _ in range(20):
            world.kernel_of("aten::_scaled_mm", FLOAT8, 2 * 16384 * 8192 * 8192 / tera / 1e6, args=shapes)
        world.copied("DtoH", 64)
    return rocm(world)  # type: ignore[return-value]


def _group_norms() -> Clocked:
    """GroupNorm takes channels_last apart before it, and cuDNN puts it together again."""
    world = Clocked(marks=False)
    for number in range(5):
        with world.inside(f"unet {number}"):
            for _ in range(60):
                with world.within("aten::group_norm"):
                    world.kernel_of("aten::contiguous/aten::clone/aten::copy_", COPY, 90, host=30)
                    world.kernel_of("aten::native_group_norm", MOMENTS, 60, host=30)
                    world.kernel_of("aten::native_group_norm", ADD, 50, host=30)
                world.kernel_of("aten::silu", ADD, 40)
                world.kernel_of(CONV_OPS, TO_NHWC, 90, host=30)
                world.kernel_of(CONV_OPS, CONV, 420, host=30)
            world.copied("DtoH", 64)
    return world


def _row_by_row() -> Clocked:
    """An extension launches a norm row by row, a block of one warp each: 97 % of the device's time."""
    world = Clocked(marks=False)
    for number in range(3):
        with world.inside(f"step {number}"):
            for _ in range(8):
                row = {"grid": [1, 1, 1], "block": [32, 1, 1], "blocks per SM": 0.01}
                for _ in range(1024):
                    world.kernel_of(None, "RmsNormKernel", 9.3, api="cuLaunchKernel", call=3, **row)
                for _ in range(6):
                    world.kernel_of("aten::mm", NVJET, 180, **{"blocks per SM": 8.0})
            world.copied("DtoH", 64)
    return world


def _copies_in_gaps() -> Clocked:
    """253 of 1,761 ms are copies to the device in front of each step: no loader is late."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(120, workers=8)
        world.copied("HtoD", 600 << 20, pinned=True, blocks=True, rate=12_400)
        blocks(world, 80, 9)
        blocks_back(world, 80, 18)
        update(world)
        world.read_value()
    return world


def _loaded_at_first() -> Clocked:
    """Modules are loaded by the first launch of each kernel: in the first request."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.inside("request"):
            for index in range(40):
                call = 9_000 if number == 0 else 4
                world.kernel_of("aten::mm", CIJK if index % 2 else NVJET, 120, call=call, host=call + 10)
            world.copied("DtoH", 64)
    return world


STORIES = (
    Story(
        "one queue for all streams",
        "RL, FSDP2",
        GITHUB + "verl-project/verl-omni/issues/421",
        "CUDA_DEVICE_MAX_CONNECTIONS=1 keeps reduce-scatters apart from compute",
        partial(_one_queue, True),
        told=("CO002", "~CUDA_DEVICE_MAX_CONNECTIONS"),
        never=("~bucket_cap_mb", "~orward_prefetch", "DL001"),
    ),
    Story(
        "eight queues",
        "RL, FSDP2",
        GITHUB + "verl-project/verl-omni/issues/421",
        "the same with the default",
        partial(_one_queue, False),
        bound=("compute",),
        never=("CO001", "CO002"),
    ),
    Story(
        "casts around compiled norms",
        "LLM, torch 2.12",
        GITHUB + "pytorch/pytorch/issues/188955",
        "autocast makes norms 32 bits wide, and casts kernels of their own",
        partial(_casts_of_norms, True),
        bound=("compute",),
        told=("PR004", "~rms_norm"),
        never=("~torch\\.compile\\(model\\)", "ID001"),
    ),
    Story(
        "norms in 16 bits",
        "LLM, torch 2.11",
        GITHUB + "pytorch/pytorch/issues/188955",
        "the same before",
        partial(_casts_of_norms, False),
        bound=("compute",),
        never=("PR004", "GR001", "XF005"),
    ),
    Story(
        "states backed up unpinned",
        "RL, colocated",
        GITHUB + "fzyzcjy/torch_memory_saver/issues/111",
        "18 GiB there and back through pageable memory",
        partial(_states_backed_up, False),
        bound=("copy",),
        told=("XF001", "SY002"),
        never=("~DataLoader", "DL001", "~uint8"),
    ),
    Story(
        "gathered behind the update",
        "LLM pretraining, ZeRO 2",
        GITHUB + "deepspeedai/DeepSpeed/issues/3338",
        "all-gathers of parameters behind the update stand alone",
        _gathered_behind,
        told=("CO001|CO002",),
        never=("~bucket_cap_mb", "DL001", "SY001"),
    ),
    Story(
        "loss summed for the log",
        "LLM fine-tuning, Megatron",
        GITHUB + "modelscope/ms-swift/pull/9966",
        "two numbers are summed over ranks for each micro-batch: once, for the log",
        _loss_summed,
        told=("CO001|CO005",),
        never=("~bucket_cap_mb", "~no_sync", "~bf16_compress"),
    ),
    Story(
        "gathers of a rollout",
        "RL, FSDP",
        GITHUB + "Tencent-Hunyuan/UniRL/pull/467",
        "half a percent: nothing to gain",
        _rollout,
        bound=("compute",),
        never=("CO001", "CO002", "CO005", "ID001", "PY001"),
    ),
    Story(
        "products beside an exchange",
        "LLM serving, MoE",
        GITHUB + "deepseek-ai/DeepGEMM/issues/120",
        "products are a quarter longer beside an exchange",
        partial(_products_beside, True),
        bound=("compute",),
        told=("CO010",),
    ),
    Story(
        "products as fast beside an exchange",
        "LLM serving, MoE",
        GITHUB + "deepseek-ai/DeepGEMM/issues/120",
        "the same without",
        partial(_products_beside, False),
        bound=("compute",),
        never=("CO010", "KE008"),
    ),
    Story(
        "limit of power",
        "products",
        GITHUB + "flashinfer-ai/flashinfer/pull/2899",
        "a seventh slower after some steps: power",
        partial(_slower, 0.17),
        bound=("compute",),
        told=("KE007|KE008", "~[Pp]ower"),
        never=("ID001",),
    ),
    Story(
        "within its power",
        "products",
        GITHUB + "flashinfer-ai/flashinfer/pull/2899",
        "the same without",
        partial(_slower, 0),
        bound=("compute",),
        never=("KE007", "KE008", "ID001"),
    ),
    Story(
        "two speeds of one card",
        "LLM serving",
        GITHUB + "tonyd2wild/DeepSeek-V4.1-Flash-vLLM-DGX-Spark/issues/1",
        "the card goes from a fast state to a slow one; every kernel takes half as long again",
        _two_speeds,
        told=("KE008",),
        never=("ID001", "ME001", *NOT_TRAINED),
    ),
    Story(
        "one row gets half of all",
        "graphs, recommender",
        GITHUB + "pytorch/pytorch/pull/182675",
        "atomics on one row: sorted indices",
        partial(_contended, 18_500),
        bound=("compute",),
        told=("KE003", "~index_add_"),
        never=("DL001", "ID001"),
    ),
    Story(
        "rows that differ",
        "graphs, recommender",
        GITHUB + "pytorch/pytorch/pull/182675",
        "the same without",
        partial(_contended, 400),
        bound=("compute",),
        never=("KE003",),
    ),
    Story(
        "float8 far from its peak",
        "LLM, ROCm",
        GITHUB + "pytorch/pytorch/issues/143465",
        "a twelfth of what an H100 reaches",
        partial(_float8, 110),
        bound=("compute",),
        told=("KE005", "~_scaled_mm"),
        never=("KE004",),
    ),
    Story(
        "float8 near its peak",
        "LLM, ROCm",
        GITHUB + "pytorch/pytorch/issues/143465",
        "the same at half of its peak",
        partial(_float8, 1_300),
        bound=("compute",),
        never=("KE005",),
    ),
    Story(
        "group norms undo the layout",
        "diffusion",
        GITHUB + "pytorch/pytorch/pull/126635",
        "copies and transposes around each norm: it knows no channels_last",
        _group_norms,
        bound=("compute",),
        told=("KE002|XF005",),
        never=NOT_TRAINED,
    ),
    Story(
        "norm launched row by row",
        "LLM, extension",
        GITHUB + "paiml/entrenar/issues/237",
        "a block for each row: one launch for all",
        _row_by_row,
        told=("KE001", "~RmsNormKernel|one warp|blocks"),
        never=NOT_TRAINED,
    ),
    Story(
        "copies fill the gaps",
        "vision",
        GITHUB + "GindaChen/nsys-ai/issues/599",
        "what looks idle are copies of batches, not a loader",
        _copies_in_gaps,
        told=("XF002",),
        never=("DL001", "DL003", "PY001", "ID001"),
    ),
    Story(
        "modules loaded at first",
        "serving",
        GITHUB + "sgl-project/sglang/pull/35711",
        "the first request loads kernels: warm up",
        _loaded_at_first,
        bound=("compute",),
        told=("PG002|PG006|PY005|ID003",),
        never=("ID001", "GR004", *NOT_TRAINED),
    ),
)
