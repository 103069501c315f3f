"""Names of host events as people say them: `aten::linear` is `linear`."""

from __future__ import annotations

from traces.patterns import Pattern
from traces.reader.names.autograd import OF_NODE

_LOADER = Pattern(
    r"^enumerate\(DataLoader\)#_?(?:Stateful)?(?:SingleProcess|MultiProcessing)?DataLoaderIter\.__next__$"
)
_PREFIXES = (
    "aten::",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    OF_NODE,
    "torch::autograd::",
)


def host_label(name: str) -> str:
    """A range's name as people say it."""
    if _LOADER.match(name):
        return "next(loader)"
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name
