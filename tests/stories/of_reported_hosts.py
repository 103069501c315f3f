"""Stories of hosts, loaders and ranks that somebody reported with a profile; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import (
    ADD,
    CONV_32,
    NVJET,
    RANKS,
    block,
    blocks_back,
    layer,
    layers,
    layers_back,
    update,
)
from stories.story import GITHUB, Story

REDUCE = "ncclDevKernel_Reduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SUM = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4>"


def _positions_by_numpy() -> Clocked:
    """A policy for robots makes its sinusoids with NumPy in each forward pass, 14 ms on the host, then sends them."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(80, workers=8)
        world.copied("HtoD", 8 << 20, pinned=True)
        world.idle(14_000)
        world.host_op("aten::from_numpy", 10)
        world.copied("HtoD", 256 * 256 * 4)
        layers(world, 6, 0.5)
        layers_back(world, 6, 1.0)
        update(world, dur=600)
        world.read_value()
    return world


def _buffers_assigned() -> Clocked:
    """torch 1.10's DDP assigns the buffers of all modules before each forward pass: a fifth to a third of the step."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(70, workers=8)
        with world.stack(
            "train.py(90): main", "train.py(61): train_step", "torch/nn/parallel/distributed.py(850): forward",
            "torch/nn/parallel/distributed.py(752): _assign_modules_buffers",
        ):  # fmt: skip
            world.idle(24_000)
        with world.stack(
            "train.py(90): main", "train.py(61): train_step", "torch/nn/parallel/distributed.py(850): forward"
        ):
            for _ in range(120):
                block(world, 0.9)
        with world.stack("train.py(90): main", "train.py(61): train_step"):
            blocks_back(world, 120, 1.7)
            for _ in range(4):
                world.collective(
                    "allreduce", 900, kernel=SUM, stream=20, after=world.busy_until[7] - 6_000, dtype="Float", size=8
                )
            update(world, "SGD", dur=800)
            world.synchronize()
    return world


def _waits_for_each_bucket() -> Clocked:
    """ZeRO-2 on 128 GPUs over 400 Gb/s waits for the device behind each bucket: reducing takes far longer than compute."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 128}})
    for _ in world.steps(3):
        world.load(60, workers=2)
        layers(world, 8)
        for _ in range(8):
            with world.backward(), world.node("MmBackward0"):
                layer(world, 2.0, backward=True)
            for _ in range(2):
                world.kernel_of("aten::cat", CAT, 150)
                end = world.collective("reduce", 9_000, kernel=REDUCE, stream=7, elements=250_000_000, size=128)
                world.busy_until[7] = end
                world.synchronize()
        update(world)
    return world


def _small_ops_behind_a_compiled_backward() -> Clocked:
    """SimpleFSDP with FlexAttention: the backward pass runs `empty_strided` and `add` one by one, the GPU idles."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        world.load(70, workers=4)
        with world.within("Torch-Compiled Region: 0/0"), world.within("CompiledFunction"):
            for _ in range(16):
                world.kernel_of("aten::mm", NVJET, 500, host=10)
                world.kernel_of(None, "triton_tem_fused_0", 300, api="cuLaunchKernel")
                world.kernel_of(None, "triton_red_fused_add_mul_rms_norm_1", 60, api="cuLaunchKernel")
        with world.backward(), world.within("CompiledFunctionBackward"):
            for _ in range(16):
                world.kernel_of("aten::mm", NVJET, 500, host=10)
                world.kernel_of("aten::mm", NVJET, 500, host=10)
                world.kernel_of(None, "triton_tem_fused_1", 500, api="cuLaunchKernel")
            for _ in range(2_000):
                world.host_op("aten::empty_strided", 14)
                world.kernel_of("aten::add", ADD, 3, host=30)
            for _ in range(16):
                world.kernel_of("aten::mm", NVJET, 500, host=10)
        update(world)
        world.read_value()
    return world


def _received_too_early() -> Clocked:
    """Interleaved 1F1B: a receive that takes long stands in front of sends that are ready, and the stage waits."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 8}})

    def message(kind: str, dur: float) -> None:
        end = world.collective(kind, dur, kernel=SEND, after=world.busy_until.get(7, 0), size=8, group="pp")
        world.busy_until[7] = max(world.busy_until.get(7, 0), end)

    for _ in world.steps(4):
        for micro in range(4):
            message("recv", 7_000 if micro < 2 else 600)
            layers(world, 1)
            message("send", 120)
        for _ in range(4):
            message("recv", 700)
            layers_back(world, 1)
            message("send", 120)
        update(world)
        world.synchronize()
    return world


