"""Stories from guides and forums: what they tell everybody to look for."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm, torch_1_9
from stories.models import (
    ADD,
    AMPERE,
    CONV,
    LINEAR,
    NORM,
    NVJET,
    RANKS,
    RELU,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    update,
    update_foreach,
)
from stories.story import GITHUB, Story

TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SOFTMAX = "void (anonymous namespace)::cunn_SoftMaxForward<8, float, float>"
EXCHANGES = ("void deep_ep::internode::dispatch<false, 4, false>(p)", "void deep_ep::internode::combine<false, 4>(p)")
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1>>"


def _weights_made_on_host() -> Clocked:
    """The loss makes its class weights and masks with torch.full on the host, and moves them, thirty times a step."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(90, workers=8)
        blocks(world, 40, 0.4)
        for _ in range(30):
            shapes = {"Input Dims": [[100_000]], "Input type": ["float"]}
            world.host_op("aten::full/aten::fill_", 60, **shapes)
            world.copied("HtoD", 400_000, args=shapes)
            world.kernel_of("aten::mul", ADD, 12)
        blocks_back(world, 40, 0.8)
        update(world, "SGD", dur=300)
    return world


def _interleaved() -> Clocked:
    """Segment Anything: repeat_interleave with counts on the device waits for their sum."""
    world = Clocked(marks=False)
    for _ in world.steps(8):
        for _ in range(12):
            with world.within("aten::repeat_interleave"):
                world.kernel_of("aten::cumsum", ADD, 6, host=14)
                world.read_value()
                world.idle(90)
                world.kernel_of("aten::index_select", ADD, 14, host=16)
            perceptron(world, 6, 11, host=15)
    return world


