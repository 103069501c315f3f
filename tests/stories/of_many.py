"""Stories of several ranks, and of unusual recordings."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import rocm
from stories.models import (
    ADD,
    AMPERE,
    CONV_32,
    GATHER,
    LINEAR,
    NVJET,
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

RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 16}}
SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def _unhidden_gathers() -> Clocked:
    """FSDP whose all-gathers of the forward pass stand before each layer's kernels; those of the backward pass are hidden."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for index in range(10):
            with world.inside(f"FSDP::pre_forward (layers.{index})"):
                end = world.collective("_allgather_base", 1_500, kernel=GATHER, after=world.busy_until.get(7, 0))
            layer(world, after=end + 3)
        with world.backward():
            for index in range(10):
                with world.inside(f"FSDP::pre_backward (layers.{index})"):
                    world.collective("_allgather_base", 1_500, kernel=GATHER)
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                world.collective("_reduce_scatter_base", 1_300, kernel=SCATTER, stream=22, dtype="Float")
        world.busy_until[7] = max(world.busy_until.values())
        update(world)
        world.synchronize()
    return world


def _small_gathers() -> Clocked:
    """ZeRO-3 gathers each linear layer by itself: dozens of small all-gathers a layer."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for backward in (False, True):
            for _ in range(6):
                for _ in range(16):
                    end = world.collective(
                        "_allgather_base", 70, kernel=GATHER, elements=60_000, after=world.busy_until.get(7, 0)
                    )
                    world.idle(25)
                    world.kernel_of(
                        "aten::mm" if backward else "aten::linear/aten::mm",
                        NVJET,
                        60 * (1 + backward),
                        after=end + 3,
                    )
        with world.backward(), world.node("MmBackward0"):
            world.kernel_of("aten::mm", NVJET, 90)
            for _ in range(12):
                world.collective("_reduce_scatter_base", 60, kernel=SCATTER, stream=22, elements=60_000)
        update(world, "FusedAdam", dur=600)
    return world


def _last_bucket() -> Clocked:
    """DDP whose last bucket is not hidden: 7 % of the step."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(90, workers=8)
        layers(world, 10)
        with world.backward():
            for index in range(10):
                with world.node("MmBackward0"):
                    layer(world, 2, backward=True)
                if index % 2:
                    world.collective("allreduce", 2_500, kernel=REDUCE, after=world.busy_until[7], dtype="Float")
        end = world.collective("allreduce", 3_400, kernel=REDUCE, after=world.busy_until[7], dtype="Float")
        world.busy_until[7] = max(end, world.busy_until[7])
        update(world)
        world.read_value()
    return world


def _features_exchanged() -> Clocked:
    """TorchRec on two nodes: the input's distribution takes 246 of 330 ms over the slower network. A tenth of it."""
    world = Clocked(top=RANKS)
    lookup = "void fbgemm_gpu::split_embedding_codegen_forward_unweighted_kernel<float, float, float, 4ul>(float*)"
    for _ in world.steps(5):
        world.load(60, workers=4)
        world.copied("HtoD", 4 << 20, pinned=True, path=None)
        with world.inside("## sparse_data_dist ##"):
            end = world.collective(
                "all_to_allv", 12_000, kernel=SEND, after=world.busy_until.get(7, 0), elements=400_000, dtype="Long"
            )
            end = world.collective("all_to_allv", 12_500, kernel=SEND, after=end, elements=4_000_000, dtype="Long")
            world.busy_until[7] = end
            world.synchronize("cudaStreamSynchronize")
        world.kernel_of("fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", lookup, 1_200, host=50)
        perceptron(world, 5, 120)
        with world.backward():
            for _ in range(5):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 240)
            with world.node("SplitLookupFunction_rowwise_adagrad_OpBackward"):
                back = "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float, float, 1>"
                world.kernel_of(None, back, 1_600)
        update(world, "KeyedOptimizerWrapper", dur=300)
    return world


