"""Stories of Apple's GPU, of CPUs, and of fields of their own, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import torch_1_9
from building.other_devices import mps
from stories.models import (
    ADD,
    AMPERE,
    FLASH,
    GATHER,
    LINEAR,
    NVJET,
    RANKS,
    RELU,
    SDPA,
    SGEMM,
    block,
    blocks,
    blocks_back,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import GITHUB, Story

REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CAT = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::"
    "OpaqueType<2u>, unsigned int, 4, 128, 1>(p)"
)
TANH = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>>(int)"
)
COPY = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
NO_TRAINING = ("~zero_grad", "~optimizer", "~GradScaler", "~loss\\.|criterion", "~backward", "~DataLoader")


def _read_on_apple() -> Clocked:
    """A small CNN on an M3: `loss.item()` per batch drains the command queue, 6 ms of a step of 10."""
    world = Clocked()
    for _ in world.steps(10):
        world.load(350)
        world.host_op("aten::to/aten::_to_copy/aten::copy_", 120)
        for _ in range(3):
            world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::_mps_convolution", 110)
            world.host_op("aten::relu", 40)
            world.host_op("aten::max_pool2d", 60)
        world.host_op("aten::linear", 60)
        world.host_op("aten::cross_entropy_loss", 80)
        with world.backward():
            for _ in range(3):
                with world.node("ConvolutionBackward0"):
                    world.host_op("aten::convolution_backward/aten::mps_convolution_backward", 190)
        begin = world.now
        for _ in range(8):
            world.host_op("aten::_fused_adamw_", 40)
        world.optimizer(begin, world.now - begin, "AdamW")
        world.host_op("aten::item/aten::_local_scalar_dense", 6_000)
    return mps(world)  # type: ignore[return-value]


def _scattered_on_cpu() -> Clocked:
    """A GCN on a graph of a million nodes, on the CPU: adding messages up with `scatter_add_` by a broadcast index takes most."""
    world = Clocked(None, marks=False)
    for number in range(6):
        with world.marked(number), world.inside("predict"):
            for _ in range(4):
                world.host_op("aten::linear/aten::addmm", 9_000)
                world.host_op("aten::index_select", 24_000)
                world.host_op("aten::mul", 7_000)
                world.host_op("aten::expand", 4)
                world.host_op("aten::scatter_add_", 130_000)
                world.host_op("aten::prelu/aten::_prelu_kernel", 4_000)
    return world


def _denormal_weights() -> Clocked:
    """FastSurfer on the CPU: convolutions take eight times as long, for weights near zero are denormal numbers."""
    world = Clocked(None, marks=False)
    for number in range(5):
        with world.marked(number), world.inside("view of a slice"):
            for _ in range(16):
                world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::mkldnn_convolution", 48_000)
                world.host_op("aten::batch_norm/aten::_batch_norm_impl_index/aten::native_batch_norm", 1_800)
                world.host_op("aten::prelu/aten::_prelu_kernel", 900)
    return world


def _many_small_qr() -> Clocked:
    """QR of 256 small matrices on the GPU: orgqr runs matrix by matrix, 7 ms where the SVD of the same takes 0.3."""
    world = Clocked()
    for _ in world.steps(5):
        perceptron(world, 6, 60)
        with world.within("aten::linalg_qr"):
            world.kernel_of("aten::geqrf", "void geqrf_batched_kernel<float>(p)", 120, host=40)
            for _ in range(256):
                world.kernel_of(None, "void orgqr_set_identity_kernel<float>(p)", 2, call=5)
                world.idle(5)
                world.kernel_of(None, "void larft_gemv_kernel<float>(p)", 3, call=5)
                world.idle(6)
                world.kernel_of(None, "void larfb_apply_kernel<float>(p)", 3, call=5)
                world.idle(6)
        world.kernel_of("aten::matmul/aten::bmm", AMPERE, 30)
        with world.backward(), world.node("LinalgQrBackward0"):
            for _ in range(6):
                world.kernel_of("aten::matmul/aten::bmm", AMPERE, 25)
            world.kernel_of("aten::linalg_solve_triangular", "void trsm_batch_kernel<float, 16>(p)", 60)
        perceptron_back(world, 6, 60)
        update(world, "Adam", dur=200)
    return world


def _loss_on_host() -> Clocked:
    """An amplifier's model: its multi-resolution STFT loss runs on the CPU, and so does its backward pass; six times as slow."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(200, workers=4)
        for _ in range(20):
            world.kernel_of(
                "aten::conv1d/aten::convolution/aten::_convolution/aten::cudnn_convolution", SGEMM, 150, host=45
            )
            world.kernel_of("aten::tanh", TANH, 20)
        world.copied("DtoH", 4 << 20)
        for size in (2_048, 1_024, 512):
            world.host_op("aten::stft/aten::_fft_r2c", 4_000 + size)
            world.host_op("aten::abs", 900)
            world.host_op("aten::log", 1_100)
            world.host_op("aten::l1_loss", 400)
        world.thread += 1
        for _ in range(3):
            with world.node("FftR2CBackward0"):
                world.host_op("aten::fft_fft_backward/aten::_fft_c2c", 4_600)
            with world.node("LogBackward0"):
                world.host_op("aten::div", 800)
        world.thread -= 1
        world.copied("HtoD", 4 << 20)
        with world.backward():
            for _ in range(20):
                with world.node("TanhBackward0"):
                    world.kernel_of("aten::tanh_backward", TANH, 25)
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", SGEMM, 300, host=45)
        update(world, "Adam", dur=150)
    return world


