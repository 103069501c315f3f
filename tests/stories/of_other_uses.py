"""Stories of programs that neither train nor serve, written down, demands and all, before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, FLASH, LINEAR, NVJET, RELU, SDPA, blocks
from stories.of_answering import ARGMAX
from stories.of_decoding import INDEXED
from stories.of_requests import NOT_TRAINED
from stories.of_serving import OF_TRAINING, RMS
from stories.story import GITHUB, Story

DOUBLES = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_32x32_16x5_nn_align1>(Params)"
SCATTER = "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true>>"


def _metrics_read() -> Clocked:
    """ignite's metrics: accuracy and loss of each batch are read with `.item()`, a fifth of the time."""
    world = Clocked(marks=False)
    for _ in range(24):
        world.load(90, workers=4)
        world.copied("HtoD", 64 * 3 * 64 * 64 * 4, pinned=True)
        blocks(world, 24, 0.5, host=14)
        world.kernel_of("aten::linear/aten::addmm", NVJET, 9)
        world.kernel_of("aten::log_softmax", RMS, 6)
        for _ in range(3):
            world.kernel_of("aten::topk", ARGMAX, 9, host=20)
            world.kernel_of("aten::eq", ADD, 4)
            world.kernel_of("aten::sum", RMS, 5)
            world.read_value()
            world.idle(90)
    return world


def _building_simulated() -> Clocked:
    """A building simulated step by step: 800 small kernels in doubles a step; captured, 84 s become 1.7."""
    world = Clocked(marks=False)
    for _ in range(24):
        for _ in range(60):
            for op in (
                "aten::add",
                "aten::mul",
                "aten::neg",
                "aten::cat",
                "aten::fill_",
                "aten::copy_",
                "aten::add_",
                "aten::div",
            ):
                world.kernel_of(
                    op, ADD.replace("c10::BFloat16", "double"), 2, host=13, args={"Input type": ["double", "double"]}
                )
            world.kernel_of("aten::matmul/aten::bmm", DOUBLES, 5, host=26, args={"Input type": ["double", "double"]})
    return world


def _graph_of_atoms_on_host() -> Clocked:
    """MatterSim moves atoms: the graph of neighbours is built in NumPy for 25 ms a step, energy and forces take 6."""
    world = Clocked(marks=False)
    for _ in range(16):
        world.idle(25_000)
        for _ in range(6):
            world.copied("HtoD", 40_000)
        for _ in range(4):
            for _ in range(3):
                world.kernel_of(LINEAR, NVJET, 40)
            world.kernel_of("aten::index", INDEXED, 30, host=20)
            world.kernel_of("aten::silu", ADD, 12)
            world.kernel_of("aten::scatter_add_", SCATTER, 40, host=18)
        with world.backward():
            for _ in range(4):
                with world.node("SiluBackward0"):
                    world.kernel_of("aten::silu_backward", ADD, 12)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 40)
                with world.node("IndexBackward0"):
                    world.kernel_of("aten::index_put_", INDEXED, 60, host=30)
        world.copied("DtoH", 64 * 3 * 4)
        world.copied("DtoH", 4)
    return world


def _put_in_evaluation_mode() -> Clocked:
    """A robot's policy, pi0: `self.eval()` in each call walks all modules for 190 of 400 ms, then ten passes draw actions."""
    world = Clocked(marks=False)
    for _ in range(4):
        call = "lerobot/common/policies/pi0/modeling_pi0.py(280): select_action"
        with world.stack(
            "act.py(21): run", call, "torch/nn/modules/module.py(2800): eval", "torch/nn/modules/module.py(2780): train"
        ):
            world.idle(190_000)
        with world.stack("act.py(21): run", call, "lerobot/common/policies/pi0/modeling_pi0.py(700): sample_actions"):
            world.copied("HtoD", 3 * 224 * 224 * 3 * 4)
            for _ in range(10):
                for _ in range(18):
                    for _ in range(7):
                        world.kernel_of(LINEAR, NVJET, 9, host=46)
                    for op in ("aten::mul", "aten::cat", "aten::add", "aten::mul", "aten::add"):
                        world.kernel_of(op, ADD, 3, host=26)
                    world.kernel_of(SDPA, FLASH, 9, host=80)
            world.copied("DtoH", 50 * 32 * 4)
    return world


