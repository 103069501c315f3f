"""Stories of launches, kernels, optimizers, memory and compilation."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import repeated_ids, torch_1_9
from stories.models import (
    ADD,
    AMPERE,
    BATCH_NORM,
    CONV,
    LINEAR,
    NORM_OPS,
    NVJET,
    RELU,
    SGEMM,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
    update_foreach,
    update_one_by_one,
)
from stories.story import GITHUB, Story

REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float>>>"
CAST = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda(float)#1}, std::array<char*, 2ul>>(int)"
)


def _host_bound() -> Clocked:
    """RF-DETR nano on an L4: 4,200 kernels a step, three quarters below 5 us, the device busy for 19 %. A fifth of it."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(60, workers=8)
        for index in range(300):
            world.kernel_of(
                "aten::add" if index % 3 else "aten::linear/aten::addmm", ADD if index % 3 else AMPERE, 3.5, host=24
            )
        with world.backward():
            for index in range(400):
                with world.node("AddBackward0"):
                    world.kernel_of("aten::mul", ADD, 4 + 14 * (index % 4 == 0), host=18)
        update(world, dur=500)
    return world


def _dreamer() -> Clocked:
    """DreamerV3's learner: 7,500 launches for 15 ms of kernels in 358 ms. A tenth of it."""
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(120):
            perceptron(world, 1, 2.2, host=34)
        with world.backward():
            for _ in range(170):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 2.2, host=34)
                    world.kernel_of("aten::sum", ADD, 1.8, host=26)
        update(world, "Adam", dur=100)
    return world


def _first_profile() -> Clocked:
    """The guide's 64 x 64 product and addition: three steps of some microseconds of device work, the profiler waits at the end."""
    world = Clocked()
    for number in range(3):
        with world.marked(number), world.inside("matmul_add"):
            world.kernel_of(
                "aten::matmul/aten::mm",
                "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_nn",
                5,
                host=60,
            )
            world.kernel_of("aten::add", ADD, 2, host=25)
            world.idle(40)
    world.idle(400)
    world.runtime("cudaDeviceSynchronize", world.now, 900)
    return world


def _adamw_of_shards() -> Clocked:
    """AdamW on DTensors of FSDP2: 187 ms on the host in foreach ops for little work, a third of the step."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(4):
        layers(world, 12, 1.4)
        layers_back(world, 12, 2.8)
        world.synchronize("cudaStreamSynchronize")
        update_foreach(world, "AdamW", passes=14, dur=1_500, host=3_000)
    return world


def _foreach_on_a_busy_device() -> Clocked:
    """DPA-2: 22 of 922 ms in Adam by passes; fused=True brought 3 %. A tenth of it."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 16, 1.0)
        layers_back(world, 16, 2.0)
        update_foreach(world, "Adam", passes=12, dur=3_600)
    return world


def _schedule_free() -> Clocked:
    """A schedule-free optimizer of a library that updates one parameter after the other: 85 ms, 65 by foreach."""
    world = Clocked()
    for _ in world.steps(4):
        blocks(world, 80, 2)
        blocks_back(world, 80, 3)
        update_one_by_one(world, "AdamWScheduleFree", parameters=300, dur=6)
    return world


