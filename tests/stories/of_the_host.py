"""Stories of loops that wait for data, for values, or for Python."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import repeated_ids, rocm, torch_1_8, torch_1_9
from stories.models import (
    ADD,
    CONV_32,
    LINEAR,
    SGEMM,
    block,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
    update_foreach,
)
from stories.story import GITHUB, Story


def _tensorboard_tutorial() -> Clocked:
    """ResNet-18 on CIFAR-10 resized to 224, batch 32, no workers, SGD; torch 1.8's spelling."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(82_000)
        world.copied("HtoD", 32 * 3 * 224 * 224 * 4, path="aten::to/aten::copy_")
        blocks(world, 20, 1.2, conv=CONV_32)
        blocks_back(world, 20, 1.6, conv=CONV_32, suffix="")
        update_foreach(world, "SGD", passes=3, dur=900)
    return torch_1_9(world)  # type: ignore[return-value]


def _starved() -> Clocked:
    """Two workers for a device that takes a batch in 100 ms and gets one in 320."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(217_000, workers=2)
        world.copied("HtoD", 40 << 20, pinned=True)
        blocks(world, 60, 4)
        blocks_back(world, 60, 6)
        update(world)
        world.read_value()
    return world


def _cpu_activities() -> Clocked:
    """The loop of a GPU, recorded with CPU activities only: neither calls nor kernels; the loader takes 60 %."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(60_000, workers=6)
        for _ in range(40):
            world.host_op("aten::linear/aten::addmm", 60)
            world.host_op("aten::gelu", 20)
        with world.backward():
            for _ in range(40):
                with world.node("AddmmBackward0"):
                    world.host_op("aten::mm", 45)
        begin = world.now
        world.host_op("aten::_foreach_add_", 400)
        world.optimizer(begin, world.now - begin, "AdamW")
        world.host_op("aten::item/aten::_local_scalar_dense", 24_000)
    return world


def _epochs() -> Clocked:
    """Epochs of four batches on an RTX A6000; at each beginning the workers are started again."""
    world = Clocked()
    for number in world.steps(12):
        if number % 4 == 0:
            world.load(30, workers=8)
            world.idle(4_000)
            world.host_op("aten::empty", 5)
            world.host_op("aten::random_", 12)
            world.host_op("aten::item/aten::_local_scalar_dense", 8)
            world.idle(210_000)
            world.load(46_000, workers=8)
        else:
            world.load(120, workers=8)
        world.copied("HtoD", 8 << 20, pinned=True)
        layers(world, 8, 2)
        layers_back(world, 8, 4)
        update(world)
        world.read_value()
    return world


def _pixel_sampler() -> Clocked:
    """Nerfacto: images stay on the host, a batch of rays indexes them there; 30 of 45 ms."""
    world = Clocked()
    for number in range(6):
        with world.marked(number), world.inside("Trainer.train_iteration"):
            with world.inside("VanillaDataManager.next_train"):
                world.host_op("aten::rand", 60)
                world.host_op("aten::index", 27_000, **{"Input Dims": [[150, 1080, 1920, 3]], "Input type": ["float"]})
                world.host_op("aten::index", 2_400)
                world.copied("HtoD", 4096 * 3 * 4)
            for _ in range(12):
                world.kernel_of("_module_function", "void tcnn::kernel_mlp_fused<128, 16, false>(p)", 260, host=40)
                world.kernel_of("aten::exp", ADD, 15)
            with world.backward():
                for _ in range(12):
                    with world.node("_module_functionBackward"):
                        world.kernel_of("aten::mul", "void tcnn::kernel_mlp_fused_backward<128>(p)", 520, host=40)
            update(world, "Adam", dur=900)
    return world


def _neighbours() -> Clocked:
    """PyG's NeighborLoader without workers: sampling and gathering in the training process."""
    world = Clocked()
    for _ in world.steps(6):
        begin = world.now
        world.host_op("pyg::neighbor_sample", 21_000)
        world.idle(2_000)
        world.host_op("aten::index_select", 7_500)
        world.loader(begin, world.now - begin)
        world.copied("HtoD", 60 << 20)
        for _ in range(3):
            world.kernel_of(
                "aten::index_select",
                "void at::native::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>",
                400,
            )
            scatter = "void at::native::_scatter_gather_elementwise_kernel<128, 8, float>"
            world.kernel_of("aten::scatter_add_", scatter, 700)
            world.kernel_of(LINEAR, SGEMM, 500)
        with world.backward():
            for _ in range(3):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", SGEMM, 900)
        update_foreach(world, "Adam", passes=6, dur=300)
        world.read_value()
    return world


