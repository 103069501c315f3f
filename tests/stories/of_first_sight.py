"""Stories written down, demands and all, before the tool was asked: loading, values, loops; kernels chosen for one; ranks."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    AMPERE,
    CONV,
    FLASH,
    FLASH_BACK,
    GATHER,
    LINEAR,
    NVJET,
    RANKS,
    RELU,
    SGEMM,
    TO,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import GITHUB, Story

REDUCE = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<float, float, float>>>"
)
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
    "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>>(int)"
)
CAST_16 = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda(float)#1}, std::array<char*, 2ul>>(int)"
)
CAST_8 = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::float8_copy_kernel_cuda(at::TensorIteratorBase&)>"
)
SCALED = "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>"
TRILINEAR = "void at::native::(anonymous namespace)::upsample_trilinear3d_"
GAMMA_BETA = (
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel_32x32<float, float>(long, long, float const*)"
)
SYNCED = "void at::native::batch_norm_"
GEMV = (
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 2, 2, true, cublasGemvTensorStridedBatched<__nv_bfloat16 const>, "
    "cublasGemvTensorStridedBatched<__nv_bfloat16 const>, cublasGemvTensorStridedBatched<__nv_bfloat16>>(cublasGemmSmallNParams)"
)
REDUCED = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def _matched() -> Clocked:
    """LW-DETR in docTR: each set of predictions matched by itself, a copy of costs for each sample: 200 waits a step. A quarter."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(90, workers=8)
        blocks(world, 30, 0.8)
        layers(world, 3, 0.4)
        for _ in range(13):
            for op in ("aten::sigmoid", "aten::cdist", "aten::mul", "aten::add"):
                world.kernel_of(op, ADD, 6)
            for _ in range(4):
                world.copied("DtoH", 300 * 20 * 4)
                world.idle(260)
            for _ in range(4):
                world.copied("HtoD", 20 * 8)
            for op in ("aten::index", "aten::sub", "aten::abs", "aten::sum"):
                world.kernel_of(op, ADD, 5)
        with world.backward():
            for _ in range(13):
                for _ in range(4):
                    with world.node("IndexBackward0"):
                        world.kernel_of("aten::index_put_", ADD, 6, host=20)
        layers_back(world, 3, 0.8)
        blocks_back(world, 30, 1.6)
        update(world, dur=400)
    return world


def _rows() -> Clocked:
    """A TensorDataset of 10,000 x 5 in batches of 256: 3.5 ms a batch row by row, 0.2 at once, and 15 with a worker."""
    world = Clocked()
    for _ in world.steps(10):
        begin = world.now
        for _ in range(256):
            for _ in range(2):
                world.host_op("aten::select/aten::as_strided", 2)
            world.idle(4)
        world.host_op("aten::stack/aten::cat", 180)
        world.host_op("aten::stack/aten::cat", 90)
        world.loader(begin, world.now - begin)
        world.copied("HtoD", 256 * 5 * 4)
        perceptron(world, 3, 6)
        perceptron_back(world, 3, 6)
        update(world, "Adam", dur=30)
    return world


def _arrays() -> Clocked:
    """PFRL's replay buffer: as_tensor of a list of NumPy arrays reads them element by element; most of the update."""
    world = Clocked()
    for _ in world.steps(8):
        with world.stack("train.py(61): train_agent", "pfrl/agents/dqn.py(340): update"):
            world.idle(20)
            with world.stack("pfrl/replay_buffer.py(158): batch_experiences"):
                world.idle(600)
                with world.stack("<built-in method as_tensor of type object at 0x7f2b3c1d2ac0>"):
                    world.idle(38_000)
                    world.copied("HtoD", 32 * 4 * 84 * 84 * 4)
                with world.stack("<built-in method as_tensor of type object at 0x7f2b3c1d2ac0>"):
                    world.idle(37_000)
                    world.copied("HtoD", 32 * 4 * 84 * 84 * 4)
            blocks(world, 3, 0.5)
            perceptron(world, 2, 20)
            perceptron_back(world, 2, 20)
            blocks_back(world, 3, 1)
            update(world, "Adam", dur=200)
    return world


