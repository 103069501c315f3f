"""Stories of traces of which others wrote down what is in them, each beside the same without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import (
    ADD,
    BATCH_NORM,
    CONV,
    CONV_BACK,
    FLASH,
    FOREACH,
    GATHER,
    RANKS,
    RELU,
    SDPA,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    update,
)
from stories.of_answering import ARGMAX
from stories.of_requests import NOT_TRAINED
from stories.of_serving import GEMV, RMS
from stories.story import GITHUB, Story

SORTED = (
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long, long>>"
)
ROW_BY_ROW = "void at::native::(anonymous namespace)::compute_grad_weight<float, long, float>"
POOLED_BACK = (
    "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(float const*, long const*, int, long)"
)
SENT = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ADDED_UP = "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SUMMED = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTERED = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
JOINED = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<c10::BFloat16>"


def _embedding(dur: float) -> Clocked:
    """A language model whose embeddings' gradient takes so many microseconds; kinds of tokens have a table of two rows."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        layers(world, 6)
        layers_back(world, 6)
        with world.backward(), world.node("EmbeddingBackward0"):
            path = "aten::embedding_backward/aten::embedding_dense_backward"
            world.kernel_of(path, SORTED, 50)
            world.kernel_of(path, ROW_BY_ROW, dur, host=40)
        update(world)
    return world


def _pooled(dur: float) -> Clocked:
    """A network whose pooling goes back in so many microseconds."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        blocks(world, 50)
        with world.backward(), world.node("MaxPool2DWithIndicesBackward0"):
            world.kernel_of("aten::max_pool2d_with_indices_backward", POOLED_BACK, dur, host=30)
        blocks_back(world, 50, 1.4)
        update(world, "SGD", dur=300)
    return world


def _generated(host: float) -> Clocked:
    """transformers' `generate` without shapes, a text, token by token; an op takes the host so many microseconds."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(24):
        world.idle(200)
        world.kernel_of("aten::embedding/aten::index_select", ADD, 3, host=host, call=2)
        for _ in range(24):
            for op, name, dur in (
                ("aten::pow", ADD, 2), ("aten::mean", RMS, 3), ("aten::rsqrt", ADD, 2), ("aten::mul", ADD, 2),
                ("aten::linear/aten::mm", GEMV, 20), ("aten::cat", JOINED, 4), ("aten::cat", JOINED, 4), (SDPA, FLASH, 8),
                ("aten::linear/aten::mm", GEMV, 14), ("aten::add", ADD, 2), ("aten::linear/aten::mm", GEMV, 34),
                ("aten::silu", ADD, 2), ("aten::linear/aten::mm", GEMV, 34),
            ):  # fmt: skip
                world.kernel_of(op, name, dur, host=host, call=2)
        world.kernel_of("aten::linear/aten::mm", GEMV, 150, host=host, call=2)
        world.kernel_of("aten::argmax", ARGMAX, 10, host=host, call=2)
        world.read_value()
    return world


class _Replicas(Clocked):
    """Four devices of one process; each has a stream for kernels and one for collectives."""

    def __init__(self) -> None:
        super().__init__(top={"deviceProperties": [dict(A100, id=index) for index in range(4)]})
        self.free: dict[tuple[int, int], float] = {}

    def on(self, device: int, op: str, name: str, dur: float, thread: int) -> None:
        """An op of one device's thread; one interpreter goes from one to the next."""
        self.op(op, self.now, 22, thread)
        correlation = self.runtime("cudaLaunchKernel", self.now + 8, 5, thread)
        start = max(self.now + 16, self.free.get((device, 7), 0) + 1)
        self.kernel(name, start, dur, device=device, correlation=correlation)
        self.free[device, 7] = start + dur
        self.now += 24

    def together(self, name: str, count: int, dur: float, thread: int) -> None:
        """Collectives of all devices, launched by one thread."""
        for _ in range(count):
            start = max(
                self.now + 30, *(max(self.free.get((device, at), 0) for at in (7, 20)) + 1 for device in range(4))
            )
            for device in range(4):
                correlation = self.runtime("cudaLaunchKernelExC", self.now, 5, thread)
                self.now += 6
                self.kernel(name, start, dur, device=device, stream=20, correlation=correlation)
                self.free[device, 20] = start + dur
        self.now = max(self.now, max(self.free.values()))


