"""torch.compile gone wrong, and traces that were recorded wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from traces.collect.zoo.host import healthy
from traces.collect.zoo.parts import CLASSES, FEATURES, Training, forever, in_memory, mlp
from traces.collect.zoo.preset import Preset, codes

# Tracing and guards are what is shown here; generating code would only make every run slower.
_BACKEND = "aot_eager"


def recompiles(device: torch.device) -> Iterator[None]:
    """A new batch size in every step, and a graph for each."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 10_000
    training = Training(mlp(256), device)
    model = torch.compile(training.model, backend=_BACKEND, dynamic=False)
    size = 16
    for inputs, labels in forever(in_memory(256)):
        size = size + 1 if size < 255 else 16
        scores = model(inputs[:size].to(device))
        training.optimize(nn.functional.cross_entropy(scores, labels[:size].to(device)))
        yield


def one_shape(device: torch.device) -> Iterator[None]:
    """The same with one batch size."""
    torch._dynamo.reset()
    training = Training(mlp(256), device)
    model = torch.compile(training.model, backend=_BACKEND, dynamic=False)
    for inputs, labels in forever(in_memory(256)):
        training.optimize(nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)))
        yield


class Layers(nn.Module):
    """Does something after every layer; written out, because a break inside a `for` leaves no graph at all.

    Args:
        leave: Called between layers.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        super().__init__()
        self.leave = leave
        self.first, self.second, self.third = (nn.Linear(FEATURES, FEATURES) for _ in range(3))
        self.head = nn.Linear(FEATURES, CLASSES)

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of a batch."""
        inputs = torch.relu(self.first(inputs))
        self.leave()
        inputs = torch.relu(self.second(inputs))
        self.leave()
        inputs = torch.relu(self.third(inputs))
        self.leave()
        scores: Tensor = self.head(inputs)
        return scores


def graph_breaks(device: torch.device) -> Iterator[None]:
    """Three breaks in every forward pass."""
    return _layers(device, torch._dynamo.graph_break)


def whole_graph(device: torch.device) -> Iterator[None]:
    """The same without a break."""
    return _layers(device, _nothing)


def _nothing() -> None:
    pass


def _layers(device: torch.device, leave: Callable[[], None]) -> Iterator[None]:
    torch._dynamo.reset()
    training = Training(Layers(leave), device)
    model = torch.compile(training.model, backend=_BACKEND)
    for inputs, labels in forever(in_memory(32)):
        training.optimize(nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device)))
        yield


PRESETS = (
    Preset(name="recompiles", loop=recompiles, fires=codes("GR003"), may=codes("PG002 PY001 GR002"), remedy="one-shape", wait=8),
    Preset(name="one-shape", loop=one_shape, may=codes("PY001"), silent=codes("GR003 GR002 PG002"), wait=12),
    Preset(name="graph-breaks", loop=graph_breaks, fires=codes("GR002"), may=codes("PY001"), silent=codes("GR003"), remedy="whole-graph", wait=12),
    Preset(name="whole-graph", loop=whole_graph, may=codes("PY001"), silent=codes("GR002 GR003"), wait=12),
    Preset(name="warm-up", loop=one_shape, fires=codes("PG006"), may=codes("PG002 GR003 PY001 PY005"), wait=0),
    Preset(name="no-steps", loop=healthy, fires=codes("PG001"), marked=False),
    Preset(name="two-steps", loop=healthy, fires=codes("PG003"), active=2),
)  # fmt: skip