def _threads_of_each_worker() -> Clocked:
    """Each worker of the loader starts as many threads as the machine has cores: up to ten times slower than with two."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(180_000, workers=12)
        world.copied("HtoD", 4 << 20, pinned=True)
        layers(world, 4, 0.6)
        layers_back(world, 4, 1.2)
        update(world, dur=400)
    return world


def _spectra_for_each_sample() -> Clocked:
    """Wav2Lip resamples and makes the spectrum in `__getitem__`, 16 workers: 0.3 steps a second; stored ahead, 10."""
    world = Clocked()
    for number in world.steps(5):
        world.load(3_100_000 if number % 2 else 2_900_000, workers=16)
        world.copied("HtoD", 60 << 20)
        for _ in range(30):
            block(world, 2.0, conv=CONV_32)
        blocks_back(world, 30, 4.0)
        update(world, "Adam", dur=600)
        world.read_value()
    return world


STORIES = (
    Story(
        "sinusoids by NumPy", "robot's policy, fine-tuning", GITHUB + "liruiw/HPT/pull/14",
        "positions are made on the host in each pass: on the device, with torch", _positions_by_numpy,
        bound=("python", "mixed", "launch"), told=("PY001",), never=("DL001", "PR001", "GR004", "XF002", "~num_workers"),
    ),
    Story(
        "buffers assigned by DDP", "vision, DDP, torch 1.10", GITHUB + "pytorch/pytorch/issues/83320",
        "the host assigns buffers before each pass, the device waits", _buffers_assigned,
        bound=("python", "mixed", "compute"), told=("PY001", "~_assign_modules_buffers", "~broadcast_buffers"),
        never=("DL001", "CO001", "CO002", "XF001", "~num_workers"),
    ),
    Story(
        "a wait behind each bucket", "LLM pretraining, ZeRO-2", GITHUB + "deepspeedai/DeepSpeed/issues/620",
        "reducing takes 18 times the backward pass, and the host waits for each bucket", _waits_for_each_bucket,
        bound=("communication",), told=("CO001|CO002",), never=("DL001", "GR004", "~bucket_cap_mb"),
    ),
    Story(
        "small ops in a compiled backward", "LLM, MoE, SimpleFSDP", GITHUB + "pytorch/torchtitan/issues/2089",
        "the GPU idles in the backward pass while the host runs empty_strided and add", _small_ops_behind_a_compiled_backward,
        bound=("launch", "mixed", "compute"), told=("ID001|GR004|PY003", "~empty_strided|aten::add"),
        never=("DL001", "CO001", "PY001", "~(?m)^\\+model = torch\\.compile\\(model\\)"),
    ),
    Story(
        "received too early", "LLM pretraining, interleaved pipeline", GITHUB + "pytorch/pytorch/issues/188833",
        "a receive in front of what is ready: the stage waits for messages", _received_too_early,
        bound=("communication", "mixed"), told=("CO001|CO008",), never=("DL001", "PR001", "~bucket_cap_mb"),
    ),
    Story(
        "threads of each worker", "sampling, CPU-bound workers", GITHUB + "transferable-samplers/transferable-samplers/pull/12",
        "workers hold each other up with too many threads: fewer threads in each", _threads_of_each_worker,
        bound=("input",), told=("DL001|DL002|DL003|DL005|DL006", "~thread"), never=("PY001", "PR001", "XF001"),
    ),
    Story(
        "spectra for each sample", "speech, video, Wav2Lip", GITHUB + "Rudrabha/Wav2Lip/issues/447",
        "samples cost too much in the workers: stored ahead, 30 times as fast", _spectra_for_each_sample,
        bound=("input",), told=("DL001|DL002|DL006", "~cache|ahead|once|beforehand|prepare"),
        never=("PY001", "SY001", "~num_workers=4"),
    ),
)  # fmt: skip