def _replicated() -> Clocked:
    """DataParallel: parameters are broadcast in each pass, four threads take turns, gradients are reduced to the first device."""
    world = _Replicas()
    for _ in world.steps(4):
        world.load(200, workers=4)
        with world.inside("DataParallel.forward"):
            begin = world.now
            world.together(SENT, 12, 350, world.thread)
            world.op("Broadcast", begin, world.now - begin)
            for _ in range(30):
                for device in range(4):
                    for op, name, dur in (
                        ("aten::conv2d", CONV, 110), ("aten::batch_norm", BATCH_NORM, 30), ("aten::relu_", RELU, 10),
                    ):  # fmt: skip
                        world.on(device, op, name, dur, 5_000 + device)
            world.host_op("Gather", 60)
        for _ in range(30):
            for device in range(4):
                world.on(device, "ConvolutionBackward0", CONV_BACK, 260, 6_000 + device)
        begin = world.now
        world.together(ADDED_UP, 12, 350, 6_000)
        world.op("BroadcastBackward", begin, world.now - begin, 6_000)
        world.busy_until[7] = world.now
        begin = world.now
        world.kernel_of("aten::_foreach_add_", FOREACH, 300)
        world.optimizer(begin, world.now - begin, "SGD")
        world.read_value()
    return world


def _alone() -> Clocked:
    """The same model on one device, in one process."""
    world = Clocked(top=of(A100))
    for _ in world.steps(4):
        world.load(200, workers=4)
        blocks(world, 30)
        blocks_back(world, 30)
        update(world, "SGD", dur=300)
        world.read_value()
    return world


def _hooked(dur: float) -> Clocked:
    """ZeRO: a hook for each parameter keeps the host for so many microseconds; 108 of them in a backward pass."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        layers(world, 12, 0.25)
        with world.backward():
            for _ in range(12):
                with world.node("MmBackward0"):
                    layer(world, 0.5, backward=True)
                for _ in range(9):
                    with world.node("torch::autograd::AccumulateGrad"):
                        world.idle(dur)
                        world.kernel_of("aten::copy_", ADD, 4)
            world.collective("allreduce", 900, kernel=SUMMED, after=world.busy_until[7] - 500)
        update(world)
    return world


def _logged(dur: float) -> Clocked:
    """Lightning's loop: values are read behind each batch, then a progress bar takes so many microseconds of the host."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(12):
        with world.inside("[pl][profile]run_training_batch"):
            blocks(world, 50, 0.5)
            blocks_back(world, 50, 0.6)
            update(world, "SGD", dur=300)
        with world.inside("[pl][profile][Callback]ProgressBar.on_train_batch_end"):
            for _ in range(4):
                world.read_value()
            world.idle(dur)
        with world.inside("[pl][profile][_TrainingEpochLoop].train_dataloader_next"):
            world.load(150, workers=4)
    return world


