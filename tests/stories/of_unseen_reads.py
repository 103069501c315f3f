"""Stories of programs that stop for a value or a wait that nobody sees in the code; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, FLASH, LINEAR, NVJET, SDPA, layer, layers, layers_back, sent_and_waited, update
from stories.of_requests import NONZERO, NOT_TRAINED, TO_HOST
from stories.story import GITHUB, Story

SELECT = "void at_cuda_detail::cub::DeviceSelectSweepKernel<at_cuda_detail::cub::DispatchSelectIf<long*, bool*>>(p)"
GATHERED = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
SCATTER_MAX = (
    "void scatter_arg_kernel<float, (ReductionType)4>(float const*, TensorInfo<long, int>, float*, long*, int, int)"
)
INDEX = "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<OpaqueType<4>>>(long)"
MANY_SMALL = ("aten::mul", "aten::add", "aten::tanh", "aten::sub", "aten::pow", "aten::mul")


def _found(world: Clocked, path: str) -> None:
    """`nonzero`: flags are counted, the count is read, the places are written."""
    world.kernel_of(path, NONZERO, 4, host=14)
    world.read_value(path)
    world.kernel_of(path, SELECT, 5, host=20)


def _masked_descriptor() -> Clocked:
    """DeePMD's descriptor picks atoms by a mask for each pair of types: `aten::nonzero` has a high host time, 3 ms a step."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(60, workers=4)
        for _ in range(4):
            _found(world, "aten::index/aten::nonzero")
            world.kernel_of("aten::index", INDEX, 25)
            for _ in range(24):
                world.host_op("aten::view", 8)
                world.kernel_of(LINEAR, NVJET, 12, host=22)
                world.kernel_of("aten::tanh", ADD, 4)
        with world.backward():
            for _ in range(96):
                with world.node("TanhBackward0"):
                    world.kernel_of("aten::tanh_backward", ADD, 4)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 12)
                    world.kernel_of("aten::mm", NVJET, 12)
        update(world, "Adam", dur=900)
    return world


def _place_of_each_time() -> Clocked:
    """Flow matching: `(timesteps == t).nonzero().item()` for each of 64 samples, one after the other, before each forward pass."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(70, workers=8)
        for _ in range(64):
            world.host_op("aten::unbind", 4)
            world.kernel_of("aten::eq", ADD, 3)
            _found(world, "aten::nonzero")
            world.read_value()
        layers(world, 10)
        layers_back(world, 10)
        update(world)
    return world


def _size_of_a_scatter() -> Clocked:
    """Attention over edges: `scatter_max` without `dim_size` copies the largest index to the host, in each of four layers."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(90, workers=6)
        world.copied("HtoD", 3 << 20, pinned=True)
        for _ in range(4):
            world.kernel_of(LINEAR, NVJET, 24)
            for _ in range(3):
                world.kernel_of("aten::index_select", GATHERED, 26)
                world.kernel_of("aten::mul", ADD, 12)
            with world.within("torch_scatter::scatter_max"):
                world.kernel_of("aten::max", ADD, 8)
                world.copied("DtoH", 8, path=None)
                world.kernel_of(None, SCATTER_MAX, 24)
            for op in (
                "aten::index_select",
                "aten::sub",
                "aten::exp",
                "aten::scatter_add_",
                "aten::index_select",
                "aten::div",
            ):
                world.host_op("aten::expand", 9)
                world.kernel_of(op, GATHERED if "index" in op else ADD, 12, host=22)
        with world.backward():
            for _ in range(4):
                for node in ("DivBackward0", "ExpBackward0", "SubBackward0", "IndexSelectBackward0", "MulBackward0"):
                    with world.node(node):
                        world.kernel_of("aten::mul", ADD, 20, host=16)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 24)
                    world.kernel_of("aten::mm", NVJET, 24)
        update(world, "Adam", dur=300)
    return world


