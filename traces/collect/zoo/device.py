"""What only an accelerator can suffer from: copies, waits for it, kernels that could be faster, its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from traces.collect.zoo.parts import CLASSES, Training, forever, in_memory, mlp
from traces.collect.zoo.preset import Preset, codes

WIDE = 4096
# Rows that keep any device busy for milliseconds.
_MANY = 8192


def _wide(device: torch.device, width: int, depth: int = 4) -> Training:
    return Training(mlp(width, depth, features=WIDE), device)


def _fixed(device: torch.device, rows: int = 2048) -> tuple[Tensor, Tensor]:
    return torch.randn(rows, WIDE, device=device), torch.randint(0, CLASSES, (rows,), device=device)


def well_used(device: torch.device) -> Iterator[None]:
    """Large matrices in bfloat16, nothing in the way: so large that launching them takes a fraction of their time."""
    training, (inputs, labels) = _wide(device, WIDE), _fixed(device, _MANY)
    while True:
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(training.model(inputs), labels)
        training.optimize(loss)
        yield


def single_precision(device: torch.device) -> Iterator[None]:
    """The same in float32."""
    training, (inputs, labels) = _wide(device, WIDE), _fixed(device, _MANY)
    while True:
        training.step(inputs, labels)
        yield


def tf32(device: torch.device) -> Iterator[None]:
    """The same in TF32; switched on for its own steps only, because it is timed in turns with another loop."""
    training, (inputs, labels) = _wide(device, WIDE), _fixed(device, _MANY)
    while True:
        torch.set_float32_matmul_precision("high")
        training.step(inputs, labels)
        torch.set_float32_matmul_precision("highest")
        yield


def misaligned(device: torch.device) -> Iterator[None]:
    """Matrices one short of a multiple of eight."""
    training = Training(mlp(WIDE - 1, 4, features=WIDE), device)
    inputs, labels = _fixed(device, _MANY)
    while True:
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(training.model(inputs), labels)
        training.optimize(loss)
        yield


def pageable(device: torch.device) -> Iterator[None]:
    """Large batches copied from ordinary memory."""
    training = Training(mlp(512, features=WIDE), device)
    for inputs, labels in forever(in_memory(4096, features=WIDE, count=8192)):
        training.step(inputs, labels)
        yield


def pinned(device: torch.device) -> Iterator[None]:
    """The same from page-locked memory."""
    training = Training(mlp(512, features=WIDE), device)
    inputs, labels = torch.randn(4096, WIDE).pin_memory(), torch.randint(0, CLASSES, (4096,)).pin_memory()
    while True:
        training.step(inputs, labels)
        yield


def small_copies(device: torch.device) -> Iterator[None]:
    """Sixty-four scalars copied one by one."""
    training, (inputs, labels) = _wide(device, 512), _fixed(device, 256)
    while True:
        weights = torch.stack([torch.tensor(1.0 / (1 + place)).to(device) for place in range(64)])
        training.step(inputs * weights.mean(), labels)
        yield


def one_copy(device: torch.device) -> Iterator[None]:
    """The same scalars in one copy."""
    training, (inputs, labels) = _wide(device, 512), _fixed(device, 256)
    while True:
        weights = torch.tensor([1.0 / (1 + place) for place in range(64)]).to(device)
        training.step(inputs * weights.mean(), labels)
        yield


def created_on_host(device: torch.device) -> Iterator[None]:
    """Noise made on the host and moved."""
    training, (inputs, labels) = _wide(device, 512), _fixed(device)
    while True:
        training.step(inputs + torch.randn(inputs.shape).to(device), labels)
        yield


def created_on_device(device: torch.device) -> Iterator[None]:
    """Noise made where it is used."""
    training, (inputs, labels) = _wide(device, 512), _fixed(device)
    while True:
        training.step(inputs + torch.randn(inputs.shape, device=device), labels)
        yield


def _looking(device: torch.device, look: Callable[[Tensor], object]) -> Iterator[None]:
    """Twelve layers, and something done with one value of each."""
    training, (inputs, labels) = _wide(device, 1024, 12), _fixed(device, 1024)
    while True:
        hidden = inputs
        for layer in training.model:  # type: ignore[attr-defined]
            hidden = layer(hidden)
            look(hidden.detach())
        training.optimize(nn.functional.cross_entropy(hidden, labels))
        yield


def reads_scalars(device: torch.device) -> Iterator[None]:
    """Reads a number back after every layer."""
    return _looking(device, lambda hidden: hidden[0, 0].item())


def reads_tensors(device: torch.device) -> Iterator[None]:
    """Takes activations to the host after every layer."""
    return _looking(device, lambda hidden: (hidden[0, 0], hidden.cpu()))


def synchronizes(device: torch.device) -> Iterator[None]:
    """Waits for the device after every layer."""

    def wait(hidden: Tensor) -> None:
        torch.cuda.synchronize()

    return _looking(device, wait)


def runs_ahead(device: torch.device) -> Iterator[None]:
    """The same without waiting for a value."""
    return _looking(device, lambda hidden: hidden[0, 0])


def tiny_batches(device: torch.device) -> Iterator[None]:
    """Two samples at a time through many small layers."""
    training = Training(mlp(64, 40), device)
    inputs, labels = torch.randn(2, 256, device=device), torch.randint(0, CLASSES, (2,), device=device)
    while True:
        training.step(inputs, labels)
        yield


def graphed(device: torch.device) -> Iterator[None]:
    """The same, forward and backward launched at once."""
    inputs, labels = torch.randn(2, 256, device=device), torch.randint(0, CLASSES, (2,), device=device)
    training = Training(mlp(64, 40), device)
    whole = torch.cuda.make_graphed_callables(training.model, (inputs,))
    assert isinstance(whole, nn.Module)
    training.model = whole
    while True:
        training.step(inputs, labels)
        yield


def per_parameter(device: torch.device) -> Iterator[None]:
    """An optimizer that launches kernels for each of many parameters."""
    model = mlp(128, 60).to(device)
    training = Training(model, device, torch.optim.Adam(model.parameters(), foreach=False))
    inputs, labels = torch.randn(64, 256, device=device), torch.randint(0, CLASSES, (64,), device=device)
    while True:
        training.step(inputs, labels)
        yield


def fused(device: torch.device) -> Iterator[None]:
    """The same in one kernel."""
    model = mlp(128, 60).to(device)
    training = Training(model, device, torch.optim.Adam(model.parameters(), fused=True))
    inputs, labels = torch.randn(64, 256, device=device), torch.randint(0, CLASSES, (64,), device=device)
    while True:
        training.step(inputs, labels)
        yield


def thrashes(device: torch.device) -> Iterator[None]:
    """Gives all cached memory back in every step."""
    for _ in runs_ahead(device):
        torch.cuda.empty_cache()
        yield


def data_parallel(device: torch.device) -> Iterator[None]:
    """One process that drives two devices."""
    model = mlp(1024, 4, features=WIDE).to(device)
    training = Training(model, device)
    training.model = nn.DataParallel(model)
    inputs, labels = _fixed(device)
    while True:
        training.step(inputs, labels)
        yield


# Six steps where each launches so much that twelve might not fit into the 1.5 MB that a trace may have.
_LAUNCH = codes("ID002 OP002 GR001 KE001 PY001 GR004")
_HALF = codes("ID001 PR001 PR002") | _LAUNCH
PRESETS = (
    Preset(name="gpu-well-used", loop=well_used, needs="cuda", shapes=True, may=codes("GR001 PR004"), silent=codes("SY001 SY003 XF001 ID001")),
    Preset(name="gpu-single-precision", loop=single_precision, needs="cuda", shapes=True, fires=codes("PR002"), may=codes("PR001"), remedy="gpu-tf32"),
    Preset(name="gpu-tf32", loop=tf32, needs="cuda", shapes=True, may=codes("GR001"), silent=codes("PR002 PR001 PR003")),
    Preset(name="gpu-misaligned", loop=misaligned, needs="cuda", shapes=True, fires=codes("PR003"), may=codes("GR001 PR004"), remedy="gpu-well-used"),
    Preset(name="gpu-pageable", loop=pageable, needs="cuda", fires=codes("XF001"), may=_HALF | codes("XF002 DL001 DL002 XF006 XF007"), remedy="gpu-pinned"),
    Preset(name="gpu-pinned", loop=pinned, needs="cuda", may=_HALF | codes("XF002 XF006 XF007"), silent=codes("XF001")),
    Preset(name="gpu-small-copies", loop=small_copies, needs="cuda", fires=codes("XF003"), may=_HALF | codes("XF004 XF001 PY002 PY003"), remedy="gpu-one-copy"),
    Preset(name="gpu-one-copy", loop=one_copy, needs="cuda", may=_HALF | codes("XF004 XF001"), silent=codes("XF003")),
    Preset(name="gpu-created-on-host", loop=created_on_host, needs="cuda", shapes=True, fires=codes("XF004"), may=_HALF | codes("XF001 XF002"), remedy="gpu-created-on-device"),
    Preset(name="gpu-created-on-device", loop=created_on_device, needs="cuda", shapes=True, may=_HALF, silent=codes("XF004 XF001")),
    Preset(name="gpu-reads-scalars", loop=reads_scalars, needs="cuda", fires=codes("SY001"), may=_HALF, silent=codes("SY002"), remedy="gpu-runs-ahead"),
    Preset(name="gpu-reads-tensors", loop=reads_tensors, needs="cuda", fires=codes("SY002"), may=_HALF | codes("XF003"), remedy="gpu-runs-ahead"),
    Preset(name="gpu-synchronizes", loop=synchronizes, needs="cuda", fires=codes("SY003"), may=_HALF, silent=codes("SY001"), remedy="gpu-runs-ahead"),
    Preset(name="gpu-runs-ahead", loop=runs_ahead, needs="cuda", may=_HALF, silent=codes("SY001 SY002 SY003")),
    Preset(name="gpu-tiny-batches", loop=tiny_batches, needs="cuda", fires=codes("ID001"), may=_LAUNCH, silent=codes("SY001 DL001"), remedy="gpu-graphed", active=6),
    Preset(name="gpu-graphed", loop=graphed, needs="cuda", may=_LAUNCH | codes("ID001"), silent=codes("SY001 DL001")),
    Preset(name="gpu-per-parameter", loop=per_parameter, needs="cuda", fires=codes("OP001"), may=_HALF, remedy="gpu-fused", active=6),
    Preset(name="gpu-fused", loop=fused, needs="cuda", may=_HALF, silent=codes("OP001 OP003")),
    Preset(name="gpu-thrashes", loop=thrashes, needs="cuda", fires=codes("ME001"), may=_HALF | codes("SY003 PG002"), remedy="gpu-runs-ahead"),
    Preset(name="gpu-data-parallel", loop=data_parallel, needs="two-gpus", fires=codes("CO004"), may=_HALF | codes("XF005 CO001")),
)  # fmt: skip
