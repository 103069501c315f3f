"""Peaks: one row a device, and only where all that a device states of itself fits it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analyzer.hardware.built_for import built_for
from analyzer.hardware.peaks import PEAKS, peak_of

V100 = {
    "name": "Tesla V100-SXM2-16GB",
    "totalGlobalMem": 16945512448,
    "computeMajor": 7,
    "computeMinor": 0,
    "numSms": 80,
}


def test_a_device_is_found_by_all_it_states() -> None:
    peak = peak_of(V100)
    assert peak is not None
    assert peak.flops_per_s["fp16"] == 125e12
    assert peak.bytes_per_s == 900e9


@pytest.mark.parametrize(
    "other",
    [
        {"name": "NVIDIA A100-PG509-200"}, {"name": "Tesla V100-DGXS-32GB"}, {"name": ""}, {"computeMajor": 8}, {"numSms": 40},
        {"totalGlobalMem": 8 * 2**30}, {"totalGlobalMem": None},
    ],
)  # fmt: skip
def test_one_that_differs_in_anything_is_unknown(other: dict[str, Any]) -> None:
    assert peak_of(V100 | other) is None


def test_every_figure_stands_in_the_words_of_its_document() -> None:
    for peak in PEAKS:
        stated = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", peak.words))}
        # A device that is one of two dies has half of what is stated.
        share = 2 if "each a device" in peak.words else 1
        # Where a document states figures with sparsity only, half of them is taken.
        shares = (1, 2) if "sparsity" in peak.words else (share,)
        units = (1e12, 1e15) if "PFLOPS" in peak.words else (1e12,)
        for rate in peak.flops_per_s.values():
            reached = [rate * one / unit for one in shares for unit in units]
            assert any(one == pytest.approx(two) for one in reached for two in stated), peak.pattern
        assert any(peak.bytes_per_s * share == pytest.approx(one * unit) for one in stated for unit in (1e9, 1e12))
        assert any(word in peak.document for word in ("http", "white paper", "data sheet", "technical specifications"))


@pytest.mark.parametrize(
    ("name", "compute", "multiprocessors", "memory", "fp16"),
    [
        ("NVIDIA H100 80GB HBM3", (9, 0), 132, 85_029_158_912, 989.5e12),
        ("NVIDIA H100 PCIe", (9, 0), 114, 85_014_216_704, 756.5e12),
        ("NVIDIA L40S", (8, 9), 142, 47_697_362_944, 362.05e12),
        ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 85_174_779_904, 312e12),
        ("NVIDIA A100 80GB PCIe", (8, 0), 108, 85_094_825_984, 312e12),
        ("NVIDIA A100-PCIE-40GB", (8, 0), 108, 42_405_855_232, 312e12),
        ("NVIDIA A30", (8, 0), 56, 25_228_738_560, 165e12),
        ("AMD Instinct MI355X", (9, 5), 256, 309_220_868_096, 2516.6e12),
        ("NVIDIA A10", (8, 6), 72, 23_602_790_400, 125e12),
        ("NVIDIA A40", (8, 6), 84, 47_608_758_272, 149.7e12),
        ("NVIDIA H100 NVL", (9, 0), 132, 99_949_740_032, 835.5e12),
        ("NVIDIA H200", (9, 0), 132, 150_110_011_392, 989.5e12),
        ("NVIDIA H200 NVL", (9, 0), 132, 150_110_011_392, 835.5e12),
        ("NVIDIA B200", (10, 0), 148, 191_510_216_704, 2250e12),
        ("NVIDIA GH200 480GB", (9, 0), 132, 102_005_473_280, 990e12),
        ("NVIDIA GH200 144G HBM3e", (9, 0), 132, 153_008_209_920, 990e12),
        ("NVIDIA GB200", (10, 0), 152, 198_600_000_000, 2500e12),
        ("NVIDIA L4", (8, 9), 58, 23_580_639_232, 121e12),
        ("NVIDIA RTX A6000", (8, 6), 84, 50_925_535_232, 154.8e12),
        ("NVIDIA GeForce RTX 3090", (8, 6), 82, 25_438_126_080, 71e12),
        ("NVIDIA GeForce RTX 4090", (8, 9), 128, 25_386_352_640, 165.2e12),
        ("NVIDIA GeForce RTX 5090", (12, 0), 170, 33_669_120_000, 209.5e12),
        ("NVIDIA B300 SXM6 AC", (10, 3), 148, 288_400_343_040, 2250e12),
        ("NVIDIA GB300", (10, 3), 152, 298_000_000_000, 2500e12),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0), 188, 101_970_000_000, 503.8e12),
        ("AMD Instinct MI300A", (9, 4), 228, 137_000_000_000, 980.6e12),
    ],
)
def test_sparse_figures_are_not_taken(
    name: str, compute: tuple[int, int], multiprocessors: int, memory: int, fp16: float
) -> None:
    """A part of a card states fewer multiprocessors, and is unknown."""
    device = {"name": name, "computeMajor": compute[0], "computeMinor": compute[1], "totalGlobalMem": memory}
    peak = peak_of(device | {"numSms": multiprocessors})
    assert peak is not None
    assert peak.flops_per_s["fp16"] == peak.flops_per_s["bf16"] == fp16
    assert peak_of(device | {"numSms": 16}) is None


def test_figures_are_dense() -> None:
    """With sparsity they would be twice as large, and no row's 16-bit rate is more than twice its 32-bit matrix rate there.

    Some figures have two digits.
    """
    for peak in PEAKS:
        if {"tf32", "fp16"} <= set(peak.flops_per_s):
            assert peak.flops_per_s["fp16"] == pytest.approx(2 * peak.flops_per_s["tf32"], rel=0.03)


def test_a_laptop_or_another_of_the_family_is_unknown() -> None:
    """It has fewer multiprocessors at other clocks under nearly the same name."""
    card = {"name": "NVIDIA GeForce RTX 4090", "totalGlobalMem": 25_386_352_640, "computeMajor": 8, "computeMinor": 9}
    assert peak_of(card) is not None
    assert [peak_of(card | {"name": f"{card['name']}{more}"}) for more in (" D", " Laptop GPU")] == [None, None]


@pytest.mark.parametrize(
    ("known", "others"),
    [
        ("NVIDIA A100-SXM4-80GB", ["NVIDIA A100-SXM4-80GB MIG 3g.40gb", "NVIDIA A100-SXM-80GB"]),
        ("NVIDIA GeForce RTX 3090", ["NVIDIA GeForce RTX 3090 Ti"]),
        ("Tesla T4", ["Tesla T40", "NVIDIA T400 4GB", "NVIDIA T4G"]),
        ("NVIDIA L4", ["NVIDIA L40", "NVIDIA L40G"]),
        ("NVIDIA A30", ["NVIDIA A30X", "NVIDIA A30 MIG 2g.12gb", "NVIDIA A3000"]),
        ("NVIDIA H100 80GB HBM3", ["NVIDIA H100 80GB HBM3 MIG 7g.80gb", "NVIDIA H800", "NVIDIA H100 80GB HBM2e"]),
        ("AMD Instinct MI210", ["AMD Instinct MI250", "AMD Instinct MI210 VF"]),
    ],
)
def test_a_name_that_only_begins_alike_is_unknown(known: str, others: list[str]) -> None:
    """Even where it states the figures of the other."""
    row = next(one for one in PEAKS if re.fullmatch(one.pattern, known))
    states = {
        "computeMajor": row.compute[0], "computeMinor": row.compute[1], "numSms": row.multiprocessors,
        "totalGlobalMem": int(row.memory_gib[1] * 2**30) - 1,
    }  # fmt: skip
    assert peak_of(states | {"name": known}) is row
    assert [peak_of(states | {"name": other}) for other in others] == [None] * len(others)


def test_a_card_without_tensor_cores_for_a_format_has_no_peak_for_it() -> None:
    card = {"name": "Tesla T4", "totalGlobalMem": 15_828_320_256, "computeMajor": 7, "computeMinor": 5, "numSms": 40}
    peak = peak_of(card)
    assert peak is not None
    assert sorted(peak.flops_per_s) == ["fp16", "fp32"]


@pytest.mark.parametrize(
    ("names", "devices"),
    [
        (["Cijk_Ailk_Bljk_BBS_BH_GLS0_ISA942_IU1_K1", "Cijk_B_PostGSU2"], {"MI300X", "MI325X"}),
        (["miopenSp3AsmConv_v30_3_1_gfx90a_fp16"], {"MI250X", "MI210"}),
        (["Cijk_ISA90a_IU1"], {"MI250X", "MI210"}),
        (["k_gfx950"], {"MI355X"}),
        (["Cijk_ISA942_IU1", "k_gfx90a"], set()),
        (["sm80_xmma_gemm", "Cijk_B_PostGSU2", "k_gfx1100", "gfx9421"], set()),
        ([], set()),
    ],
)
def test_kernels_name_the_design_that_they_run_on(names: list[str], devices: set[str]) -> None:
    assert {re.split(r"[ (]", one.pattern)[2] for one in built_for(names)} == devices