def _checked_metrics() -> Clocked:
    """torchmetrics by default: each update looks for NaN, and at the labels' values, and reads the answer."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(80, workers=8)
        blocks(world, 18, 0.25)
        blocks_back(world, 18, 0.5)
        update(world, "SGD", dur=100)
        for _ in range(8):
            world.kernel_of("aten::isnan/aten::ne", ADD, 3)
            world.kernel_of("aten::any", REDUCE, 3)
            world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            world.idle(60)
            with world.within("aten::unique_dim"), world.within("aten::_unique2"):
                world.kernel_of(
                    "aten::sort", "void at_cuda_detail::cub::DeviceRadixSortSingleTileKernel<long>", 10, host=60
                )
                world.read_value("aten::item/aten::_local_scalar_dense")
            world.idle(40)
            world.kernel_of("aten::bincount", "void at::native::kernelHistogram1D<long, long>", 6, host=40)
            world.kernel_of("aten::add_", ADD, 2)
    return world


def _prodigal() -> Clocked:
    """Prodigy with .item() and alpha=tensor: a wait for each parameter in the update; half of it gone without."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 8, 0.5)
        layers_back(world, 8, 1.0)
        begin = world.now
        for _ in range(280):
            for op in ("aten::dot", "aten::dot", "aten::div"):
                world.kernel_of(op, REDUCE if op == "aten::dot" else ADD, 4, host=13)
            with world.within("aten::sub"):
                world.read_value("aten::item/aten::_local_scalar_dense")
                world.kernel_of(None, ADD, 4)
            for op in ("aten::mul_", "aten::add_", "aten::addcmul_", "aten::addcdiv_"):
                world.kernel_of(op, ADD, 4, host=13)
        world.optimizer(begin, world.now - begin, "Prodigy_adv")
    return world


def _dense_gradient() -> Clocked:
    """An embedding of 500,000 x 100 on the CPU, a sentence a step: gradient and Adam go through all 50 million values."""
    world = Clocked(None)
    for _ in world.steps(5):
        world.load(110, workers=2)
        world.host_op("aten::embedding/aten::index_select", 30, **{"Input Dims": [[500_000, 100], [30]]})
        world.host_op("aten::lstm", 1_900)
        world.host_op("aten::cross_entropy_loss", 90)
        with world.backward():
            with world.node("MkldnnRnnLayerBackward0"):
                world.host_op("aten::mkldnn_rnn_layer_backward", 2_700)
            lookup = {"Input Dims": [[30, 100], [30], [], [], []]}
            with world.node("EmbeddingBackward0"), world.within("aten::embedding_dense_backward", **lookup):
                world.host_op("aten::zero_/aten::fill_", 41_000, **{"Input Dims": [[500_000, 100]]})
        begin = world.now
        for op, dur in (
            ("aten::lerp_", 52_000), ("aten::mul_", 28_000), ("aten::addcmul_", 55_000), ("aten::sqrt", 46_000),
            ("aten::div_", 27_000), ("aten::add_", 26_000), ("aten::addcdiv_", 57_000),
        ):  # fmt: skip
            world.host_op(op, dur, **{"Input Dims": [[500_000, 100]], "Input type": ["float"]})
            world.host_op(op, 40)
        world.optimizer(begin, world.now - begin, "Adam")
    return world