def _sharded(one: bool) -> Clocked:
    """FSDP2, twelve blocks: gathers and reduce-scatters on one communicator, or on one each."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        for index in range(12):
            with world.inside(f"FSDP::pre_forward (layers.{index})"):
                end = world.collective("_allgather_base", 900, kernel=GATHER, stream=31)
            world.busy_until[7] = max(world.busy_until.get(7, 0), end if index == 0 else 0)
            layer(world, 2)
        with world.backward():
            for index in range(12):
                with world.inside(f"FSDP::pre_backward (layers.{index})"):
                    end = world.collective(
                        "_allgather_base", 900, kernel=GATHER, stream=31, after=world.busy_until[7] - 2_500
                    )
                world.busy_until[7] = max(world.busy_until[7], end)
                with world.node("MmBackward0"):
                    layer(world, 4, backward=True)
                with world.inside(f"FSDP::post_backward_reduce (layers.{index})"):
                    stream = 31 if one else 32
                    world.collective(
                        "_reduce_scatter_base", 2_400, kernel=SCATTERED, stream=stream, after=world.busy_until[7]
                    )
        world.busy_until[7] = max(world.busy_until.values())
        update(world)
    return world


STORIES = (
    Story(
        "gathers behind reduce-scatters", "LLM pretraining, FSDP2", GITHUB + "pytorch/pytorch/pull/177015",
        "one communicator sends one collective at a time: the next block waits for both; a group of its own for one of them",
        partial(_sharded, True), told=("CO002", "~gathered behind reduce-scatters", "~set_separate_reduce_scatter_group"),
        never=("DL001", "ID001"),
    ),
    Story(
        "gathers beside reduce-scatters", "LLM pretraining, FSDP2", GITHUB + "pytorch/pytorch/pull/177015",
        "the same with a communicator each", partial(_sharded, False), bound=("compute",),
        never=("CO002", "CO001", "~set_separate", "DL001", "ID001"),
    ),
    Story(
        "progress bar behind each batch", "vision, Lightning",
        "https://lightning.ai/docs/pytorch/stable/common/trainer.html",
        "callbacks take half of each step: without its reads the host is no earlier, without the bar it is",
        partial(_logged, 9_000), bound=("python",), told=("PY001", "~ProgressBar", "~barebones=True"),
        never=("~Take away what the program reads", "~after it read values", "DL001", "ID001"),
    ),
    Story(
        "progress bar drawn at once", "vision, Lightning", "https://lightning.ai/docs/pytorch/stable/common/trainer.html",
        "the same where it takes next to nothing", partial(_logged, 50), bound=("compute",),
        never=("PY001", "DL001", "ID001"),
    ),
    Story(
        "hooks of each parameter", "VLA training, DeepSpeed", GITHUB + "TensorAuto/OpenTau/issues/177",
        "ZeRO's hooks in Python for each parameter dominate the backward pass: DDP takes a third of the time",
        partial(_hooked, 420), bound=("launch",), told=("ID001", "~Run less for each gradient", "~DistributedDataParallel"),
        never=("DL001", "CO001", "~\\+batch_size"),
    ),
    Story(
        "hooks in C++", "VLA training, DDP", GITHUB + "TensorAuto/OpenTau/issues/177",
        "the same where a gradient takes as long as adding it up does", partial(_hooked, 5), bound=("compute",),
        never=("ID001", "~Run less for each gradient", "DL001"),
    ),
    Story(
        "gradient of a table of two rows", "LLM pretraining, BERT", GITHUB + "pytorch/pytorch/issues/20655",
        "an embedding of few rows is slow to go back through, as its tokens contend for them: a product with one-hot vectors",
        partial(_embedding, 6_000), bound=("compute",), told=("KE003", "~one_hot", "~padding_idx", r"~indexing and sorting 1\d %"),
        never=("KE004", "~there is no waiting to remove", "DL001"),
    ),
    Story(
        "gradient of a wide table", "LLM pretraining, BERT", GITHUB + "pytorch/pytorch/issues/20655",
        "the same where rows have few tokens each", partial(_embedding, 150), bound=("compute",), told=("KE004",),
        never=("KE003", "DL001"),
    ),
    Story(
        "pooling goes back slowly", "vision", GITHUB + "intel/torch-xpu-ops/issues/1861",
        "a quarter of the computing is the gradient of a pooling", partial(_pooled, 6_000), bound=("compute",),
        told=(r"~pooling 2\d %",), never=("~tell no kind", "DL001", "KE003"),
    ),
    Story(
        "pooling is little", "vision", GITHUB + "intel/torch-xpu-ops/issues/1861",
        "the same where it takes half a millisecond", partial(_pooled, 500), bound=("compute",), never=("~pooling", "DL001"),
    ),
    Story(
        "generate, without shapes", "LLM inference, transformers", "https://huggingface.co/docs/transformers/llm_optims",
        "a text token by token, kernel by kernel: the host is what it waits for", partial(_generated, 16), bound=("launch",),
        told=("ID001", "IN003", "~a single token"), never=("PR001", "KE003", *NOT_TRAINED, "~[Ww]here it trains"),
    ),
    Story(
        "generate, launched in time", "LLM inference, transformers", "https://huggingface.co/docs/transformers/llm_optims",
        "the same with a quick host: weights are read for each token", partial(_generated, 6), bound=("compute",),
        told=("IN003", "~a single token"), never=("ID001", "PR001", *NOT_TRAINED),
    ),
    Story(
        "DataParallel with NCCL", "vision, four devices", "https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
        "one process: parameters travel in each pass, one interpreter launches for all", _replicated,
        bound=("communication", "python", "mixed"), told=("CO004", "~DistributedDataParallel"),
        never=("CO001", "CO002", "PY001", "~Record all ranks", "DL001"),
    ),
    Story(
        "one device, one process", "vision", "https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",
        "the same model on one device", _alone, bound=("compute",), never=("CO004", "CO001", "PY001", "DL001"),
    ),
)  # fmt: skip