def _offloaded() -> Clocked:
    """ZeRO-Offload: DeepSpeedCPUAdam updates on the host for most of the step."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 6)
        layers_back(world, 6)
        begin = world.now
        world.synchronize("cudaStreamSynchronize")
        world.copied("DtoH", 200 << 20, pinned=True, blocks=True, rate=24_000)
        world.idle(45_000)
        world.copied("HtoD", 200 << 20, pinned=True, rate=24_000)
        world.synchronize("cudaStreamSynchronize")
        world.optimizer(begin, world.now - begin, "DeepSpeedCPUAdam")
    return world


def _index_backward() -> Clocked:
    """DeePMD: the backward pass of x[index] takes 32 ms; with torch.embedding 0.5."""
    world = Clocked()
    for _ in world.steps(5):
        blocks(world, 40, 1.0, conv=AMPERE)
        blocks_back(world, 40, 2.0, conv=AMPERE)
        with world.backward(), world.node("IndexBackward0"), world.within("aten::_index_put_impl_"):
            world.kernel_of("aten::sort", "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>", 600, host=40)
            world.kernel_of(
                None,
                "void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, long)",
                31_000,
            )
        update(world, "Adam")
    return world


def _layouts() -> Clocked:
    """AMP with channels-first tensors: cuDNN transposes around each convolution."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(90, workers=8)
        for _ in range(50):
            with world.within("aten::cudnn_convolution"):
                world.kernel_of(
                    None,
                    "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float, false, true>",
                    40,
                )
                world.kernel_of(None, CONV, 110)
                world.kernel_of(
                    None,
                    "void cudnn::engines_precompiled::nhwcToNchwKernel<__half, __half, float, true, false>",
                    38,
                )
            world.kernel_of(NORM_OPS, BATCH_NORM, 30, host=30)
            world.kernel_of("aten::relu_/aten::clamp_min_", RELU, 12)
        blocks_back(world, 50, 2.4)
        update_foreach(world, "SGD", passes=3, dur=500)
    return repeated_ids(world)  # type: ignore[return-value]


def _eager_attention() -> Clocked:
    """Attention as two batched products and a softmax of float scores over 2,048 tokens."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(12):
            world.kernel_of("aten::linear/aten::mm", NVJET, 300)
            world.kernel_of("aten::matmul/aten::bmm", NVJET, 180)
            world.kernel_of("aten::mul", ADD, 160)
            world.kernel_of("aten::masked_fill", ADD, 170)
            world.kernel_of(
                "aten::softmax/aten::_softmax",
                "void (anonymous namespace)::cunn_SoftMaxForward<4, float, float>",
                330,
            )
            world.kernel_of(
                "aten::dropout/aten::native_dropout",
                "void at::native::(anonymous namespace)::fused_dropout_kernel_vec",
                200,
            )
            world.kernel_of("aten::matmul/aten::bmm", NVJET, 170)
            world.kernel_of("aten::linear/aten::mm", NVJET, 800)
        with world.backward():
            for _ in range(12):
                with world.node("BmmBackward0"):
                    world.kernel_of("aten::bmm", NVJET, 360)
                with world.node("SoftmaxBackward0"):
                    world.kernel_of("aten::_softmax_backward_data", "void cunn_SoftMaxBackward<4, float, float>", 400)
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 2_200)
        update(world)
    return world


def _single_precision() -> Clocked:
    """ResNet-50 in float32 on an A100, neither TF32 nor autocast for its products."""
    world = Clocked()
    world.top["deviceProperties"][0] |= {
        "name": "NVIDIA A100-SXM4-40GB",
        "computeMajor": 8,
        "computeMinor": 0,
        "numSms": 108,
    }
    for _ in world.steps(4):
        world.load(90, workers=8)
        perceptron(world, 40, 500, name=SGEMM)
        perceptron_back(world, 40, 500, name=SGEMM)
        update(world, "SGD")
    return world


def _casts_of_weights() -> Clocked:
    """CosyVoice's flow under autocast in inference mode: each weight is cast at each call, 322 casts of 1,700 kernels."""
    world = Clocked(marks=False)
    for _ in world.steps(8):
        for _ in range(160):
            for _ in range(2):
                types = {"Input type": ["float", "Int", "", "", "", ""]}
                world.kernel_of("aten::to/aten::_to_copy/aten::copy_", CAST, 22, host=14, args=types)
            world.kernel_of(LINEAR, AMPERE, 55, host=10)
            world.kernel_of("aten::gelu", ADD, 8, host=8)
    return world


