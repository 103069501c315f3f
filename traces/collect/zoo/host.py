"""Time lost in Python, in the loss, in debugging aids and in what is done beside training; and their remedies."""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from traces.collect.zoo.parts import CLASSES, Training, busy, forever, in_memory, mlp
from traces.collect.zoo.preset import Preset, codes


def healthy(device: torch.device) -> Iterator[None]:
    """Nothing is wrong with it."""
    training = Training(mlp(768), device)
    for inputs, labels in forever(in_memory(256)):
        training.step(inputs, labels)
        yield


def reads_loss(device: torch.device) -> Iterator[None]:
    """Reads the loss in every step: free on a CPU, a wait on a GPU."""
    training = Training(mlp(768), device)
    for inputs, labels in forever(in_memory(256)):
        training.step(inputs, labels).item()
        yield


def convolutions(device: torch.device) -> Iterator[None]:
    """A small convolutional network, well fed."""
    model = nn.Sequential(
        nn.Unflatten(1, (1, 16, 16)), nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(32 * 144, CLASSES),
    )  # fmt: skip
    training = Training(model, device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        yield


def attention(device: torch.device) -> Iterator[None]:
    """A transformer layer; its parts repeat, which is no fault."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    training = Training(nn.Sequential(nn.Unflatten(1, (4, 64)), layer, nn.Flatten(), nn.Linear(256, CLASSES)), device)
    for inputs, labels in forever(in_memory(256)):
        training.step(inputs, labels)
        yield


def recurrent(device: torch.device) -> Iterator[None]:
    """A loop over time that no vectorising can remove."""
    cell, head = nn.GRUCell(32, 128), nn.Linear(128, CLASSES)
    training = Training(nn.ModuleList([cell, head]), device)
    for inputs, labels in forever(in_memory(256)):
        state = torch.zeros(256, 128, device=device)
        for part in inputs.to(device).split(32, dim=1):
            state = cell(part, state)
        training.optimize(nn.functional.cross_entropy(head(state), labels.to(device)))
        yield


def _loop_loss(scores: Tensor, labels: Tensor) -> Tensor:
    total = scores.new_zeros(())
    for row in range(0, len(labels), 2):
        total = total + nn.functional.relu(1 - scores[row, labels[row]]) + scores[row].square().mean()
    return total / len(labels)


def _vector_loss(scores: Tensor, labels: Tensor) -> Tensor:
    own = scores.gather(1, labels.unsqueeze(1))
    return nn.functional.relu(1 - own).mean() + scores.square().mean()


def loop_loss(device: torch.device) -> Iterator[None]:
    """A loss that visits the samples one by one."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        training.optimize(_loop_loss(training.model(inputs.to(device)), labels.to(device)))
        yield


def vector_loss(device: torch.device) -> Iterator[None]:
    """The same loss in one go."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        training.optimize(_vector_loss(training.model(inputs.to(device)), labels.to(device)))
        yield


def element_loop(device: torch.device) -> Iterator[None]:
    """Fills a tensor element by element."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        weights = torch.zeros(1024, device=device)
        for place in range(1024):
            weights[place] = 1.0 / (1 + place)
        training.step(inputs.to(device) * weights.mean(), labels)
        yield


def element_vector(device: torch.device) -> Iterator[None]:
    """The same in one operator."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        weights = 1.0 / torch.arange(1, 1025, device=device)
        training.step(inputs.to(device) * weights.mean(), labels)
        yield


def plain_python(device: torch.device) -> Iterator[None]:
    """Bookkeeping without a single operator, as long as the step itself."""
    training = Training(mlp(768), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        busy(0.006)
        yield


def no_python(device: torch.device) -> Iterator[None]:
    """The same without the bookkeeping."""
    training = Training(mlp(768), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        yield


def logging(device: torch.device) -> Iterator[None]:
    """Writes all weights as text in every step."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        json.dumps([parameter[:40].tolist() for parameter in training.model.parameters()])
        yield


def no_logging(device: torch.device) -> Iterator[None]:
    """The same without the log."""
    training = Training(mlp(512), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        yield


def checkpoints(device: torch.device) -> Iterator[None]:
    """Saves everything every sixth step."""
    training = Training(mlp(512, 6), device)
    for number, (inputs, labels) in enumerate(forever(in_memory(128))):
        training.step(inputs, labels)
        if number % 6 == 3:
            for _ in range(3):
                torch.save(training.model.state_dict(), io.BytesIO())
            busy(0.03)
        yield


def no_checkpoints(device: torch.device) -> Iterator[None]:
    """The same without saving."""
    training = Training(mlp(512, 6), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        yield


def validation(device: torch.device) -> Iterator[None]:
    """Evaluates on many batches every sixth step."""
    training = Training(mlp(768), device)
    held_out = torch.randn(256, 256, device=device)
    for number, (inputs, labels) in enumerate(forever(in_memory(128))):
        training.step(inputs, labels)
        if number % 6 == 3:
            with torch.no_grad():
                for _ in range(20):
                    training.model(held_out)
        yield


def garbage(device: torch.device) -> Iterator[None]:
    """Many objects, and a collector that visits all of them every few steps."""
    training = Training(mlp(768), device)
    heap = [[number, [number]] for number in range(100_000)]
    for number, (inputs, labels) in enumerate(forever(in_memory(128))):
        training.step(inputs, labels)
        if number % 7 == 5:
            gc.collect()
        yield
    del heap


def anomaly(device: torch.device) -> Iterator[None]:
    """Checks every gradient for NaN."""
    training = Training(mlp(64, 6), device)
    for inputs, labels in forever(in_memory(128)):
        with torch.autograd.set_detect_anomaly(True):
            training.step(inputs, labels)
        yield


def no_anomaly(device: torch.device) -> Iterator[None]:
    """The same without the check."""
    training = Training(mlp(64, 6), device)
    for inputs, labels in forever(in_memory(128)):
        training.step(inputs, labels)
        yield


def per_parameter(device: torch.device) -> Iterator[None]:
    """An optimizer that visits 80 small parameters one by one."""
    model = mlp(48, 40)
    yield from _with_optimizer(model, torch.optim.Adam(model.to(device).parameters(), foreach=False), device)


def fused(device: torch.device) -> Iterator[None]:
    """The same in one kernel."""
    model = mlp(48, 40)
    yield from _with_optimizer(model, torch.optim.Adam(model.to(device).parameters(), fused=True), device)


def _with_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> Iterator[None]:
    training = Training(model, device, optimizer)
    for inputs, labels in forever(in_memory(64)):
        training.step(inputs, labels)
        yield


def zeroed(device: torch.device) -> Iterator[None]:
    """Gradients filled with zeros instead of freed."""
    training = Training(mlp(48, 40), device)
    for inputs, labels in forever(in_memory(64)):
        training.optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(training.model(inputs.to(device)), labels.to(device))
        loss.backward()  # type: ignore[no-untyped-call]
        training.optimizer.step()
        yield


def freed(device: torch.device) -> Iterator[None]:
    """The same with gradients freed."""
    training = Training(mlp(48, 40), device)
    for inputs, labels in forever(in_memory(64)):
        training.step(inputs, labels)
        yield


def _of_samples(samples: int, device: torch.device) -> Iterator[None]:
    """A small network that sees 16 samples a step, so many at a time."""
    training = Training(mlp(64, 3), device)
    batches = forever(in_memory(samples))
    while True:
        for _ in range(16 // samples):
            training.step(*next(batches))
        yield


def small_batches(device: torch.device) -> Iterator[None]:
    """Two batches of eight samples a step, in which every op takes a few microseconds."""
    yield from _of_samples(8, device)


def larger_batches(device: torch.device) -> Iterator[None]:
    """The same samples in one batch; every op still takes a few microseconds."""
    yield from _of_samples(16, device)


_INPUT = codes("DL001 DL002 DL003 DL004 DL005 DL006 DL007 DL008")
PRESETS = (
    Preset(name="healthy", loop=healthy, silent=_INPUT | codes("PY001 PY002 OP001 OP003 SY001 SY006")),
    Preset(name="reads-loss", loop=reads_loss, silent=_INPUT | codes("SY001 SY002 PY001")),
    Preset(name="convolutions", loop=convolutions, silent=_INPUT | codes("PY002 OP001")),
    Preset(name="attention", loop=attention, silent=_INPUT | codes("PY002 PY003")),
    Preset(name="recurrent", loop=recurrent, silent=_INPUT | codes("OP001"), may=codes("PY003")),
    Preset(name="loop-loss", loop=loop_loss, fires=codes("PY002"), may=codes("PY003 PY001"), silent=_INPUT, remedy="vector-loss", active=8),
    Preset(name="vector-loss", loop=vector_loss, silent=codes("PY002 PY003")),
    Preset(name="element-loop", loop=element_loop, fires=codes("PY002"), may=codes("PY003 PY001"), silent=_INPUT, remedy="element-vector"),
    Preset(name="element-vector", loop=element_vector, silent=codes("PY002 PY003")),
    Preset(name="plain-python", loop=plain_python, fires=codes("PY001"), silent=_INPUT | codes("PY002"), remedy="no-python"),
    Preset(name="no-python", loop=no_python, silent=_INPUT | codes("PY002")),
    Preset(name="logging", loop=logging, fires=codes("PY001"), silent=_INPUT | codes("PY002"), remedy="no-logging"),
    Preset(name="no-logging", loop=no_logging, may=codes("PY001"), silent=codes("PY002")),
    Preset(name="checkpoints", loop=checkpoints, fires=codes("PY005"), may=codes("ID003 PY001 PY004"), silent=_INPUT, remedy="no-checkpoints", active=36, period=6),
    Preset(name="no-checkpoints", loop=no_checkpoints, silent=codes("ID003 PY001 PY002")),
    Preset(name="validation", loop=validation, fires=codes("PY005"), may=codes("ID003"), silent=_INPUT | codes("PY004"), remedy="no-python", active=36, period=6),
    Preset(name="garbage", loop=garbage, fires=codes("PY004"), may=codes("PY001 ID003 PY005"), silent=_INPUT, remedy="no-python", active=42, period=7),
    Preset(name="anomaly", loop=anomaly, fires=codes("SY006"), may=codes("PY001 CP005"), silent=_INPUT | codes("SY001"), remedy="no-anomaly"),
    Preset(name="no-anomaly", loop=no_anomaly, may=codes("PY001 CP005"), silent=codes("SY006 SY001")),
    Preset(name="per-parameter", loop=per_parameter, fires=codes("OP001"), may=codes("PY001 PY003 OP002 CP005"), silent=_INPUT | codes("OP003 SY001"), remedy="fused"),
    Preset(name="fused", loop=fused, may=codes("PY001 CP005"), silent=codes("OP001 OP003 SY001")),
    Preset(name="zeroed", loop=zeroed, fires=codes("OP003"), may=codes("PY001 CP005"), silent=_INPUT | codes("OP001"), remedy="freed"),
    Preset(name="freed", loop=freed, may=codes("PY001 CP005"), silent=codes("OP003 OP001")),
    Preset(name="small-batches", loop=small_batches, fires=codes("CP005"), may=codes("PY001 OP001 DL006"), silent=codes("PY002 OP003 SY001"), remedy="larger-batches", active=24),
    Preset(name="larger-batches", loop=larger_batches, may=codes("CP005 PY001 OP001 DL006"), silent=codes("PY002 OP003 SY001"), active=24),
)  # fmt: skip