def _small_and_autocast() -> Clocked:
    """autocast on a network too small for the GPU: casts in front of each product, and the host is what all waits for."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(60, workers=4)
        for _ in range(60):
            for _ in range(3):
                types = {"Input type": ["float", "Int", "", "", "", ""]}
                world.kernel_of(TO, CAST_16, 2, host=26, args=types)
            world.kernel_of(LINEAR, AMPERE, 4, host=24)
            world.kernel_of("aten::relu", RELU, 2)
        with world.backward():
            for _ in range(60):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 4, host=20)
                    world.kernel_of("aten::mm", AMPERE, 4, host=20)
                with world.node("ToCopyBackward0"):
                    world.kernel_of(TO, CAST, 2, host=26)
        update(world, "AdamW", dur=60)
    return world


def _scanned() -> Clocked:
    """mamba-minimal: selective_scan as a Python loop over the sequence; by cumsum 14 times as fast."""
    world = Clocked(marks=False)
    for number in range(5):
        with world.marked(number), world.inside("generate_batch"):
            for _ in range(4):
                world.kernel_of("aten::linear/aten::mm", AMPERE, 60)
                world.kernel_of("aten::conv1d/aten::convolution/aten::cudnn_convolution", CONV, 30, host=40)
                for _ in range(128):
                    for op in ("aten::mul", "aten::add"):
                        world.host_op("aten::slice/aten::as_strided", 4)
                        world.host_op("aten::select/aten::as_strided", 4)
                        world.kernel_of(op, ADD, 2.5)
                    world.host_op("aten::slice/aten::as_strided", 4)
                    world.host_op("aten::select/aten::as_strided", 4)
                    world.kernel_of(
                        "aten::einsum/aten::bmm", "void gemv2T_kernel_val<int, int, float, float>", 3, host=40
                    )
                world.kernel_of(
                    "aten::stack/aten::cat", "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", 12
                )
                world.kernel_of("aten::linear/aten::mm", AMPERE, 60)
            world.copied("DtoH", 8)
    return world


def _by_the_book() -> Clocked:
    """SDPA falls back to its MATH backend: half as floats, products by sgemm, a softmax of all scores; 4 times as slow."""
    world = Clocked(marks=False)
    book = "aten::scaled_dot_product_attention/aten::_scaled_dot_product_attention_math"
    for _ in world.steps(6):
        for _ in range(8):
            world.kernel_of("aten::linear/aten::addmm", NVJET, 300)
            with world.within("aten::scaled_dot_product_attention"), world.within(book.split("/")[1]):
                for _ in range(3):
                    world.kernel_of(TO, CAST, 60, args={"Input type": ["c10::Half", "Int", "", "", "", ""]})
                world.kernel_of("aten::mul", ADD, 60)
                world.kernel_of("aten::matmul/aten::bmm", SGEMM, 2_200)
                world.kernel_of("aten::_safe_softmax/aten::softmax/aten::_softmax", SOFTMAX, 1_400)
                world.kernel_of("aten::matmul/aten::bmm", SGEMM, 2_100)
                world.kernel_of(
                    TO,
                    CAST_16.replace("bfloat16", "float16"),
                    40,
                    args={"Input type": ["float", "Int", "", "", "", ""]},
                )
            world.kernel_of("aten::linear/aten::addmm", NVJET, 300)
            world.kernel_of("aten::gelu", ADD, 40)
            world.kernel_of("aten::linear/aten::addmm", NVJET, 500)
    return world


def _chosen_proposals() -> Clocked:
    """topk(1000) of two million scores: 2.6 ms on a P100, by sort 0.3; in a detector's forward pass the longest of all."""
    world = Clocked(marks=False)
    topk = (
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo<float const>)"
    )
    for _ in world.steps(8):
        blocks(world, 40, 0.6)
        for _ in range(3):
            world.kernel_of("aten::sigmoid", ADD, 20)
            with world.within("aten::topk"):
                world.kernel_of(None, topk, 2_560)
                world.kernel_of("aten::sort", "void at::native::bitonicSortKVInPlace<2, -1, 16, 16, float, long>", 25)
            world.kernel_of("aten::gather", "void at::native::_scatter_gather_elementwise_kernel<128, 8>", 8)
        world.copied("DtoH", 4_000)
    return world