def _recomputed() -> Clocked:
    """Full activation checkpointing of a model that would fit: a quarter of the step is the forward pass again."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 12)
        with world.backward():
            for _ in range(12):
                with world.node("CheckpointFunctionBackward"):
                    world.recorded = True
                    layer(world)
                    world.recorded = False
                    with world.node("MmBackward0"):
                        layer(world, 2, backward=True)
        update(world)
    return world


def _experts_in_a_loop() -> Clocked:
    """A mixture of 16 experts in a Python loop: torch.where for each, then its small products."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(6):
            layer(world, 0.3)
            for _ in range(16):
                with world.within("aten::where"), world.within("aten::nonzero"):
                    world.kernel_of(None, "void at_cuda_detail::cub::DeviceSelectSweepKernel<long>", 5)
                    world.read_value("aten::copy_")
                    world.idle(10)
                world.kernel_of("aten::index", ADD, 8, host=22)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::mm", AMPERE, 22, host=18)
                world.kernel_of("aten::index_add_", "void at::native::indexFuncLargeIndex<c10::BFloat16>", 9, host=20)
        with world.backward():
            for _ in range(6):
                with world.node("MmBackward0"):
                    layer(world, 0.6, backward=True)
                for _ in range(16):
                    with world.node("IndexAddBackward0"):
                        world.kernel_of("aten::index", ADD, 9, host=20)
                    for _ in range(3):
                        with world.node("MmBackward0"):
                            world.kernel_of("aten::mm", AMPERE, 22, host=18)
                            world.kernel_of("aten::mm", AMPERE, 22, host=18)
        update(world)
    return world


def _written_out_norm() -> Clocked:
    """Eager pointwise work: norms, activations and residuals as a row of kernels; fused by torch.compile."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(20):
            world.kernel_of("aten::linear/aten::mm", NVJET, 260)
            for op in ("aten::pow", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul"):
                world.kernel_of(op, REDUCE if op == "aten::mean" else ADD, 55)
            world.kernel_of("aten::linear/aten::mm", NVJET, 300)
            for op in ("aten::silu", "aten::mul", "aten::add"):
                world.kernel_of(op, ADD, 70)
        layers_back(world, 20, 0.9)
        update(world)
    return world


def _allocations() -> Clocked:
    """Sequences of all lengths near the card's limit: the allocator frees and allocates in each step."""
    world = Clocked()
    for number in world.steps(6):
        layers(world, 10, 1.2 + 0.2 * (number % 3))
        world.synchronize()
        for _ in range(14):
            world.runtime("cudaFree", world.now, 900)
            world.now += 905
        for _ in range(8):
            world.runtime("cudaMalloc", world.now, 700)
            world.now += 710
        layers_back(world, 10, 2.4 + 0.4 * (number % 3))
        update(world)
    return world


def _recompiling() -> Clocked:
    """Batches of other lengths each time under torch.compile: compiled again in most steps."""
    world = Clocked()
    for number in world.steps(6):
        if number != 3:
            with world.inside("_compile.compile_inner (dynamo_timed)"):
                world.idle(60_000)
                with world.inside("compile_fx.<locals>.fw_compiler_base (dynamo_timed)"):
                    world.idle(700_000)
        with world.within(f"Torch-Compiled Region: 0/{number}"):
            for _ in range(30):
                world.kernel_of(None, "triton_poi_fused_add_mul_native_layer_norm_3", 60, api="cuLaunchKernel")
                world.kernel_of("aten::mm", NVJET, 320)
        with world.backward(), world.node("CompiledFunctionBackward"):
            for _ in range(30):
                world.kernel_of("aten::mm", NVJET, 640)
        update(world)
    return world


def _graph_breaks() -> Clocked:
    """The compiler's profiling tutorial: a print and a NumPy call in the forward pass break it into regions."""
    world = Clocked()
    for _ in world.steps(5):
        for region in range(8):
            world.host_op("TorchDynamo Cache Lookup", 40)
            with world.within(f"Torch-Compiled Region: {region}/0"):
                for _ in range(4):
                    world.kernel_of(None, "triton_poi_fused_convolution_relu_2", 14, api="cuLaunchKernel", call=7)
                    world.kernel_of("aten::convolution", CONV, 30, host=20)
            world.kernel_of("aten::add", ADD, 8, host=20)
            world.idle(220)
        blocks_back(world, 16, 0.5)
        update(world, "SGD", dur=200)
    return world