def _longest_of_a_batch() -> Clocked:
    """Linear attention over padded batches: each of 24 layers finds tokens anew and reads a length that none uses."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.inside(f"evaluate batch {number}"):
            for _ in range(24):
                world.kernel_of("aten::sum", ADD, 6)
                _found(world, "aten::nonzero")
                world.kernel_of("aten::max", ADD, 5)
                world.read_value()
                world.kernel_of("aten::cumsum", ADD, 5)
                world.kernel_of("aten::index_select", GATHERED, 20)
                for name in ("chunk_fwd_kernel_h", "chunk_fwd_kernel_o"):
                    world.kernel_of("ChunkGLAFunction", name, 120, host=60, api="cuLaunchKernel")
                for _ in range(4):
                    world.kernel_of("aten::linear/aten::mm", NVJET, 110, host=22)
    return world


def _sizes_read_in_a_world_model() -> Clocked:
    """A video transformer reads sizes of its grid from the device: 5,600 times `.item()`, 13 % of the time."""
    world = Clocked(marks=False)
    for number in range(4):
        with world.inside(f"denoise chunk {number}"):
            for _ in range(30):
                for _ in range(5):
                    world.kernel_of("aten::prod", ADD, 3)
                    world.read_value()
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, 190)
                for op in ("aten::mul", "aten::cat", "aten::view_as_complex", "aten::mul"):
                    world.kernel_of(op, ADD, 18)
                world.kernel_of(SDPA, FLASH, 900, host=40)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 400)
    return world


def _experts_counted_for_nobody() -> Clocked:
    """DeepSpeed's gate sends the counts of experts to the host in each layer, where nothing uses them."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(60, workers=4)
        for _ in range(8):
            layer(world, 0.2)
            world.kernel_of("aten::linear/aten::mm", NVJET, 20)
            for op in ("aten::softmax", "aten::argmax", "aten::scatter_", "aten::sum"):
                world.kernel_of(op, ADD, 8)
            world.copied("DtoH", 64, path=TO_HOST)
            for op in (
                "aten::cumsum",
                "aten::mul",
                "aten::sum",
                "aten::one_hot",
                "aten::mul",
                "aten::add",
                "aten::bmm",
            ):
                world.host_op("aten::unsqueeze", 7)
                world.kernel_of(op, ADD, 8, host=26)
            world.kernel_of("aten::einsum/aten::bmm", NVJET, 60)
            world.kernel_of("aten::linear/aten::mm", NVJET, 90)
        layers_back(world, 8, 0.5)
        update(world, dur=300)
    return world


def _indices_of_an_adapter() -> Clocked:
    """litgpt's LoRA makes a tensor of its list of indices in each layer: copied to the device, with a wait for the stream."""
    world = Clocked()
    for _ in world.steps(5):
        world.copied("HtoD", 32 << 10)
        for _ in range(24):
            layer(world, 0.25)
            world.kernel_of("aten::linear/aten::mm", NVJET, 14)
            world.kernel_of("aten::new_zeros/aten::zero_/aten::fill_", ADD, 6)
            world.host_op("aten::lift_fresh", 3)
            sent_and_waited(world, 256 * 8, path="aten::to/aten::_to_copy/aten::copy_")
            world.kernel_of("aten::index_copy", INDEX, 12)
            world.host_op("aten::view", 6)
        layers_back(world, 24, 0.5)
        update(world, dur=200)
    return world


def _embedding_left_on_the_host() -> Clocked:
    """RT-DETR keeps its position embedding as a plain attribute: 400 KB are copied from pageable memory in each forward pass."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.inside(f"image {number}"):
            world.copied("HtoD", 640 * 640 * 3 * 4, pinned=True)
            layers(world, 3, 0.7)
            world.copied("HtoD", 400 * 256 * 4)
            for _ in range(40):
                world.kernel_of(LINEAR, NVJET, 26, host=30)
                world.kernel_of("aten::add", ADD, 6)
            world.copied("DtoH", 300 * 6 * 4)
    return world


def _timed_by_waiting() -> Clocked:
    """KPConv waits for the device behind the forward pass and behind the update, to time them: 25 % slower than without."""
    world = Clocked()
    for _ in world.steps(6):
        world.load(80, workers=10)
        for _ in range(40):
            for op in MANY_SMALL:
                world.kernel_of(op, ADD, 10, host=15)
            world.kernel_of("aten::matmul/aten::bmm", NVJET, 60)
        world.synchronize()
        world.idle(120)
        with world.backward():
            for _ in range(40):
                with world.node("PowBackward0"):
                    world.kernel_of("aten::mul", ADD, 25)
                with world.node("BmmBackward0"):
                    world.kernel_of("aten::bmm", NVJET, 60)
                    world.kernel_of("aten::bmm", NVJET, 60)
        update(world, "SGD", dur=300)
        world.synchronize()
        world.idle(2_500)
    return world


def _mask_in_a_compiled_region() -> Clocked:
    """`x[:, mask] = -inf` in a compiled function: the fallback for `index_put_` calls `nonzero`, with a wait and a copy."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.inside(f"batch {number}"):
            for _ in range(8):
                with world.within("Torch-Compiled Region: 0/0"):
                    for _ in range(6):
                        world.kernel_of("aten::mm", NVJET, 60, host=9)
                        world.kernel_of(None, "triton_poi_fused_add_gelu_2", 14, api="cuLaunchKernel")
                    _found(world, "aten::index_put_/aten::_index_put_impl_/aten::nonzero")
                    world.kernel_of("aten::index_put_/aten::_index_put_impl_", INDEX, 9, host=40)
                    world.kernel_of(None, "triton_per_fused__softmax_3", 18, api="cuLaunchKernel")
    return world