def _upsampled() -> Clocked:
    """3D U-Net under AMP: the gradient of trilinear interpolation adds halves atomically; 9.6 s instead of 1.6."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(120, workers=12)
        for _ in range(12):
            world.kernel_of("aten::conv3d/aten::convolution/aten::cudnn_convolution", CONV, 1_600, host=40)
            world.kernel_of("aten::leaky_relu_", RELU, 200)
        for _ in range(4):
            world.kernel_of("aten::upsample_trilinear3d", TRILINEAR + "out_frame<c10::Half, float>(unsigned long)", 600)
        with world.backward():
            for _ in range(4):
                with world.node("UpsampleTrilinear3DBackward0"):
                    world.kernel_of(
                        "aten::upsample_trilinear3d_backward",
                        TRILINEAR + "backward_out_frame<c10::Half, float>(unsigned long, int, int)",
                        31_000,
                        host=30,
                    )
            for _ in range(12):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV.replace("fprop", "wgrad"), 3_200, host=40)
        update(world, "SGD")
    return world


def _tall_norms() -> Clocked:
    """LayerNorm over 64 channels of a million points: the gradient of gamma and beta runs on two blocks; 30 times as slow."""
    world = Clocked()
    tall = {"Input Dims": [[1_048_576, 64], [1_048_576, 64]], "Input type": ["float", "float"]}
    norm = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float)"
    for _ in world.steps(4):
        world.load(100, workers=8)
        for _ in range(10):
            world.kernel_of("aten::layer_norm/aten::native_layer_norm", norm, 220, args=tall)
            world.kernel_of(LINEAR, AMPERE, 400)
            world.kernel_of("aten::relu", RELU, 160)
        with world.backward():
            for _ in range(10):
                with world.node("ReluBackward0"):
                    world.kernel_of("aten::threshold_backward", RELU, 220)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 400)
                    world.kernel_of("aten::mm", AMPERE, 400)
                with world.node("NativeLayerNormBackward0"), world.within("aten::native_layer_norm_backward", **tall):
                    world.kernel_of(
                        None, "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<float, float>", 480
                    )
                    world.kernel_of(
                        None, GAMMA_BETA, 4_200, grid=[2, 1, 1], block=[32, 32, 1],
                        **{"blocks per SM": 0.015, "warps per SM": 0.48, "est. achieved occupancy %": 1},
                    )  # fmt: skip
        update(world, dur=300)
    return world


def _synchronised() -> Clocked:
    """MobileNetV2 with SyncBatchNorm on eight GPUs, statistics gathered for each norm: batching the messages brought 18 %."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        world.load(90, workers=8)
        for _ in range(52):
            world.kernel_of("aten::conv2d/aten::convolution/aten::cudnn_convolution", CONV, 110, host=34)
            with world.within("SyncBatchNorm"):
                world.kernel_of("aten::batch_norm_stats", SYNCED + "collect_statistics_kernel<float, float, int>", 18)
                end = world.collective(
                    "_allgather_base", 55, kernel=GATHER, after=world.busy_until[7], elements=500, dtype="Float", size=8
                )
                world.kernel_of(
                    "aten::batch_norm_gather_stats_with_counts",
                    SYNCED + "reduce_statistics_kernel<float, float>",
                    5,
                    after=end + 3,
                )
                world.kernel_of(
                    "aten::batch_norm_elemt", SYNCED + "transform_input_kernel<float, float, float, true>", 22
                )
            world.kernel_of("aten::hardtanh_", RELU, 10)
        with world.backward():
            for _ in range(52):
                with world.node("HardtanhBackward1"):
                    world.kernel_of("aten::hardtanh_backward", RELU, 10)
                with world.node("SyncBatchNormBackward"):
                    world.kernel_of(
                        "aten::batch_norm_backward_reduce", SYNCED + "backward_reduce_kernel<float, float>", 26
                    )
                    end = world.collective(
                        "allreduce", 50, kernel=REDUCED, after=world.busy_until[7], elements=500, dtype="Float", size=8
                    )
                    world.kernel_of(
                        "aten::batch_norm_backward_elemt",
                        SYNCED + "backward_elemt_kernel<float, float>",
                        26,
                        after=end + 3,
                    )
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV.replace("fprop", "dgrad"), 220, host=40)
        update(world, "SGD", dur=200)
    return world


