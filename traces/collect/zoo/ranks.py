"""Two processes that train together over gloo, and what makes one wait for the other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from traces.collect.api import record
from traces.collect.zoo.parts import CLASSES, FEATURES, Training, busy, forever, in_memory, mlp
from traces.collect.zoo.preset import Preset, codes

WORLD = 2


def _distributed(model: nn.Module, device: torch.device, pause: float = 0.0, **options: object) -> Iterator[None]:
    wrapped = nn.parallel.DistributedDataParallel(model, **options)  # type: ignore[arg-type]
    training = Training(wrapped, device)
    late = torch.distributed.get_rank() == 1
    for inputs, labels in forever(in_memory(256)):
        if late:
            busy(pause)
        training.step(inputs, labels)
        yield


def together(device: torch.device) -> Iterator[None]:
    """Much to compute, little to send."""
    return _distributed(mlp(256), device)


def straggler(device: torch.device) -> Iterator[None]:
    """The second rank is 20 ms late in every step."""
    return _distributed(mlp(256), device, pause=0.02)


def small_buckets(device: torch.device) -> Iterator[None]:
    """A collective for nearly every parameter."""
    return _distributed(mlp(128, 30), device, bucket_cap_mb=0.0001)


class Sparse(nn.Module):
    """Has layers that no step uses."""

    def __init__(self) -> None:
        super().__init__()
        self.used = mlp(256)
        self.unused = nn.ModuleList([nn.Linear(FEATURES, CLASSES) for _ in range(20)])

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of a batch."""
        scores: Tensor = self.used(inputs)
        return scores


def unused_search(device: torch.device) -> Iterator[None]:
    """Walks the graph in every step to find parameters without a gradient; no rule must fire.

    CO006 is about a device that idles meanwhile. On a CPU the search cannot be made to matter: to visit an operator takes a hundredth
    of running it. Measured with gloo on two cores: 0.04 of 3.6 ms with 300 parameters of one number each, 0.46 of 27.6 ms with 2000.
    """
    return _distributed(Sparse(), device, find_unused_parameters=True)


def run_rank(rank: int, preset: Preset, folder: str, port: int) -> None:
    """One rank of a preset, in a process of its own."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    # A rank may be killed: what it leaves then is taken away with the folder.
    tempfile.tempdir = folder
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=WORLD)
    device = torch.device("cpu")
    loop = preset.loop(device)
    path = Path(folder) / f"{preset.name}.rank{rank}.json.gz"
    with record(path, wait=preset.wait, warmup=3, active=preset.active, shapes=True, device=device) as recorder:
        for _ in range(preset.wait + 3 + preset.active + 30):
            next(loop)
            recorder.step()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


# Two ranks on two cores are never quite even, and recording shapes takes Python time.
_COMM = codes("CO001 CO002 PY001 PY004 PY005 ID003")
PRESETS = (
    Preset(name="ranks-together", loop=together, needs="ranks", may=_COMM | codes("CO003"), silent=codes("CO005 CO006 DL001")),
    Preset(name="ranks-straggler", loop=straggler, needs="ranks", fires=codes("CO003"), may=_COMM, silent=codes("CO005")),
    Preset(name="ranks-small-buckets", loop=small_buckets, needs="ranks", fires=codes("CO005"), may=_COMM | codes("CO003")),
    Preset(name="ranks-unused-search", loop=unused_search, needs="ranks", may=_COMM | codes("CO003 CO006"), silent=codes("CO005")),
)  # fmt: skip
