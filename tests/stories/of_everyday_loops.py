"""Stories of loops that many write: data on the GPU already, and what is done beside training in every step."""

from __future__ import annotations

from functools import partial

from building.clocked import Clocked
from stories.models import perceptron, perceptron_back, update
from stories.story import GITHUB, Story

TOGETHER = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<unsigned int, 1, 128, 1>"
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
)  # fmt: skip