def _eights() -> Clocked:
    """torchao's float8 training in eager mode: scale, clamp and cast by a kernel each; 17.8 ms, 11.4 in half, 7.8 compiled."""
    world = Clocked()

    def to_float8(scale: float) -> None:
        world.kernel_of("aten::abs", ADD, 90 * scale)
        world.kernel_of("aten::max", REDUCE.replace("sum_functor", "MaxNanFunctor"), 60 * scale)
        world.kernel_of(TO, CAST, 2)
        world.kernel_of("aten::clamp", ADD, 2)
        world.kernel_of("aten::reciprocal", ADD, 2)
        world.kernel_of(TO, CAST, 95 * scale)
        world.kernel_of("aten::mul", ADD, 130 * scale)
        world.kernel_of("aten::clamp", ADD, 130 * scale)
        world.kernel_of(TO, CAST_8, 80 * scale)

    for _ in world.steps(4):
        for _ in range(8):
            to_float8(1)
            to_float8(0.5)
            world.kernel_of("aten::_scaled_mm", SCALED, 520, host=20)
            world.kernel_of("aten::relu", RELU, 60)
        with world.backward():
            for _ in range(8):
                with world.node("matmul_with_hp_or_float8_argsBackward"):
                    to_float8(1)
                    world.kernel_of("aten::_scaled_mm", SCALED, 520, host=20)
                    to_float8(1)
                    world.kernel_of("aten::_scaled_mm", SCALED, 520, host=20)
        update(world)
    return world


