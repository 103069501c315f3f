"""Stories of batches prepared between loader and device, and of what else steps make on the host; beside each one without."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, blocks, blocks_back, layers, layers_back, number_sent, update
from stories.story import Story

MIB = 1 << 20
TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
DATA = "https://docs.pytorch.org/docs/stable/data.html"
EFFICIENT = "https://huggingface.co/docs/transformers/perf_train_gpu_one"


def _batch(world: Clocked, *, pinned: bool) -> None:
    world.copied("HtoD", 38 * MIB, pinned=pinned, rate=20_000 if pinned else 9_000)


def _network(world: Clocked) -> None:
    blocks(world, 40, 1.5)
    blocks_back(world, 40, 3)
    update(world, "SGD", dur=300)
    world.read_value()


def _by_numpy(in_step: bool) -> Clocked:
    """An augmenter of arrays is called on each batch between the loader and the model: 12 ms without an op."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(80, workers=8)
        if in_step:
            world.idle(12_000)
            world.host_op("aten::stack/aten::cat", 900)
        _batch(world, pinned=not in_step)
        _network(world)
    return world


def _image_by_image(in_step: bool) -> Clocked:
    """`ToTensor` and transforms of PIL for each of 64 images of a batch, in the loop."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(80, workers=8)
        for _ in range(64 if in_step else 0):
            world.idle(250)
            world.host_op("aten::permute", 6)
            world.host_op("aten::contiguous/aten::clone/aten::copy_", 60)
            world.host_op("aten::to/aten::_to_copy/aten::copy_", 40)
            world.host_op("aten::div", 40)
        if in_step:
            world.host_op("aten::stack/aten::cat", 1_900)
        _batch(world, pinned=not in_step)
        _network(world)
    return world


def _collected(each_step: bool) -> Clocked:
    """`gc.collect()` behind each step, in front of the loader."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", MIB, pinned=True)
        layers(world, 12, 0.5)
        layers_back(world, 12, 1.0)
        update(world)
        world.read_value()
        if each_step:
            world.idle(14_000)
    return world


def _noise(on_host: bool) -> Clocked:
    """Noise of half a batch is drawn on the host and sent behind the batch, or drawn on the device."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        _batch(world, pinned=True)
        if on_host:
            world.host_op("aten::randn/aten::normal_", 4_000)
            world.copied("HtoD", 19 * MIB, rate=9_000)
        else:
            world.kernel_of("aten::randn/aten::normal_", ADD, 40)
        layers(world, 12, 0.4)
        layers_back(world, 12, 0.8)
        update(world)
    return world


def _constants(made: bool) -> Clocked:
    """`torch.tensor(value, device=device)` in each of 24 short layers, and a wait for each."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", 8 * MIB, pinned=True)
        for _ in range(24):
            layers(world, 1, 0.06)
            if made:
                number_sent(world)
            world.kernel_of("aten::mul", ADD, 4)
        layers_back(world, 24, 0.12)
        update(world, dur=600)
        world.read_value()
    return world


def _cast_by_hand(slow: bool) -> Clocked:
    """A library's own code, 3 ms of it, between two casts of a model; its loader is in time."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(60, workers=4)
        world.copied("HtoD", 8 * MIB, pinned=True)
        layers(world, 4, 0.2)
        for _ in range(3):
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", ADD, 20)
            if slow:
                world.idle(3_000)
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", ADD, 20)
        layers(world, 4, 0.2)
        layers_back(world, 8, 0.4)
        update(world)
        world.read_value()
    return world


STORIES = (
    Story(
        "batches augmented by NumPy in the loop", "vision, A100", DATA,
        "arrays are augmented between loader and model while the GPU idles: in the dataset or `collate_fn`, by the workers",
        partial(_by_numpy, True), bound=("python",), told=("PY001", "~the program prepares it there", "~return prepare\\("),
        never=("DL001", "~SyncVectorEnv", "GR004"),
    ),
    Story(
        "batches augmented by workers", "vision, A100", DATA, "the same in the workers",
        partial(_by_numpy, False), bound=("compute",), never=("PY001", "~prepares it there", "DL001", "SY001"),
    ),
    Story(
        "images transformed one by one in the loop", "vision, A100", DATA,
        "transforms of PIL for each image of a batch, in the loop: in the dataset, by the workers",
        partial(_image_by_image, True), bound=("python",), told=("PY003", "~the program prepares it there", "~return prepare\\("),
        never=("DL001", "~SyncVectorEnv", "GR004"),
    ),
    Story(
        "images transformed by workers", "vision, A100", DATA, "the same in the workers",
        partial(_image_by_image, False), bound=("compute",), never=("PY003", "~prepares it there", "DL001"),
    ),
    Story(
        "garbage collected behind each step", "LLM fine-tuning, A100", EFFICIENT,
        "`gc.collect()` in the loop keeps the device idle: seldom, or not at all; no data are prepared there",
        partial(_collected, True), bound=("python", "sync"), told=("PY001", "~Names the functions"),
        never=("~DataLoader\\(", "~prepare\\(", "DL001"),
    ),
    Story(
        "garbage left to Python", "LLM fine-tuning, A100", EFFICIENT, "the same without",
        partial(_collected, False), bound=("compute",), never=("PY001", "SY001", "DL001"),
    ),
    Story(
        "noise drawn on the host beside batches", "diffusion, A100", TUNING,
        "a third of what is sent is drawn on the host in the step: on the device nothing of it is sent",
        partial(_noise, True), bound=("compute",),
        told=("XF002", "~33 % of it is computed on the host", "~Compute it on the device"),
        never=("~Copies of batches delay", "DL001"),
    ),
    Story(
        "noise drawn on the device beside batches", "diffusion, A100", TUNING, "the same on the device",
        partial(_noise, False), bound=("compute",), never=("~computed on the host", "XF001", "DL001"),
    ),
    Story(
        "numbers made on the device by way of the host", "LLM, A100", TUNING,
        "`torch.tensor(value, device=device)` in each layer: a copy and a wait each; make them once",
        partial(_constants, True), told=("XF003",), never=("DL001", "GR004"),
    ),
    Story(
        "numbers made once", "LLM, A100", TUNING, "the same, made before the loop",
        partial(_constants, False), bound=("compute",), never=("XF003", "DL001"),
    ),
    Story(
        "host code between casts of a model", "LLM, A100", TUNING,
        "Python of a library inside the model: nothing tells of data that are prepared there",
        partial(_cast_by_hand, True), bound=("python",), told=("PY001", "~aten::to"),
        never=("~DataLoader\\(", "~prepare\\(", "~num_workers", "DL001"),
    ),
    Story(
        "casts of a model and nothing between", "LLM, A100", TUNING,
        "the same without", partial(_cast_by_hand, False), bound=("compute",), never=("PY001", "DL001"),
    ),
)  # fmt: skip
