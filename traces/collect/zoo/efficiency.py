"""Loops whose work uses the hardware badly, or does some of it twice; each beside the loop that does the same work well."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from traces.collect.zoo.parts import CLASSES, FEATURES, Training, forever, in_memory
from traces.collect.zoo.preset import Preset, codes

_WIDTH = 512
_LAYERS = 4
_ROWS = 16_384
_NARROW = 4
# Half a gigabyte: no cache holds it.
_NUMBERS = 1 << 27
_JOINED = 64
_ADDED = 8.0
_SMALL = 1024
_SIDE = 8
_DEPTH = 64


class Deep(nn.Module):
    """Equal layers; with `again` their activations are computed twice.

    Args:
        again: Whether each layer is checkpointed.
    """

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.again = again
        self.first = nn.Linear(FEATURES, _WIDTH)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU()) for _ in range(_LAYERS))
        self.last = nn.Linear(_WIDTH, CLASSES)

    def forward(self, inputs: Tensor) -> Tensor:
        """The scores."""
        state: Tensor = self.first(inputs)
        for layer in self.layers:
            state = checkpoint(layer, state, use_reentrant=False) if self.again else layer(state)
        scores: Tensor = self.last(state)
        return scores


def _deep(device: torch.device, again: bool) -> Iterator[None]:
    training = Training(Deep(again), device)
    for inputs, labels in forever(in_memory(256)):
        training.step(inputs, labels)
        yield


def recomputes(device: torch.device) -> Iterator[None]:
    """Every layer is computed again in the backward pass: a choice that buys memory."""
    return _deep(device, again=True)


def keeps(device: torch.device) -> Iterator[None]:
    """The same with its activations kept."""
    return _deep(device, again=False)


def _products(device: torch.device, widths: list[int]) -> Iterator[None]:
    """Products of the same rows with matrices of these widths."""
    rows = torch.randn(_ROWS, _WIDTH, device=device, dtype=torch.bfloat16)
    weights = [nn.Parameter(torch.randn(_WIDTH, width, device=device, dtype=torch.bfloat16)) for width in widths]
    optimizer = torch.optim.SGD(weights, lr=1e-6, fused=True)
    while True:
        loss = sum((rows @ weight).float().mean() for weight in weights)
        assert isinstance(loss, Tensor)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield


def skinny(device: torch.device) -> Iterator[None]:
    """Sixty-four products with four columns each."""
    return _products(device, [_NARROW] * _JOINED)


def joined(device: torch.device) -> Iterator[None]:
    """The same columns in one product."""
    return _products(device, [_NARROW * _JOINED])


def _small_products(device: torch.device, joined: bool) -> Iterator[None]:
    """Products of eight rows by eight columns, one after the other or all in one call."""
    left, right = (torch.randn(_SMALL, *size, device=device) for size in ((_SIDE, _DEPTH), (_DEPTH, _SIDE)))
    scale = nn.Parameter(torch.ones(1, device=device))
    optimizer = torch.optim.SGD([scale], lr=1e-6, fused=True)
    pairs = list(zip(left.unbind(), right.unbind(), strict=True))
    while True:
        with torch.no_grad():
            products = left @ right if joined else [one @ other for one, other in pairs]
        loss = (scale * products[0]).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield


def small_products(device: torch.device) -> Iterator[None]:
    """A thousand small products, each a call of its own."""
    return _small_products(device, joined=False)


def batched_products(device: torch.device) -> Iterator[None]:
    """The same as one batched product."""
    return _small_products(device, joined=True)


def _passes(device: torch.device, count: int) -> Iterator[None]:
    """Adds 8 to half a gigabyte of numbers in so many passes over them."""
    numbers = torch.randn(_NUMBERS, device=device)
    scale = nn.Parameter(torch.ones(1, device=device))
    optimizer = torch.optim.SGD([scale], lr=1e-6, fused=True)
    while True:
        with torch.no_grad():
            for _ in range(count):
                numbers = numbers + _ADDED / count
        loss = (scale * numbers[:1024]).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield


def memory_bound(device: torch.device) -> Iterator[None]:
    """Eight passes, one operation to a number in each."""
    return _passes(device, 8)


def fewer_passes(device: torch.device) -> Iterator[None]:
    """The same numbers come out of one pass."""
    return _passes(device, 1)


_FAST = codes("GR001 GR004 ID001 PR001 PR004 PY002 PY003")

PRESETS = (
    Preset(name="recomputes", loop=recomputes, fires=codes("KE006"), may=codes("PY001"), silent=codes("PY002 OP001")),
    Preset(name="keeps-activations", loop=keeps, may=codes("PY001"), silent=codes("KE006 PY002 OP001")),
    Preset(name="small-products", loop=small_products, shapes=True, calibrated=True, fires=codes("KE005"), may=codes("PY001 PY003"), silent=codes("PY002")),
    Preset(name="looped-products", loop=small_products, shapes=True, fires=codes("PY003"), may=codes("PY001"), silent=codes("KE005 PY002"), remedy="batched-products"),
    Preset(name="batched-products", loop=batched_products, shapes=True, calibrated=True, may=codes("PY001"), silent=codes("KE005 PY002 PY003")),
    Preset(name="gpu-skinny", loop=skinny, needs="cuda", shapes=True, fires=codes("KE005"), may=_FAST | codes("KE001 KE009"), remedy="gpu-joined"),
    Preset(name="gpu-joined", loop=joined, needs="cuda", shapes=True, may=_FAST | codes("KE005 KE009")),
    Preset(name="gpu-memory-bound", loop=memory_bound, needs="cuda", shapes=True, fires=codes("KE009"), may=_FAST, silent=codes("KE005"), remedy="gpu-fewer-passes"),
    Preset(name="gpu-fewer-passes", loop=fewer_passes, needs="cuda", shapes=True, may=_FAST | codes("KE009"), silent=codes("KE005")),
)  # fmt: skip
