"""Stories of training whose update is unlike others: second order, per sample, inner loops; written before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories import devices
from stories.models import (
    ADD,
    AMPERE,
    FOREACH,
    NORM,
    SGEMM,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
    update_foreach,
)
from stories.story import GITHUB, Story

DOT = "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>, cublasGemvTensorStridedBatched<float>>>(p)"
NORM_2 = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float>>>(p)"
SYEVJ = "void syevj_parallel_order_set_kernel<float, float>(int, int, int)"
NORMAL = "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, normal_and_transform>(p)"


def _closure_of_lbfgs() -> Clocked:
    """A PINN under LBFGS: each step() calls the closure, forward and backward, twenty times, and reads four values between."""
    world = Clocked(top=devices.of(devices.RTX_3090))
    for _ in world.steps(4):
        begin = world.now
        for _ in range(20):
            at = world.now
            world.idle(15)
            world.zero_grad(at, world.now - at, "LBFGS")
            for _ in range(6):
                world.kernel_of("aten::linear/aten::addmm", SGEMM, 6)
                world.kernel_of("aten::tanh", ADD, 3)
            for _ in range(2):
                with world.backward():
                    for _ in range(6):
                        with world.node("TanhBackward0"):
                            world.kernel_of("aten::tanh_backward", ADD, 3)
                        with world.node("AddmmBackward0"):
                            world.kernel_of("aten::mm", SGEMM, 6)
            world.kernel_of("aten::mse_loss", ADD, 3)
            with world.backward():
                for _ in range(18):
                    with world.node("AddmmBackward0"):
                        world.kernel_of("aten::mm", SGEMM, 6)
                        world.kernel_of("aten::mm", SGEMM, 6)
                    with world.node("TanhBackward0"):
                        world.kernel_of("aten::tanh_backward", ADD, 3)
            for _ in range(8):
                world.kernel_of("aten::dot", DOT, 3)
                world.kernel_of("aten::add_", ADD, 3)
            for _ in range(4):
                world.read_value()
        world.optimizer(begin, world.now - begin, "LBFGS")
    return world


def _gradients_of_samples() -> Clocked:
    """Opacus: hooks make a gradient for each sample, DPOptimizer clips each and adds noise; the einsums are what it costs."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(4):
        world.load(120, workers=6)
        world.copied("HtoD", 12 << 20, pinned=True)
        for _ in range(24):
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 120)
            world.kernel_of("aten::relu", ADD, 20)
        with world.backward():
            for _ in range(24):
                with world.node("ReluBackward0"):
                    world.kernel_of("aten::threshold_backward", ADD, 20)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 120)
                    with world.within("aten::einsum"):
                        world.kernel_of("aten::bmm", "ampere_sgemm_64x64_nt", 1_100, host=40)
        begin = world.now
        for _ in range(48):
            world.kernel_of("aten::linalg_vector_norm", NORM_2, 130)
        world.kernel_of("aten::stack/aten::cat", ADD, 10)
        world.kernel_of("aten::linalg_vector_norm", NORM_2, 6)
        world.kernel_of("aten::clamp", ADD, 3)
        for _ in range(48):
            with world.within("aten::einsum"):
                world.kernel_of("aten::bmm", "gemv2T_kernel_val<int, int, float>", 150, host=30)
            world.kernel_of("aten::normal/aten::normal_", NORMAL, 20)
            world.kernel_of("aten::add", ADD, 15)
        inner = world.now
        world.kernel_of("aten::_foreach_add_", FOREACH, 60, host=60)
        world.optimizer(inner, world.now - inner, "SGD")
        world.optimizer(begin, world.now - begin, "DPOptimizer")
    return world


def _inner_steps() -> Clocked:
    """MAML: for each of sixteen tasks five inner steps of a small network, one after the other, then one outer update."""
    world = Clocked()
    for _ in world.steps(3):
        world.load(200, workers=4)
        for _ in range(16):
            for _ in range(5):
                perceptron(world, 4, 4, name=SGEMM)
                world.kernel_of("aten::cross_entropy_loss/aten::log_softmax", ADD, 4, host=26)
                perceptron_back(world, 4, 4, name=SGEMM)
                for _ in range(8):
                    world.kernel_of("aten::mul", ADD, 2)
                    world.kernel_of("aten::sub", ADD, 2)
            perceptron(world, 4, 4, name=SGEMM)
            world.kernel_of("aten::cross_entropy_loss/aten::log_softmax", ADD, 4, host=26)
        perceptron_back(world, 16 * 6 * 4, 4, name=SGEMM)
        update(world, "Adam", dur=20)
    return world