def _bandwidth() -> Clocked:
    """The third of three planted jobs: large elementwise chains, limited by memory; mixed precision may not help, fusion does."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(40):
            for op in ("aten::mul", "aten::add", "aten::sigmoid", "aten::mul"):
                shapes = {"Input Dims": [[16384, 8192], [16384, 8192]], "Input type": ["float", "float"]}
                world.kernel_of(op, ADD.replace("c10::BFloat16", "float"), 580, args=shapes)
        world.kernel_of(LINEAR, AMPERE, 800)
    return world


def _lstm_by_hand() -> Clocked:
    """A recurrence stepped from Python: thousands of cells of a few microseconds; nn.LSTM and cuDNN."""
    world = Clocked()
    for _ in world.steps(4):
        for _ in range(60):
            world.kernel_of("aten::select", ADD, 2, host=10)
            world.kernel_of("aten::lstm_cell/aten::linear/aten::addmm", SGEMM, 7, host=30)
            world.kernel_of(
                "aten::_thnn_fused_lstm_cell",
                "void (anonymous namespace)::kernel::lstm_cell_forward<float>",
                3,
                host=24,
            )
        with world.backward():
            for _ in range(60):
                with world.node("ThnnFusedLstmCellBackward0"):
                    world.kernel_of("aten::_thnn_fused_lstm_cell_backward", ADD, 3, host=30)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", SGEMM, 8, host=20)
        update_foreach(world, "Adam", passes=9, dur=80)
    return world


def _doubles() -> Clocked:
    """Features that came from NumPy as doubles: the products run in 64 bits."""
    world = Clocked()
    for _ in world.steps(4):
        perceptron(world, 12, 900, name="void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>")
        perceptron_back(world, 12, 900, name="void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>")
        update(world, "Adam")
    return torch_1_9(world)  # type: ignore[return-value]


STORIES = (
    Story(
        "RF-DETR on an L4", "detection", GITHUB + "roboflow/rf-detr/issues/1410",
        "4,200 kernels a step, 19 % busy: bound by the host; compiler and CUDA graphs",
        _host_bound, bound=("launch",), told=("ID001|GR004", "~torch\\.compile"), never=("DL001",),
    ),
    Story(
        "DreamerV3 learner", "RL", GITHUB + "pytorch/rl/pull/4216",
        "7,500 launches for 15 ms of kernels: dispatch; CUDA graphs",
        _dreamer, bound=("launch",), told=("GR004", "ID001|GR004"),
    ),
    Story(
        "first profile, 64 x 64", "forward pass", "https://huggingface.co/blog/torch-profiler",
        "the GPU is idle for 98 %: overhead of launches; larger work, compiler; the last wait is the profiler's",
        _first_profile, bound=("launch", "python"), never=("SY003", "SY001", "~optimizer\\.step"),
    ),
    Story(
        "AdamW on FSDP2's shards", "diffusion, FSDP2", GITHUB + "pytorch/pytorch/issues/134191",
        "the update is bound by the host, a third of the step",
        _adamw_of_shards, told=("OP001|OP002|ID001", "~AdamW"), never=("DL001",),
    ),
    Story(
        "DPA-2, Adam by passes", "chemistry", GITHUB + "deepmodeling/deepmd-kit/pull/4463",
        "22 of 922 ms: fused=True brings 3 %; else bound by compute",
        _foreach_on_a_busy_device, bound=("compute",), told=("OP002", "~fused=True"), never=("OP001", "OP002"),
    ),
    Story(
        "schedule-free AdamW", "diffusion", GITHUB + "facebookresearch/schedule_free/pull/10",
        "updates parameter by parameter; foreach",
        _schedule_free, told=("OP001",), never=("~optim\\.AdamWScheduleFree",),
    ),
    Story(
        "ZeRO-Offload", "LLM fine-tuning", "https://www.deepspeed.ai/tutorials/zero-offload/",
        "the update runs on the host while the device idles",
        _offloaded, told=("OP005",), never=("GR004", "~fused=True"),
    ),
    Story(
        "DeePMD, x[index] backwards", "chemistry", GITHUB + "deepmodeling/deepmd-kit/pull/4747",
        "indexing_backward_kernel takes most; torch.embedding or index_select",
        _index_backward, bound=("compute",), told=("KE003", "~embedding|index_select"),
    ),
    Story(
        "channels first under AMP", "vision, torch 1.13",
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html",
        "transposes around convolutions; channels_last",
        _layouts, told=("KE002", "~channels_last"),
    ),
    Story(
        "eager attention", "LLM pretraining", GITHUB + "huggingface/blog/pull/3451",
        "products, mask and softmax are one fused kernel in scaled_dot_product_attention",
        _eager_attention, bound=("compute",), told=("GR005", "~scaled_dot_product_attention"),
    ),
    Story(
        "single precision on an A100", "vision", "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        "products in float32: TF32 or mixed precision",
        _single_precision, bound=("compute",), told=("PR001", "PR002"),
    ),
    Story(
        "CosyVoice, weights cast each call", "speech, inference", GITHUB + "sgl-project/sglang-omni/pull/2262",
        "autocast casts each weight at each call: cast the model once",
        _casts_of_weights, told=("PR004", "~model\\.to\\(torch\\.bfloat16"), never=("~GradScaler",),
    ),
    Story(
        "full checkpointing", "LLM pretraining", "https://docs.pytorch.org/docs/stable/checkpoint.html",
        "the forward pass is computed twice to save memory",
        _recomputed, bound=("compute",), told=("KE006",),
    ),
    Story(
        "experts in a loop", "LLM, MoE", GITHUB + "unslothai/unsloth/pull/2465",
        "a wait and small products for each expert; grouped products",
        _experts_in_a_loop, told=("SY004", "~[Gg]rouped|grouped_mm"),
    ),
    Story(
        "norms written out", "LLM pretraining", "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        "pointwise kernels in a row: fused by the compiler",
        _written_out_norm, bound=("compute",), told=("GR001|GR007", "~torch\\.compile"),
    ),
    Story(
        "allocations in each step", "LLM, variable lengths", "https://docs.pytorch.org/docs/stable/notes/cuda.html",
        "cudaFree and cudaMalloc in each step: expandable segments, fewer shapes",
        _allocations, bound=("allocator", "compute", "mixed"), told=("ME001", "~expandable_segments"),
    ),
    Story(
        "compiled for each length", "LLM fine-tuning, torch 2.11", GITHUB + "pytorch/pytorch/issues/188150",
        "recompilation for each shape: pad to a fixed length, or dynamic shapes",
        _recompiling, bound=("compile",), told=("GR003", "~dynamic|pad"),
    ),
    Story(
        "graph breaks", "vision, compiled", "https://docs.pytorch.org/docs/stable/torch.compiler_profiling_torch_compile.html",
        "regions between which Python runs; remove the breaks",
        _graph_breaks, told=("GR002",),
    ),
    Story(
        "bound by memory", "planted", "https://duoan.github.io/posts/profiling-pytorch-training-end-to-end",
        "elementwise kernels limited by bandwidth: fuse them",
        _bandwidth, bound=("compute",), told=("GR001|KE009",),
    ),
    Story(
        "LSTM cells in a loop", "RNN", "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        "a recurrence from Python: nn.LSTM",
        _lstm_by_hand, bound=("launch",), told=("PY006", "~nn\\.LSTM"),
    ),
    Story(
        "doubles from NumPy", "tabular, torch 1.9", "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html",
        "64-bit products: float32",
        _doubles, told=("PR005", "~float32"), never=("PR001",),
    ),
)  # fmt: skip
