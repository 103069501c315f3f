"""Stories of recordings that others published with what is known of them, in their form, some beside the same without it."""

from __future__ import annotations

from functools import partial
from typing import Any

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, FLASH, NVJET, RANKS, SDPA, layers, layers_back, update
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

TRACELENS = GITHUB + "AMD-AGI/TraceLens"
MI300X = {
    "id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206_141_652_992, "computeMajor": 9, "computeMinor": 4, "warpSize": 64,
    "numSms": 304,
}  # fmt: skip
BF16 = "c10::BFloat16"
TILES = "Cijk_Ailk_Bljk_BBS_BH_MT{}_MI16x16x16x1_SN_1LDSB0_ISA942_IU1"
STRIDED_ADD = (
    "void at::native::elementwise_kernel<512, 1, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float>>(p)"
    "::{lambda(int)#1}>"
)
SORT = (
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<float, long>>"
)
SUMS = "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float*, float const*, unsigned int)"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>"
CANDIDATES = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(p)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TO_16 = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(p)::{lambda(float)#1}>(int)"


def _benchmark(
    path: str,
    name: str,
    dur: float,
    *,
    dims: list[list[int]],
    types: list[str],
    grid: int,
    device: bool = True,
    **args: Any,
) -> Clocked:
    """One op ten times, and a wait: rocprofiler's form; its device is in the list or only in the kernels' names."""
    world = Clocked("rocm", marks=False, top={"deviceProperties": [dict(MI300X)] if device else []})
    stated = {"Input Dims": dims, "Input type": types, **args}
    for _ in range(10):
        world.kernel_of(
            path, name, dur, host=7, call=3, api="hipModuleLaunchKernel" if grid == 0 else "hipLaunchKernel", args=stated,
            grid=[max(grid, 1), 1, 1], block=[256, 1, 1],
        )  # fmt: skip
    world.synchronize("hipDeviceSynchronize")
    return world


def _product(rows: int, depth: int, columns: int, dur: float, tile: str, grid: int, *, device: bool = True) -> Clocked:
    return _benchmark(
        "aten::mm",
        TILES.format(tile),
        dur,
        dims=[[rows, depth], [depth, columns]],
        types=[BF16, BF16],
        grid=grid,
        device=device,
    )


def _attention(width: int, dur: float) -> Clocked:
    shape = [1, 32, 16_384, width]
    return _benchmark(
        SDPA, "attn_fwd.kd", dur, dims=[shape, shape, shape], types=[BF16] * 3, grid=8_192,
        **{"Concrete Inputs": ["", "", "", "0.", "False", "False", ""]},
    )  # fmt: skip


def _added(dur: float, name: str) -> Clocked:
    shape = [8_192, 8_192]
    return _benchmark("aten::add", name, dur, dims=[shape, shape, []], types=["float", "float", "Scalar"], grid=65_536)


def _convolved(name: str, dur: float, weight: list[int], *, dilation: int = 1, groups: int = 1) -> Clocked:
    image = [2, weight[1] * groups, 128, 128]
    spread = [dilation * (weight[2] // 2)] * 2
    return _benchmark(
        "aten::conv2d/aten::convolution/aten::_convolution/aten::miopen_convolution", name, dur, dims=[image, weight, *([[]] * 7)],
        types=["c10::Half"] * 2 + ["", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], grid=512,
        **{"Concrete Inputs": ["", "", "", "[1, 1]", str(spread), str([dilation] * 2), "False", "[0, 0]", str(groups)]},
    )  # fmt: skip


def _experts(tokens: int, grid: int, dur: float) -> Clocked:
    """Experts by one kernel of aiter: 128 of them, eight for each token."""
    world = Clocked("rocm", marks=False, top={"deviceProperties": [dict(MI300X)]})
    shapes = [[tokens, 4_096], [128, 22_016, 4_096], [128, 4_096, 11_008], [tokens, 8]]
    for _ in range(8):
        for _ in range(24):
            world.kernel_of(
                "vllm::rocm_aiter_fused_moe", "aiter_fused_moe_kernel_bf16", dur, host=60, grid=[grid, 1, 1], block=[256, 1, 1],
                args={"Input Dims": shapes, "Input type": [BF16, BF16, BF16, "float"]},
            )  # fmt: skip
        world.copied("DtoH", tokens * 8)
    return world


def _sampled(cause: bool) -> Clocked:
    """Sampling by probability sorts and sums up a vocabulary of 152,000 for each of 128 requests, behind a graph."""
    world = Clocked(marks=False)
    for _ in range(16):
        world.graph([(NVJET, 40.0)] * 80)
        if cause:
            world.kernel_of("aten::sort", SORT, 1_500, host=40)
            world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 300)
            world.kernel_of("aten::cumsum", SUMS, 2_400)
            world.kernel_of("aten::scatter", ADD, 300)
        else:
            world.kernel_of("aten::topk", CANDIDATES, 120, host=40)
            world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 6)
            world.kernel_of("aten::cumsum", SUMS, 8)
        world.copied("DtoH", 1_024, pinned=True)
        world.synchronize("cudaEventSynchronize")
    return world


def _replayed(cause: bool) -> Clocked:
    """A program replays a graph of its own, in no op: torch 2.10 launches it slowly."""
    world = Clocked(marks=False)
    for _ in range(16):
        world.copied("HtoD", 4_096, pinned=True)
        world.graph([(NVJET, 10.0)] * 300, host=6_000 if cause else 200)
        world.copied("DtoH", 2_048)
        world.idle(40)
    return world


def _met(cause: bool) -> Clocked:
    """Ranks meet at a barrier behind each backward pass; the host waits behind its call."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        layers(world, 3)
        layers_back(world, 3)
        world.collective("allreduce", 200, kernel=ALL_REDUCE, after=world.busy_until[7])
        if cause:
            world.host_op("c10d::barrier", 30)
            world.synchronize("cudaStreamSynchronize")
        world.idle(3_000)
        update(world)
    return world


def _kept_on_host(cause: bool) -> Clocked:
    """Blocks of 1 GiB go to the device in each step; or batches of 64 MiB."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        layers(world, 4)
        for _ in range(2):
            world.copied("HtoD", 1 << 30 if cause else 64 << 20, rate=25_000 if cause else 1_600)
        layers_back(world, 4)
        update(world)
    return world


def _converted(cause: bool) -> Clocked:
    """Inputs of each layer come in 32 bits and are made 16."""
    world = Clocked(top=of(A100))
    for _ in world.steps(4):
        for _ in range(8):
            if cause:
                for _ in range(3):
                    world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_16, 330)
            layers(world, 1, 3.0)
        layers_back(world, 8, 5.0)
        update(world)
    return world


