"""Devices of AMD: a row each, as `peaks` says."""

from __future__ import annotations

from analyzer.hardware.datasheet import Peak

_CDNA3 = "AMD CDNA 3 white paper, PID 2258402-B, endnotes"
_MI100 = "AMD ROCm documentation, MI100 microarchitecture, docs/conceptual/gpu-arch/mi100.md in https://github.com/ROCm/legacy-rocm-build"
_MI210 = "AMD Instinct MI210 data sheet, table copied in a public repository, https://github.com/bytedance/ByteMLPerf"
_MI355X = "AMD Instinct MI355X GPU data sheet LE-92703-00, figures copied in two public repositories"
_MI300A = (
    "AMD ROCm documentation, docs/conceptual/gpu-arch/gpu-arch-info.rst (compute units), and AMD Instinct MI300A data sheet, "
    "figures copied in two public repositories"
)
_T, _G = 1e12, 1e9

AMD = (
    Peak(
        r"AMD Instinct MI250X(/MI250)?", (9, 0), 110, (60, 64.1),
        {"fp64": 95.7 / 2 * _T, "fp32": 95.7 / 2 * _T, "fp16": 383.0 / 2 * _T, "bf16": 383.0 / 2 * _T}, 3.277e12 / 2, _CDNA3,
        "MI250X, two dies, each a device: 383.0 TFLOPS (FP16), 383.0 TFLOPS (BF16), 95.7 TFLOPS (FP32 Matrix), 95.7 TFLOPS "
        "(FP64 Matrix), 3.277 TB/s",
        target="gfx90a",
    ),
    Peak(
        r"AMD Instinct MI100", (9, 0), 120, (30, 32.1),
        {"fp64": 11.5 * _T, "fp32": 46.1 * _T, "fp16": 184.6 * _T, "bf16": 92.3 * _T}, 1228 * _G, _MI100,
        "Vector FP64 11.5, Matrix FP32 46.1, Matrix FP16 184.6, Matrix BF16 92.3 peak TFLOPS, peak memory bandwidth 1.228 TB/sec, "
        "120 compute units, 32GB",
        target="gfx908",
    ),
    Peak(
        r"AMD Instinct MI210", (9, 0), 104, (62, 64.1),
        {"fp64": 45.3 * _T, "fp32": 45.3 * _T, "fp16": 181 * _T, "bf16": 181 * _T}, 1.6e12, _MI210,
        "Compute Units 104 CU, Peak FP64/FP32 Matrix 45.3 TF, Peak FP16/BF16 181.0 TF, Memory Bandwidth up to 1.6 TB/sec",
        target="gfx90a",
    ),
    # The copies state no other format. Of gfx942, too, but no candidate for a device without a name: that is taken for the fastest.
    Peak(
        r"AMD Instinct MI300A", (9, 4), 228, (120, 128.1),
        {"fp16": 980.6 * _T, "bf16": 980.6 * _T}, 5.3e12, _MI300A,
        "MI300A: 228 compute units, 128 GB HBM3, 980.6 TFLOPS dense FP16 and BF16, 5.3 TB/s",
    ),
    Peak(
        r"AMD Instinct MI300X", (9, 4), 304, (190, 192.1),
        {"fp64": 163.4 * _T, "fp32": 163.4 * _T, "tf32": 653.7 * _T, "fp16": 1307.4 * _T, "bf16": 1307.4 * _T, "fp8": 2614.9 * _T},
        5.325e12, _CDNA3,
        "1307.4 TFLOPS (FP16), 1307.4 TFLOPS (BF16), 653.7 TFLOPS (TF32), 2614.9 TFLOPS (FP8), 163.4 TFLOPS (FP32 Matrix), "
        "163.4 TFLOPS (FP64 Matrix), 5.325 TB/s",
        target="gfx942",
    ),
    Peak(
        r"AMD Instinct MI325X", (9, 4), 304, (250, 256.1),
        {"fp64": 163.4 * _T, "fp32": 163.4 * _T, "tf32": 653.7 * _T, "fp16": 1307.4 * _T, "bf16": 1307.4 * _T, "fp8": 2614.9 * _T},
        6e12, _CDNA3,
        "1307.4 TFLOPS (FP16), 1307.4 TFLOPS (BF16), 653.7 TFLOPS (TF32), 2614.9 TFLOPS (FP8), 163.4 TFLOPS (FP32 Matrix), "
        "163.4 TFLOPS (FP64 Matrix), 6 TB/s",
        target="gfx942",
    ),
    # It has no units for TF32.
    Peak(
        r"AMD Instinct MI355X", (9, 5), 256, (280, 288.1),
        {"fp64": 78.6 * _T, "fp32": 157.3 * _T, "fp16": 2516.6 * _T, "bf16": 2516.6 * _T, "fp8": 5033.2 * _T}, 8e12, _MI355X,
        "256 CU, 288 GB, FP64 matrix 78.6 TFLOPS, FP32 matrix 157.3 TFLOPS, FP16 and BF16 2516.6 (sparse 5033.2) TFLOPS, OCP-FP8 "
        "5033.2 (sparse 10066.4) TFLOPS, 8 TB/s",
        target="gfx950",
    ),
)  # fmt: skip