def _searched() -> Clocked:
    """DDP that looks for unused parameters after each forward pass; off, an epoch is a third shorter."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        with world.inside("DistributedDataParallel.forward"):
            blocks(world, 12, 0.6)
            with world.inside("search_unused_parameters"):
                world.idle(3_200)
        with world.backward():
            for _ in range(12):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", AMPERE, 120, host=30)
            world.collective("allreduce", 500, kernel=REDUCE, after=world.busy_until[7], dtype="Float")
        world.busy_until[7] = max(world.busy_until.values())
        update(world, "SGD", dur=200)
    return world


def _pipeline() -> Clocked:
    """A stage of a pipeline with four micro-batches waits for messages during a third of the step."""
    world = Clocked(top=RANKS)

    def message(kind: str, dur: float) -> None:
        end = world.collective(
            kind, dur, kernel=SEND, after=world.busy_until.get(7, 0), size=4, group="PIPELINE_MODEL_PARALLEL_GROUP"
        )
        world.busy_until[7] = max(world.busy_until.get(7, 0), end)

    for _ in world.steps(4):
        for micro in range(4):
            message("recv", 6_000 if micro == 0 else 700)
            layers(world, 2)
            message("send", 150)
        for micro in range(4):
            message("recv", 5_000 if micro == 0 else 1_200)
            layers_back(world, 2)
            message("send", 150)
        update(world, "DistributedOptimizer")
        world.synchronize()
    return world


def _amd_ranks() -> Clocked:
    """ResNet-50 on eight MI300X: all-reduces of gradients stand alone for a third of the step."""
    world = Clocked("rocm", top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(5):
        world.load(80, workers=16)
        blocks(world, 50, 0.8)
        blocks_back(world, 50, 1.6)
        end = world.busy_until[7]
        for _ in range(4):
            end = world.collective("allreduce", 2_400, kernel=REDUCE, after=end, dtype="Float")
        world.busy_until[7] = end
        update_foreach(world, "SGD", passes=3, dur=500)
    return rocm(world)  # type: ignore[return-value]


def _gloo_on_cpus() -> Clocked:
    """Data parallel on CPUs with gloo: gradients are reduced after the backward pass, a third of the step."""
    world = Clocked(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 4}})
    for _ in world.steps(5):
        for _ in range(8):
            world.host_op(LINEAR, 1_800)
        with world.backward():
            for _ in range(8):
                with world.node("AddmmBackward0"):
                    world.host_op("aten::mm", 3_300)
        begin = world.now
        world.idle(21_000)
        world.annotation("gloo:all_reduce", begin - 200, world.now - begin + 150, 5001)
        begin = world.now
        world.host_op("aten::_foreach_add_", 900)
        world.optimizer(begin, world.now - begin, "SGD")
    return world


def _graph_nodes() -> Clocked:
    """vLLM on an MI300X: decoding from HIP graphs; each recorded node is followed by a gap that is the profiler's."""
    world = Clocked("rocm", marks=False)
    names = [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x32", 16),
        ("paged_attention_ll4mi_QKV_mfma16_kernel", 12),
        (ADD, 4),
    ]
    for _ in world.steps(10):
        with world.inside("execute_context_0(0)_generation_128(128)"):
            world.graph(names * 80, gap=4)
            world.synchronize("hipStreamSynchronize")
        world.idle(200)
    return rocm(world)  # type: ignore[return-value]


def _only_kernels() -> Clocked:
    """Recorded with CUDA activities only: no op, no thread; the device idles for 45 %."""
    world = Clocked(marks=False)
    for _ in world.steps(8):
        layers(world, 3)
        layers_back(world, 3)
        update(world)
        world.read_value()
        world.idle(14_000)
    world.events[:] = [event for event in world.events if event["cat"] in ("kernel", "gpu_memcpy", "cuda_runtime")]
    return world


def _one_step() -> Clocked:
    """A schedule with active=1: one step, input-bound."""
    world = Clocked()
    with world.marked(0):
        world.load(70_000)
        world.copied("HtoD", 19 << 20)
        blocks(world, 40, 3)
        blocks_back(world, 40, 4)
        update(world, "SGD")
    return world


def _long_head() -> Clocked:
    """The profiler is started before the model is loaded: 8 s without a kernel, then a loop that keeps the device busy."""
    world = Clocked(marks=False)
    world.host_op("aten::empty", 30)
    world.idle(8_000_000)
    world.copied("HtoD", 400 << 20)
    world.idle(20_000)
    for _ in world.steps(12):
        layers(world, 8)
        layers_back(world, 8)
        update(world)
    world.synchronize()
    return world


