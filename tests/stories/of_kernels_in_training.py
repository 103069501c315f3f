"""Stories of training by kernels, solvers and loops of libraries of their own; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.other_devices import xpu
from stories import devices
from stories.models import (
    ADD,
    CONV_32,
    NORM,
    NVJET,
    SGEMM,
    blocks,
    blocks_back,
    layers,
    layers_back,
    update,
)
from stories.story import GITHUB, Story

GRID = "void tcnn::kernel_grid<__half, 3u, 2u, (tcnn::HashType)0>(unsigned int, unsigned int, tcnn::GridOffsetTable)"
GRID_BACK = (
    "void tcnn::kernel_grid_backward<__half, float, 3u, 2u, 2u>(unsigned int, unsigned int, tcnn::GridOffsetTable)"
)
MLP = "void tcnn::kernel_mlp_fused<64, 8, __half, (tcnn::Activation)0, false>(tcnn::Activation, __half const*, __half const*)"
MLP_BACK = "void tcnn::kernel_mlp_fused_backward<64, 8, __half, (tcnn::Activation)6>(tcnn::Activation, __half const*)"
DEFORM = "void ms_deformable_im2col_gpu_kernel<float>(int, float const*, long const*, long const*, float const*, float const*)"
DEFORM_BACK = (
    "void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<float, 32u>(int, float const*, float const*)"
)
SCAN = "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1, false, true, true, true, c10::BFloat16>>(p)"
SCAN_BACK = (
    "void selective_scan_bwd_kernel<Selective_Scan_bwd_kernel_traits<128, 16, true, true, true, c10::BFloat16>>(p)"
)
CONV_1D = "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, true, c10::BFloat16>>(p)"
ONEDNN = "gemm_kernel"
XPU_ADD = "at::native::xpu::VectorizedElementwiseKernel<4, at::native::xpu::AddFunctor<c10::BFloat16>, at::detail::Array<char*, 3>>"
SORT = "void cub::DeviceScanKernel<cub::DeviceScanPolicy<long>::Policy600, long const*, long*>(p)"


def _right_side(world: Clocked) -> None:
    """The right side of a differential equation: a small network, and the solver's sums."""
    for _ in range(3):
        world.kernel_of("aten::linear/aten::addmm", SGEMM, 5)
        world.kernel_of("aten::tanh", ADD, 3)
    for _ in range(4):
        world.kernel_of("aten::mul", ADD, 2)
        world.kernel_of("aten::add", ADD, 2)


def _solved_by_steps() -> Clocked:
    """torchdiffeq, dopri5 with the adjoint: six evaluations and a value read for each step of the solver, both ways."""
    world = Clocked(top=devices.of(devices.RTX_3090))
    for _ in world.steps(4):
        world.load(90, workers=2)
        world.copied("HtoD", 256 << 10, pinned=True)
        with world.within("OdeintAdjointMethod"):
            for _ in range(12):
                for _ in range(6):
                    _right_side(world)
                world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
        world.kernel_of("aten::mse_loss", ADD, 3)
        with world.backward(), world.node("OdeintAdjointMethodBackward"):
            for _ in range(12):
                for _ in range(6):
                    _right_side(world)
                    for _ in range(3):
                        with world.node("AddmmBackward0"):
                            world.kernel_of("aten::mm", SGEMM, 5)
                            world.kernel_of("aten::mm", SGEMM, 5)
                world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
        update(world, "Adam", dur=20)
    return world


