"""Runs made fit for a repository: known names stay, the time of all others stays together, and both sides lose the same."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.compare.comparison import compare
from analyzer.compare.public import OTHERS, known_only, public
from analyzer.compare.snapshot import LeftOut
from showing.snapshots import CONDITIONS, snapshot


def test_the_time_of_what_is_left_out_stays() -> None:
    run = snapshot(kernels_ns={"ampere_sgemm_128x64_nn": 5e6, "acme_a": 2e6, "acme_b": 1e6}, ops_ns={"aten::mm": 1e6})
    kept = known_only(run)
    assert kept.kernels_ns == {"ampere_sgemm_128x64_nn": 5e6, OTHERS: 3e6}
    assert kept.ops_ns == {"aten::mm": 1e6}
    assert kept.left_out == LeftOut(kernels=2, ops=0)
    assert known_only(kept) == kept


def test_a_side_with_all_names_is_compared_without_those_that_the_other_lacks() -> None:
    before = snapshot(kernels_ns={"acme_a": 2e6, "acme_b": 1e6})
    after = snapshot(kernels_ns={"acme_a": 4e6, "acme_c": 1e6})
    rows = {row.name: (row.before_ns, row.after_ns) for row in compare(public([before]), [after]).kernels}
    assert rows == {OTHERS: (3_000_000, 5_000_000)}
    rows = {row.name: (row.before_ns, row.after_ns) for row in compare([before], [after]).kernels}
    assert rows == {"acme_a": (2_000_000, 4_000_000), "acme_b": (1_000_000, 0), "acme_c": (0, 1_000_000)}


def test_files_are_numbered() -> None:
    runs = [snapshot(name="acme-secret.json"), snapshot(name="gpu-a100-node07_1.2.pt.trace.json")]
    assert [run.name for run in public(runs)] == ["run 1", "run 2"]


@pytest.mark.parametrize(
    ("field", "told", "kept"),
    [
        ("torch", "2.9.1+cu126", "2.9.1+cu126"), ("torch", "2.9.1+acme.build7", "2.9.1"), ("torch", "2.6.0a0+gitabc", "2.6.0a0"),
        ("torch", "acme", None), ("torch", None, None), ("cuda", "12.6", "12.6"), ("device", "NVIDIA H200", "NVIDIA H200"),
        ("device", "cpu", "cpu"), ("device", "gpu-a100-node07", None), ("device", "AMD Instinct MI300X", "AMD Instinct MI300X"),
    ],
)  # fmt: skip
def test_conditions_are_versions_and_devices(field: str, told: str | None, kept: str | None) -> None:
    run = snapshot(conditions=msgspec.structs.replace(CONDITIONS, **{field: told}))
    assert getattr(known_only(run).conditions, field) == kept