def _loss_logged() -> Clocked:
    """Torchtune's LoRA recipe: loss.item() each step waits 45 ms for a device that is busy all the time."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(70, workers=1)
        world.copied("HtoD", 1 << 16)
        layers(world, 16, 0.9)
        layers_back(world, 16, 1.8)
        world.read_value()
        update(world, dur=600)
        world.idle(350)
    return world


def _tiny_device_work() -> Clocked:
    """LANfactory: 0.1 ms of kernels in a step of 17; files and NumPy rows are what it waits for, the loss is read too."""
    world = Clocked()
    for _ in world.steps(8):
        world.idle(15_500)
        world.copied("HtoD", 50_000 * 7 * 4)
        perceptron(world, 4, 9)
        perceptron_back(world, 4, 6)
        update_foreach(world, "Adam", passes=8, dur=20, host=40)
        world.read_value()
    return world


def _values_in_the_loss() -> Clocked:
    """UMA-S: values read off the device along the way and a sea of kernels of 9 us; idle for half of the step. A tenth of it."""
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(34):
            for _ in range(15):
                world.kernel_of("aten::mul", ADD, 9, host=11)
            world.read_value()
            world.idle(20)
        with world.backward():
            for _ in range(200):
                with world.node("MulBackward0"):
                    world.kernel_of("aten::mul", ADD, 9, host=11)
        update(world, dur=300)
    return world


def _indices_on_a_busy_device() -> Clocked:
    """RF-DETR: 160 reads of values a step, each short, on a device that is 90 % busy: removing them brought 0.23 %."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=8)
        world.copied("HtoD", 9 << 20, pinned=True)
        blocks(world, 60, 6)
        layers(world, 6, 1.0)
        for _ in range(40):
            world.kernel_of("aten::index", ADD, 25, host=15)
            world.read_value()
        layers_back(world, 6, 2.0)
        blocks_back(world, 60, 6)
        update(world)
    return world


def _overflow_checks() -> Clocked:
    """ZeRO with fp16: each gradient's sum is looked at on the host, `_has_inf_or_nan`."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 4, 0.4)
        layers_back(world, 4, 0.8)
        for _ in range(200):
            world.kernel_of(
                "aten::sum", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", 12, host=20
            )
            world.read_value()
            world.idle(30)
        update(world, "FusedAdam", dur=1_000)
    return world


def _denoising() -> Clocked:
    """CogVideoX: the scheduler looks up tables on the host by a step number on the device: 330 ms blocked, the device computes."""
    world = Clocked(marks=False)
    for _ in world.steps(6):
        with world.inside("CogVideoXTransformer3DModel.forward"):
            layers(world, 30, 4)
        for _ in range(4):
            world.read_value("aten::to/aten::_to_copy/aten::copy_")
            world.idle(25)
        for _ in range(6):
            world.kernel_of("aten::mul", ADD, 30)
    return world


def _generate() -> Clocked:
    """Transformers' generate, one sequence: 300 short kernels a token, three stops a token for the stopping criteria."""
    world = Clocked(marks=False)
    for _ in world.steps(16):
        for _ in range(12):
            layer(world, 0.01, host=26)
            world.idle(60)
        for op in ("aten::isin", "aten::any", "aten::max"):
            world.kernel_of(op, ADD, 3)
            world.read_value()
            world.idle(40)
        world.kernel_of("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", 5)
    return world


def _gradient_norms() -> Clocked:
    """clip_grad_norm_ of torch 1: a norm for each parameter, read by `.item()`."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(60, workers=4)
        blocks(world, 50, 1.0)
        blocks_back(world, 50, 2.0, suffix="")
        for _ in range(160):
            world.kernel_of(
                "aten::norm", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", 8, host=18
            )
            world.read_value()
        update_foreach(world, "Adam", passes=10, dur=900)
    return torch_1_9(world)  # type: ignore[return-value]


def _suppression() -> Clocked:
    """Faster R-CNN's inference: torchvision's nms copies its mask to the host and walks through it there."""
    world = Clocked(marks=False)
    for _ in world.steps(6):
        blocks(world, 50, 1.5)
        for _ in range(4):
            with world.within("torchvision::nms"):
                world.kernel_of("aten::sort", "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<float>", 30)
                world.kernel_of(
                    None, "void vision::ops::(anonymous namespace)::nms_kernel_impl<float>(int, double)", 60
                )
                world.copied("DtoH", 4_000_000, path="aten::to/aten::_to_copy/aten::copy_")
                world.idle(1_500)
                world.copied("HtoD", 32_000, path="aten::to/aten::_to_copy/aten::copy_")
        world.copied("DtoH", 4_000)
    return world


def _mask_on_the_host() -> Clocked:
    """The profiler's tutorial: a mask of doubles goes to the host, NumPy finds its places, they come back."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.marked(number), world.inside("FORWARD"):
            with world.inside("LINEAR PASS"):
                world.kernel_of(LINEAR, SGEMM, 2_300)
            with world.inside("MASK INDICES"):
                world.copied("DtoH", 500 * 500 * 500 * 8, rate=3_000)
                world.idle(290_000)
                world.copied("HtoD", 40 << 20, rate=3_000)
    return world