def _hash_grids() -> Clocked:
    """Instant NGP by tiny-cuda-nn: grids of hashes and fused networks take it, in halves; rays are picked by a mask."""
    world = Clocked(top=devices.of(devices.RTX_3090))
    for _ in world.steps(6):
        world.idle(200)
        world.kernel_of(
            "RayMarcher", "void kernel_march_rays_train<float>(unsigned int, float const*, float const*)", 900, host=60
        )
        world.kernel_of("aten::nonzero", SORT, 20, host=30)
        world.copied("DtoH", 8, path=None)
        world.kernel_of("_module_functionTCNN", GRID, 2_300, host=40)
        world.kernel_of("_module_functionTCNN", MLP, 1_100, host=40)
        world.kernel_of(
            "VolumeRenderer", "void composite_train_fw_kernel<float>(float const*, float const*, int)", 300, host=50
        )
        with world.backward():
            with world.node("VolumeRendererBackward"):
                world.kernel_of(None, "void composite_train_bw_kernel<float>(float const*, float const*, int)", 400)
            with world.node("_module_functionTCNNBackward"):
                world.kernel_of(None, MLP_BACK, 1_700)
                world.kernel_of(None, GRID_BACK, 4_900)
        update(world, "Adam", dur=900)
    return world


def _deformable() -> Clocked:
    """Deformable DETR: the sampling's own kernels take half of the step, most of that the gradient by atomics."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(4):
        world.load(150, workers=8)
        world.copied("HtoD", 24 << 20, pinned=True)
        blocks(world, 20, 1.2, conv=CONV_32)
        for _ in range(6):
            world.kernel_of(
                "aten::linear/aten::addmm", "ampere_tf32_s1688gemm_tf32_128x128_ldg8_f2f_stages_32x3_tn", 180
            )
            world.kernel_of("MSDeformAttnFunction", DEFORM, 1_100, host=40)
            world.kernel_of("aten::native_layer_norm", NORM, 60)
        with world.backward():
            for _ in range(6):
                with world.node("MSDeformAttnFunctionBackward"):
                    world.kernel_of(None, DEFORM_BACK, 2_900)
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", "ampere_tf32_s1688gemm_tf32_128x128_ldg8_f2f_stages_32x3_nt", 360)
        blocks_back(world, 20, 2.4, conv=CONV_32)
        update(world, dur=300)
    return world


def _loss_in_chunks() -> Clocked:
    """Liger's fused linear cross entropy: logits chunk by chunk in one function, gradients with them; made so to save memory."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(60, workers=4)
        layers(world, 10)
        with world.within("LigerFusedLinearCrossEntropyFunction"):
            for _ in range(16):
                world.kernel_of("aten::matmul/aten::mm", NVJET, 240)
                world.kernel_of(None, "liger_cross_entropy_kernel", 110, api="cuLaunchKernelEx")
                world.kernel_of("aten::matmul/aten::mm", NVJET, 240)
                world.kernel_of("aten::addmm", NVJET, 240)
        layers_back(world, 10)
        update(world)
    return world


def _on_ponte_vecchio() -> Clocked:
    """An LLM on an Intel Max 1550 in bfloat16: oneDNN's products take it, the queue is filled."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=4)
        for _ in range(12):
            world.kernel_of(
                "aten::native_layer_norm", "at::native::xpu::VectorizedLayerNormKernel<c10::BFloat16, float, long>", 40
            )
            for dur in (420, 320, 700, 700):
                world.kernel_of("aten::linear/aten::addmm", ONEDNN, dur)
                world.kernel_of("aten::add", XPU_ADD, 40)
            world.kernel_of("aten::_scaled_dot_product_fused_attention_overrideable", "micro_sdpa", 300, host=40)
        with world.backward():
            for _ in range(12):
                for dur in (420, 320, 700, 700):
                    with world.node("AddmmBackward0"):
                        world.kernel_of("aten::mm", ONEDNN, dur)
                        world.kernel_of("aten::mm", ONEDNN, dur)
        begin = world.now
        for _ in range(12):
            world.kernel_of("aten::_foreach_add_", "at::native::xpu::MultiTensorApplyKernelFunctor<p>", 100, host=50)
        world.optimizer(begin, world.now - begin, "AdamW")
    return xpu(world)  # type: ignore[return-value]


def _state_spaces() -> Clocked:
    """Mamba with its own kernels: scans and products, fused already; nothing steps through time in Python."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(60, workers=4)
        for _ in range(16):
            world.kernel_of("aten::rms_norm", NORM, 40)
            with world.within("MambaInnerFn"):
                world.kernel_of("aten::matmul/aten::mm", NVJET, 420)
                world.kernel_of(None, CONV_1D, 120, call=6)
                world.kernel_of("aten::linear/aten::mm", NVJET, 60)
                world.kernel_of(None, SCAN, 520, call=6)
                world.kernel_of("aten::linear/aten::mm", NVJET, 260)
        with world.backward():
            for _ in range(16):
                with world.node("MambaInnerFnBackward"):
                    world.kernel_of(None, CONV_1D.replace("fwd", "bwd"), 240, call=6)
                    world.kernel_of(None, SCAN_BACK, 1_350, call=6)
                    for dur in (420, 420, 60, 60, 260, 260):
                        world.kernel_of("aten::mm", NVJET, dur)
        update(world)
    return world