def _weights_compacted() -> Clocked:
    """An LSTM whose weights are dropped anew for each batch: cuDNN's buffer of weights is filled at every call, piece by piece."""
    world = Clocked()
    for _ in world.steps(5):
        world.kernel_of(
            "aten::embedding/aten::index_select", "void indexSelectLargeIndex<float, long, unsigned int, 2>(p)", 40
        )
        for _ in range(3):
            world.kernel_of("aten::dropout/aten::bernoulli_", RELU, 60)
            world.kernel_of("aten::mul", ADD, 60)
            with world.within("aten::lstm"), world.within("aten::_cudnn_rnn"):
                world.kernel_of("aten::zeros/aten::zero_/aten::fill_", RELU, 80)
                for _ in range(16):
                    world.kernel_of("aten::copy_", COPY, 55)
                for _ in range(6):
                    world.kernel_of(None, "void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2>(p)", 70)
                    world.kernel_of(None, SGEMM, 120)
        world.kernel_of(LINEAR, SGEMM, 900)
        with world.backward():
            with world.node("AddmmBackward"):
                world.kernel_of("aten::mm", SGEMM, 1_700)
            for _ in range(3):
                with world.node("CudnnRnnBackward"), world.within("aten::_cudnn_rnn_backward"):
                    for _ in range(12):
                        world.kernel_of(None, SGEMM, 150)
        begin = world.now
        for _ in range(14):
            world.kernel_of("aten::add_", ADD, 30)
        world.optimizer(begin, world.now - begin, "SGD")
        world.read_value()
    return torch_1_9(world)  # type: ignore[return-value]


def _cache_concatenated() -> Clocked:
    """Tokens for a batch of 64 behind 4,000 others: keys and values are concatenated at each token, which copies all of them."""
    world = Clocked(marks=False)
    for number in range(12):
        with world.marked(number), world.inside("forward of one token"):
            for _ in range(24):
                world.kernel_of("aten::linear/aten::mm", NVJET, 60)
                world.kernel_of("aten::cat", CAT, 150, host=14)
                world.kernel_of("aten::cat", CAT, 150, host=14)
                world.kernel_of(SDPA, FLASH, 90, host=30)
                world.kernel_of("aten::linear/aten::mm", NVJET, 110)
            world.kernel_of("aten::argmax", RELU.replace("clamp_min_scalar", "argmax"), 12)
            world.read_value()
    return world


