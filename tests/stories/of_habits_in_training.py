"""Stories of habits in training programs that cost time: groups, norms, averages, coins tossed; before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories import devices
from stories.models import (
    ADD,
    CONV_32,
    FOREACH,
    SGEMM,
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

MATVEC = (
    "void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, false, false, cublasGemvParamsEx<int>>(p)"
)
RENORM = (
    "void at::native::(anonymous namespace)::renorm_kernel<float, float, long>(float*, long*, float, float, long, long)"
)
SORTED = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long>>(p)"
HASH = "void spconv::cumm::conv::sparse::all::SpconvIndicesCPU3D::build_conv_hash_table<long>(int, int*, int*)"
GATHERED = "void cumm::gemm::main::Simt_f32f32f32f32f32tnt_m32n64k16<tv::Array<int, 3>>(p)"


def _a_group_for_each() -> Clocked:
    """Layer-wise learning rates make a group of parameters for each tensor: AdamW's lists hold one each, 200 times twelve ops."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(70, workers=4)
        layers(world, 6)
        layers_back(world, 6)
        begin = world.now
        for _ in range(200):
            world.idle(25)
            for op in ("add_", "mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"):
                world.kernel_of(f"aten::_foreach_{op}", FOREACH, 4, host=16)
        world.optimizer(begin, world.now - begin, "AdamW")
    return world


def _average_on_the_cpu() -> Clocked:
    """A moving average of the weights is kept on the CPU: each of 180 tensors is copied there and averaged, each step."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(4):
        world.load(80, workers=6)
        world.copied("HtoD", 4 << 20, pinned=True)
        blocks(world, 20, 1.0, conv=CONV_32)
        blocks_back(world, 20, 2.0, conv=CONV_32)
        update(world, "SGD", dur=300)
        for _ in range(180):
            world.copied("DtoH", 640 << 10, rate=6_000)
            world.host_op("aten::mul_", 60)
            world.host_op("aten::add_", 70)
    return world


def _rows_renormed() -> Clocked:
    """nn.Embedding with max_norm: rows of each batch are sorted, made unique and renormed in front of each lookup."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", 512 << 10, pinned=True)
        for _ in range(8):
            with world.within("aten::embedding_renorm_"):
                for _ in range(4):
                    world.kernel_of(None, SORTED, 60)
                world.kernel_of(None, RENORM, 420)
            world.kernel_of("aten::embedding", "void at::native::vectorized_gather_kernel<16, long>(char*, char*)", 40)
        perceptron(world, 6, 90, name="ampere_sgemm_128x64_tn")
        perceptron_back(world, 6, 90, name="ampere_sgemm_128x64_nt")
        update(world, "SparseAdam", dur=200)
    return world


def _spectral_norms() -> Clocked:
    """Spectral norm on each layer of a discriminator: two products with vectors, two norms and a division at each call."""
    world = Clocked(top=devices.of(devices.RTX_3090))
    for _ in world.steps(5):
        world.load(90, workers=4)
        for _ in range(2):
            for _ in range(30):
                for _ in range(2):
                    world.kernel_of("aten::mv", MATVEC, 4)
                    world.kernel_of("aten::linalg_vector_norm", ADD, 3)
                    world.kernel_of("aten::clamp_min", ADD, 2)
                    world.kernel_of("aten::div", ADD, 2)
                world.kernel_of("aten::dot", MATVEC, 3)
                world.kernel_of("aten::div", ADD, 4)
                world.kernel_of("aten::conv2d/aten::convolution/aten::cudnn_convolution", CONV_32, 30, host=30)
                world.kernel_of("aten::leaky_relu", ADD, 4)
        with world.backward():
            for _ in range(60):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_32.replace("fprop", "dgrad"), 60, host=30)
                with world.node("DivBackward0"):
                    world.kernel_of("aten::div", ADD, 4)
                    world.kernel_of("aten::mul", ADD, 4)
        update(world, "Adam", dur=60)
    return world


def _a_coin_for_each_layer() -> Clocked:
    """Stochastic depth asks the GPU for a random number for each layer and reads it to decide: a wait for each of 24."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(70, workers=4)
        for _ in range(24):
            world.kernel_of("aten::rand/aten::uniform_", ADD, 2)
            world.read_value()
            layer(world, 0.04)
        layers_back(world, 24, 0.1)
        update(world, dur=300)
    return world


def _curvature() -> Clocked:
    """Products with the Hessian: the backward pass is differentiated; each of ten vectors takes two passes, and all compute."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(3):
        perceptron(world, 12, 420, name="ampere_tf32_s1688gemm_tf32_128x128_ldg8_f2f_stages_32x3_tn")
        for _ in range(10):
            with world.backward():
                for _ in range(12):
                    with world.node("AddmmBackward0"):
                        for _ in range(2):
                            world.kernel_of(
                                "aten::mm", "ampere_tf32_s1688gemm_tf32_128x128_ldg8_f2f_stages_32x3_nt", 420
                            )
            world.kernel_of("aten::dot", MATVEC, 20)
            with world.backward():
                for _ in range(12):
                    with world.node("MmBackward0"):
                        for _ in range(2):
                            world.kernel_of(
                                "aten::mm", "ampere_tf32_s1688gemm_tf32_128x128_ldg8_f2f_stages_32x3_nn", 420
                            )
    return world


