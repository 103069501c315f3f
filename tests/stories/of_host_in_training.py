"""Stories of training in which the host is what the device waits for, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    CONV,
    NORM,
    NVJET,
    SGEMM,
    blocks,
    blocks_back,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    sent_and_waited,
    update,
)
from stories.story import GITHUB, Story

RANKS_8 = {"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}}
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_OF = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::and_kernel_cuda>>"
LERP = "void at::native::vectorized_elementwise_kernel<4, at::native::lerp_scalar_kernel(at::TensorIteratorBase&)>(int)"
INDEXED = (
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl>>"
)
INDEX_PUT = (
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl>>"
)
SELECT = "void at_cuda_detail::cub::DeviceSelectSweepKernel<at_cuda_detail::cub::detail::select>"
POINTWISE = "triton_poi_fused__to_copy_add_mul_silu_{}"


def _negatives() -> Clocked:
    """wav2vec 2.0 on 8 GPUs: sample_negatives makes its indices on the CPU, whose cores all ranks share: 20 ms become a second."""
    world = Clocked(top=RANKS_8)
    for _ in world.steps(4):
        world.load(160, workers=6)
        world.copied("HtoD", 5_600_000, pinned=True)
        for dur in (1_400, 900, 600, 400, 300, 220, 180):
            world.kernel_of(
                "aten::conv1d/aten::convolution/aten::_convolution/aten::cudnn_convolution", CONV, dur, host=40
            )
            world.kernel_of("aten::gelu", ADD, dur / 6)
        layers(world, 12, 0.9)
        world.host_op("aten::arange/aten::arange", 900)
        world.host_op("aten::flatten/aten::reshape/aten::clone/aten::copy_", 96_000)
        world.host_op("aten::randint/aten::random_", 190_000)
        world.host_op("aten::ge", 61_000)
        world.host_op("aten::index/aten::nonzero", 84_000)
        world.host_op("aten::index_put_/aten::_index_put_impl_", 92_000)
        world.copied("HtoD", 9_800_000)
        world.kernel_of("aten::index", INDEXED, 700, host=30)
        world.kernel_of("aten::cosine_similarity", ADD, 500, host=60)
        world.kernel_of("aten::cross_entropy_loss/aten::log_softmax", ADD, 120, host=30)
        for part in range(3):
            layers_back(world, 4, 1.8)
            beside = world.busy_until[7] - (2_500 if part < 2 else 200)
            end = world.collective(
                "allreduce", 1_900, kernel=ALL_REDUCE, after=beside, elements=12 << 20, dtype="Half", size=8
            )
        world.busy_until[7] = max(world.busy_until[7], end)
        update(world, "Adam", dur=900)
    return world


def _handed_over() -> Clocked:
    """RF-DETR: a batch of 16 crosses to the process as 114 tensors, each a file descriptor: packed, 9, and up to 1.67x."""
    world = Clocked()
    waits = (
        "train.py(214): train_one_epoch", "torch/utils/data/dataloader.py(733): __next__",
        "torch/utils/data/dataloader.py(1491): _next_data", "torch/utils/data/dataloader.py(1443): _get_data",
        "torch/utils/data/dataloader.py(1284): _try_get_data", "multiprocessing/queues.py(97): get",
    )  # fmt: skip
    for _ in world.steps(6):
        begin = world.now
        with world.stack(*waits):
            world.idle(40)
            with world.stack("multiprocessing/connection.py(208): recv_bytes", "<built-in function read>"):
                world.idle(130)
            for _ in range(114):
                with world.stack("torch/multiprocessing/reductions.py(559): rebuild_storage_fd"):
                    with world.stack("multiprocessing/resource_sharer.py(54): detach"):
                        world.idle(390)
                    world.idle(70)
        world.loader(begin, world.now - begin, workers=16)
        with world.stack("train.py(219): train_one_epoch"):
            world.copied("HtoD", 65 << 20, rate=11_000)
            for _ in range(6):
                world.copied("HtoD", 640)
            layers(world, 12, 0.6)
        with world.stack("train.py(226): train_one_epoch", "torch/_tensor.py(647): backward"):
            layers_back(world, 12, 1.2)
        with world.stack("train.py(231): train_one_epoch"):
            update(world, dur=600)
    return world


def _timers() -> Clocked:
    """DeepSpeed with wall_clock_breakdown: each timer synchronises, six times a micro-batch; events since."""
    world = Clocked(top=RANKS_8)
    engine = "deepspeed/runtime/engine.py({}): {}"
    timed = ("deepspeed/utils/timer.py(31): start", "torch/cuda/__init__.py(493): synchronize")
    stopped = ("deepspeed/utils/timer.py(40): stop", "torch/cuda/__init__.py(493): synchronize")

    def timer(name: str, frames: tuple[str, ...]) -> None:
        with world.stack("train.py(88): main", name, *frames):
            world.synchronize()

    for _ in world.steps(4):
        for _ in range(4):
            world.load(60, workers=4)
            forward, backward = engine.format(1563, "forward"), engine.format(1670, "backward")
            timer(forward, timed)
            with world.stack("train.py(88): main", forward):
                world.idle(700)
                layers(world, 24, 0.1)
            timer(forward, stopped)
            timer(backward, timed)
            timer(backward, timed)
            with world.stack("train.py(90): main", backward, "torch/_tensor.py(363): backward"):
                world.idle(600)
                layers_back(world, 24, 0.2)
            timer(backward, stopped)
            timer(backward, stopped)
        with world.stack("train.py(91): main", engine.format(1866, "step")):
            update(world, "FusedAdam", dur=700)
    return world


def _distances_on_host() -> Clocked:
    """A Hausdorff loss by SciPy: masks of predictions and labels go to the host for their distance transforms; by cuCIM instead."""
    world = Clocked()
    conv = (
        "sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage3_warpsize2x2x1"
    )
    for _ in world.steps(4):
        world.load(140, workers=8)
        world.copied("HtoD", 2 * 4 * 96**3, pinned=True)
        blocks(world, 26, 6.0, conv=conv)
        world.kernel_of("aten::softmax/aten::_softmax", ADD, 220)
        for _ in range(2):
            for _ in range(2):
                world.copied("DtoH", 2 * 96**3 * 4, rate=5_500)
                world.idle(230_000)
            world.copied("HtoD", 2 * 96**3 * 4, rate=6_000)
        for op in ("sub", "pow", "mul", "mean"):
            world.kernel_of(f"aten::{op}", ADD, 60)
        blocks_back(world, 26, 12.0)
        update(world, "AdamW", dur=400)
    return world


def _reset_by_scalars() -> Clocked:
    """Isaac Lab, 4,096 environments: x[ids] = 0.0 sends a number and waits, 40 times a step: index_fill_, masks with where."""
    world = Clocked(marks=False)
    for _ in range(14):
        for _ in range(4):
            perceptron(world, 3, 18)
        world.graph(
            [("solve_contacts_kernel_cuda_kernel_forward", 90), ("integrate_kernel_cuda_kernel_forward", 30)] * 18
        )
        for term in range(24):
            for op in ("sub", "mul", "square", "sum", "exp", "mul", "add_"):
                world.kernel_of(f"aten::{op}", ADD, 4, host=22)
            if term % 3 == 0:
                world.idle(60)
        with world.within("aten::nonzero"):
            world.kernel_of(None, SELECT, 5)
            world.read_value("aten::copy_")
        for _ in range(36):
            world.idle(18)
            sent_and_waited(world, 4)
            world.kernel_of("aten::index_put_/aten::_index_put_impl_", INDEX_PUT, 4, host=36)
        for op in ("cat", "clamp", "add", "mul", "cat"):
            world.kernel_of(f"aten::{op}", ADD, 6, host=24)
    return world


def _finite_gradients() -> Clocked:
    """HyperGAN on CIFAR: isfinite(p.grad).all() is read 101 times, the average is 193 ops: flags read once, foreach."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(90, workers=4)
        world.copied("HtoD", 64 * 3 * 32 * 32 * 4, pinned=True)
        for parameters, depth in ((66, 14), (35, 12)):
            blocks(world, depth, 0.35)
            world.kernel_of("aten::isfinite/aten::abs", ADD, 3)
            world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            blocks_back(world, depth, 0.7)
            for _ in range(parameters):
                with world.within("aten::isfinite"):
                    for op in ("aten::eq", "aten::abs", "aten::ne", "aten::mul"):
                        world.kernel_of(op, ADD, 3)
                world.kernel_of("aten::all", ALL_OF, 4)
                world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            update(world, "Adam", dur=60)
        for _ in range(145):
            world.kernel_of("aten::lerp_", LERP, 3, host=14)
        for _ in range(48):
            world.kernel_of("aten::copy_", ADD, 2, host=13)
    return world


