"""Stories of programs whose traces others recorded, and of what helped them; beside each the same program, helped."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, FLASH, NVJET, layers, layers_back, update
from stories.of_requests import NOT_TRAINED
from stories.story import GITHUB, Story

FEW_COLUMNS = (
    "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 2, 4, false, cublasGemvTensor<float const>>(cublasGemmSmallNParams)"
)
TO_16 = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&), 2>(p)"


def _converted(cause: bool) -> Clocked:
    """A model that only runs, its weights in 32 bits: autocast converts weight, bias and input of each layer in each pass."""
    world = Clocked(marks=False, top=of(A100))
    for _ in range(16):
        for _ in range(32):
            with world.within("aten::linear"):
                for dur in (2, 60, 4) if cause else ():
                    world.kernel_of("aten::to/aten::_to_copy/aten::copy_", TO_16, dur, host=25)
                world.kernel_of("aten::linear/aten::addmm", NVJET, 90, host=20)
            world.kernel_of("aten::gelu", ADD, 5)
        world.copied("DtoH", 4_096)
    return world


def _piecewise(cause: bool) -> Clocked:
    """A product whose operand is transposed: 2,000 kernels of one block; or one kernel."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        layers(world, 2)
        with world.within("aten::matmul"), world.within("aten::mm"):
            for _ in range(2_000 if cause else 1):
                world.kernel_of(
                    None, FEW_COLUMNS, 6 if cause else 150, grid=[1 if cause else 4_000, 1, 1], block=[128, 1, 1]
                )
        layers_back(world, 2)
        update(world, dur=400)
    return world


def _come_back(blocks: int) -> Clocked:
    """vLLM: so many blocks of cached keys and values come back from the host before each pass."""
    world = Clocked(marks=False)
    for _ in range(24):
        with world.inside("execute_context_0(0)_generation_8(8)"):
            for _ in range(blocks):
                world.copied("HtoD", 1 << 20, pinned=True, path=None)
            world.graph([(NVJET, 25.0), (FLASH, 15.0), (NVJET, 40.0), (ADD, 3.0)] * 32)
        world.copied("DtoH", 64, pinned=True)
        world.synchronize("cudaEventSynchronize")
        world.idle(40)
    return world


def _scored(cause: bool) -> Clocked:
    """Results of each step are copied to the host, and scored there by scikit-learn; or once an epoch."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        world.load(200, workers=4)
        layers(world, 4)
        layers_back(world, 4)
        update(world)
        if cause:
            world.copied("DtoH", 256_000)
            world.idle(14_000)
    return world


STORIES = (
    Story(
        "weights converted in each pass",
        "LLM inference, autocast",
        GITHUB + "Alpha-VLLM/LLaMA2-Accessory/issues/4",
        "weights are kept in 32 bits and converted for each token: convert them once",
        partial(_converted, True),
        bound=("compute",),
        told=("PR004", "~Autocast asks for 100 %", "~weights, anew in each pass", "~model\\.to\\(torch\\.bfloat16\\)"),
        never=("~x\\.float\\(\\)", "DL001"),
    ),
    Story(
        "weights converted once",
        "LLM inference, bfloat16",
        GITHUB + "Alpha-VLLM/LLaMA2-Accessory/issues/4",
        "the same with weights in 16 bits",
        partial(_converted, False),
        bound=("compute",),
        never=("PR004", "~Autocast", "DL001"),
    ),
    Story(
        "product row by row",
        "geometry, transposed operand",
        GITHUB + "pytorch/pytorch/issues/16594",
        "an operand that is transposed is multiplied by thousands of kernels of one block, eighty times slower: contiguous",
        partial(_piecewise, True),
        told=("KE001", "~Each call of `aten::mm` launches 2,000", "~contiguous"),
        never=("~batch_size = 2", "PR001", "PR002", "DL001"),
    ),
    Story(
        "product at once",
        "geometry, contiguous operand",
        GITHUB + "pytorch/pytorch/issues/16594",
        "the same in one kernel",
        partial(_piecewise, False),
        bound=("compute",),
        never=("KE001", "PR001", "PR002", "DL001"),
    ),
    Story(
        "cache comes back before each pass",
        "LLM serving, KV offload",
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "blocks of keys and values that were swapped out come back before the pass that needs them: more room on the device",
        partial(_come_back, 20),
        bound=("copy", "mixed"),
        told=("XF002", "~gpu_memory_utilization"),
        never=("~PILToTensor", "~for _ in range\\(len\\(loader\\)\\)", *NOT_TRAINED),
    ),
    Story(
        "cache stays on the device",
        "LLM serving",
        "https://docs.vllm.ai/en/latest/configuration/conserving_memory.html",
        "the same with room for all",
        partial(_come_back, 0),
        bound=("compute",),
        never=("XF002", *NOT_TRAINED),
    ),
    Story(
        "scored on the host behind each step",
        "classification, scikit-learn",
        "https://lightning.ai/docs/torchmetrics/stable/pages/overview.html",
        "the device idles while the host computes a metric of what it copied: a step late, seldom, or on the device",
        partial(_scored, True),
        bound=("python",),
        told=("PY001", "~one step late"),
        never=("DL001", "DL003"),
    ),
    Story(
        "scored once an epoch",
        "classification, scikit-learn",
        "https://lightning.ai/docs/torchmetrics/stable/pages/overview.html",
        "the same without it",
        partial(_scored, False),
        bound=("compute",),
        never=("PY001", "SY002", "DL001"),
    ),
)