def _on_apple() -> Clocked:
    """An M2's GPU: torch records ops of the host only; reading the loss waits for the device."""
    world = Clocked(None)
    for _ in world.steps(5):
        world.load(90)
        for _ in range(20):
            world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::_mps_convolution", 90)
            world.host_op("aten::relu", 25)
        with world.backward():
            for _ in range(20):
                with world.node("MpsConvolutionBackward0"):
                    world.host_op("aten::mps_convolution_backward", 140)
        begin = world.now
        world.host_op("aten::_foreach_add_", 300)
        world.optimizer(begin, world.now - begin, "SGD")
        world.host_op("aten::item/aten::_local_scalar_dense", 31_000)
    return world


def _intel_gpu() -> Clocked:
    """Training on an Intel GPU whose loader is too slow: no words of CUDA."""
    device = {
        "id": 0,
        "name": "Intel(R) Data Center GPU Max 1100",
        "totalGlobalMem": 51_539_607_552,
        "computeUnits": 448,
    }
    world = Clocked(top={"deviceProperties": [device]})
    world.top.pop("cuda_runtime_version")
    for _ in world.steps(5):
        world.load(45_000)
        for _ in range(20):
            world.kernel_of(LINEAR, "gemm_kernel", 400, api="urEnqueueKernelLaunch")
            world.kernel_of(
                "aten::relu",
                "at::native::xpu::VectorizedElementwiseKernel<4, ReluFunctor>",
                60,
                api="urEnqueueKernelLaunch",
            )
        with world.backward():
            for _ in range(20):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", "gemm_kernel", 800, api="urEnqueueKernelLaunch")
        begin = world.now
        world.kernel_of(
            "aten::_foreach_add_", "at::native::xpu::MultiTensorApplyKernel", 300, api="urEnqueueKernelLaunch"
        )
        world.optimizer(begin, world.now - begin, "SGD")
    for event in world.events:
        if event["cat"] == "cuda_runtime":
            event["cat"] = "xpu_runtime"
    return world


def _tensor_parallel() -> Clocked:
    """Megatron's tensor parallelism without overlap: gathers and scatters of activations around each layer, 30 % of the step."""
    world = Clocked(top=RANKS)

    def alone(kind: str, kernel: str) -> None:
        group = "TENSOR_MODEL_PARALLEL_GROUP"
        world.busy_until[7] = world.collective(
            kind, 380, kernel=kernel, after=world.busy_until.get(7, 0), size=8, group=group
        )

    for _ in world.steps(4):
        for _ in range(10):
            alone("_allgather_base", GATHER)
            layer(world, 0.5)
            alone("_reduce_scatter_base", SCATTER)
        with world.backward():
            for _ in range(10):
                alone("_allgather_base", GATHER)
                with world.node("MmBackward0"):
                    layer(world, 1.0, backward=True)
                alone("_reduce_scatter_base", SCATTER)
        update(world, "DistributedOptimizer")
        world.synchronize()
    return world


def _image_pipeline() -> Clocked:
    """A compiled U-Net, no steps marked, forward passes only: the device works all the time."""
    world = Clocked(marks=False)
    for _ in world.steps(8):
        with world.within("Torch-Compiled Region: 0/0"):
            for _ in range(40):
                world.kernel_of(None, "triton_red_fused_native_group_norm_silu_3", 45, api="cuLaunchKernel")
                world.kernel_of("aten::convolution", CONV_32, 160)
                world.kernel_of("aten::mm", NVJET, 120)
        for _ in range(4):
            world.kernel_of("aten::mul", ADD, 12)
    world.synchronize()
    return world


