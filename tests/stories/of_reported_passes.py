"""Stories of memory that is set, crossed and stepped through for nothing; beside each the same without it."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, AMPERE, blocks, blocks_back, layers, layers_back, update
from stories.story import GITHUB, Story

STEPPING = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float>>"
    "(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, lambda)"
)
ALONG = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int)"
)
MIB = 1 << 20


def _through_time(sliced: bool) -> Clocked:
    """Sixty-four times are taken out of a sequence one by one, in a loop of slices or by one `unbind`."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        for _ in range(64):
            world.kernel_of("aten::linear/aten::mm", AMPERE, 80)
        with world.backward():
            for _ in range(64):
                if sliced:
                    with world.node("SelectBackward0"), world.within("aten::select_backward"):
                        with world.within("aten::zeros"):
                            call = world.runtime("cudaMemsetAsync", world.now, 5, world.thread)
                            start = max(world.now + 6, world.busy_until[7] + 1)
                            facts = {"device": 0, "stream": 7, "correlation": call, "bytes": 64 * MIB}
                            world.event("Memset (Device)", "gpu_memset", start, 60, pid=0, tid=7, args=facts)
                            world.busy_until[7] = start + 60
                            world.now += 8
                        world.kernel_of("aten::copy_", ADD, 3)
                    world.now += 1
                    world.kernel_of("aten::add_", ADD, 120)
                with world.node("MmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 160)
                world.now += 1
        update(world)
    return world


def _in_turn(crossings: int) -> Clocked:
    """Layers on two devices: what they compute crosses between these so many times a step, through the host's memory."""
    world = Clocked(top={"deviceProperties": [{**A100, "id": 0}, {**A100, "id": 1}]})
    for _ in world.steps(5):
        for index in range(8):
            layers(world, 1)
            if index < crossings:
                call = world.runtime("cudaMemcpyPeerAsync", world.now + 2, 6)
                start = max(world.now + 10, world.busy_until[7] + 1)
                facts = {"device": 0, "stream": 7, "correlation": call, "bytes": 16 * MIB}
                world.event("Memcpy PtoP (Device -> Device)", "gpu_memcpy", start, 4_200, pid=0, tid=7, args=facts)
                world.op("aten::to", world.now, 12)
                world.busy_until[7] = start + 4_200
                world.now += 14
        layers_back(world, 4)
        update(world)
    return world


def _mixed(mixed: bool) -> Clocked:
    """Six additions of features with channels last to some that lie row by row, or to their like."""
    world = Clocked(top=of(A100))
    shape, first, last = [64, 256, 56, 56], [802_816, 3_136, 56, 1], [802_816, 1, 14_336, 256]
    strides = [last, first if mixed else last, []]
    args = {"Input Dims": [shape, shape, []], "Input type": ["float", "float", "Scalar"], "Input Strides": strides}
    for _ in world.steps(5):
        blocks(world, 20)
        for _ in range(6):
            world.kernel_of("aten::add", STEPPING if mixed else ALONG, 1_500 if mixed else 380, args=args)
        blocks_back(world, 20)
        update(world, "SGD")
    return world


STORIES = (
    Story(
        "sequence sliced in a loop",
        "recurrent network, A100",
        GITHUB + "pytorch/pytorch/issues/9701",
        "each slice's gradient is as large as the sequence, zeros but for one place: unbind once",
        partial(_through_time, True),
        bound=("compute",),
        told=("KE013", "~SelectBackward0", "~unbind\\(1\\)"),
        never=("OP003", "DL001", "~quantization"),
    ),
    Story(
        "sequence unbound once",
        "recurrent network, A100",
        GITHUB + "pytorch/pytorch/issues/9701",
        "the same by one `unbind`",
        partial(_through_time, False),
        bound=("compute",),
        never=("KE013", "~unbind", "DL001"),
    ),
    Story(
        "layers on two devices in turn",
        "LLM on two cards, without peer access",
        GITHUB + "pytorch/pytorch/issues/119638",
        "each layer's output goes to the other card, through the host: neighbours on one card, or peer access",
        partial(_in_turn, 8),
        bound=("copy",),
        told=("XF008", "~GB/s", "~can_device_access_peer"),
        never=("XF001", "XF002", "DL001"),
    ),
    Story(
        "halves on two devices",
        "LLM on two cards",
        GITHUB + "pytorch/pytorch/issues/119638",
        "the same, crossing nowhere in the part that is seen",
        partial(_in_turn, 0),
        bound=("compute",),
        never=("XF008", "DL001"),
    ),
    Story(
        "channels last beside channels first",
        "segmentation, A100",
        "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        "additions of tensors in two memory formats step through memory: one format for both",
        partial(_mixed, True),
        bound=("compute",),
        told=("KE012", "~different orders: channels last and row by row"),
        never=("DL001", "XF001"),
    ),
    Story(
        "channels last everywhere",
        "segmentation, A100",
        "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
        "the same in one format",
        partial(_mixed, False),
        bound=("compute",),
        never=("KE012", "DL001"),
    ),
)
