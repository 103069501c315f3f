"""Stories of kernels, of captured graphs, and of what an op does inside."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    AMPERE,
    BATCH_NORM,
    CONV,
    CONV_32,
    LINEAR,
    NORM_OPS,
    NVJET,
    RELU,
    blocks_back,
    layers,
    layers_back,
    perceptron,
    update,
)
from stories.story import GITHUB, Story

DEPTHWISE = "void at::native::(anonymous namespace)::conv_depthwise2d_"
SORT = (
    "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<float, long>>"
)
MASKED = (
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"
)
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>"
DEQUANTIZE = (
    "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*, int, int)"
)
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>"
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}>"
)


def _captured_anew() -> Clocked:
    """torch.compile(mode='reduce-overhead') that records its graph in each iteration: 27 items a second become 2.3."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.marked(number), world.within("Torch-Compiled Region: 0/0"):
            stream = 590 + 10 * number
            world.runtime("cudaStreamBeginCapture", world.now, 20)
            world.now += 30
            for _ in range(180):
                begin = world.now
                world.op("aten::cudnn_convolution", begin, 160)
                world.runtime("cudaLaunchKernel", begin + 60, 14)
                world.now = begin + 170
            for name, dur in (
                ("cudaStreamEndCapture", 500), ("cudaGraphGetNodes", 60), ("cudaGraphInstantiateWithFlags", 190_000),
                ("cudaGraphDestroy", 9_000),
            ):  # fmt: skip
                world.runtime(name, world.now, dur)
                world.now += dur + 10
            begin = world.now
            correlation = world.runtime("cudaGraphLaunch", begin, 400)
            for index in range(180):
                world.kernel(
                    CONV_32, begin + 60 + index * 190, 186, stream=stream + index % 2, correlation=correlation,
                    **{"graph node id": index, "graph id": number + 3},
                )  # fmt: skip
            world.now = begin + 60 + 180 * 190 + 20
    return world


def _converted_back() -> Clocked:
    """nnU-Net in channels_last_3d: InstanceNorm3d has no such kernel, each block converts there and back; 24 % slower."""
    world = Clocked()
    last = {"Input Strides": [[884736, 1, 9216, 96 * 32, 32]], "Input Dims": [[2, 32, 96, 96, 96]]}
    for _ in world.steps(4):
        world.load(100, workers=12)
        for _ in range(22):
            with (
                world.within("aten::conv3d", **last),
                world.within("aten::convolution"),
                world.within("aten::cudnn_convolution"),
            ):
                world.kernel_of(
                    None,
                    "sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32",
                    1_500,
                )
            with world.within("aten::instance_norm", **last):
                world.kernel_of("aten::contiguous/aten::clone/aten::copy_", CAST, 420, host=24)
                world.kernel_of("aten::cudnn_batch_norm", BATCH_NORM, 520, host=30)
            world.kernel_of("aten::leaky_relu_", RELU, 240)
            with world.within("aten::cudnn_convolution"):
                world.kernel_of(
                    None,
                    "void cudnn::ops::convertTensor_kernel<__half, __half, float, (cudnnKernelDataType_t)0>(float)",
                    380,
                )
        blocks_back(world, 22, 22)
        update(world, "SGD")
    return world


def _first_channels() -> Clocked:
    """InstanSeg in FP16: batch norms 39 %, convolutions 27 %, changes of layout 12 %; channels_last 30 % faster."""
    world = Clocked(marks=False)
    for _ in world.steps(8):
        for _ in range(40):
            with world.within("aten::cudnn_convolution"):
                world.kernel_of(
                    None,
                    "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float, false, true>",
                    60,
                )
                world.kernel_of(None, CONV, 270)
                world.kernel_of(
                    None,
                    "void cudnn::engines_precompiled::nhwcToNchwKernel<__half, __half, float, true, false>",
                    60,
                )
            world.kernel_of(NORM_OPS, "void cudnn::bn_fw_inf_1C11_kernel_NCHW<__half, float, true, 1>", 390, host=30)
            world.kernel_of("aten::relu_/aten::clamp_min_", RELU, 90)
    return world