def _blocking_launches() -> Clocked:
    """CUDA_LAUNCH_BLOCKING=1 left in the job's script after debugging."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(120):
            begin = world.now
            dur = 45.0
            world.op(LINEAR.split("/")[1], begin, dur + 26)
            correlation = world.runtime("cudaLaunchKernel", begin + 8, dur + 14)
            world.kernel(AMPERE, begin + 16, dur, correlation=correlation)
            world.now = begin + dur + 30
        begin = world.now
        world.idle(50)
        world.optimizer(begin, 45, "SGD")
    return world


def _anomaly_mode() -> Clocked:
    """set_detect_anomaly(True) left on: each node of the backward pass is followed by a look for NaN."""
    world = Clocked()
    for _ in world.steps(4):
        perceptron(world, 20, 30)
        with world.backward():
            for _ in range(40):
                with world.within("autograd::engine::evaluate_function: AddmmBackward0"):
                    with world.within("AddmmBackward0"):
                        world.kernel_of("aten::mm", AMPERE, 40)
                    world.kernel_of("aten::isnan/aten::ne", ADD, 5)
                    world.kernel_of("aten::any", SUM, 5)
                    world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
        update(world, "SGD", dur=200)
    return world


def _emptied_cache() -> Clocked:
    """torch.cuda.empty_cache() in each step: a synchronisation, freeing, and allocating again."""
    world = Clocked()
    for _ in world.steps(6):
        layers(world, 6, 1.0)
        layers_back(world, 6, 1.0)
        update(world, dur=800)
        world.synchronize()
        for _ in range(30):
            world.runtime("cudaFree", world.now, 500)
            world.now += 505
        for _ in range(30):
            world.runtime("cudaMalloc", world.now, 300)
            world.now += 306
    return world


def _warm_up() -> Clocked:
    """No warm-up in the schedule: the first steps choose algorithms and allocate."""
    world = Clocked()
    for number in world.steps(6):
        for _ in range(50):
            if number == 0:
                world.runtime("cudaMalloc", world.now, 900)
                world.now += 4_000
                world.runtime("cudaModuleLoadData", world.now, 2_000)
                world.now += 2_010
            blocks(world, 1, 2)
        blocks_back(world, 50, 4)
        update(world, "SGD", dur=400)
    return world


def _validation() -> Clocked:
    """Every so many steps the loop validates: one step holds forty batches more."""
    world = Clocked()
    for number in world.steps(9):
        world.load(80, workers=4)
        blocks(world, 20, 2)
        blocks_back(world, 20, 4)
        update(world, "SGD", dur=300)
        if number == 5:
            with world.inside("validate"):
                for _ in range(40):
                    world.load(80, workers=4)
                    blocks(world, 20, 2)
                    world.read_value()
    return world


def _small_grids() -> Clocked:
    """A batch of two on a large card: kernels with fewer blocks than multiprocessors, launched from a graph."""
    world = Clocked()
    for _ in world.steps(6):
        for _ in range(60):
            world.kernel_of(LINEAR, AMPERE, 60, **{"blocks per SM": 0.18, "grid": [24, 1, 1], "block": [256, 1, 1]})
        with world.backward():
            for _ in range(60):
                with world.node("AddmmBackward0"):
                    world.kernel_of(
                        "aten::mm", AMPERE, 60, **{"blocks per SM": 0.18, "grid": [24, 1, 1], "block": [256, 1, 1]}
                    )
        update(world, dur=600)
    return world


def _vocabulary() -> Clocked:
    """A vocabulary of 50,257: the last product and its gradients use unaligned kernels; 50,304 is 25 % faster."""
    world = Clocked()
    unaligned = "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align2>(Params)"
    shapes = {"Input Dims": [[8192, 768], [768, 50257]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    for _ in world.steps(4):
        layers(world, 6, 0.6)
        world.kernel_of("aten::linear/aten::mm", unaligned, 5_500, args=shapes)
        with world.backward(), world.node("MmBackward0"):
            world.kernel_of("aten::mm", unaligned, 5_200, args=shapes)
            world.kernel_of("aten::mm", unaligned, 5_300, args=shapes)
        layers_back(world, 6, 1.2)
        update(world)
    return world


def _accumulated() -> Clocked:
    """Gradients are accumulated over four micro-batches without no_sync(): each one is reduced."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for _ in range(4):
            with world.inside("DistributedDataParallel.forward"):
                layers(world, 4)
            with world.backward():
                for _ in range(4):
                    with world.node("MmBackward0"):
                        layer(world, 2, backward=True)
                end = world.busy_until[7]
                for _ in range(3):
                    with world.node("torch::autograd::AccumulateGrad"):
                        end = world.collective("allreduce", 3_000, kernel=REDUCE, after=end, dtype="Float")
            world.busy_until[7] = end
        update(world)
        world.read_value()
    return world


def _gradients_zeroed() -> Clocked:
    """torch 1: zero_grad() fills 300 gradients with zeros, one kernel each."""
    world = Clocked()
    for _ in world.steps(5):
        begin = world.now
        for _ in range(300):
            world.kernel_of("aten::zero_", FILL, 3, host=13)
        world.zero_grad(begin, world.now - begin, "SGD")
        blocks(world, 16, 0.8)
        blocks_back(world, 16, 1.6, suffix="")
        update_foreach(world, "SGD", passes=3, dur=200)
    return torch_1_9(world)  # type: ignore[return-value]