STORIES = (
    Story(
        "FSDP, gathers in front of layers", "LLM pretraining, FSDP", GITHUB + "facebookresearch/fairscale/issues/623",
        "all-gathers of the forward pass are not overlapped; prefetch",
        _unhidden_gathers, told=("CO001|CO002", "~prefetch"), never=("~bucket_cap_mb", "DL001"),
    ),
    Story(
        "ZeRO-3, a gather for each layer", "LLM pretraining, ZeRO-3", GITHUB + "deepspeedai/DeepSpeed/issues/5047",
        "too many small all-gathers; larger units, stage3_param_persistence_threshold",
        _small_gathers, bound=("communication", "mixed", "launch"), told=("CO005",), never=("~bucket_cap_mb",),
    ),
    Story(
        "DDP, last bucket", "weather, DDP", GITHUB + "ecmwf/WeatherGenerator/issues/1280",
        "the last bucket is exposed for 6 to 8 % of the step",
        _last_bucket, bound=("compute",), told=("CO001|CO002",),
    ),
    Story(
        "TorchRec on two nodes", "recommender", GITHUB + "facebookresearch/dlrm/issues/356",
        "the exchange of features takes most of the step over the slower network",
        _features_exchanged, bound=("communication",), told=("CO001",), never=("~bucket_cap_mb", "SY003"),
    ),
    Story(
        "Lightning, unused parameters", "vision, DDP", GITHUB + "Lightning-AI/pytorch-lightning/issues/7093",
        "find_unused_parameters searches in each step; off where all are used",
        _searched, told=("CO006", "~find_unused_parameters"),
    ),
    Story(
        "bubble of a pipeline", "LLM pretraining, pipeline", "https://arxiv.org/abs/2104.04473",
        "stages wait for messages: more micro-batches, interleaved schedule",
        _pipeline, bound=("communication", "mixed"), told=("CO001|CO008", "~micro-batch"), never=("~bucket_cap_mb",),
    ),
    Story(
        "ResNet-50 on eight MI300X", "vision, ROCm, DDP", GITHUB + "pytorch/pytorch/issues/180500",
        "gradients are reduced with nothing beside",
        _amd_ranks, bound=("communication", "mixed"), told=("CO001|CO002",), never=("~TF32",),
    ),
    Story(
        "gloo on CPUs", "CPU, DDP", "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "gradients are reduced after the backward pass",
        _gloo_on_cpus, bound=("communication", "mixed"), told=("CO001",), never=("CO006", "~NVLink"),
    ),
    Story(
        "vLLM, gaps of HIP graphs", "LLM serving, ROCm", GITHUB + "AMD-AGI/TraceLens/issues/728",
        "gaps between nodes of a graph are the profiler's; the device decodes all the time",
        _graph_nodes, bound=("compute", "queue"), never=("ID001", "GR004", "PY001", "~zero_grad"),
    ),
    Story(
        "CUDA activities only", "only CUDA activities", "https://docs.pytorch.org/docs/stable/profiler.html",
        "the device idles for 45 %; what the host did meanwhile was not recorded",
        _only_kernels, told=("ID002|ID001|PY001|SY001",), never=("GR004", "DL001"),
    ),
    Story(
        "one active step", "vision, one step", "https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html",
        "one step is too few to judge by; what it shows is the loader",
        _one_step, bound=("input",), told=("PG003", "DL001|DL002"),
    ),
    Story(
        "profiler on from the start", "LLM fine-tuning, idle head", "https://docs.pytorch.org/docs/stable/profiler.html",
        "8 s of loading before the loop are no part of a step; the loop keeps the device busy",
        _long_head, bound=("compute",), never=("PY001", "ID001", "ID002", "GR004"),
    ),
    Story(
        "MPS", "vision, MPS", "https://docs.pytorch.org/docs/stable/notes/mps.html",
        "work of the GPU is not recorded: the read of the loss is a wait for it",
        _on_apple, never=("CP001", "CP002", "PY001", "SY002", "~set_num_threads", "~oneDNN|mkldnn"),
    ),
    Story(
        "Intel GPU, slow loader", "vision, XPU", "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html",
        "the device waits for data",
        _intel_gpu, bound=("input",), told=("DL001|DL002",),
        never=("PR002", "~torch\\.backends\\.cuda", "~\\.cuda\\(", '~device="cuda"', "~DALI"),
    ),
    Story(
        "tensor parallelism alone", "LLM pretraining, TP", "https://docs.nvidia.com/nemo/megatron-bridge/latest/performance-guide.html",
        "exchanges of activations around each layer: overlap, fewer ranks a layer",
        _tensor_parallel, bound=("communication", "mixed"), told=("CO001", "~tensor"), never=("~no_sync", "~bf16_compress_hook"),
    ),
    Story(
        "compiled U-Net", "diffusion, compiled", GITHUB + "huggingface/diffusers/pull/13356",
        "very small gaps between compiled regions: the device is busy",
        _image_pipeline, bound=("compute",), never=("ID001", "GR002", "GR004", "~optimizer", "~zero_grad"),
    ),
)  # fmt: skip