def _eigenvectors() -> Clocked:
    """torch.linalg.eigh of a thousand 4 x 4 matrices: one solver call after the other, each with kernels of microseconds."""
    world = Clocked()
    for _ in world.steps(4):
        perceptron(world, 10, 60)
        with world.within("aten::linalg_eigh"), world.within("aten::_linalg_eigh"):
            for _ in range(400):
                world.kernel_of(None, "void syevj_batch_32x16<float, float>(syevj_params)", 3, call=9)
                world.kernel_of(None, "void syevj_sort<float>", 2, call=9)
                world.idle(22)
            world.copied("DtoH", 4_000, path="aten::_linalg_check_errors/aten::to/aten::copy_")
        with world.backward():
            for _ in range(20):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 60)
        update(world, "Adam", dur=200)
    return world


def _coalesced() -> Clocked:
    """Node2Vec with SparseAdam on the CPU: the update puts the sparse gradient in order on one core."""
    world = Clocked(None)
    for _ in world.steps(5):
        world.load(120, workers=4)
        world.host_op("aten::embedding", 900)
        world.host_op("aten::mul", 500)
        world.host_op("aten::sum", 300)
        with world.backward(), world.node("EmbeddingBackward0"):
            world.host_op("aten::embedding_sparse_backward", 700)
        begin = world.now
        world.idle(80)
        world.host_op("aten::coalesce/aten::_coalesce", 41_000)
        world.host_op("aten::sparse_mask", 900)
        world.host_op("aten::add_", 1_100)
        world.optimizer(begin, world.now - begin, "SparseAdam")
    return world


def _four_bits() -> Clocked:
    """bitsandbytes, NF4 with a batch of 16: each weight is turned back into 16 bits before its product."""
    world = Clocked(marks=False)
    for _ in world.steps(12):
        for _ in range(48):
            with world.within("bitsandbytes::dequantize_4bit"):
                world.kernel_of(None, DEQUANTIZE, 95)
            world.kernel_of("aten::linear/aten::mm", AMPERE, 60)
            world.kernel_of("aten::mul", ADD, 5)
        world.kernel_of("aten::argmax", ADD, 10)
        world.copied("DtoH", 128)
    return world


def _sorted_vocabulary() -> Clocked:
    """vLLM's sampler sorts all logits for top-p: a fifth of the step; without 15 % more requests a second."""
    world = Clocked(marks=False)
    names = [
        (NVJET, 60),
        ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>", 30),
        (ADD, 6),
    ]
    for _ in world.steps(10):
        with world.inside("execute_context_0(0)_generation_256(256)"):
            world.graph(names * 64)
        with world.inside("sample"):
            world.kernel_of("aten::sort", SORT, 900, host=40)
            world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 180, host=20)
            world.kernel_of("aten::cumsum", "void at_cuda_detail::cub::DeviceScanByKeyKernel<float>", 160, host=20)
            world.kernel_of("aten::masked_fill", ADD, 90)
            world.kernel_of("aten::scatter", "void at::native::_scatter_gather_elementwise_kernel<128, 8>", 200)
            world.copied("DtoH", 1_024)
        world.idle(60)
    return world


def _masked_attention() -> Clocked:
    """Whisper with an attention mask: SDPA takes its memory-efficient kernel instead of flash attention, several times as slow."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=8)
        for _ in range(16):
            world.kernel_of("aten::linear/aten::addmm", NVJET, 220)
            world.kernel_of(
                "aten::scaled_dot_product_attention/aten::_scaled_dot_product_efficient_attention/aten::_efficient_attention_forward",
                MASKED, 900, host=40,
            )  # fmt: skip
            world.kernel_of("aten::linear/aten::addmm", NVJET, 500)
        with world.backward():
            for _ in range(16):
                with world.node("ScaledDotProductEfficientAttentionBackward0"):
                    world.kernel_of("aten::_efficient_attention_backward", MASKED.replace("F_", "B_"), 2_100, host=40)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 1_400)
        update(world)
    return world


def _depthwise() -> Clocked:
    """Depthwise convolutions in float32: their own kernels, the device busy with them."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=8)
        for _ in range(24):
            world.kernel_of(
                "aten::conv2d/aten::convolution/aten::_conv_depthwise2d",
                DEPTHWISE + "forward_kernel<3, float, int>", 1_400, host=36,
            )  # fmt: skip
            world.kernel_of(LINEAR, "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn", 300)
        with world.backward():
            for _ in range(24):
                with world.node("ConvDepthwise2DBackward0"):
                    world.kernel_of(
                        "aten::convolution_backward",
                        DEPTHWISE + "grad_weight_kernel<float, unsigned int>",
                        3_600,
                        host=40,
                    )
                    world.kernel_of(
                        "aten::convolution_backward",
                        DEPTHWISE + "backward_kernel<3, 1, float, int>",
                        1_500,
                        host=20,
                    )
        update(world)
    return world