def _metrics_on_host() -> Clocked:
    """Each step the predictions go to scikit-learn on the host: a copy, and 20 ms of NumPy while the device idles."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(90, workers=8)
        blocks(world, 40, 2)
        blocks_back(world, 40, 4)
        update(world, "SGD", dur=400)
        world.copied("DtoH", 2 << 20)
        world.idle(20_000)
    return world


def _moving_average() -> Clocked:
    """An average of the weights, parameter by parameter, after each step."""
    world = Clocked()
    for _ in world.steps(5):
        blocks(world, 20, 0.6)
        blocks_back(world, 20, 1.2)
        update(world, dur=300)
        for _ in range(250):
            world.kernel_of("aten::mul_", ADD, 4, host=13)
            world.kernel_of("aten::add_", ADD, 4, host=14)
    return world


def _convolution_bias() -> Clocked:
    """Convolutions keep a bias in front of batch norms, in a model of small images."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(40):
            shapes = {"Input Dims": [[64, 64, 56, 56], [64, 64, 3, 3], [64], [], [], [], []]}
            inner = world.within("aten::_convolution", **shapes)
            with world.within("aten::conv2d", **shapes), world.within("aten::convolution", **shapes), inner:
                world.kernel_of("aten::cudnn_convolution", CONV, 90, host=20)
                world.kernel_of("aten::add_", ADD, 28)
            world.kernel_of("aten::batch_norm/aten::cudnn_batch_norm", NORM, 40, host=30)
            world.kernel_of("aten::relu_", RELU, 14)
        blocks_back(world, 40, 1.4)
        update(world, "SGD", dur=300)
    return world


def _data_parallel() -> Clocked:
    """nn.DataParallel over four GPUs: replicate, scatter and gather in one process."""
    world = Clocked()
    world.top["deviceProperties"] = [{**world.top["deviceProperties"][0], "id": index} for index in range(4)]
    for _ in world.steps(4):
        world.load(100, workers=8)
        with world.inside("DataParallel.forward"):
            for _ in range(30):
                begin = world.now
                world.op("Broadcast", begin, 60)
                correlation = world.runtime("cudaLaunchKernel", begin + 20, 6)
                world.kernel(
                    BROADCAST,
                    begin + 30,
                    180,
                    correlation=correlation,
                )
                world.now = begin + 190
            for device in range(4):
                for _ in range(20):
                    begin = world.now
                    world.op("aten::conv2d", begin, 25, 5000 + device)
                    correlation = world.runtime("cudaLaunchKernel", begin + 8, 5, 5000 + device)
                    world.kernel(CONV, begin + 16, 300, device=device, correlation=correlation)
                    world.now = begin + 310
        with world.backward():
            for device in range(4):
                for _ in range(20):
                    begin = world.now
                    world.op("ConvolutionBackward0", begin, 30, 5100 + device)
                    correlation = world.runtime("cudaLaunchKernel", begin + 8, 5, 5100 + device)
                    world.kernel(CONV, begin + 16, 300, device=device, correlation=correlation)
                    world.now = begin + 320
        update(world, "SGD", dur=300)
    return world


def _eighth_batch() -> Clocked:
    """Eight workers that take 800 ms a batch for steps of 40: eight come at once, then the loop waits."""
    world = Clocked()
    for number in world.steps(24):
        world.load(480_000 if number % 8 == 7 else 150, workers=8)
        blocks(world, 40, 2.5)
        blocks_back(world, 40, 5)
        update(world, "SGD", dur=300)
        world.read_value()
    return world