def _prefetched() -> Clocked:
    """apex's data_prefetcher: the next batch travels on a stream of its own and is normalised there; nothing waits for it."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        blocks(world, 30, 1.1)
        blocks_back(world, 30, 2.2)
        update(world, "SGD", dur=300)
        world.load(80, workers=8)
        world.copied("HtoD", 77 << 20, pinned=True, stream=13)
        world.kernel_of("aten::to/aten::_to_copy/aten::copy_", ADD, 160, stream=13)
        world.kernel_of("aten::sub_", ADD, 90, stream=13)
        world.kernel_of("aten::div_", ADD, 90, stream=13)
    return world


def _dispatched_by_einsum() -> Clocked:
    """GShard's experts: tokens are sent to experts by products with one-hot tensors, which take as much as the experts do."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(60, workers=4)
        for _ in range(8):
            world.kernel_of("aten::linear/aten::mm", NVJET, 30)
            world.kernel_of("aten::softmax/aten::_softmax", ADD, 20)
            world.kernel_of(
                "aten::topk", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(p)", 60, host=30
            )
            world.kernel_of("aten::one_hot/aten::scatter_", ADD, 40, host=30)
            for path, dur in (("einsum", 900), ("experts", 420), ("experts", 420), ("einsum", 900)):
                with world.within("aten::einsum" if path == "einsum" else "aten::matmul"):
                    world.kernel_of("aten::bmm", NVJET, dur, host=30)
        with world.backward():
            for _ in range(8):
                for dur in (900, 420, 420, 900):
                    with world.node("BmmBackward0"):
                        world.kernel_of("aten::bmm", NVJET, dur)
                        world.kernel_of("aten::bmm", NVJET, dur)
        update(world)
    return world


def _trees_of_graphs() -> Clocked:
    """torch.compile with CUDA graph trees: one graph forward, one backward, the device works all along."""
    world = Clocked()
    triton = "triton_poi_fused_add_gelu_native_layer_norm_4"
    forward = [(name, dur) for _ in range(24) for name, dur in ((NVJET, 220), (triton, 40), (NVJET, 180))]
    for _ in world.steps(6):
        world.load(60, workers=8)
        world.copied("HtoD", 2 << 20, pinned=True, path="aten::copy_")
        with world.inside("Torch-Compiled Region: 0/0"), world.within("CompiledFunction"):
            world.graph(forward)
        with world.backward(), world.node("CompiledFunctionBackward"):
            world.graph([(name, 2 * dur) for name, dur in forward])
        update(world, dur=600)
    return world


