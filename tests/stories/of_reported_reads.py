"""Stories of values that are read by others than a line with `.item()`: ops of torch, and checks; beside each the same without."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, layers, layers_back, perceptron, perceptron_back, update
from stories.story import GITHUB, Story

CHECK = "aten::is_nonzero/aten::item/aten::_local_scalar_dense"


def _one_hot(reads: bool) -> Clocked:
    """Labels are encoded for each of ten heads; how wide that is, the op reads from the largest label, or is told."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        for _ in range(10):
            layers(world, 1, 0.2)
            with world.within("aten::one_hot"):
                if reads:
                    world.kernel_of("aten::max", ADD, 6)
                    world.read_value()
                world.kernel_of("aten::zeros", ADD, 6)
                world.kernel_of("aten::scatter_", ADD, 6)
            world.idle(60)
        layers_back(world, 10, 0.4)
        update(world)
    return world


def _inverted(checked: bool) -> Clocked:
    """Sixteen matrices are inverted one by one; whether that failed is read behind each, or never."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        layers(world, 1)
        for _ in range(16):
            with world.within("aten::linalg_inv" if checked else "aten::linalg_inv_ex"):
                world.kernel_of("aten::linalg_lu_factor_ex", "void getrf_pivot<float>(getrf_params)", 30, host=30)
                world.kernel_of("aten::linalg_lu_solve", "void trsm_left_kernel<float, 256>(trsm_params)", 20, host=20)
                if checked:
                    with world.within("aten::_linalg_check_errors"):
                        world.read_value(CHECK)
            for _ in range(4):
                world.kernel_of("aten::mul", ADD, 6)
            world.idle(60)
        layers_back(world, 1)
        update(world)
    return world


def _validated(checked: bool) -> Clocked:
    """A policy of thirty steps samples from a distribution in each, whose two arguments are checked."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        for _ in range(30):
            perceptron(world, 2, 40)
            for _ in range(2 if checked else 0):
                world.kernel_of("aten::ge", ADD, 3)
                world.kernel_of("aten::all", ADD, 4)
                world.read_value(CHECK)
                world.idle(30)
            world.kernel_of("aten::normal_", ADD, 4)
        perceptron_back(world, 60, 40)
        update(world)
    return world


STORIES = (
    Story(
        "labels encoded without their number",
        "heads of several labels, A100",
        GITHUB + "pytorch/pytorch/blob/main/aten/src/ATen/native/Onehot.cpp",
        "`one_hot` reads the largest label unless it is told how many classes there are",
        partial(_one_hot, True),
        told=("SY001", "~inside `aten::one_hot`, which reads", "~num_classes=classes"),
        never=("~total_loss", "DL001"),
    ),
    Story(
        "labels encoded with their number",
        "heads of several labels, A100",
        GITHUB + "pytorch/pytorch/blob/main/aten/src/ATen/native/Onehot.cpp",
        "the same with `num_classes`",
        partial(_one_hot, False),
        bound=("compute",),
        never=("SY001", "~num_classes", "DL001"),
    ),
    Story(
        "inverses checked one by one",
        "second-order updates, A100",
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv_ex.html",
        "`torch.linalg.inv` reads whether it failed; `inv_ex` does not",
        partial(_inverted, True),
        told=("SY001", "~inside `aten::linalg_inv`, which reads", "~inv_ex"),
        never=("~total_loss", "DL001"),
    ),
    Story(
        "inverses unchecked",
        "second-order updates, A100",
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.inv_ex.html",
        "the same by `inv_ex`",
        partial(_inverted, False),
        never=("SY001", "~inv_ex\\(", "DL001"),
    ),
    Story(
        "distributions check their arguments",
        "reinforcement learning, A100",
        "https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution",
        "validation is on by default and may be expensive: to be switched off once a model works",
        partial(_validated, True),
        told=("SY001", "~answer a check", "~set_default_validate_args\\(False\\)"),
        never=("~total_loss", "DL001"),
    ),
    Story(
        "distributions check nothing",
        "reinforcement learning, A100",
        "https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution",
        "the same with validation switched off",
        partial(_validated, False),
        never=("SY001", "~validate_args", "DL001"),
    ),
)
