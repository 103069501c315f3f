"""KE001: of an op that computes piece by piece, a larger batch makes more kernels; of small kernels one by one, larger ones."""

from __future__ import annotations

import pytest

from building.clocked import Clocked
from rules.kernels.small_grid import RULE
from running.one_rule import judged
from stories.devices import A100, of
from stories.models import update

SMALL = "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 2, 4, false, cublasGemvTensor<float const>>(cublasGemmSmallNParams)"


def world(op: str, calls: int, pieces: int) -> Clocked:
    """Steps of so many calls of an op, each of which launches so many kernels of one block."""
    built = Clocked(top=of(A100))
    for _ in built.steps(4):
        for _ in range(calls):
            with built.within(op):
                for _ in range(pieces):
                    built.kernel_of(None, SMALL, 20, grid=[1, 1, 1], block=[128, 1, 1])
        update(built, dur=200)
    return built


@pytest.mark.parametrize(
    ("op", "calls", "pieces", "one_by_one"),
    [
        ("aten::bmm", 4, 200, True),
        ("aten::bmm", 800, 1, False),
        # Through time each kernel is as large as the batch.
        ("aten::_cudnn_rnn", 4, 200, False),
        # Nobody but its author knows what an extension launches.
        ("mylib::scan", 4, 200, False),
    ],
)
def test_a_larger_batch_is_advised_where_it_makes_kernels_larger(
    op: str, calls: int, pieces: int, one_by_one: bool
) -> None:
    found = judged(RULE, world(op, calls, pieces)).finding
    said = " ".join(one.code for one in found.fix)
    assert (f"one call of `{op}`" in said) is one_by_one
    assert ("batch_size" in said) is not one_by_one
    assert (f"Each call of `{op}` launches {pieces} of them." in found.why) is one_by_one