def _roots_of_preconditioners() -> Clocked:
    """Shampoo: each step takes roots of sixty small matrices by eigenvalues: many small kernels, a wait each; seldom will do."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(3):
        world.load(90, workers=4)
        layers(world, 8)
        layers_back(world, 8)
        begin = world.now
        for _ in range(60):
            world.kernel_of("aten::matmul/aten::mm", SGEMM, 60)
            with world.within("aten::linalg_eigh"), world.within("aten::_linalg_eigh"):
                for _ in range(24):
                    world.kernel_of(None, SYEVJ, 9, call=6)
                    world.idle(8)
                world.copied("DtoH", 4, path=None)
            world.kernel_of("aten::pow", ADD, 3)
            world.kernel_of("aten::matmul/aten::mm", SGEMM, 50)
            world.kernel_of("aten::add_", ADD, 8)
        world.optimizer(begin, world.now - begin, "DistributedShampoo")
    return world


def _gradients_of_tasks() -> Clocked:
    """PCGrad: a backward pass for each of three tasks, gradients flattened, and a value read for each pair."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        world.load(100, workers=4)
        world.copied("HtoD", 4 << 20, pinned=True)
        perceptron(world, 40, 8)
        for _ in range(3):
            perceptron_back(world, 40, 8)
            for _ in range(80):
                world.kernel_of("aten::clone/aten::copy_", ADD, 3)
            world.kernel_of("aten::cat", ADD, 30)
        for _ in range(6):
            world.kernel_of("aten::dot", DOT, 8)
            world.kernel_of("aten::lt", ADD, 2)
            world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            world.kernel_of("aten::mul", ADD, 10)
            world.kernel_of("aten::sub", ADD, 10)
        for _ in range(80):
            world.kernel_of("aten::slice", ADD, 2)
            world.kernel_of("aten::copy_", ADD, 3)
        update_foreach(world, "Adam", dur=120, host=40)
    return world


def _functional() -> Clocked:
    """torch.func: gradients by functional_call, and the update written out over a dict of weights, no optimizer anywhere."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(80, workers=4)
        world.copied("HtoD", 2 << 20, pinned=True)
        for _ in range(20):
            world.kernel_of("aten::native_layer_norm", NORM, 10)
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 30)
            world.kernel_of("aten::gelu", ADD, 6)
        with world.backward():
            for _ in range(20):
                with world.node("GeluBackward0"):
                    world.kernel_of("aten::gelu_backward", ADD, 6)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 30)
                    world.kernel_of("aten::mm", AMPERE, 30)
        for _ in range(80):
            for op in ("mul", "mul", "add", "mul", "sub"):
                world.kernel_of(f"aten::{op}", ADD, 3)
    return world


STORIES = (
    Story(
        "closure of LBFGS", "scientific, PINN", "https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html",
        "forward and backward run inside step(), twenty times; small kernels and reads bind it, no update", _closure_of_lbfgs,
        bound=("launch", "sync", "mixed", "python"), told=("ID001|GR004|SY001|SY003",),
        never=("OP001", "OP002", "OP005", "DL001", "~fused=True", "~in place of `LBFGS`", "~Fewer updates for the same"),
    ),
    Story(
        "gradients of each sample", "vision, private training", GITHUB + "pytorch/opacus",
        "a gradient for each sample, clipped by itself: the products that make them take most", _gradients_of_samples,
        bound=("compute",), told=("~einsum|bmm|sgemm",),
        never=("OP001", "OP004", "DL001", "GR004", "~clip_grad_norm_", "~torch\\.func\\.vmap\\(torch\\.func\\.grad", "PY003"),
    ),
    Story(
        "inner steps of MAML", "meta-learning", GITHUB + "facebookresearch/higher",
        "small kernels, each step needs the one before: tasks side by side, graphs, larger work", _inner_steps,
        bound=("launch", "python"), told=("ID001|GR004",), never=("DL001", "PR001", "OP001", "OP002", "XF001"),
    ),
    Story(
        "roots of preconditioners", "LLM, Shampoo", GITHUB + "facebookresearch/optimizers",
        "eigenvalues of small matrices in each step take most of it: every so many steps (precondition_frequency)",
        _roots_of_preconditioners, bound=("launch", "sync", "compute", "mixed"), told=("~linalg_eigh|Shampoo",),
        never=("DL001", "PR004", "~fused=True", "~foreach=True", "OP002"),
    ),
    Story(
        "gradients of three tasks", "multi-task, PCGrad", GITHUB + "WeiChengTseng/Pytorch-PCGrad",
        "small kernels for each parameter and task, and six values read", _gradients_of_tasks,
        bound=("launch", "sync", "mixed", "python"), told=("ID001|PY003|GR004",),
        never=("DL001", "PR001", "OP001", "OP005", "~torch\\.func\\.vmap\\(torch\\.func\\.grad"),
    ),
    Story(
        "update over a dict of weights", "torch.func, functional", "https://docs.pytorch.org/docs/stable/func.html",
        "training without an optimizer: the update runs weight by weight", _functional,
        bound=("launch", "mixed", "python"), told=("PY003|ID001",),
        never=("DL001", "OP005", "~request", "~inference_mode", "~generat", "~serves"),
    ),
)  # fmt: skip
