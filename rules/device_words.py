"""torch's modules by the kind of device: what is `torch.cuda` for NVIDIA's and AMD's is another module for others'."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice

# AMD's answer to torch's name for CUDA.
_MODULES = {"cuda": "torch.cuda.", "rocm": "torch.cuda.", "xpu": "torch.xpu.", "mtia": "torch.mtia."}
# Of a device that registers itself (Gaudi, Ascend, ...): what torch has for any of them (`torch.Event`, `torch.Stream`,
# `torch.accelerator.synchronize`, torch 2.6). `torch.accelerator` makes no stream the current one: there a stream does so itself.
_ANY = (
    ("with torch.cuda.stream(side):", "with side:"),
    ("torch.cuda.Event", "torch.Event"),
    ("torch.cuda.Stream", "torch.Stream"),
    ("torch.cuda.", "torch.accelerator."),
)


def module(facts: Facts) -> str:
    """`cuda`, `xpu`, `mtia`, or `accelerator`, which stands for whichever device there is."""
    return _MODULES.get(facts.device.kind, "torch.accelerator.").split(".")[1]


def of_device(facts: Facts, advice: Advice) -> Advice:
    """An advice whose code names `torch.cuda`, with the module of the device that was recorded.

    Args:
        facts: The measurements.
        advice: As for CUDA.
    """
    mine = _MODULES.get(facts.device.kind)
    code = advice.code
    for cuda, other in (("torch.cuda.", mine),) if mine is not None else _ANY:
        code = code.replace(cuda, other)
    return replace(advice, code=code)


_PROFILERS = {"cuda": "Nsight Compute", "rocm": "ROCm Compute Profiler", "xpu": "VTune"}


def profiler(facts: Facts) -> str:
    """What looks into kernels of this device, as `its maker's profiler (Nsight Compute)`; without a name where none is known."""
    name = _PROFILERS.get(facts.device.kind)
    return "its maker's profiler" + (f" ({name})" if name is not None else "")


def graphs(facts: Facts) -> str:
    """What recorded launches are called: CUDA graphs, HIP graphs, or graphs."""
    return {"cuda": "CUDA graphs", "rocm": "HIP graphs"}.get(facts.device.kind, "graphs")