def _boolean_masks() -> Clocked:
    """Boolean masks as indices: nonzero waits each time, and the host has nothing queued behind."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(80, workers=4)
        for _ in range(30):
            perceptron(world, 2, 14, host=20)
            with world.within("aten::index"), world.within("aten::nonzero"):
                world.kernel_of(None, "void at_cuda_detail::cub::DeviceReduceKernel<bool>", 4)
                world.read_value("aten::copy_")
                world.idle(15)
            world.kernel_of("aten::mul", ADD, 20)
        perceptron_back(world, 30, 14)
        update(world, "Adam", dur=400)
    return world


def _stalls_on_amd() -> Clocked:
    """Generation on an MI100: hipMemcpyWithStream seems to take all the time, and waits for what was launched before."""
    world = Clocked("rocm", marks=False)
    for _ in world.steps(10):
        for _ in range(8):
            layer(world, 0.5, host=10)
        world.copied("DtoH", 8, blocks=True, path="aten::item/aten::_local_scalar_dense")
        world.idle(180)
    return rocm(world)  # type: ignore[return-value]


def _pageable() -> Clocked:
    """ResNet on a T4's sibling: the copy of each batch from pageable memory holds the loop for a fifth of the step."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(250, workers=8)
        world.copied("HtoD", 77 << 20, rate=4_500)
        blocks(world, 50, 3)
        blocks_back(world, 50, 5)
        update_foreach(world, "SGD", passes=3, dur=500)
    return repeated_ids(world)  # type: ignore[return-value]


def _environment() -> Clocked:
    """PPO on Atari: the environment on the host takes half of the step, copies and launches most of the rest."""
    world = Clocked(marks=False)
    for _ in world.steps(4):
        for _ in range(32):
            world.idle(2_600)
            world.copied("HtoD", 8 * 4 * 84 * 84)
            for _ in range(3):
                block(world, 0.15, conv=CONV_32, host=30)
            perceptron(world, 2, 6, host=25)
            world.kernel_of("aten::multinomial", ADD, 6, host=30)
            world.copied("DtoH", 64)
        for _ in range(4):
            blocks(world, 3, 1, conv=CONV_32, host=30)
            blocks_back(world, 3, 2, conv=CONV_32, host=30)
            update_foreach(world, "Adam", passes=9, dur=60, host=70)
    return world


def _bubbles() -> Clocked:
    """vLLM before multi-step: after each decode step the engine works on the host for 5 to 13 ms."""
    world = Clocked(marks=False)
    names = [
        ("void marlin::Marlin<__half, 4, 256, 4, 16, 4>", 60),
        ("void vllm::paged_attention_v2_kernel<__half>", 25),
        (ADD, 5),
    ]
    for _ in world.steps(10):
        with world.inside("execute_context_0(0)_generation_64(64)"):
            for _ in range(5):
                world.copied("HtoD", 4096, pinned=True, path="aten::to/aten::_to_copy/aten::copy_")
            world.graph(names * 100)
            world.kernel_of("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", 12)
            world.copied("DtoH", 512)
        world.idle(8_000)
    return world


def _collections() -> Clocked:
    """Every so many steps one takes half as long again or more: Python's collector, not recorded."""
    world = Clocked()
    for number in world.steps(20):
        layers(world, 6, 1.0)
        if number % 7 == 4:
            world.idle(45_000)
        layers_back(world, 6, 2.0)
        update(world)
        world.read_value()
    return world


def _checkpoints() -> Clocked:
    """Steps of 40 ms; one stops for 1.9 s to write a checkpoint: state copied to the host, then pickled."""
    world = Clocked()
    for number in world.steps(10):
        layers(world, 8, 1.0)
        layers_back(world, 8, 2.0)
        update(world)
        if number == 6:
            for _ in range(60):
                world.copied("DtoH", 24 << 20, rate=6_000)
            world.idle(1_600_000)
    return world


