"""Stories of loops that many write: data on the GPU already, and what is done beside training in every step."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.models import ADD, AMPERE, blocks, blocks_back, layers, layers_back, perceptron, perceptron_back, update
from stories.story import GITHUB, Story

TOGETHER = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<unsigned int, 1, 128, 1>"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
LOADING = "https://docs.pytorch.org/docs/stable/data.html"
TAKEN = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"


def _on_the_gpu(*, at_once: bool) -> Clocked:
    """A TensorDataset of CUDA tensors in batches of 512: row by row in the loader; or indexed at once, without one."""
    world = Clocked()
    for _ in world.steps(10):
        if at_once:
            for _ in range(2):
                world.kernel_of("aten::index", TAKEN, 5, host=22)
        else:
            begin = world.now
            for _ in range(512):
                for _ in range(2):
                    world.host_op("aten::select/aten::as_strided", 3)
                world.idle(3)
            for _ in range(2):
                with world.within("aten::stack"):
                    world.kernel_of("aten::cat", TOGETHER, 6, host=700)
            world.loader(begin, world.now - begin)
        perceptron(world, 4, 30)
        perceptron_back(world, 4, 30)
        update(world, "Adam", dur=60)
    return world


def _normalised(*, on_host: bool) -> Clocked:
    """Images of workers are made floats and normalised in the loop, on the host; or sent as bytes, and normalised behind that."""
    world = Clocked()
    for _ in world.steps(8):
        world.load(80, workers=8)
        if on_host:
            world.host_op("aten::sub", 3_500)
            world.host_op("aten::div", 3_500)
            world.copied("HtoD", 64 * 3 * 224 * 224 * 4)
        else:
            world.copied("HtoD", 64 * 3 * 224 * 224, pinned=True)
            world.kernel_of("aten::sub", ADD, 20)
            world.kernel_of("aten::div", ADD, 20)
        blocks(world, 16)
        blocks_back(world, 16)
        update(world, "Adam", dur=200)
    return world


def _scored(*, reads: bool) -> Clocked:
    """An evaluation that adds up `(output.argmax(1) == target).sum().item()` and `loss.item()` of each batch, or keeps sums."""
    world = Clocked()
    for _ in world.steps(12):
        world.load(80, workers=8)
        world.copied("HtoD", 2 << 20, pinned=True)
        blocks(world, 16)
        world.kernel_of("aten::linear/aten::addmm", AMPERE, 20)
        for op in ("aten::argmax", "aten::eq", "aten::sum"):
            world.kernel_of(op, SUM, 5)
        if reads:
            world.read_value()
        world.kernel_of("aten::cross_entropy_loss/aten::nll_loss", SUM, 5)
        if reads:
            world.read_value()
        else:
            world.kernel_of("aten::add_", ADD, 3)
            world.kernel_of("aten::add_", ADD, 3)
        world.idle(300)
    return world


def _accumulated(*, logs: bool) -> Clocked:
    """Four backward passes for an update; the loss of each is read and logged, 400 us of it, or none is."""
    world = Clocked()
    for _ in world.steps(6):
        for _ in range(4):
            world.load(60, workers=8)
            world.copied("HtoD", 1 << 20, pinned=True)
            layers(world, 4, 0.1)
            world.kernel_of("aten::div", ADD, 3)
            layers_back(world, 4, 0.2)
            if logs:
                world.read_value()
                world.idle(400)
        update(world, dur=800)
    return world


STORIES = (
    Story(
        "TensorDataset on the GPU, row by row", "tabular", GITHUB + "pytorch/pytorch/issues/106704",
        "the whole data set is on the GPU: batches indexed there are up to 100 times as fast; no worker can take CUDA tensors",
        partial(_on_the_gpu, at_once=False), bound=("input",),
        told=("DL006", "DL001", "~device=data.0..device", "~leave `num_workers=0` and `pin_memory=False`"),
        never=("DL002", "~pin_memory=True", "~num_workers=[1-9]", "~torch.save", "XF001", "GR004"),
    ),
    Story(
        "TensorDataset on the GPU, indexed at once", "tabular", GITHUB + "pytorch/pytorch/issues/106704",
        "the same, indexed: nothing of loading is left", partial(_on_the_gpu, at_once=True),
        never=("DL001", "DL002", "DL006", "PY002", "~pin_memory=True", "~num_workers=[1-9]"),
    ),
    Story(
        "batch normalised on the host in the loop", "vision", LOADING,
        "the loader's batch is changed on the host and sent as floats: send the bytes, normalise on the device",
        partial(_normalised, on_host=True), bound=("launch", "copy", "mixed"),
        told=("XF002|XF001", "ID001", "~as the loader gives it"), never=("~sends nothing", "~no loader's batch", "DL001", "GR004"),
    ),
    Story(
        "batch normalised on the device", "vision", LOADING, "the same behind the copy of bytes",
        partial(_normalised, on_host=False), never=("ID001", "XF001", "DL001", "~as the loader gives it"),
    ),
    Story(
        "accuracy read for each batch", "evaluation", TUNING, "two reads a batch empty the queue: keep sums on the device",
        partial(_scored, reads=True), told=("SY001", "~stays on the device"), never=("DL001", "PY002", "~optimizer.zero_grad"),
    ),
    Story(
        "accuracy kept on the device", "evaluation", TUNING, "the same without reads", partial(_scored, reads=False),
        never=("SY001", "DL001", "PY002"),
    ),
    Story(
        "loss logged for each micro-batch", "LLM, accumulation", TUNING,
        "each backward pass is waited for and its loss logged: read once an update, or later",
        partial(_accumulated, logs=True), told=("SY001", "~every N steps"), never=("DL001", "OP001", "PR001"),
    ),
    Story(
        "micro-batches and no log", "LLM, accumulation", TUNING, "the same without reads", partial(_accumulated, logs=False),
        never=("SY001", "PY001", "DL001", "OP001"),
    ),
)  # fmt: skip