def _one_game_at_a_time() -> Clocked:
    """A worker that plays one game at a time: the network's pass over one position is 95 %; sixteen games in one pass, 14 times."""
    world = Clocked(marks=False)
    for _ in range(40):
        world.idle(120)
        world.copied("HtoD", 74 * 34 * 4)
        for _ in range(24):
            for _ in range(2):
                shapes = {"Input Dims": [[1, 512, 34], [512, 512, 3]], "Input type": ["float", "float"]}
                world.kernel_of(
                    "aten::conv1d/aten::convolution/aten::cudnn_convolution", NVJET, 12, host=40, args=shapes
                )
                world.kernel_of("aten::batch_norm/aten::native_batch_norm", RMS, 4, host=30)
                world.kernel_of("aten::relu", RELU, 3)
            world.kernel_of("aten::add", ADD, 3)
        world.kernel_of(LINEAR, NVJET, 6)
        world.kernel_of("aten::argmax", ARGMAX, 5)
        world.read_value()
    return world


def _quantised_on_cpu() -> Clocked:
    """The recipe: BERT with `quantize_dynamic` on a CPU: products of bytes are most of it."""
    world = Clocked(None, marks=False)
    for _ in range(8):
        for _ in range(12):
            for dur in (900, 900, 900, 900, 3_300, 3_300):
                world.host_op("quantized::linear_dynamic", dur)
            world.host_op("aten::matmul/aten::bmm", 420)
            world.host_op("aten::softmax/aten::_softmax", 260)
            world.host_op("aten::matmul/aten::bmm", 420)
            world.host_op("aten::gelu", 480)
            world.host_op("aten::layer_norm/aten::native_layer_norm", 120)
            world.host_op("aten::layer_norm/aten::native_layer_norm", 120)
    return world


STORIES = (
    Story(
        "metrics read batch by batch", "evaluation, ignite", GITHUB + "pytorch/ignite/issues/240",
        "each metric reads its value: add up on the device, read at the end", _metrics_read,
        # The network is 61 % of a batch: that it is what takes most is true as well.
        bound=("launch", "sync", "python", "mixed", "compute"), told=("SY001", "~at the end|once|on the device|on the GPU"),
        never=("PR001", "DL001", "GR004", "XF001", *(what for what in NOT_TRAINED if what != "PG004")),
    ),
    Story(
        "building simulated step by step", "physics", GITHUB + "JBjoernskov/Twin4Build/issues/134",
        "bound by launches of small kernels: a graph of the step", _building_simulated, bound=("launch",),
        told=("ID001|GR004",), never=("PR001", "~token", *OF_TRAINING),
    ),
    Story(
        "neighbours found on the host", "molecular dynamics", GITHUB + "microsoft/mattersim/pull/154",
        "the device waits while the host builds the graph: build it on the device", _graph_of_atoms_on_host,
        bound=("python", "launch", "mixed"), told=("PY001",),
        never=("GR004", "PR001", "~reduce-overhead|make_graphed", "OP001", "OP003",
        *(what for what in NOT_TRAINED if what != "~backward")),
    ),
    Story(
        "put in evaluation mode in each call", "robot's policy", GITHUB + "huggingface/lerobot/issues/828",
        "`eval()` for 190 ms in each call, without any purpose", _put_in_evaluation_mode, bound=("python", "launch", "mixed"),
        told=("PY001", "~module\\.py\\(2[78]\\d\\d\\)|eval"), never=("PR001", "XF001", *NOT_TRAINED),
    ),
    Story(
        "one game at a time", "RL, rollouts", GITHUB + "smly/RiichiEnv/pull/89",
        "a pass over one position: several games in one pass, or compile it", _one_game_at_a_time, bound=("launch",),
        told=("ID001|IN005|GR004",), never=("SY001", "XF001", "KE001", "PY005", *NOT_TRAINED),
    ),
    Story(
        "quantised BERT on a CPU", "NLP, CPU, quantised",
        "https://docs.pytorch.org/tutorials/recipes/recipes/dynamic_quantization.html",
        "products of bytes take most of it: a healthy recording", _quantised_on_cpu, bound=("compute", "unknown"),
        told=("~quantized::linear_dynamic",),
        never=("PY001", "PY003", "PR006", "CP001", "CP002", "~CUDA|cuda|\\bGPU\\b", *OF_TRAINING),
    ),
)  # fmt: skip