def _filled() -> Clocked:
    """use_deterministic_algorithms in torch 2: every empty tensor is filled first, thousands of kernels a step."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(70):
            for op, name, dur in ((LINEAR, AMPERE, 12), ("aten::relu", RELU, 4), ("aten::mul", ADD, 4)):
                world.kernel_of("aten::empty/aten::fill_", FILL, 4, host=14)
                world.kernel_of(op, name, dur, host=20)
        with world.backward():
            for _ in range(70):
                with world.node("AddmmBackward0"):
                    for _ in range(2):
                        world.kernel_of("aten::empty/aten::fill_", FILL, 4, host=14)
                        world.kernel_of("aten::mm", AMPERE, 12, host=20)
        update(world, "Adam", dur=300)
    return world


def _loss_of_a_vocabulary() -> Clocked:
    """A model of 0.5 billion parameters and 131,072 words: logits in float32, softmax and its gradient take a third."""
    world = Clocked()
    wide = {"Input Dims": [[16_384, 131_072]], "Input type": ["c10::BFloat16"]}
    for _ in world.steps(4):
        layers(world, 10, 0.8)
        world.kernel_of("aten::linear/aten::mm", NVJET, 6_500)
        world.kernel_of("aten::to/aten::_to_copy/aten::copy_", CAST, 4_800, args=wide)
        world.kernel_of(
            "aten::cross_entropy_loss/aten::log_softmax/aten::_log_softmax",
            SOFTMAX.replace("Forward", "ForwardSmem"),
            6_200,
        )
        world.kernel_of("aten::nll_loss_nd/aten::nll_loss_forward", ADD, 30)
        with world.backward():
            with world.node("LogSoftmaxBackward0"):
                world.kernel_of("aten::_log_softmax_backward_data", SOFTMAX.replace("Forward", "Backward"), 7_900)
            with world.node("ToCopyBackward0"):
                world.kernel_of("aten::to/aten::_to_copy/aten::copy_", CAST, 4_800, args=wide)
            with world.node("MmBackward0"):
                world.kernel_of("aten::mm", NVJET, 6_500)
                world.kernel_of("aten::mm", NVJET, 6_500)
        layers_back(world, 10, 1.6)
        update(world)
    return world


def _sorted_embedding() -> Clocked:
    """The gradient of an embedding sorts its indices: seconds of it are reported, mostly measured wrongly; 2 % at most."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 12)
        layers_back(world, 12)
        with world.backward(), world.node("EmbeddingBackward0"), world.within("aten::embedding_dense_backward"):
            for _ in range(4):
                world.kernel_of(None, "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>", 60)
            world.kernel_of(None, "void at::native::(anonymous namespace)::compute_grad_weight<float, long>", 200)
        update(world)
    return world