def _objects_gathered() -> Clocked:
    """Losses of each block are gathered as objects in every micro-batch: pickled, sent as two collectives, read, unpickled."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(80, workers=4)
        layers(world, 6)
        layers_back(world, 6)
        world.copied("DtoH", 4_096)
        world.idle(2_600)
        world.copied("HtoD", 64_000)
        world.busy_until[7] = world.collective(
            "allgather", 30, kernel=GATHER, after=world.busy_until[7], elements=1, dtype="Long"
        )
        world.read_value()
        world.busy_until[7] = world.collective(
            "allgather", 120, kernel=GATHER, after=world.busy_until[7], elements=64_000, dtype="Byte"
        )
        for _ in range(8):
            world.copied("DtoH", 64_000)
            world.idle(1_800)
        update(world, dur=500)
    return world


def _gradient_penalty() -> Clocked:
    """A penalty on the gradient at the input: the graph of the backward pass is differentiated again, five times as much work."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(60, workers=4)
        blocks(world, 18)
        with world.within("aten::mean"):
            pass
        blocks_back(world, 18)
        world.kernel_of("aten::pow", ADD, 15)
        world.kernel_of("aten::mean", ADD, 10)
        with world.backward():
            for _ in range(18):
                with world.node("ConvolutionBackwardBackward0"):
                    for _ in range(2):
                        block(world, 2)
                with world.node("CudnnBatchNormBackwardBackward0"):
                    world.kernel_of("aten::mul", ADD, 25)
        blocks_back(world, 18)
        update(world, "SGD", dur=150)
    return world


def _noise_on_host() -> Clocked:
    """A sampler that adds noise at each of its steps, drawn with a generator of the CPU for the sake of equal images."""
    world = Clocked(marks=False)
    for number in range(12):
        with world.marked(number), world.inside("denoising step"):
            layers(world, 8)
            world.host_op("aten::randn/aten::normal_", 19_000)
            world.copied("HtoD", 16 * 128 * 128 * 32)
            world.kernel_of("aten::add", ADD, 40)
            world.read_value()
    return world