def _halves(cause: bool) -> Clocked:
    """FlashAttention for two head dimensions: two instances of one kernel, each a third of the computing."""
    world = Clocked(marks=False)
    other = FLASH.replace("traits<128, 128", "traits<64, 128") if cause else NVJET
    for _ in range(12):
        for _ in range(8):
            world.kernel_of(SDPA, FLASH, 300, host=30)
            world.kernel_of(SDPA if cause else "aten::linear/aten::mm", other, 300, host=30)
            world.kernel_of("aten::linear/aten::mm", NVJET, 250)
        world.copied("DtoH", 1_024)
    return world


def _tracelens(name: str, kind: str, truth: str, world: Any, **judged: Any) -> Story:
    """A story of the recordings that TraceLens is tried on."""
    return Story(
        name, kind, f"{TRACELENS}/tree/main/evals", truth, world, never=judged.pop("never", ("DL001",)), **judged
    )


STORIES = (
    _tracelens(
        "one past 4096",
        "benchmark, MI300X",
        "4097 in each dimension: 375 TFLOP/s of 708; padded up to 47 % less",
        partial(_product, 4_097, 4_097, 4_097, 367, "256x112x64", 629),
        bound=("compute",),
        told=("PR003", "~4097"),
        never=("KE001", "~_align8"),
    ),
    _tracelens(
        "one past 4096, device unnamed",
        "benchmark, gfx942",
        "the same, where only kernels tell the device",
        partial(_product, 4_097, 4_097, 4_097, 367, "256x112x64", 629, device=False),
        bound=("compute",),
        told=("PR003",),
        never=("KE001",),
    ),
    _tracelens(
        "4096, no more",
        "benchmark, MI300X",
        "the same without the odd row",
        partial(_product, 4_096, 4_096, 4_096, 220, "256x256x64", 256),
        bound=("compute",),
        never=("PR003", "KE005", "KE001"),
    ),
    _tracelens(
        "four tiles",
        "benchmark, MI300X",
        "256 x 8192 x 256: 16 blocks for 304 compute units",
        partial(_product, 256, 8_192, 256, 60, "64x64x64", 16),
        bound=("compute",),
        told=("KE001", "KE005", "~small: 4 tiles"),
        never=("PR003",),
    ),
    _tracelens(
        "four tiles, device unnamed",
        "benchmark, gfx942",
        "the same, where only kernels tell the device",
        partial(_product, 256, 8_192, 256, 60, "64x64x64", 16, device=False),
        bound=("compute",),
        told=("KE001", "~does not name its device"),
        never=("PR003",),
    ),
    _tracelens(
        "tiles for all, device unnamed",
        "benchmark, gfx942",
        "a product with a block for each compute unit and more",
        partial(_product, 8_192, 4_096, 8_192, 880, "256x256x64", 1_024, device=False),
        bound=("compute",),
        never=("KE001", "PR003", "KE005"),
    ),
    _tracelens(
        "tall and skinny",
        "benchmark, MI300X",
        "131072 x 32 x 32: a quarter of the memory's bandwidth; few operations for each byte",
        partial(_product, 131_072, 32, 32, 13.5, "64x128x32", 2_048),
        told=("KE005", "~skinny: one side of"),
        never=("PR003", "KE001", "~_align8"),
    ),
    _tracelens(
        "tall, not skinny",
        "benchmark, MI300X",
        "the same with 1024 columns, near its roofline",
        partial(_product, 131_072, 1_024, 1_024, 420, "256x256x64", 2_048),
        bound=("compute",),
        never=("KE005", "PR003", "KE001", "~skinny"),
    ),
    _tracelens(
        "heads of 80",
        "benchmark, MI300X",
        "a head dimension that is padded: a fraction of the peak",
        partial(_attention, 80, 26_000),
        bound=("compute",),
        told=("KE005", "~head dimension of 80"),
    ),
    _tracelens(
        "heads of 128",
        "benchmark, MI300X",
        "half of the peak, as good as attention gets there",
        partial(_attention, 128, 7_600),
        bound=("compute",),
        never=("KE005", "PR003"),
    ),
    _tracelens(
        "sums of transposed matrices",
        "benchmark, MI300X",
        "38 % of the memory's bandwidth: nothing that a program could change is recorded",
        partial(_added, 400, STRIDED_ADD),
        bound=("compute",),
        told=("PG001",),
        never=("KE009", "GR001", "KE001", "PR001"),
    ),
    _tracelens(
        "sums of matrices",
        "benchmark, MI300X",
        "78 % of the memory's bandwidth: only fewer bytes help",
        partial(_added, 195, ADD.replace("c10::BFloat16", "float")),
        bound=("compute",),
        told=("KE009",),
        never=("GR001", "KE001"),
    ),
    _tracelens(
        "places 16 apart",
        "benchmark, MI300X",
        "a dilation of 16: a tenth of the peak",
        partial(_convolved, "igemm_fwd_gtcx_nhwc_fp16_dilation_bx0", 2_200, [256, 256, 3, 3], dilation=16),
        bound=("compute",),
        told=("KE005", "~a dilation of 16"),
        never=("PR003", "KE001"),
    ),
    _tracelens(
        "places side by side",
        "benchmark, MI300X",
        "the same without dilation",
        partial(_convolved, "igemm_fwd_gtcx_nhwc_fp16_bx0", 55, [256, 256, 3, 3]),
        bound=("compute",),
        never=("KE005", "PR003", "KE001"),
    ),
    _tracelens(
        "channel by channel",
        "benchmark, MI300X",
        "a kernel of its own reaches 4 % of the memory's bandwidth",
        partial(_convolved, "depthwise_conv2d_fwd_fp16_kernel", 350, [1_024, 1, 3, 3], groups=1_024),
        bound=("compute",),
        told=("KE005", "~each group has one channel"),
        never=("PR003", "KE001"),
    ),
    _tracelens(
        "128 experts for four tokens",
        "LLM serving, MoE, MI300X",
        "32 pairs of a token and an expert: most experts idle, and most of the device",
        partial(_experts, 4, 32, 180),
        bound=("compute",),
        told=("KE001", "~aiter_fused_moe_kernel", "~matrix products 100"),
        never=("PR001", "~there is no waiting to remove", *NOT_TRAINED),
    ),
    _tracelens(
        "128 experts for 4096 tokens",
        "LLM serving, MoE, MI300X",
        "the same with enough tokens for all",
        partial(_experts, 4_096, 8_192, 4_000),
        bound=("compute",),
        never=("KE001", "PR001", "PY001", *NOT_TRAINED),
    ),
    Story(
        "whole vocabulary sorted and summed",
        "LLM serving, sampling",
        GITHUB + "vllm-project/vllm/pull/48913",
        "a whole sort and a running sum for each token; candidates first",
        partial(_sampled, True),
        bound=("compute",),
        told=("KE003", "~running sums", "~topk"),
        never=("PY001", "SY003", *NOT_TRAINED),
    ),
    Story(
        "candidates sorted and summed",
        "LLM serving, sampling",
        GITHUB + "vllm-project/vllm/pull/48913",
        "the same of 1,024 candidates",
        partial(_sampled, False),
        bound=("compute",),
        never=("KE003", *NOT_TRAINED),
    ),
    Story(
        "graph of one's own launched slowly",
        "LLM inference, torch 2.10",
        GITHUB + "pytorch/pytorch/issues/174575",
        "the launch of the graph itself takes longer than the graph, outside of any op",
        partial(_replayed, True),
        told=("ID001", "~cudaGraphLaunch", "~version of the driver"),
        never=("SY002", "GR004", *NOT_TRAINED),
    ),
    Story(
        "graph of one's own launched soon",
        "LLM inference, torch 2.9",
        GITHUB + "pytorch/pytorch/issues/174575",
        "the same before",
        partial(_replayed, False),
        bound=("compute",),
        never=("ID001", *NOT_TRAINED),
    ),
    Story(
        "barrier behind each backward pass",
        "LLM, DDP",
        GITHUB + "pytorch/pytorch/pull/96785",
        "the host waits for a barrier's stream, and launches nothing meanwhile",
        partial(_met, True),
        told=("SY003", "~c10d::barrier", "~-torch.distributed.barrier"),
        never=("~-    torch.cuda.synchronize", "DL001"),
    ),
    Story(
        "nothing waits behind the backward pass",
        "LLM, DDP",
        GITHUB + "pytorch/pytorch/pull/96785",
        "the same without the barrier",
        partial(_met, False),
        bound=("compute",),
        never=("SY003", "ID001", "DL001"),
    ),
    Story(
        "blocks of 1 GiB",
        "LLM fine-tuning, states on the host",
        GITHUB + "fzyzcjy/torch_memory_saver/issues/111",
        "states come back from the host in large blocks, unpinned",
        partial(_kept_on_host, True),
        bound=("copy",),
        told=("XF001", "XF002", "~may be"),
        never=("~uint8", "XF006", "DL001"),
    ),
    Story(
        "batches of 64 MiB",
        "vision, unpinned",
        "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        "batches from unpinned memory",
        partial(_kept_on_host, False),
        bound=("copy", "sync"),
        told=("XF001", "~pin_memory=True"),
        never=("~768 MiB", "DL001"),
    ),
    Story(
        "inputs converted for each layer",
        "LLM, bfloat16",
        "https://docs.pytorch.org/docs/stable/amp.html",
        "conversions take a tenth of the computing: the hardware is not yet the limit",
        partial(_converted, True),
        bound=("compute",),
        told=("PR004",),
        never=("~there is no waiting to remove", "DL001"),
    ),
    Story(
        "nothing converted",
        "LLM, bfloat16",
        "https://docs.pytorch.org/docs/stable/amp.html",
        "the same in 16 bits throughout",
        partial(_converted, False),
        bound=("compute",),
        told=("KE004",),
        never=("PR004", "DL001"),
    ),
    Story(
        "one kernel in two instances",
        "video generation, two head dimensions",
        GITHUB + "Dao-AILab/flash-attention",
        "attention is two thirds of the computing, in two instances of one template",
        partial(_halves, True),
        bound=("compute",),
        told=(r"~kernel `flash_fwd_kernel` alone 7\d",),
        never=NOT_TRAINED,
    ),
    Story(
        "two kernels",
        "video generation, one head dimension",
        GITHUB + "Dao-AILab/flash-attention",
        "attention is a third of the computing",
        partial(_halves, False),
        bound=("compute",),
        told=(r"~kernel `nvjet_\w+` alone 6\d",),
        never=("~flash_fwd_kernel` alone", *NOT_TRAINED),
    ),
)