# Reads of values, of sizes, and turns of a loop that each read.
_ASKED = "SY001|SY004|PY002"
STORIES = (
    Story(
        "atoms picked by a mask", "chemistry, DeePMD", GITHUB + "deepmodeling/deepmd-kit/pull/3361",
        "nonzero behind a mask makes the host wait: 3 ms a step; masks without counts", _masked_descriptor,
        bound=("compute", "sync", "launch", "mixed"), told=(_ASKED, "~nonzero|mask"),
        never=("DL001", "XF001", "XF002", "KE001", "~token|request"),
    ),
    Story(
        "the place of each time looked up", "diffusion, flow matching", GITHUB + "huggingface/diffusers/issues/9417",
        "a nonzero and a read for each sample, in a loop: look all up at once", _place_of_each_time,
        bound=("compute", "sync", "launch", "mixed"), told=(_ASKED, "~nonzero|at once|one read|once"),
        never=("DL001", "XF001", "PR001", "OP001", "~token|request"),
    ),
    Story(
        "size of a scatter read", "GNN, torch_scatter", GITHUB + "rusty1s/pytorch_scatter/pull/243",
        "scatter_max without dim_size reads the largest index: state the size", _size_of_a_scatter,
        bound=("compute", "sync", "launch", "mixed"), told=(_ASKED, "~scatter_max"), never=("DL001", "XF001", "XF002", "OP001"),
    ),
    Story(
        "longest length read, unused", "linear attention, evaluation", GITHUB + "fla-org/flash-linear-attention/pull/1200",
        "counts and lengths are read in each layer: once for all, and not the longest", _longest_of_a_batch,
        bound=("sync", "launch", "mixed", "compute"), told=("SY001|SY004", "~nonzero"), never=("XF001", "PR001", *NOT_TRAINED),
    ),
    Story(
        "sizes of a grid read", "video, world model", GITHUB + "Robbyant/lingbot-world/pull/51",
        "5,600 reads of sizes that are known: 13 % faster without", _sizes_read_in_a_world_model,
        bound=("compute", "sync", "launch", "mixed"), told=("SY001",), never=("XF001", "PR001", "KE001", *NOT_TRAINED),
    ),
    Story(
        "experts counted for nobody", "LLM, MoE, DeepSpeed", GITHUB + "deepspeedai/DeepSpeed/pull/5578",
        "the counts go to the host in each layer, and nobody uses them: leave them on the device", _experts_counted_for_nobody,
        bound=("compute", "sync", "launch", "mixed", "copy"), told=("SY001|SY002|XF004",), never=("DL001", "PR001", "OP001"),
    ),
    Story(
        "indices of an adapter sent", "LLM fine-tuning, LoRA", GITHUB + "Lightning-AI/litgpt/issues/461",
        "a list becomes a tensor on the device in each layer: a buffer made once", _indices_of_an_adapter,
        bound=("compute", "sync", "launch", "mixed", "copy"), told=("XF003|SY001|SY002|XF001|XF006", "~once|register_buffer"),
        never=("DL001", "PR001", "OP001", "~pin_memory=True"),
    ),
    Story(
        "embedding left on the host", "detection, inference", GITHUB + "lyuwenyu/RT-DETR/issues/677",
        "a tensor that is no buffer is copied from pageable memory in each pass: register_buffer", _embedding_left_on_the_host,
        told=("XF001|XF006|SY002|XF003", "~register_buffer"), never=("PR001", *NOT_TRAINED),
    ),
    Story(
        "timed by waiting", "point clouds, KPConv", GITHUB + "HuguesTHOMAS/KPConv-PyTorch/issues/22",
        "waits for the device that only time the parts: 25 % slower", _timed_by_waiting,
        bound=("compute", "sync", "launch", "mixed", "python"), told=("SY003",),
        never=("DL001", "XF001", "PR001", "~token|request"),
    ),
    Story(
        "a mask in a compiled region", "compiled, inference", GITHUB + "pytorch/pytorch/issues/130335",
        "index_put_ with a mask calls nonzero and waits: where or masked_fill", _mask_in_a_compiled_region,
        bound=("compute", "sync", "launch", "mixed"), told=(_ASKED, "~nonzero|masked_fill|where"),
        never=("XF001", "PR001", "~torch\\.compile\\(model\\)", *NOT_TRAINED),
    ),
)  # fmt: skip