def _logistic_regression() -> Clocked:
    """A tiny model on the CPU under Lightning: the batch is put together sample by sample, hooks take the rest."""
    world = Clocked(None)
    for _ in world.steps(8):
        begin = world.now
        for _ in range(64):
            world.host_op("aten::from_numpy", 6)
            world.idle(22)
        world.host_op("aten::stack/aten::cat", 60)
        world.loader(begin, world.now - begin)
        world.idle(500)
        world.host_op("aten::linear/aten::addmm", 70)
        world.host_op("aten::cross_entropy_loss", 40)
        with world.backward(), world.node("AddmmBackward0"):
            world.host_op("aten::mm", 60)
        begin = world.now
        world.host_op("aten::add_", 20)
        world.optimizer(begin, world.now - begin, "SGD")
        world.idle(300)
    return world


def _oversized_queue() -> Clocked:
    """The TensorBoard plug-in's example after its remedy: four workers, the device is what the step waits for."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(180, workers=4)
        world.copied("HtoD", 32 * 3 * 224 * 224 * 4, path="aten::to/aten::copy_", pinned=True)
        blocks(world, 60, 3, conv=CONV_32)
        blocks_back(world, 60, 4, conv=CONV_32, suffix="")
        update_foreach(world, "SGD", passes=3, dur=900)
    return torch_1_8(world)  # type: ignore[return-value]


STORIES = (
    Story(
        "TensorBoard tutorial, no workers", "vision, torch 1.9",
        "https://docs.pytorch.org/tutorials/intermediate/tensorboard_profiler_tutorial.html",
        "DataLoader takes most of the step; num_workers=4",
        _tensorboard_tutorial, bound=("input",), told=("DL001|DL002", "~num_workers"), never=("GR004", "ID001"),
    ),
    Story(
        "TensorBoard tutorial, after", "vision, torch 1.8",
        "https://docs.pytorch.org/tutorials/intermediate/tensorboard_profiler_tutorial.html",
        "with workers the device is busy; no loader advice is left",
        _oversized_queue, bound=("compute",), never=("DL001", "DL002", "DL003"),
    ),
    Story(
        "OTX, two workers", "vision", GITHUB + "open-edge-platform/geti/pull/5958",
        "the GPU idles 70 %: data pipeline slower than the device; more workers",
        _starved, bound=("input",), told=("DL003", "~num_workers"), never=("DL002",),
    ),
    Story(
        "MMF on an A10, CPU activities only", "multimodal, only CPU activities", GITHUB + "facebookresearch/mmf/issues/1166",
        "60 % in the DataLoader; whether the device waits cannot be seen",
        _cpu_activities, bound=("input",), told=("DL001|DL003",), never=("CP001", "CP002", "~set_num_threads"),
    ),
    Story(
        "Delta interpolator, epochs", "animation", GITHUB + "boreshkinai/delta-interpolator/pull/3",
        "workers restart at each epoch; persistent_workers=True",
        _epochs, told=("DL005", "~persistent_workers"),
    ),
    Story(
        "nerfstudio, images on the host", "NeRF", GITHUB + "nerfstudio-project/nerfstudio/pull/2288",
        "the device waits for aten::index on images in host memory; images on the device",
        _pixel_sampler, told=("~aten::index",), never=("GR004", "~CUDA graph would", "DL001"),
    ),
    Story(
        "PyG, sampling in the process", "GNN", "https://pytorch-geometric.readthedocs.io/en/latest/modules/loader.html",
        "sampling in the training process takes most of the step; workers",
        _neighbours, bound=("input",), told=("DL001|DL002",), never=("GR004",),
    ),
    Story(
        "torchtune, loss.item() each step", "LLM fine-tuning", GITHUB + "meta-pytorch/torchtune/pull/522",
        "40 to 50 ms in cudaStreamSynchronize each step, while the device computes",
        _loss_logged, bound=("compute",), never=("SY001",),
    ),
    Story(
        "LANfactory, loss read each step", "tabular", GITHUB + "lnccbrown/LANfactory/pull/120",
        "reading the loss costs 4 % at most; the time is the host's",
        _tiny_device_work, bound=("python", "input"), told=("PY001",), never=("SY001", "GR004"),
    ),
    Story(
        "UMA-S, values read in the loss", "chemistry", GITHUB + "facebookresearch/fairchem/pull/2193",
        "idle for half of the step: values read off the device, and short kernels; 1.18x by removing reads",
        _values_in_the_loss, bound=("sync", "launch"), told=("SY001",),
    ),
    Story(
        "RF-DETR, reads on a busy device", "detection", GITHUB + "roboflow/rf-detr/pull/1492",
        "164 host synchronisations a step cost nothing: the device is 90 % busy",
        _indices_on_a_busy_device, bound=("compute",), never=("SY001", "SY002", "SY004", "GR004"),
    ),
    Story(
        "DeepSpeed, overflow checks", "LLM pretraining", GITHUB + "deepspeedai/DeepSpeed/issues/4866",
        "_local_scalar_dense in _has_inf_or_nan for each gradient stalls the device",
        _overflow_checks, bound=("sync", "launch", "python", "mixed"), told=("SY001",),
    ),
    Story(
        "CogVideoX, scheduler tables", "diffusion", GITHUB + "huggingface/diffusers/pull/14589",
        "the CPU is blocked 330 ms a step; the device computes meanwhile",
        _denoising, bound=("compute",), never=("SY001", "~optimizer", "~gradient"),
    ),
    Story(
        "generate, stopping criteria", "LLM inference", GITHUB + "huggingface/transformers/issues/43089",
        "several stops a token and dispatch overhead; asynchronous criteria, compiled decoding",
        _generate, bound=("launch", "sync", "python"), told=("ID001|GR004", "~torch\\.compile"), never=("~zero_grad",),
    ),
    Story(
        "clip_grad_norm_ with .item()", "training, torch 1.9", GITHUB + "pytorch/pytorch/issues/31474",
        "a norm per parameter, each read; norms stacked, no reads",
        _gradient_norms, told=("SY001", "OP004"),
    ),
    Story(
        "torchvision nms", "detection, inference", GITHUB + "pytorch/vision/issues/6403",
        "nms copies its mask to the host and loops there; the device waits",
        _suppression, told=("SY002|SY004", "~nms"), never=("GR004", "~optimizer"),
    ),
    Story(
        "profiler tutorial, NumPy mask", "forward pass", "https://docs.pytorch.org/tutorials/beginner/profiler.html",
        "the mask is copied to the host and searched by NumPy; torch.nonzero on the device",
        _mask_on_the_host, bound=("python", "sync", "copy"), told=("SY002", "PY001|SY002"), never=("GR004", "ID001"),
    ),
    Story(
        "boolean masks", "training", GITHUB + "pytorch/pytorch/issues/12461",
        "indexing by a mask calls nonzero, which waits; masks without sizes of their own",
        _boolean_masks, bound=("sync", "launch"), told=("SY004",),
    ),
    Story(
        "hipMemcpyWithStream", "LLM inference, ROCm", GITHUB + "ROCm/clr/issues/78",
        "the copy's duration is a wait for the queue before it, not a slow copy",
        _stalls_on_amd, bound=("compute",), never=("XF001", "XF002", "XF003", "~[Pp]in the|pin_memory"),
    ),
    Story(
        "pageable batches", "vision, torch 1.13",
        "https://itechproduct.com/pytorch-model-performance-analysis-and-optimization-by-chaim-rand-jun-2023/",
        "the copy to the device blocks; pin_memory and non_blocking",
        _pageable, told=("XF001", "~pin_memory", "~non_blocking"), never=("GR004", "DL001"),
    ),
    Story(
        "cleanRL, PPO on Atari", "RL", GITHUB + "vwxyzjn/cleanrl/pull/109",
        "the environment on the host takes more than half; kernels 5 %",
        _environment, bound=("python", "launch"), told=("PY001",), never=("DL001", "DL002", "~num_workers=(?!0)"),
    ),
    Story(
        "vLLM before multi-step", "LLM serving", GITHUB + "vllm-project/vllm/issues/6854",
        "5 to 13 ms a step the device waits for the engine on the host; more steps a schedule",
        _bubbles, bound=("python",), told=("PY001",), never=("GR004", "ID001", "~DataLoader", "~zero_grad"),
    ),
    Story(
        "collector's pauses", "LLM pretraining", GITHUB + "PrimeIntellect-ai/prime-rl/pull/2146",
        "now and then a step takes much longer: garbage collection; collect at intervals",
        _collections, told=("PY004|PY005", "~gc"),
    ),
    Story(
        "checkpoints", "training", GITHUB + "GoogleCloudPlatform/gcs-connector-for-pytorch/pull/116",
        "the device idles while a checkpoint is written; asynchronously",
        _checkpoints, told=("ID003|PY005", "~checkpoint"),
    ),
    Story(
        "Lightning, tiny model", "tabular, CPU", GITHUB + "Lightning-AI/pytorch-lightning/issues/8857",
        "samples are put together one by one; the model is not what takes the time",
        _logistic_regression, bound=("input",), told=("DL001|DL002|DL006",), never=("CP001",),
    ),
)  # fmt: skip