def _advantages() -> Clocked:
    """rl_games: advantages go back in time in a Python loop of tiny kernels, 2.3 ms an epoch; one Triton kernel takes 19 us."""
    world = Clocked(marks=False)
    for _ in range(6):
        for _ in range(32):
            perceptron(world, 4, 9, name=SGEMM)
            for op in ("normal_", "mul", "add", "clamp"):
                world.kernel_of(f"aten::{op}", ADD, 4)
            world.graph(
                [("mjwarp_solve_kernel_cuda_kernel_forward", 22), ("mjwarp_step_kernel_cuda_kernel_forward", 14)] * 8
            )
        for _ in range(32):
            for op in ("mul", "add", "sub", "mul", "mul", "add", "copy_"):
                world.kernel_of(f"aten::{op}", ADD, 2, host=10)
        for _ in range(20):
            perceptron(world, 4, 30, name=SGEMM)
            for op in ("sub", "exp", "mul", "clamp", "min", "mean"):
                world.kernel_of(f"aten::{op}", ADD, 5)
            perceptron_back(world, 4, 30, name=SGEMM)
            update(world, "Adam", dur=20)
    return world


def _guards() -> Clocked:
    """82 layers in a ModuleList: guards of the compiled model are evaluated for 4 ms at each call; 2.7 was faster than 2.12."""
    world = Clocked()
    for _ in world.steps(8):
        world.copied("HtoD", 64_000, pinned=True)
        world.host_op("TorchDynamo Cache Lookup", 4_000)
        world.host_op("Pregraph bytecode", 190)
        with world.within("Torch-Compiled Region: 0/0"), world.within("CompiledFunction"):
            world.host_op("AOTDispatcher Runtime Wrapper Prologue", 220)
            for index in range(82):
                world.kernel_of(None, POINTWISE.format(index), 7, call=9, api="cuLaunchKernel")
                world.kernel_of("aten::mm", NVJET, 17, host=10)
        with world.backward(), world.node("CompiledFunctionBackward"):
            for index in range(82):
                world.kernel_of(None, POINTWISE.format(100 + index), 10, call=9, api="cuLaunchKernel")
                world.kernel_of("aten::mm", NVJET, 17, host=10)
                world.kernel_of("aten::mm", NVJET, 17, host=10)
        update(world, dur=200)
        world.kernel_of("aten::native_layer_norm", NORM, 5)
        world.read_value()
    return world