def _prefill() -> Clocked:
    """Prefill of a served model: long products in 16 bits, nothing to gain."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.marked(number), world.inside("execute_context_1(8192)_generation_0(0)"):
            for _ in range(24):
                world.kernel_of("_C::rms_norm", "void vllm::rms_norm_kernel<c10::BFloat16>", 40)
                world.kernel_of("aten::mm", NVJET, 900)
                world.kernel_of(
                    "vllm::unified_attention_with_output", "void flash::prepare_varlen_num_blocks_kernel", 500, host=40
                )
                world.kernel_of("aten::mm", NVJET, 2_500)
            world.copied("DtoH", 256)
    return world


def _one_thread() -> Clocked:
    """Training on sixteen cores with OMP_NUM_THREADS=1."""
    world = Clocked(None, advisor={"threads": {"intra_op": 1}, "usable_cores": 16})
    for _ in world.steps(5):
        for _ in range(20):
            world.host_op(LINEAR, 4_000)
            world.host_op("aten::relu", 300)
        with world.backward():
            for _ in range(20):
                with world.node("AddmmBackward0"):
                    world.host_op("aten::mm", 7_800)
        begin = world.now
        world.host_op("aten::_foreach_add_", 900)
        world.optimizer(begin, world.now - begin, "SGD")
    return world


def _printing() -> Clocked:
    """Each step prints and writes its log; stacks were recorded."""
    world = Clocked()
    for number in range(5):
        with world.marked(number), world.stack("train.py(12): <module>", "train.py(40): train"):
            blocks(world, 10, 0.5)
            blocks_back(world, 10, 1.0)
            update(world, "SGD", dur=200)
            world.read_value()
            with world.stack("train.py(71): log", "<built-in function print>"):
                world.idle(3_000)
    return world


def _attention_on_amd() -> Clocked:
    """An MI250 whose attention runs as products, softmax and masks, not fused."""
    world = Clocked("rocm")
    for _ in world.steps(4):
        for _ in range(16):
            world.kernel_of("aten::linear/aten::mm", NVJET, 250)
            world.kernel_of("aten::matmul/aten::bmm", NVJET, 220)
            world.kernel_of("aten::add", ADD, 150)
            world.kernel_of(
                "aten::softmax/aten::_softmax",
                SOFTMAX,
                280,
            )
            world.kernel_of("aten::matmul/aten::bmm", NVJET, 200)
            world.kernel_of("aten::linear/aten::mm", NVJET, 500)
        with world.backward():
            for _ in range(16):
                with world.node("BmmBackward0"):
                    world.kernel_of("aten::bmm", NVJET, 420)
                    world.kernel_of("aten::_softmax_backward_data", "void cunn_SoftMaxBackward<8, float, float>", 300)
                    world.kernel_of("aten::bmm", NVJET, 420)
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 1_500)
        update(world)
    return rocm(world)  # type: ignore[return-value]


def _full_cores() -> Clocked:
    """The collective of an expert-parallel layer stands alone: dispatch and combine by DeepEP's kernels."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for _ in range(10):
            layer(world, 0.5)
            for kernel in (
                "void deep_ep::internode::dispatch<false, 4, false>(p)",
                "void deep_ep::internode::combine<false, 4>(p)",
            ):
                world.kernel_of("deep_ep::call", kernel, 420, stream=7)
                world.kernel_of("aten::mm", NVJET, 260)
        layers_back(world, 10, 1)
        update(world)
    return world


