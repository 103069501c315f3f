"""Ops of torch that read values off the device themselves, and checks whose answer the program reads: no loss, and no `.item()`."""

from __future__ import annotations

from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice
from traces.patterns import Pattern

# What the program itself asks for a value by.
_ASKED = frozenset({"aten::is_nonzero", "aten::equal", "aten::item", "aten::_local_scalar_dense"})
_FIXES: tuple[tuple[Pattern[str], Advice], ...] = (
    (
        # ATen/native/Onehot.cpp.
        Pattern(r"one_hot"),
        Advice(
            "diff",
            "-    encoded = torch.nn.functional.one_hot(labels)\n"
            "+    encoded = torch.nn.functional.one_hot(labels, num_classes=classes)",
            "Without `num_classes` it reads the largest label, to know how wide its result is.",
        ),
    ),
    (
        # ATen/native/BatchLinearAlgebra.cpp: `_linalg_check_errors`.
        Pattern(r"linalg_(?:inv|cholesky|solve|lu_factor|ldl_factor)$|^aten::(?:cholesky|inverse)$"),
        Advice(
            "diff",
            "-    inverse = torch.linalg.inv(matrices)\n+    inverse, info = torch.linalg.inv_ex(matrices)",
            "The op reads whether it failed. Its `_ex` form (`cholesky_ex`, `solve_ex`, `lu_factor_ex`, ...) leaves that on the "
            "device: look at `info` now and then. Matrices of one size in one call are read once.",
        ),
    ),
    (
        Pattern(r"linalg_|_symeig|aten::(?:svd|qr|eig)"),
        Advice(
            "text",
            "The op reads whether it failed. Matrices of one size stacked into one call are read once: not one call for each.",
        ),
    ),
    (
        Pattern(r"allclose"),
        Advice(
            "diff",
            "-    if torch.allclose(x, y):\n-        x = f(x)\n+    x = torch.where(torch.isclose(x, y).all(), x_if_close, x)",
            "Where a comparison decides what happens next, let the device decide; a test of the program can go from its loop.",
        ),
    ),
)
_OTHER = Advice(
    "text",
    "The op reads what it needs to know itself: a size, a limit, whether it failed. Where it takes that as an argument, state it; "
    "where one call can do the work of many, call it once.",
)
CHECKS = Advice(
    "python",
    "torch.distributions.Distribution.set_default_validate_args(False)   # where distributions check their arguments\n"
    "torch._assert_async(torch.isfinite(x).all())                        # a check of your own: fails later, waits for nothing",
    "Where the program only checks its values: take that out of the loop once the program is known to be right, or check now "
    "and then.",
)


def reading_op(calls: WaitingCalls) -> str | None:
    """The op of torch in which most values are read, and not by the program; None where there is none."""
    asker = calls.asker
    return asker if asker is not None and asker.startswith("aten::") and asker not in _ASKED else None


def stated(op: str) -> Advice:
    """What to do about an op of torch that reads values itself."""
    return next((advice for pattern, advice in _FIXES if pattern.search(op)), _OTHER)
