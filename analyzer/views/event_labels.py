"""Names of events as people say them: `aten::linear` is `linear`, a kernel's signature its last word."""

from __future__ import annotations

import re

_LOADER = re.compile(
    r"^enumerate\(DataLoader\)#_?(?:Stateful)?(?:SingleProcess|MultiProcessing)?DataLoaderIter\.__next__$"
)
_ARGUMENTS = re.compile(r"[<(,>]")
_RETURNED = re.compile(r"(?:void|std::enable_if<.*?>::type) ")
# Functions that only run what their template is given: those of CUTLASS, Composable Kernel and FlashAttention.
_WRAPPERS = re.compile(r"Kernel2?|device_kernel|kentry|enable_\w+")
# Up to the first argument of a template that names something: numbers come before it, and what AMD's cards are called.
_INNER = re.compile(r"<(?:\s*(?:\d\w*|[\w:]*gfx\w*)\s*,)*\s*(?=[A-Za-z_])")
_PREFIXES = (
    "aten::",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    "autograd::engine::evaluate_function: ",
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


def kernel_label(name: str) -> str:
    """A kernel's name without return type, namespaces and arguments: `vectorized_elementwise_kernel`."""
    if name.startswith("Mem"):
        return name
    rest = _RETURNED.sub("", name.replace("(anonymous namespace)::", ""), count=1)
    while True:
        head = _ARGUMENTS.split(rest, maxsplit=1)[0]
        path = head.strip().split("::")
        inner = _INNER.match(rest, len(head)) if _WRAPPERS.fullmatch(path[-1]) else None
        if inner is None:
            return "::".join(path[-2:]) if path[-1] == "kernel" else path[-1] or name
        rest = rest[inner.end() :]
