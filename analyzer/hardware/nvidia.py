"""Devices of NVIDIA: a row each, as `peaks` says."""

from __future__ import annotations

from analyzer.hardware.datasheet import Peak

_AMPERE = "NVIDIA Ampere Architecture In-Depth, https://developer.nvidia.com/blog/nvidia-ampere-architecture-in-depth/"
_TURING = "NVIDIA Turing Architecture In-Depth, https://developer.nvidia.com/blog/nvidia-turing-architecture-in-depth/"
# Two sellers' copies of NVIDIA's tables: its own pages could not be read.
_HOPPER = "NVIDIA H100 Tensor Core GPU, table copied by HPC Technologies, https://archive-lib.hpctech.co.jp/gpuproduct/nvidia-h100.html"
_L40S = "NVIDIA L40/L40S, table copied by Mullet, https://www.mullet.se/product.html?product_id=355414"
# Copies in public repositories and of a seller, each naming the document that it copies: those themselves could not be read.
_A100_80 = "NVIDIA A100 data sheet 2188504, table copied in a public repository"
_A100_40 = "NVIDIA A100 data sheet 1758950, figures copied in two public repositories"
_A30 = "NVIDIA A30 data sheet (a30-datasheet.pdf, March 2022), figures copied in three public repositories"
_A10 = "NVIDIA A10 data sheet, table copied in two public repositories"
_A40 = "NVIDIA A40 data sheet, table copied by a seller, https://www.ecer.com/corp/details-uuuedqa-p1bsay9-multi-display-setups-supported-by-48gb-gddr6-ecc-memory-nvidia-a40-gpu-and-vga-outputs.html"
_H100_NVL = "NVIDIA H100, https://www.nvidia.com/en-us/data-center/h100/, table copied in two public repositories"
_H200 = "NVIDIA H200, https://www.nvidia.com/en-us/data-center/h200/, table copied in three public repositories"
_GH200 = "NVIDIA GH200 Grace Hopper Superchip data sheet 3773000, table copied in a public repository"
_BLACKWELL = "NVIDIA HGX B200 and GB200 NVL72, technical specifications copied in a public repository"
_T4 = "NVIDIA Turing architecture white paper, Table 5, and T4 data sheet, copied in three public repositories"
_L4 = "NVIDIA L4, https://www.nvidia.com/en-us/data-center/l4/, figures copied in two public repositories"
_GA102 = "NVIDIA Ampere GA102 white paper V2, Table 3 and Appendix A, copied in three public repositories"
_ADA = "NVIDIA Ada architecture white paper V2.1, Appendix A, copied in four public repositories"
_BLACKWELL_ULTRA = (
    "NVIDIA HGX B300 and GB300 NVL72, technical specifications, https://glennklockwood.com/garden/processors/B300 and "
    "https://verda.com/blog/gb300-nvl72-architecture"
)
_RTX_PRO = (
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition data sheet 3519208, copied in a public repository (FP32, memory), and "
    "https://hmc-tech.com/gpu/nvidia-rtx-pro-6000-blackwell-vs-amd-radeon-pro-duo-polaris (tensor cores)"
)
_RTX_BLACKWELL = "NVIDIA RTX Blackwell architecture white paper, Table 3, copied in three public repositories"
_GH200_WORDS = (
    "FP64 Tensor Core 67 TFLOPS, FP32 67 TFLOPS, TF32 989* | 494 TFLOPS, BFLOAT16 and FP16 1,979* | 990 TFLOPS, FP8 3,958* | "
    "1,979 TFLOPS, 96GB HBM3 | 144GB HBM3e, up to 4TB/s | up to 4.9TB/s. * the first is the sparse one"
)
_T, _G = 1e12, 1e9