def _swapped_to_disk() -> Clocked:
    """ZeRO-Infinity: states lie on NVMe; the host waits for them to be read, updates on the CPU, and writes them back."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}})
    for _ in world.steps(3):
        layers(world, 8)
        layers_back(world, 8)
        world.synchronize("cudaStreamSynchronize")
        for _ in range(4):
            with world.stack(
                "train.py(90): <module>",
                "deepspeed/runtime/zero/stage3.py(2071): step",
                "deepspeed/runtime/swap_tensor/partitioned_optimizer_swapper.py(112): swap_in_optimizer_state",
                "<built-in method wait of PyCapsule object at 0x7f>",
            ):
                world.idle(32_000)
            with world.stack(
                "train.py(90): <module>",
                "deepspeed/runtime/zero/stage3.py(2071): step",
                "deepspeed/ops/adam/cpu_adam.py(96): step",
                "<built-in method adam_update of PyCapsule object at 0x7f>",
            ):
                begin = world.now
                world.idle(9_000)
                world.optimizer(begin, world.now - begin, "DeepSpeedCPUAdam")
        world.copied("HtoD", 96 << 20, pinned=True, rate=24_000)
    return world


STORIES = (
    Story(
        "an equation solved step by step", "scientific, neural ODE", GITHUB + "rtqichen/torchdiffeq",
        "small kernels of a solver, each step behind the one before, and a value read for each", _solved_by_steps,
        bound=("launch", "sync", "mixed"), told=("ID001|GR004|SY001",),
        never=("DL001", "PR001", "OP001", "~checkpoint\\(", "~wrap fewer layers"),
    ),
    Story(
        "grids of hashes", "NeRF, tiny-cuda-nn", GITHUB + "NVlabs/tiny-cuda-nn",
        "fused kernels in half precision take it: nothing to cast", _hash_grids, bound=("compute",), told=("~grid",),
        never=("PR001", "PR002", "DL001", "GR004", "GR001", "~channels_last"),
    ),
    Story(
        "sampling of a deformable attention", "detection, Deformable DETR", GITHUB + "fundamentalvision/Deformable-DETR",
        "the extension's kernels take half, most of it the gradient", _deformable, bound=("compute",),
        told=("~deformable|MSDeformAttn",), never=("GR005", "DL001", "GR004", "~scaled_dot_product"),
    ),
    Story(
        "loss in chunks", "LLM fine-tuning, Liger", GITHUB + "linkedin/Liger-Kernel",
        "chunks of the loss are large products, made so to save memory", _loss_in_chunks, bound=("compute",),
        told=("~matrix products",), never=("PY002", "PY003", "GR004", "GR005", "DL001", "PR001", "KE006"),
    ),
    Story(
        "products on an Intel Max", "LLM pretraining, XPU", "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html",
        "oneDNN's products in bfloat16 take it", _on_ponte_vecchio, bound=("compute",), told=("~matrix products",),
        never=("PR001", "PR002", "GR004", "DL001", "~TF32|tf32", "~cuDNN|cudnn", "~CUDA graphs?", "~tensor cores"),
    ),
    Story(
        "state spaces by their kernels", "LLM pretraining, Mamba", GITHUB + "state-spaces/mamba",
        "scans and products are fused already", _state_spaces, bound=("compute",), told=("~matrix products|selective_scan",),
        never=("PY002", "PY006", "GR005", "GR001", "GR004", "DL001", "PR001"),
    ),
    Story(
        "the next batch on its way", "vision, AMP, prefetcher", GITHUB + "NVIDIA/apex",
        "copies run beside the layers: nothing to gain from them", _prefetched, bound=("compute",), told=("~convolutions",),
        never=("XF001", "XF002", "XF003", "DL001", "GR004", "PR001"),
    ),
    Story(
        "tokens dispatched by products", "LLM, MoE, GShard", "https://arxiv.org/abs/2006.16668",
        "one-hot products take twice what the experts do: index instead", _dispatched_by_einsum, bound=("compute",),
        told=("~matrix products|einsum",), never=("GR004", "DL001", "PR001", "GR005", "~called one by one"),
    ),
    Story(
        "trees of graphs", "compiled, CUDA graph trees",
        "https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html", "the device works all along",
        _trees_of_graphs, bound=("compute",), never=("GR004", "GR003", "ID001", "DL001", "PR001", "~reduce-overhead", "XF001"),
    ),
    Story(
        "states on a disk", "LLM fine-tuning, ZeRO-Infinity", "https://www.deepspeed.ai/tutorials/zero/",
        "the host waits for states to be read from NVMe: keep them in memory where they fit", _swapped_to_disk,
        bound=("python", "launch", "mixed"), told=("~swap_in_optimizer_state|swap_tensor", "OP005|~CPU"),
        never=("DL001", "GR004", "PR001", "~DataLoader\\(", "~num_workers"),
    ),
)  # fmt: skip