def _tables_on_host() -> Clocked:
    """Tables too large for the GPU are looked up on the CPU, one after the other, and what is found is sent; then the GPU works."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.marked(number), world.inside("evaluate"):
            for _ in range(26):
                world.host_op("aten::embedding_bag/aten::_embedding_bag", 900)
            world.host_op("aten::cat", 700)
            world.copied("HtoD", 2_048 * 26 * 128 * 4)
            perceptron(world, 6, 250)
            world.kernel_of("aten::bmm", AMPERE, 300)
            world.kernel_of("aten::sigmoid", RELU, 8)
            world.copied("DtoH", 2_048 * 4)
    return world


def _higher_derivatives() -> Clocked:
    """Derivatives of fourth order of a small network: each order differentiates the graph of the last, in thousands of kernels."""
    world = Clocked()
    for _ in world.steps(4):
        perceptron(world, 4, 5)
        for order in range(4):
            with world.backward():
                for _ in range(2**order * 14):
                    with world.node("TanhBackwardBackward0" if order else "TanhBackward0"):
                        world.kernel_of("aten::mul", ADD, 2.5, host=13)
                        world.kernel_of("aten::pow", ADD, 2.5, host=13)
                    with world.node("MmBackward0"):
                        world.kernel_of(
                            "aten::mm", "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 2, 4, false>(p)", 4, host=16
                        )
        perceptron_back(world, 4, 5)
        update(world, "Adam", dur=20)
    return world


STORIES = (
    Story(
        "loss read on an M3", "vision, MPS", GITHUB + "CodefyUI/CodefyUI/pull/435",
        "loss.item() waits for Apple's command queue in each batch: add losses up on the device", _read_on_apple,
        told=("~item|_local_scalar_dense",),
        never=("~CUDA graph|torch\\.cuda|cudaLaunch|nvidia|TF32", "DL001", "DL006", "PY001", "CP001", "GR004", "~Compute-bound"),
    ),
    Story(
        "messages added up on the CPU", "GNN, CPU, inference", GITHUB + "pyg-team/pytorch_geometric/issues/2306",
        "scatter_add_ by a broadcast index: sorted or compressed rows, segment sums", _scattered_on_cpu, bound=("compute",),
        told=("~scatter_add_",), never=("PR001", "PR002", "GR004", "PY003", "DL001", "~\\.cuda|CUDA", *NO_TRAINING),
    ),
    Story(
        "denormal weights", "medical, CPU, inference", GITHUB + "Deep-MI/FastSurfer/issues/165",
        "numbers near zero are computed slowly: set_flush_denormal(True)", _denormal_weights, bound=("compute",),
        told=("~[Dd]enormal",), never=("PY001", "DL001", "CP003", "~\\.cuda|CUDA", *NO_TRAINING),
    ),
    Story(
        "QR matrix by matrix", "scientific", GITHUB + "pytorch/pytorch/issues/143281",
        "orgqr has no batched form: Cholesky-QR, or the SVD", _many_small_qr, bound=("launch",), told=("~linalg_qr",),
        never=("PR001", "PR002", "KE005", "OP001", "DL001", "XF001", "PY003"),
    ),
    Story(
        "loss of spectrograms on the host", "audio", GITHUB + "sdatkinson/neural-amp-modeler/issues/164",
        "the loss runs on the CPU while the GPU waits: keep it on the device", _loss_on_host,
        bound=("launch", "sync", "copy", "mixed", "python"), told=("~stft|_fft",),
        never=("DL001", "DL002", "~num_workers", "GR004", "GR001", "XF001", "~pin_memory"),
    ),
    Story(
        "LSTM weights compacted each call", "NLP, torch 1.9", GITHUB + "salesforce/awd-lstm-lm/issues/120",
        "weights are not one piece of memory: flatten_parameters behind what changes them", _weights_compacted, bound=("compute",),
        told=("~flatten_parameters|_cudnn_rnn.*cop|cop.*_cudnn_rnn",),
        never=("GR004", "~scaled_dot_product", "~nn\\.LSTM", "~\\.contiguous\\(\\)"),
    ),
    Story(
        "keys and values concatenated", "LLM inference", GITHUB + "huggingface/transformers/pull/24115",
        "each token copies the whole cache: a static one, written in place", _cache_concatenated, bound=("compute",),
        told=("~aten::cat|CatArray",), never=("IN004", "PR001", "PR002", "GR004", "ID001", *NO_TRAINING),
    ),
    Story(
        "objects gathered in each batch", "LLM distillation, DDP", GITHUB + "NVIDIA/Model-Optimizer/pull/1111",
        "pickling, two collectives, copies to the host: gather a tensor, and seldom", _objects_gathered,
        bound=("python", "sync", "launch", "mixed"), told=("SY001|SY002|PY001",),
        never=("~bucket_cap_mb", "~no_sync", "~gradient_as_bucket_view", "DL001", "~num_workers", "GR004"),
    ),
    Story(
        "penalty on gradients", "GAN", GITHUB + "pytorch/pytorch/issues/7714",
        "derivatives of derivatives are that much work: the penalty in every so many steps", _gradient_penalty, bound=("compute",),
        never=("KE006", "~no_sync", "~checkpoint", "~accumulat", "GR004", "ID001", "DL001", "PY003"),
        told=("~convolution",),
    ),
    Story(
        "noise drawn on the CPU", "diffusion, inference", GITHUB + "huggingface/diffusers/pull/1902",
        "noise from a generator of the CPU, then a copy: a generator of the device", _noise_on_host,
        bound=("launch", "mixed", "compute"), told=("~normal_|randn",),
        never=("GR004", "~reduce-overhead|make_graphed", "~num_workers", "XF001", *NO_TRAINING),
    ),
    Story(
        "tables looked up on the CPU", "recommender, inference", GITHUB + "meta-pytorch/torchrec/pull/3822",
        "lookups on the CPU, then the GPU, one after the other: the next batch's lookups beside this batch", _tables_on_host,
        bound=("launch", "mixed"), told=("~_?embedding_bag",),
        never=("GR004", "~reduce-overhead|make_graphed", "~num_workers", "PR002", *NO_TRAINING),
    ),
    Story(
        "derivatives of fourth order", "scientific", GITHUB + "pytorch/pytorch/issues/111563",
        "the graph doubles with each order: fewer orders, compiled or replayed", _higher_derivatives, bound=("launch",),
        told=("ID001|GR004",), never=("KE006", "~no_sync", "PR001", "PR002", "DL001", "OP001", "KE001"),
    ),
)  # fmt: skip
