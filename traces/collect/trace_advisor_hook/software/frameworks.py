"""Which frameworks the run is made of: those of a list, so that no name of the user's own leaves the process."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Iterable
from typing import Any

from ..common import FAILURES, reach

# Modules by the name they are imported under, and the package whose version they have.
FRAMEWORKS = {
    "accelerate": "accelerate",
    "albumentations": "albumentations",
    "composer": "mosaicml",
    "cv2": "opencv-python",
    "datasets": "datasets",
    "deepspeed": "deepspeed",
    "detectron2": "detectron2",
    "dgl": "dgl",
    "diffusers": "diffusers",
    "fastai": "fastai",
    "gymnasium": "gymnasium",
    "ignite": "pytorch-ignite",
    "keras": "keras",
    "lightning": "lightning",
    "megatron": "megatron-core",
    "mmengine": "mmengine",
    "monai": "monai",
    "peft": "peft",
    "poutyne": "Poutyne",
    "pytorch_lightning": "pytorch-lightning",
    "pytorch_metric_learning": "pytorch-metric-learning",
    "sentence_transformers": "sentence-transformers",
    "skorch": "skorch",
    "stable_baselines3": "stable-baselines3",
    "timm": "timm",
    "torch_geometric": "torch-geometric",
    "torchrec": "torchrec",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "trl": "trl",
    "ultralytics": "ultralytics",
    "webdataset": "webdataset",
}
_DEEP = 200
# Where the loop of all trainers of Hugging Face runs, those of trl and sentence-transformers as well.
_TRAINER = "transformers.trainer"


def describe_frameworks(
    loader: Any, batch_modules: Iterable[str], began: Iterable[str] = (), arguments: str | None = None
) -> dict[str, Any]:
    """What is imported, with its version; what runs the loop, what makes the batches, and whose the loader is, as modules of it.

    Where a step ends, the frames below are those that run the loop. Of a run that ended before its recording was full there are
    none any more.

    Args:
        loader: The training's.
        batch_modules: Of what makes batches.
        began: What `running_modules` gave where a step ended before.
        arguments: What `running_arguments` gave there.
    """
    return {
        "imported": {name: _version(name) for name in FRAMEWORKS if name in sys.modules},
        "loop": _known(running_modules()) or _known(began),
        "data": _known([*_makers(loader), *batch_modules]),
        "loader": _known(_loaders_own(loader)),
        "arguments": running_arguments() or arguments,
    }


def running_arguments() -> str | None:
    """The framework's class of which the trainer that led here has its arguments; None where none did.

    A trainer of trl inherits the loop: only its arguments tell what a program has to set.
    """
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEEP):
        if frame is None:
            return None
        if frame.f_globals.get("__name__") == _TRAINER and frame.f_code.co_varnames[:1] == ("self",):
            classes = type(reach(frame.f_locals.get("self"), "args")).__mro__
            return next((one.__name__ for one in classes if _known([module_of(one)])), None)
        frame = frame.f_back
    return None


def running_modules() -> list[str]:
    """Modules of the frames that led here, innermost first."""
    found: list[str] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _DEEP:
        found.append(str(frame.f_globals.get("__name__", "")))
        frame = frame.f_back
    return found


def _makers(loader: Any) -> list[str]:
    """Modules of a loader's class, of its data set, below whatever part of it is taken, and of what puts batches together."""
    if loader is None:
        return []
    things = [loader, loader.__class__.__base__, getattr(loader, "collate_fn", None), getattr(loader, "sampler", None)]
    data = getattr(loader, "dataset", None)
    for _ in range(5):
        things.append(data)
        data = getattr(data, "dataset", None)
    return [module_of(thing) for thing in things if thing is not None]


def _loaders_own(loader: Any) -> list[str]:
    """Modules of a loader's class, of what puts batches together and of what begins its workers.

    A torch loader of another's data set is torch's. One that a framework's function makes, as `create_loader` of timm does, may
    have nothing of that framework but what begins its workers, with arguments filled in.
    """
    if loader is None:
        return []
    begins = getattr(loader, "worker_init_fn", None)
    things = (loader, getattr(loader, "collate_fn", None), getattr(begins, "func", begins))
    return [module_of(thing) for thing in things if thing is not None]


def module_of(thing: Any) -> str:
    """The module of a function or a class, or of an object's class."""
    own = thing if isinstance(thing, type) or hasattr(thing, "__code__") else type(thing)
    return str(getattr(own, "__module__", ""))


def _known(modules: Iterable[str]) -> list[str]:
    """The listed frameworks' modules among some, cut to two parts: the framework, and which part of it."""
    parts = (module.split(".")[:2] for module in modules)
    return list(dict.fromkeys(".".join(two) for two in parts if two[0] in FRAMEWORKS))


def _version(name: str) -> str | None:
    version = reach(sys.modules[name], "__version__")
    if isinstance(version, str):
        return version[:40]
    with contextlib.suppress(*FAILURES):
        return str(importlib.import_module("importlib.metadata").version(FRAMEWORKS[name]))[:40]
    return None