NVIDIA = (
    Peak(
        r"Tesla P100-SXM2-16GB", (6, 0), 56, (14, 16.1),
        {"fp64": 5.3 * _T, "fp32": 10.6 * _T, "fp16": 21.2 * _T}, 720 * _G, _AMPERE,
        "Peak FP16 TFLOPS 21.2, Peak FP32 TFLOPS 10.6, Peak FP64 TFLOPS 5.3, Memory Bandwidth 720 GB/sec",
    ),
    Peak(
        r"Tesla V100-SXM2-(16|32)GB", (7, 0), 80, (14, 32.1),
        {"fp64": 7.8 * _T, "fp32": 15.7 * _T, "fp16": 125 * _T}, 900 * _G, _AMPERE,
        "Peak FP16 Tensor TFLOPS with FP32 Accumulate 125, Peak FP32 TFLOPS 15.7, Peak FP64 TFLOPS 7.8, "
        "Memory Bandwidth 900 GB/sec",
    ),
    Peak(
        r"(NVIDIA )?A100-SXM4-40GB", (8, 0), 108, (36, 40.1),
        {"fp64": 19.5 * _T, "fp32": 19.5 * _T, "tf32": 156 * _T, "fp16": 312 * _T, "bf16": 312 * _T}, 1555 * _G, _AMPERE,
        "Peak FP16 and BF16 Tensor TFLOPS with FP32 Accumulate 312/624 (the second sparse), Peak TF32 Tensor TFLOPS 156/312, "
        "Peak FP64 Tensor TFLOPS 19.5, Peak FP32 TFLOPS 19.5, Memory Bandwidth 1555 GB/sec",
    ),
    Peak(
        r"(NVIDIA )?A100-SXM4-80GB", (8, 0), 108, (78, 80.1),
        {"fp64": 19.5 * _T, "fp32": 19.5 * _T, "tf32": 156 * _T, "fp16": 312 * _T, "bf16": 312 * _T}, 2039 * _G, _A100_80,
        "A100 80GB SXM: FP64 Tensor Core 19.5 TFLOPS, FP32 19.5 TFLOPS, TF32 156 TFLOPS / 312 TFLOPS*, BFLOAT16 and FP16 Tensor "
        "Core 312 TFLOPS / 624 TFLOPS*, 2,039GB/s. * the second sparse",
    ),
    Peak(
        r"(NVIDIA )?A100 80GB PCIe", (8, 0), 108, (78, 80.1),
        {"fp64": 19.5 * _T, "fp32": 19.5 * _T, "tf32": 156 * _T, "fp16": 312 * _T, "bf16": 312 * _T}, 1935 * _G, _A100_80,
        "A100 80GB PCIe: FP64 Tensor Core 19.5 TFLOPS, FP32 19.5 TFLOPS, TF32 156 TFLOPS / 312 TFLOPS*, BFLOAT16 and FP16 Tensor "
        "Core 312 TFLOPS / 624 TFLOPS*, 1,935GB/s. * the second sparse",
    ),
    Peak(
        r"(NVIDIA )?A100-PCIE-40GB", (8, 0), 108, (36, 40.1),
        {"fp64": 19.5 * _T, "fp32": 19.5 * _T, "tf32": 156 * _T, "fp16": 312 * _T, "bf16": 312 * _T}, 1555 * _G, _A100_40,
        "A100 40GB PCIe: FP64 Tensor Core 19.5 TFLOPS, FP32 19.5 TFLOPS, TF32 156 TFLOPS, BFLOAT16 and FP16 Tensor Core 312 "
        "TFLOPS, 1,555 GB/s",
    ),
    Peak(
        r"NVIDIA A30", (8, 0), 56, (22.5, 24.1),
        {"fp64": 10.3 * _T, "fp32": 10.3 * _T, "tf32": 82 * _T, "fp16": 165 * _T, "bf16": 165 * _T}, 933 * _G, _A30,
        "FP64 Tensor Core 10.3 TFLOPS, FP32 10.3 TFLOPS, TF32 82 TFLOPS, FP16 and BFLOAT16 Tensor Core 165 TFLOPS, 933 GB/s",
    ),
    Peak(
        r"NVIDIA A10", (8, 6), 72, (21, 24.1),
        {"fp32": 31.2 * _T, "tf32": 62.5 * _T, "fp16": 125 * _T, "bf16": 125 * _T}, 600 * _G, _A10,
        "FP32 31.2 TFLOPS, TF32 62.5T/125T, BFLOAT16 TensorCore 125 TFLOPS, FP16 TensorCore 125 TFLOPS, 125 / 250 TFLOPS (dense / "
        "sparse), 600 GB/s",
    ),
    Peak(
        r"NVIDIA A40", (8, 6), 84, (43, 48.1),
        {"fp32": 37.4 * _T, "tf32": 74.8 * _T, "fp16": 149.7 * _T, "bf16": 149.7 * _T}, 696 * _G, _A40,
        "Peak FP32 TFLOPS (non-Tensor) 37.4, Peak FP16 Tensor TFLOPS with FP16 Accumulate 149.7 | 299.4*, Peak TF32 Tensor TFLOPS "
        "74.8 | 149.6*, Peak BF16 Tensor TFLOPS with FP32 Accumulate 149.7 | 299.4*, 696 GB/s. * the second sparse",
    ),
    Peak(
        r"(NVIDIA )?GeForce RTX 2080 Ti", (7, 5), 68, (10, 11.1),
        {"fp32": 14.2 * _T, "fp16": 56.9 * _T}, 616 * _G, _TURING,
        "Reference / Founders Edition, of which the second is taken: Peak FP16 Tensor TFLOPS with FP32 Accumulate 53.8 / 56.9, "
        "Peak FP32 TFLOPS 13.4 / 14.2, Memory Bandwidth (GB/sec) 616",
    ),
    Peak(
        r"(NVIDIA )?Quadro RTX 6000", (7, 5), 72, (21, 24.1),
        {"fp32": 16.3 * _T, "fp16": 130.5 * _T}, 672 * _G, _TURING,
        "Peak FP16 Tensor TFLOPS with FP32 Accumulate 130.5, Peak FP32 TFLOPS 16.3, Memory Bandwidth (GB/sec) 672",
    ),
    Peak(
        r"(NVIDIA )?(Tesla )?T4", (7, 5), 40, (14, 16.1),
        {"fp32": 8.1 * _T, "fp16": 65 * _T}, 320 * _G, _T4,
        "40 SMs, 8.1 TFLOPS FP32, 65 TFLOPS FP16 tensor (mixed precision), 320 GB/s. No BF16 tensor cores",
    ),
    Peak(
        r"NVIDIA L4", (8, 9), 58, (21, 24.1),
        {"fp32": 30.3 * _T, "tf32": 60 * _T, "fp16": 121 * _T, "bf16": 121 * _T, "fp8": 242.5 * _T}, 300 * _G, _L4,
        "FP32 30.3 TFLOPS, TF32 120 TFLOPS*, FP16 and BF16 242 TFLOPS*, FP8 485 TFLOPS*, 300 GB/s. * with sparsity",
    ),
    # GeForce cards accumulate in 32 bits at half the rate, and torch accumulates so unless it is told otherwise.
    Peak(
        r"(NVIDIA )?GeForce RTX 3090", (8, 6), 82, (23, 24.1),
        {"fp32": 35.6 * _T, "tf32": 35.6 * _T, "fp16": 71 * _T, "bf16": 71 * _T}, 936 * _G, _GA102,
        "RTX 3090: Peak FP16 and BF16 Tensor TFLOPS with FP32 Accumulate 71/142 (the second sparse), Peak TF32 Tensor TFLOPS 35.6, "
        "Peak FP32 TFLOPS 35.6, 936 GB/sec",
    ),
    Peak(
        r"(NVIDIA )?RTX A6000", (8, 6), 84, (45, 48.1),
        {"tf32": 77.4 * _T, "fp16": 154.8 * _T, "bf16": 154.8 * _T}, 768 * _G, _GA102,
        "RTX A6000: SMs 84, Peak FP16 and BF16 Tensor TFLOPS with FP32 Accumulate 154.8/309.6 (the second sparse), Peak TF32 "
        "Tensor TFLOPS 77.4, Memory Bandwidth 768 GB/sec",
    ),
    Peak(
        r"NVIDIA GeForce RTX 4090", (8, 9), 128, (23, 24.1),
        {"fp32": 82.6 * _T, "tf32": 82.6 * _T, "fp16": 165.2 * _T, "bf16": 165.2 * _T, "fp8": 330.3 * _T}, 1008 * _G, _ADA,
        "RTX 4090: SMs 128, Peak FP32 TFLOPS (non-Tensor) 82.6, TF32 82.6/165.2, Peak FP16 and BF16 Tensor TFLOPS with FP32 "
        "Accumulate 165.2/330.4, Peak FP8 Tensor TFLOPS with FP32 Accumulate 330.3/660.6 (the second sparse), 1008 GB/sec",
    ),
    Peak(
        r"NVIDIA GeForce RTX 5090", (12, 0), 170, (31, 32.1),
        {"fp16": 209.5 * _T, "bf16": 209.5 * _T, "fp8": 419 * _T}, 1792 * _G, _RTX_BLACKWELL,
        "RTX 5090: 170 SMs, BF16 with FP32 accumulation 209.5/419, FP8 with FP32 accumulation 419/838 (the second sparse), "
        "1792 GB/s",
    ),
    Peak(
        r"NVIDIA H100 80GB HBM3", (9, 0), 132, (78, 80.1),
        {"fp64": 67 * _T, "fp32": 67 * _T, "tf32": 494.5 * _T, "fp16": 989.5 * _T, "bf16": 989.5 * _T, "fp8": 1979 * _T},
        3350 * _G, _HOPPER,
        "H100 SXM, SMs 132: FP64 Tensor 67 TFLOPS, FP32 67 TFLOPS, TF32 Tensor 989 TFLOPS*, BFLOAT16 "
        "Tensor 1979 TFLOPS*, FP16 Tensor 1979 TFLOPS*, FP8 Tensor 3958 TFLOPS*, 3350 GB/sec. "
        "* Shown with sparsity. Specifications 1/2 lower without sparsity",
    ),
    Peak(
        r"NVIDIA H100 PCIe", (9, 0), 114, (78, 80.1),
        {"fp64": 51 * _T, "fp32": 51 * _T, "tf32": 378 * _T, "fp16": 756.5 * _T, "bf16": 756.5 * _T, "fp8": 1513 * _T},
        2000 * _G, _HOPPER,
        "H100 PCIe, SMs 114: FP64 Tensor 51 TFLOPS, FP32 51 TFLOPS, TF32 Tensor 756 TFLOPS*, BFLOAT16 "
        "Tensor 1513 TFLOPS*, FP16 Tensor 1513 TFLOPS*, FP8 Tensor 3026 TFLOPS*, 2000 GB/sec. "
        "* Shown with sparsity. Specifications 1/2 lower without sparsity",
    ),
    Peak(
        r"NVIDIA H100 NVL", (9, 0), 132, (92, 94.1),
        {"fp64": 60 * _T, "fp32": 60 * _T, "tf32": 417.5 * _T, "fp16": 835.5 * _T, "bf16": 835.5 * _T, "fp8": 1670.5 * _T},
        3900 * _G, _H100_NVL,
        "H100 NVL: FP64 Tensor Core 60 TFLOPS, FP32 60 TFLOPS, TF32 835 TFLOPS*, BFLOAT16 and FP16 1,671 TFLOPS*, FP8 3,341 "
        "TFLOPS*, 94 GB, 3.9 TB/s. * with sparsity",
    ),
    Peak(
        r"NVIDIA H200", (9, 0), 132, (130, 141.1),
        {"fp64": 67 * _T, "fp32": 67 * _T, "tf32": 494.5 * _T, "fp16": 989.5 * _T, "bf16": 989.5 * _T, "fp8": 1979 * _T},
        4800 * _G, _H200,
        "H200 SXM: FP64 Tensor Core 67 TFLOPS, FP32 67 TFLOPS, TF32 989 TFLOPS*, BFLOAT16 and FP16 1,979 TFLOPS*, FP8 3,958 "
        "TFLOPS*, 141 GB, 4.8 TB/s. * with sparsity",
    ),
    Peak(
        r"NVIDIA H200 NVL", (9, 0), 132, (130, 141.1),
        {"fp64": 60 * _T, "fp32": 60 * _T, "tf32": 417.5 * _T, "fp16": 835.5 * _T, "bf16": 835.5 * _T, "fp8": 1670.5 * _T},
        4800 * _G, _H200,
        "H200 NVL: FP64 Tensor Core 60 TFLOPS, FP32 60 TFLOPS, TF32 835 TFLOPS*, BFLOAT16 and FP16 1,671 TFLOPS*, FP8 3,341 "
        "TFLOPS*, 141 GB, 4.8 TB/s. * with sparsity",
    ),
    # Named by the memory of its CPU, where that of the GPU is of the first kind.
    Peak(
        r"NVIDIA GH200 (120|480)GB", (9, 0), 132, (93, 96.1),
        {"fp64": 67 * _T, "fp32": 67 * _T, "tf32": 494 * _T, "fp16": 990 * _T, "bf16": 990 * _T, "fp8": 1979 * _T},
        4000 * _G, _GH200, _GH200_WORDS,
    ),
    Peak(
        r"NVIDIA GH200 144G HBM3e", (9, 0), 132, (140, 144.1),
        {"fp64": 67 * _T, "fp32": 67 * _T, "tf32": 494 * _T, "fp16": 990 * _T, "bf16": 990 * _T, "fp8": 1979 * _T},
        4900 * _G, _GH200, _GH200_WORDS,
    ),
    Peak(
        r"NVIDIA B200", (10, 0), 148, (170, 180.1),
        {"fp64": 37 * _T, "fp32": 75 * _T, "tf32": 1100 * _T, "fp16": 2250 * _T, "bf16": 2250 * _T, "fp8": 4500 * _T},
        7700 * _G, _BLACKWELL,
        "HGX B200, each GPU: FP8 9 PFLOPS*, FP16/BF16 4.5 PFLOPS*, TF32 2.2 PFLOPS*, FP32 75 TFLOPS, FP64/FP64 Tensor Core 37 "
        "TFLOPS, 180GB, 7.7 TB/s. * with sparsity, as a second copy says",
    ),
    Peak(
        r"NVIDIA GB200", (10, 0), 152, (175, 186.1),
        {"fp64": 40 * _T, "fp32": 80 * _T, "tf32": 1250 * _T, "fp16": 2500 * _T, "bf16": 2500 * _T, "fp8": 5000 * _T},
        8000 * _G, _BLACKWELL,
        "GB200 NVL72, each GPU: FP8 10 PFLOPS*, FP16/BF16 5 PFLOPS*, TF32 2.5 PFLOPS*, FP32 80 TFLOPS, FP64/FP64 Tensor Core 40 "
        "TFLOPS, 186GB, 8 TB/s. * with sparsity, as a second copy says",
    ),
    # Its memory is what a process sees of 288 GB.
    Peak(
        r"NVIDIA B300( SXM6 AC)?", (10, 3), 148, (255, 288.1),
        {"fp64": 1.25 * _T, "fp32": 75 * _T, "tf32": 1125 * _T, "fp16": 2250 * _T, "bf16": 2250 * _T, "fp8": 4500 * _T},
        7.7e12, _BLACKWELL_ULTRA,
        "HGX B300, each GPU, dense: FP64 1.25, FP32 75, TF32 1125, FP16 and BF16 2250, FP8 4500 TFLOPS, 7.7 TB/s (the first "
        "copy: 8 at most)",
    ),
    Peak(
        r"NVIDIA GB300", (10, 3), 152, (265, 288.1),
        {"fp32": 80 * _T, "tf32": 1250 * _T, "fp16": 2500 * _T, "bf16": 2500 * _T, "fp8": 5000 * _T}, 8e12, _BLACKWELL_ULTRA,
        "GB300, each GPU, without sparsity: FP8 5 PFLOPS, FP16/BF16 2.5 PFLOPS, TF32 1.25 PFLOPS, FP32 80 TFLOPS, 279 GB, 8 TB/s",
    ),
    Peak(
        r"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0), 188, (94, 96.1),
        {"fp32": 125 * _T, "tf32": 251.9 * _T, "fp16": 503.8 * _T, "bf16": 503.8 * _T, "fp8": 1007.6 * _T}, 1792 * _G, _RTX_PRO,
        "Single-precision performance 125 TFLOPS, 1792 GB/s, 96 GB; TF32 251.9, FP16 and BF16 503.8, FP8 1007.6 TFLOPS with "
        "FP32 accumulation, dense",
    ),
    Peak(
        r"NVIDIA L40S", (8, 9), 142, (43, 48.1),
        {"fp32": 91.6 * _T, "tf32": 183 * _T, "fp16": 362.05 * _T, "bf16": 362.05 * _T, "fp8": 733 * _T}, 864 * _G, _L40S,
        "FP32 TFLOPS 91.6, TF32 Tensor Core TFLOPS 183 | 366*, BFLOAT16 Tensor Core TFLOPS 362.05 | 733*, FP16 Tensor Core "
        "362.05 | 733*, FP8 Tensor Core 733 | 1466*, 864GB/s. * sparse",
    ),
)  # fmt: skip