def _tables_of_voxels() -> Clocked:
    """spconv: a hash table of the voxels is built for each level, its size read to the host, then products of gathered rows."""
    world = Clocked(top=devices.of(devices.RTX_3090))
    for _ in world.steps(5):
        world.load(120, workers=6)
        world.copied("HtoD", 9 << 20, pinned=True)
        for _ in range(8):
            with world.within("SubMConvFunction"):
                world.kernel_of(None, HASH, 140)
                world.copied("DtoH", 4, path=None)
                world.idle(180)
                for _ in range(3):
                    world.kernel_of(None, GATHERED, 90, call=6)
            world.kernel_of(
                "aten::batch_norm/aten::native_batch_norm",
                "void at::native::batch_norm_transform_input_kernel<float>(p)",
                30,
            )
        with world.backward():
            for _ in range(8):
                with world.node("SubMConvFunctionBackward"):
                    for _ in range(6):
                        world.kernel_of(None, GATHERED, 90, call=6)
        update(world, "Adam", dur=80)
    return world


def _one_sample_at_a_time() -> Clocked:
    """A loop over the samples of a batch, each with forward, loss and backward pass, then one update: 32 small passes."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=2)
        for _ in range(32):
            perceptron(world, 8, 5, name=SGEMM)
            world.kernel_of("aten::mse_loss", ADD, 3)
            world.kernel_of("aten::ones_like/aten::fill_", ADD, 2)
            perceptron_back(world, 8, 5, name=SGEMM)
            with world.backward():
                for _ in range(8):
                    with world.node("torch::autograd::AccumulateGrad"):
                        world.kernel_of("aten::add_", ADD, 2)
        update(world, "Adam", dur=30)
    return world


STORIES = (
    Story(
        "a group for each parameter", "LLM fine-tuning, layer-wise rates", GITHUB + "pytorch/pytorch/issues/71274",
        "lists of one tensor each: few groups, or a fused update", _a_group_for_each, bound=("launch", "mixed", "compute"),
        told=("OP001|OP002", "~group|fused=True"), never=("DL001", "GR004", "PR001", "~foreach=True"),
    ),
    Story(
        "average kept on the CPU", "vision, moving average", "https://docs.pytorch.org/docs/stable/optim.html",
        "weights are copied to the host in each step: keep the average on the device", _average_on_the_cpu,
        bound=("copy", "sync", "launch", "mixed", "python"), told=("SY002|PY003", "~stays on the device|[Kk]eep|on the device"),
        never=("DL001", "GR004", "~pipe\\.enable", "~save_on_cpu"),
    ),
    Story(
        "rows renormed before each lookup", "recommender, max_norm", "https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html",
        "max_norm sorts and renorms rows at each lookup: leave it out, or clip seldom", _rows_renormed, bound=("compute",),
        told=("~renorm",), never=("DL001", "GR004", "GR005", "OP001"),
    ),
    Story(
        "spectral norms at each call", "GAN, spectral norm",
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html",
        "small kernels for each layer and call bind it", _spectral_norms, bound=("launch", "mixed"), told=("ID001|GR004",),
        never=("DL001", "OP001", "OP004", "~clip_grad_norm_"),
    ),
    Story(
        "a coin for each layer", "LLM, stochastic depth", "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "a random number is read off the GPU for each layer: toss coins on the host", _a_coin_for_each_layer,
        bound=("sync", "launch", "mixed", "compute"), told=("SY001",), never=("DL001", "PR001", "GR004"),
    ),
    Story(
        "products with the Hessian", "second order, curvature", "https://docs.pytorch.org/docs/stable/autograd.html",
        "products take it; nothing is computed for memory's sake", _curvature, bound=("compute",), told=("~matrix products",),
        never=("KE006", "DL001", "GR004", "PY003", "~torch\\.func\\.vmap\\(torch\\.func\\.grad"),
    ),
    Story(
        "tables of voxels", "point clouds, spconv", GITHUB + "traveller59/spconv",
        "the size of a table is read for each level, and the device waits", _tables_of_voxels,
        bound=("launch", "sync", "mixed", "compute"), told=("SY001|SY004|SY002|ID001", "~SubMConv|values off"),
        never=("DL001", "PR002", "GR005"),
    ),
    Story(
        "one sample at a time", "regression, a loop over samples", "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        "32 passes for one update: one pass for the batch", _one_sample_at_a_time, bound=("launch", "python"),
        told=("PY003", "~one pass|batch"),
        never=("DL001", "OP001"),
    ),
)  # fmt: skip