def _voxels() -> Clocked:
    """Qwen3-VL on torch 2.9: its patches' Conv3d is done by slow_conv_dilated3d, sample by sample, most of the vision pass."""
    world = Clocked(marks=False)
    volumes = "void at::native::vol2col_kernel<c10::BFloat16>(long, c10::BFloat16 const*, int, int, int)"
    dims = {"Input Dims": [[900, 3, 2, 16, 16], [1152, 3, 2, 16, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    for _ in world.steps(5):
        with (
            world.within("aten::conv3d", **dims),
            world.within("aten::convolution"),
            world.within("aten::slow_conv_dilated3d"),
        ):
            for _ in range(900):
                world.kernel_of(None, volumes, 3, call=5)
                world.kernel_of(None, GEMV, 14, call=5)
                world.idle(4)
        for _ in range(6):
            layer(world, 0.15)
    return world


def _around_the_ring() -> Clocked:
    """Ring attention of context parallelism: the next keys and values arrive beside the attention over these; nothing is lost."""
    world = Clocked(top=RANKS)

    def ring(op: str, kernel: str, dur: float) -> None:
        arrived = 0.0
        for _ in range(4):
            beside = world.busy_until[7] - 1_500
            arriving = world.collective("send", 900, kernel=SEND, stream=24, after=beside, size=4, group="mesh_cp")
            world.kernel_of(op, kernel, dur, host=30, after=arrived)
            arrived = arriving + 2
            world.kernel_of("aten::sigmoid", ADD, 30)

    for _ in world.steps(4):
        for _ in range(6):
            world.kernel_of("aten::linear/aten::mm", NVJET, 700)
            ring("aten::_scaled_dot_product_flash_attention", FLASH, 1_500)
            world.kernel_of("aten::linear/aten::mm", NVJET, 2_400)
        with world.backward():
            for _ in range(6):
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 4_800)
                with world.node("_RingAttentionBackward"):
                    ring("aten::_scaled_dot_product_flash_attention_backward", FLASH_BACK, 3_000)
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 1_400)
        update(world)
    return world


STORIES = (
    Story(
        "Hungarian matching, set by set", "document layout, DETR", GITHUB + "mindee/doctr/pull/2141",
        "costs are copied to the host for each set and sample: one copy for all", _matched,
        told=("PY002", "~one copy for all"), never=("DL001", "GR004", "PR001"),
    ),
    Story(
        "TensorDataset, row by row", "tabular", GITHUB + "pytorch/pytorch/pull/10260",
        "rows are taken one by one: the batch at once; workers make it slower", _rows, bound=("input",),
        told=("DL006", "~batch = .part.index. for part in data."),
        never=("GR004",),
    ),
    Story(
        "list of arrays made a tensor", "RL, stacks", GITHUB + "pfnet/pfrl/issues/189",
        "as_tensor of a list of arrays goes element by element: np.array first", _arrays, bound=("python",),
        told=("PY001", "~as_tensor"), never=("DL001", "GR004", "SY002"),
    ),
    Story(
        "torchmetrics, input checked", "vision", GITHUB + "Lightning-AI/torchmetrics/pull/2943",
        "checks read values in each update: switch them off", _checked_metrics, bound=("sync", "launch", "mixed"),
        told=("SY001",), never=("DL001", "~zero_grad"),
    ),
    Story(
        "Prodigy, a read for each parameter", "diffusion", GITHUB + "Koratahiu/Advanced_Optimizers/pull/5",
        "the update reads a value for each parameter: keep them on the device", _prodigal, told=("SY001",),
        never=("~fused=True", "DL001", "GR004"),
    ),
    Story(
        "dense gradient of an embedding", "NLP, CPU", GITHUB + "pytorch/pytorch/issues/5309",
        "gradient and update go through the whole table: sparse=True", _dense_gradient, told=("~sparse=True|SparseAdam",),
        never=("OP001", "CP002", "DL001"),
    ),
    Story(
        "autocast on a small network", "tabular", "https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html",
        "the network does not saturate the GPU and is bound by the host: precision does not matter", _small_and_autocast,
        bound=("launch",), told=("ID001",), never=("PR001", "PR002", "DL001"),
    ),
    Story(
        "selective scan in Python", "Mamba, inference", GITHUB + "johnma2006/mamba-minimal/issues/18",
        "a loop over the sequence launches all: a parallel scan", _scanned, bound=("launch",), told=("PY003|PY006",),
        never=("DL001", "~optimizer", "~zero_grad"),
    ),
    Story(
        "SDPA's MATH backend", "vision, inference", GITHUB + "pytorch/pytorch/issues/141756",
        "scaled_dot_product_attention falls back to MATH: products of floats and all scores in memory", _by_the_book,
        bound=("compute",), told=("GR005", "~_attention_math|MATH|SDPBackend|math backend"),
        never=("GR004", "~optimizer", "~zero_grad"),
    ),
    Story(
        "topk of two million", "detection, inference", GITHUB + "pytorch/pytorch/issues/22812",
        "topk takes longer than all else: by sort eight times as fast", _chosen_proposals, bound=("compute",),
        told=("KE003", "~in 64 parts"), never=("~`torch.topk` instead", "GR004", "~optimizer", "~zero_grad"),
    ),
    Story(
        "trilinear gradient in half", "medical, 3D, AMP", GITHUB + "pytorch/pytorch/pull/48675",
        "the gradient of trilinear interpolation takes more than half of the step", _upsampled, bound=("compute",),
        told=("~upsample_trilinear3d|interpolat",), never=("GR004", "PR001", "DL001"),
    ),
    Story(
        "gamma and beta of tall norms", "point clouds", GITHUB + "pytorch/pytorch/pull/148605",
        "the gradient of gamma and beta runs on two blocks of 132 multiprocessors", _tall_norms, bound=("compute",),
        told=("~GammaBeta|layer_norm",), never=("GR004", "DL001", "~2 \\* batch_size"),
    ),
    Story(
        "SyncBatchNorm on eight", "vision, DDP", GITHUB + "pytorch/pytorch/pull/38246",
        "each norm waits for all ranks", _synchronised, told=("CO011",), never=("~bucket_cap_mb", "~no_sync", "DL001"),
    ),
    Story(
        "float8 without compiling", "LLM pretraining, float8", GITHUB + "pytorch/ao/issues/685",
        "scales and casts are a kernel each: torch.compile fuses them", _eights, bound=("compute",),
        told=("GR001|GR007|PR004", "~torch.compile"), never=("PR001", "PR002", "GR004"),
    ),
    Story(
        "Conv3d without cuDNN", "vision-language, torch 2.9", GITHUB + "pytorch/pytorch/issues/174051",
        "slow_conv_dilated3d goes sample by sample: torch 2.10, or a linear layer", _voxels, told=("~slow_conv_dilated3d",),
        never=("~optimizer", "~zero_grad", "DL001"),
    ),
    Story(
        "ring attention", "LLM pretraining, CP", GITHUB + "pytorch/tutorials/pull/3319",
        "messages run beside attention: nothing to gain", _around_the_ring, bound=("compute",),
        never=("CO001", "CO002", "CO008", "GR004", "GR005"),
    ),
)  # fmt: skip