STORIES = (
    Story(
        "negatives sampled on the CPU", "speech, wav2vec 2.0, DDP", GITHUB + "facebookresearch/fairseq/issues/4856",
        "indices are made on the CPU, where ranks take each other's cores: on the device, fewer threads", _negatives,
        bound=("launch", "python", "copy", "mixed"), told=("~aten::rand|aten::random_",),
        never=("GR004", "DL001", "PR001", "CO001", "~2 \\* batch_size"),
    ),
    Story(
        "batch handed over in 114 pieces", "detection, stacks", GITHUB + "roboflow/rf-detr/pull/1399",
        "each tensor of a batch is a file descriptor to be received: pack them, more workers do not help", _handed_over,
        bound=("input",), told=("~rebuild_storage_fd|one tensor|pack|objects",), never=("GR004", "DL008", "~num_workers=\\d"),
    ),
    Story(
        "timers that synchronise", "LLM, DeepSpeed", GITHUB + "deepspeedai/DeepSpeed/pull/1881",
        "wall_clock_breakdown synchronises around each part: off, or timed by events", _timers,
        bound=("sync", "launch", "compute", "mixed"), told=("SY003", "~timer"), never=("DL001", "PR001", "SY001", "CO001"),
    ),
    Story(
        "distance transforms on the host", "medical, 3D", GITHUB + "Project-MONAI/MONAI/pull/6981",
        "SciPy transforms masks on the host while the device waits: on the device, or before training", _distances_on_host,
        bound=("python", "launch", "copy", "sync", "mixed"), told=("PY001|ID001|ID002|SY002",),
        never=("DL001", "GR004", "~num_workers", "PR001", "KE001", "XF001", "XF002", "~gymnasium", "~pin_memory=True"),
    ),
    Story(
        "environments reset by scalars", "RL, Isaac Lab", GITHUB + "isaac-sim/IsaacLab/pull/7495",
        "each x[ids] = 0.0 sends a number and waits: index_fill_, or where with the mask", _reset_by_scalars,
       bound=("launch", "sync", "copy", "mixed", "python"),
        told=("~index_fill_|where\\(", "SY001|SY003|SY004|XF001|XF003"),
        never=("DL001", "PR001", "~pin_memory"),
    ),
    Story(
        "gradients looked at one by one", "GAN", GITHUB + "HyperGAN/HyperGAN/pull/355",
        "a read for each gradient, an op for each weight of the average: flags read once, foreach", _finite_gradients,
        bound=("launch", "sync", "mixed"), told=("SY001", "~_foreach_lerp_", "~[Oo]nce for all|read (them )?once|at once"),
        never=("DL001", "PR001", "OP001", "~stack\\(tensors\\)"),
    ),
    Story(
        "advantages in a loop", "RL, rl_games", GITHUB + "Denys88/rl_games/pull/346",
        "a loop over time of tiny kernels: one kernel, or compiled", _advantages, bound=("launch", "mixed", "python", "compute"),
        told=("ID001|GR004|PY003|PY006",), never=("DL001", "OP001", "~nn\\.LSTM|nn\\.GRU"),
    ),
    Story(
        "guards of many layers", "compiled, torch 2.12", GITHUB + "pytorch/pytorch/issues/185886",
        "evaluating guards takes 4 ms of each call: fewer guards, the layers compiled as regions", _guards,
        bound=("launch", "python", "mixed", "compute"), told=("~[Gg]uard|Cache Lookup",),
        never=("DL001", "GR003", "GR002", "PR001", "~lie on the GPU|workers of the loader"),
    ),
)  # fmt: skip