def _inputs_of_a_graph() -> Clocked:
    """Inductor with CUDA graphs: most of the host's time issues copies of the inputs into the graph's tensors, one by one."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.marked(number), world.within("Torch-Compiled Region: 0/0"):
            for _ in range(220):
                world.kernel_of("aten::copy_", ADD, 2.2, host=15)
            world.graph([(NVJET, 14), ("triton_poi_fused_add_2", 4)] * 60)
            world.synchronize("cudaStreamSynchronize")
    return world


STORIES = (
    Story(
        "graph captured in each iteration", "vision, compiled", GITHUB + "pytorch/pytorch/issues/171672",
        "the graph is instantiated and destroyed each time: max-autotune-no-cudagraphs is as fast as the default",
        _captured_anew, bound=("compile", "launch", "python"), told=("~captur|record(?:s|ed) anew|instantiat",),
        never=("GR004", "~CUDA graph would", "~\\+.*mode=.reduce-overhead", "~zero_grad"),
    ),
    Story(
        "instance norm in channels_last_3d", "medical, 3D", GITHUB + "pytorch/pytorch/issues/59168",
        "InstanceNorm3d converts to contiguous and back around each block: channels last is slower here",
        _converted_back, bound=("compute",), told=("KE002|XF005",), never=("~\\+.*channels_last_3d", "GR004"),
    ),
    Story(
        "InstanSeg, channels first", "microscopy, inference", GITHUB + "instanseg/instanseg/pull/144",
        "changes of layout take 12 %: channels_last, 30 % faster",
        _first_channels, bound=("compute",), told=("KE002", "~channels_last"), never=("~optimizer", "GR004"),
    ),
    Story(
        "eigh of small matrices", "training", GITHUB + "pytorch/pytorch/issues/60537",
        "the solver works through small matrices one after the other inside aten::linalg_eigh",
        _eigenvectors, bound=("launch", "sync", "python"), told=("~linalg_eigh",), never=("DL001", "~[Aa] CUDA graph"),
    ),
    Story(
        "SparseAdam's coalesce", "graph embedding, CPU", GITHUB + "pytorch/pytorch/issues/81162",
        "aten::coalesce on one core is most of the step; dense Adam is faster there",
        _coalesced, told=("~coalesce",), never=("OP001", "OP002", "~fused=True"),
    ),
    Story(
        "NF4 with a batch", "LLM inference", GITHUB + "bitsandbytes-foundation/bitsandbytes/pull/1949",
        "weights are dequantised before each product: fused kernels up to 4 times as fast",
        _four_bits, bound=("compute",), told=("PR006",), never=("~optimizer", "GR004", "PR001"),
    ),
    Story(
        "vocabulary sorted for top-p", "LLM serving", GITHUB + "vllm-project/vllm/pull/11394",
        "sorting all logits takes a fifth: FlashInfer's sampler",
        _sorted_vocabulary, bound=("compute",), told=("~sort|top-p|sampl",), never=("GR004", "~optimizer", "~zero_grad"),
    ),
    Story(
        "attention with a mask", "speech", GITHUB + "huggingface/transformers/issues/36584",
        "a mask sends attention to a slower kernel",
        _masked_attention, bound=("compute",), told=("~fmha_cutlass|attention",), never=("GR005", "GR004", "DL001"),
    ),
    Story(
        "depthwise convolutions", "vision", GITHUB + "pytorch/pytorch/issues/18631",
        "depthwise kernels take nearly all of the device's time",
        _depthwise, bound=("compute",), told=("~conv_depthwise|depthwise",), never=("KE003", "GR004", "GR001"),
    ),
    Story(
        "empty tensors filled", "training, deterministic", GITHUB + "pytorch/pytorch/issues/109856",
        "deterministic mode fills every empty tensor: torch.utils.deterministic.fill_uninitialized_memory = False",
        _filled, bound=("launch",), told=("~determinis",), never=("OP003", "DL001"),
    ),
    Story(
        "loss over a large vocabulary", "LLM pretraining", GITHUB + "pytorch/pytorch/issues/124480",
        "logits as floats, softmax and gradient move gigabytes: a fused linear cross entropy",
        _loss_of_a_vocabulary, bound=("compute",), told=("~cross.entropy",), never=("GR004", "DL001", "PR001"),
    ),
    Story(
        "embedding's gradient", "NLP", GITHUB + "pytorch/pytorch/issues/30711",
        "the sort is 2 % at most: not worth a change",
        _sorted_embedding, bound=("compute",), never=("KE003", "GR004"),
    ),
    Story(
        "inputs copied into a graph", "compiled, CUDA graphs", GITHUB + "pytorch/pytorch/pull/123162",
        "the host issues hundreds of copies of inputs before each replay: one _foreach_copy_",
        _inputs_of_a_graph, bound=("launch",), told=("ID001|PY003",), never=("~optimizer", "~DataLoader", "SY003"),
    ),
)  # fmt: skip