STORIES = (
    Story(
        "class weights made on the host",
        "vision",
        "https://towardsdatascience.com/pytorch-model-performance-analysis-and-optimization-part-3-1c5876d78fe2",
        "tensors are made on the host and moved in the loss: make them on the device",
        _weights_made_on_host,
        told=("XF004",
        "~device="),
    ),
    Story(
        "repeat_interleave by counts", "segmentation, forward passes", "https://pytorch.org/blog/accelerating-generative-ai/",
        "repeat_interleave waits for the sum of its counts", _interleaved, told=("SY004", "~output_size"), never=("~zero_grad",),
    ),
    Story(
        "CUDA_LAUNCH_BLOCKING left on", "debugging", "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "each launch waits for its kernel: unset it",
        _blocking_launches,
        told=("SY005",
        "~CUDA_LAUNCH_BLOCKING"),
        never=("GR004",),
    ),
    Story(
        "anomaly mode left on", "debugging", TUNING, "autograd looks for NaN behind each node: off", _anomaly_mode,
        told=("SY006", "~detect_anomaly"), never=("SY001",),
    ),
    Story(
        "cache emptied in each step", "LLM fine-tuning", "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "empty_cache() frees what the next step allocates",
        _emptied_cache,
        bound=("allocator",
        "mixed"),
        told=("ME001",
        "~empty_cache"),
    ),
    Story(
        "no warm-up in the schedule", "vision", "https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html",
        "the first step chooses algorithms and allocates: left out", _warm_up, bound=("compute",), told=("PG006|PG002",),
        never=("ME001",),
    ),
    Story(
        "validation in a step", "vision", "https://docs.nvidia.com/deeplearning/performance/index.html",
        "one step holds a validation: the others are what training is", _validation, bound=("compute",), told=("PY005|ID003",),
    ),
    Story(
        "batch of two", "vision", "https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html",
        "fewer blocks than multiprocessors: larger batches", _small_grids, told=("KE001", "~batch"),
    ),
    Story(
        "vocabulary of 50,257",
        "LLM pretraining",
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "sizes that are no multiple of 8: pad the vocabulary", _vocabulary, bound=("compute",), told=("PR003", "~multiple"),
    ),
    Story(
        "accumulation without no_sync", "LLM pretraining, DDP", "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "gradients are reduced for each micro-batch: no_sync()", _accumulated, bound=("communication", "mixed", "compute"),
        told=("CO001", "~no_sync"),
    ),
    Story(
        "gradients zeroed", "vision, torch 1.9", TUNING, "zero_grad fills gradients: set_to_none", _gradients_zeroed,
        told=("OP003", "~set_to_none"),
    ),
    Story(
        "metrics on the host",
        "vision", TUNING, "predictions are copied and scored on the host in each step: on the device, or less often",
        _metrics_on_host, told=("PY001|SY002",), never=("DL001", "GR004"),
    ),
    Story(
        "average of the weights", "diffusion", GITHUB + "huggingface/diffusers/blob/main/src/diffusers/training_utils.py",
        "an average parameter by parameter: foreach", _moving_average, told=("PY003", "~_foreach"),
    ),
    Story(
        "bias in front of batch norm", "vision", TUNING, "the norm subtracts the bias: bias=False", _convolution_bias,
        bound=("compute",), told=("GR006", "~bias=False"),
    ),
    Story(
        "nn.DataParallel", "vision", "https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
        "one process for four GPUs: DistributedDataParallel", _data_parallel, told=("CO004", "~DistributedDataParallel"),
        never=("CO001", "CO002", "PY001", "~Record all ranks", "DL001"),
    ),
    Story(
        "every eighth batch late", "vision", "https://docs.pytorch.org/docs/stable/data.html",
        "eight workers deliver at once, then all are late: loading is too slow on average", _eighth_batch, bound=("input",),
        told=("DL001|DL003|DL004",),
    ),
    Story(
        "prefill",
        "LLM serving",
        "https://docs.vllm.ai/en/latest/contributing/profiling.html",
        "products fill the device",
        _prefill,
        bound=("compute",), never=("GR004", "ID001", "PY001", "~zero_grad", "~DataLoader"),
    ),
    Story(
        "one thread on sixteen cores", "CPU", "https://docs.pytorch.org/docs/stable/notes/multiprocessing.html",
        "one thread: as many as cores", _one_thread, told=("CP001", "~OMP_NUM_THREADS|set_num_threads"),
    ),
    Story(
        "printing in the loop", "training, stacks", TUNING, "output in each step: every so many", _printing,
        told=("ID005|PY001", "~print"),
    ),
    Story(
        "attention on AMD",
        "LLM pretraining, ROCm",
        "https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/model-acceleration-libraries.html",
        "attention is not fused: scaled_dot_product_attention", _attention_on_amd, bound=("compute",),
        told=("GR005", "~scaled_dot_product_attention"), never=("~TF32",),
    ),
    Story(
        "experts exchanged by DeepEP", "LLM, MoE", GITHUB + "deepseek-ai/DeepEP",
        "dispatch and combine stand alone: overlap them",
        _full_cores,
        told=("CO001|CO002",),
        never=("~bucket_cap_mb",
        "~no_sync"),
    ),
)  # fmt: skip
