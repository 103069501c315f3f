"""Stories of what is trained besides one model: frozen ones, samplers, masks, losses, ranks; before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from building.dialects import torch_1_9
from stories.models import (
    ADD,
    CONV,
    FLASH,
    NORM,
    NVJET,
    RELU,
    SDPA,
    block,
    blocks,
    blocks_back,
    layer,
    layers,
    layers_back,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import Story

GITHUB = "https://github.com/"
RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
EXCHANGE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CONV_3D = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_ndhwckrsdc_ndhwc_tilesize128x128x32_stage4"
CDIST = (
    "void at::native::(anonymous namespace)::cdist_backward_kernel_cuda_impl<float, at::native::(anonymous namespace)::"
    "dists<float>::two>(float*, float const*, float const*, float const*, float const*, float, long, long, long, long)"
)
DEPTHWISE = (
    "void at::native::(anonymous namespace)::conv_depthwise2d_{}_kernel_generic<float, int>(at::PackedTensorAccessor)"
)
LOOKUP = "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 128>(p)"
MINMAX = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MinMaxOps<float, float, int>>>"
SELECT = "void at_cuda_detail::cub::DeviceSelectSweepKernel<long>"
MASK = "void at::native::vectorized_elementwise_kernel<4, at::native::BitwiseAndFunctor<bool>, std::array<char*, 3ul>>(int)"


def _augmented() -> Clocked:
    """nnU-Net, 3d_fullres on an A100: next() of its own augmenter takes 173 of 302 ms, the workers are the limit."""
    world = Clocked()
    for _ in world.steps(5):
        world.idle(173_000)
        world.copied("HtoD", 2 * 128 * 128 * 128 * 4, pinned=True)
        for _ in range(22):
            world.kernel_of(
                "aten::conv3d/aten::convolution/aten::_convolution/aten::cudnn_convolution", CONV_3D, 1_300, host=40
            )
            world.kernel_of("aten::instance_norm/aten::batch_norm/aten::cudnn_batch_norm", NORM, 350, host=40)
            world.kernel_of("aten::leaky_relu_", RELU, 180)
        with world.backward():
            for _ in range(22):
                with world.node("LeakyReluBackward1"):
                    world.kernel_of("aten::leaky_relu_backward", RELU, 220)
                with world.node("CudnnBatchNormBackward0"):
                    world.kernel_of("aten::cudnn_batch_norm_backward", NORM, 500, host=40)
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_3D.replace("fprop", "wgrad"), 2_900, host=60)
        update(world, "SGD", dur=400)
        world.copied("DtoH", 4)
    return world


def _masks_anew() -> Clocked:
    """A drafter's seven unrolled passes: create_block_mask runs eagerly for each: 5 ms; compiled 0.5."""
    world = Clocked()
    made = (
        "train.py(210): train_step",
        "drafter.py(88): forward",
        "torch/nn/attention/flex_attention.py(1033): create_block_mask",
    )
    for _ in world.steps(4):
        world.load(70, workers=4)
        for _ in range(7):
            with world.stack(*made):
                for op in ("arange", "index", "ge", "bitwise_and", "eq", "bitwise_and", "lt", "bitwise_or"):
                    world.idle(190)
                    world.kernel_of(f"aten::{op}", MASK, 26, host=24)
                for op in ("sum", "gt", "lt", "bitwise_and", "sum", "argsort", "sum", "argsort", "to", "index_put_"):
                    world.idle(230)
                    world.kernel_of(f"aten::{op}", MASK, 12, host=30)
            with world.stack("train.py(210): train_step", "drafter.py(96): forward"):
                world.kernel_of("flex_attention", "triton_tem_fused_0", 350, api="cuLaunchKernel", host=40)
                layer(world, 0.6)
        with world.stack("train.py(215): train_step", "torch/_tensor.py(625): backward"):
            layers_back(world, 7, 1.2)
        with world.stack("train.py(216): train_step"):
            update(world, dur=700)
    return world


def _observed() -> Clocked:
    """Quantisation-aware training, torch 1.9: each FakeQuantize asks its flags and parameters of the device, in each pass."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(90, workers=8)
        for _ in range(24):
            block(world, 0.5)
            world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            world.kernel_of("aten::_aminmax", MINMAX, 30)
            for op in ("sub", "mul", "add", "sub", "mul", "add", "neg", "max", "div", "clamp_min"):
                world.kernel_of(f"aten::{op}", ADD, 2)
            world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
            world.read_value()
            world.read_value()
            world.kernel_of(
                "aten::fake_quantize_per_tensor_affine/aten::fake_quantize_per_tensor_affine_cachemask", ADD, 35
            )
        blocks_back(world, 24, 1.0, suffix="")
        update(world, "SGD", dur=100)
    return torch_1_9(world)  # type: ignore[return-value]


def _splits_awaited() -> Clocked:
    """TorchRec: between forward and backward pass the host waits for sizes of the next exchange; other ranks are late."""
    world = Clocked(top=RANKS)
    for _ in world.steps(5):
        with world.inside("## copy_batch_to_gpu ##"):
            world.copied("HtoD", 6 << 20, pinned=True, stream=13)
        for _ in range(4):
            world.kernel_of("fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", LOOKUP, 500, host=60)
        perceptron(world, 8, 220)
        with world.inside("## start_sparse_data_dist ##"), world.inside("## all2all_data:kjt splits ##"):
            world.collective("all_to_allv", 14_000, kernel=EXCHANGE, stream=22, elements=26 * 8, dtype="Int", size=8)
            world.copied("DtoH", 26 * 8 * 4, stream=22)
        with world.inside("## all2all_data:kjt values ##"):
            world.collective("all_to_allv", 900, kernel=EXCHANGE, stream=22, elements=4 << 20, dtype="Int", size=8)
        perceptron_back(world, 8, 220)
        with world.backward(), world.node("SplitLookupFunction_rowwise_adagrad_Op"):
            world.kernel_of(
                "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_unweighted_exact_cuda", LOOKUP, 1_400, host=80
            )
        update(world, "SGD", dur=120)
    return world


def _latents_anew() -> Clocked:
    """A LoRA of SDXL: VAE and text encoders, which are not trained, encode the same images in each epoch; cached, a third less."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(120, workers=4)
        world.copied("HtoD", 4 * 3 * 1024 * 1024 * 2, pinned=True)
        for _ in range(24):
            world.kernel_of(
                "aten::conv2d/aten::convolution/aten::_convolution/aten::cudnn_convolution", CONV, 1_700, host=34
            )
            world.kernel_of("aten::group_norm/aten::native_group_norm", NORM, 260, host=24)
            world.kernel_of("aten::silu", ADD, 120)
        layers(world, 12, 0.3)
        world.recorded = True
        layers(world, 16)
        world.recorded = False
        layers_back(world, 16)
        update(world, dur=90)
    return world


def _buffers_broadcast() -> Clocked:
    """YOLO pose on four cards without NVLink: DDP sends all buffers of the first rank at each forward pass; all wait for it."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4}})
    for _ in world.steps(4):
        world.load(120, workers=8)
        world.copied("HtoD", 12 << 20, pinned=True)
        with world.inside("DistributedDataParallel.forward"):
            with world.within("aten::flatten_dense_tensors"):
                world.kernel_of("aten::cat", ADD, 6, host=30)
            world.busy_until[7] = world.collective(
                "broadcast", 14_000, kernel=BROADCAST, after=world.busy_until[7], elements=53_120, dtype="Float", size=4
            )
            for _ in range(80):
                world.kernel_of("aten::copy_", ADD, 2)
            blocks(world, 60, 1.2)
        for part in range(4):
            blocks_back(world, 15, 2.4)
            beside = world.busy_until[7] - (4_000 if part < 3 else 300)
            end = world.collective("allreduce", 2_500, kernel=ALL_REDUCE, after=beside, dtype="Float", size=4)
        world.busy_until[7] = max(world.busy_until[7], end)
        update(world, "SGD", dur=300)
    return world


def _distances() -> Clocked:
    """Metric learning: the gradient of cdist is done by a kernel of its own instead of by products; more than all else."""
    world = Clocked()
    dims = {"Input Dims": [[4096, 16384], [4096, 512], [16384, 512]], "Input type": ["float", "float", "float"]}
    for _ in world.steps(4):
        world.load(90, workers=8)
        blocks(world, 30)
        world.kernel_of("aten::cdist/aten::_cdist_forward", CDIST.replace("backward_", ""), 3_000, host=30)
        world.kernel_of("aten::exp", ADD, 90)
        world.kernel_of("aten::sum", ADD, 60)
        with world.backward(), world.node("CdistBackward0"), world.within("aten::_cdist_backward", **dims):
            world.kernel_of(None, CDIST, 21_000)
        blocks_back(world, 30)
        update(world, dur=120)
    return world


def _similarity() -> Clocked:
    """Gaussian splatting, an image at a time: SSIM by ten grouped convolutions with a window of 11; fused 5:52 become 4:54."""
    world = Clocked(marks=False)
    names = ("void gsplat::{}_fwd_kernel<3u, float>(p)", "void gsplat::{}_bwd_kernel<3u, float>(p)")
    for _ in range(12):
        world.idle(60)
        world.copied("HtoD", 1080 * 1920 * 3 * 4, pinned=True)
        for kernel, dur in (
            ("projection_ewa_3dgs_fused", 180),
            ("spherical_harmonics", 90),
            ("rasterize_to_pixels_3dgs", 1_500),
        ):
            world.kernel_of(f"_{kernel}", names[0].format(kernel), dur, host=60)
        world.kernel_of("aten::l1_loss", ADD, 40)
        for _ in range(5):
            world.kernel_of(
                "aten::conv2d/aten::convolution/aten::_conv_depthwise2d", DEPTHWISE.format("forward"), 420, host=40
            )
        for _ in range(12):
            world.kernel_of("aten::mul", ADD, 35)
        with world.backward():
            for _ in range(12):
                with world.node("MulBackward0"):
                    world.kernel_of("aten::mul", ADD, 40)
            for _ in range(5):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", DEPTHWISE.format("backward"), 520, host=40)
            for kernel, dur in (
                ("rasterize_to_pixels_3dgs", 3_100),
                ("spherical_harmonics", 150),
                ("projection_ewa_3dgs", 260),
            ):
                with world.node("_RasterizeToPixelsBackward"):
                    world.kernel_of(None, names[1].format(kernel), dur)
        for _ in range(6):
            begin = world.now
            world.kernel_of("aten::_fused_adam_", ADD, 110, host=50)
            world.optimizer(begin, world.now - begin, "Adam")
    return world


def _assigned() -> Clocked:
    """Boxes are assigned to anchors for each of 15 samples and 6 classes, 90 times a step, with masks as indices; a third."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(150, workers=8)
        world.copied("HtoD", 6 << 20, pinned=True)
        blocks(world, 80, 1.5)
        for _ in range(90):
            for op in ("sub", "pow", "sum", "sqrt", "topk", "gather", "mean", "std", "add", "ge", "lt", "bitwise_and"):
                world.kernel_of(f"aten::{op}", ADD, 3)
            with world.within("aten::index"), world.within("aten::nonzero"):
                world.kernel_of(None, SELECT, 4)
                world.read_value("aten::copy_")
            world.kernel_of("aten::index_put_/aten::_index_put_impl_", ADD, 5, host=30)
            world.kernel_of("aten::max", ADD, 4)
        world.kernel_of("aten::stack/aten::cat", ADD, 20)
        blocks_back(world, 80, 3.0)
        update(world, "AdamW", dur=300)
    return world


def _reduced_behind() -> Clocked:
    """Megatron's distributed optimizer: gradients are reduced in one piece behind the backward pass."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16}})
    for _ in world.steps(4):
        for _ in range(2):
            layers(world, 10)
            layers_back(world, 10)
        world.busy_until[7] = world.collective(
            "_reduce_scatter_base", 31_000, kernel=SCATTER, after=world.busy_until[7], elements=900 << 20, dtype="Float"
        )
        update(world, "FusedAdam", dur=2_500)
        world.busy_until[7] = world.collective(
            "_allgather_base", 16_000, kernel=GATHER, after=world.busy_until[7], elements=900 << 20
        )
    return world


def _generated_inside() -> Clocked:
    """GRPO without an engine: 150 tokens are generated one by one with the model that is trained, then it is trained on them."""
    world = Clocked()
    loop = ("trainer.py(2560): training_step", "transformers/generation/utils.py(2790): _sample")
    for _ in world.steps(3):
        for _ in range(60):
            with world.stack(*loop):
                for _ in range(12):
                    world.kernel_of("aten::native_layer_norm", NORM, 3, host=20)
                    world.kernel_of("aten::linear/aten::mm", NVJET, 9, host=20)
                    world.kernel_of("aten::cat", ADD, 3, host=16)
                    world.kernel_of(SDPA, FLASH, 8, host=40)
                    world.kernel_of("aten::linear/aten::mm", NVJET, 9, host=20)
                    world.kernel_of("aten::silu", ADD, 2)
                    world.kernel_of("aten::linear/aten::mm", NVJET, 14, host=20)
                world.kernel_of("aten::softmax/aten::_softmax", ADD, 8, host=18)
                world.kernel_of("aten::multinomial", ADD, 10, host=40)
                world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
        with world.stack("trainer.py(2590): training_step"):
            layers(world, 12, 0.5)
            layers_back(world, 12, 1.0)
            update(world, dur=600)
    return world


STORIES = (
    Story(
        "waits for an augmenter of its own", "medical, 3D, nnU-Net", GITHUB + "MIC-DKFZ/nnUNet/issues/3063",
        "the workers that augment are too slow: augment on the GPU, or more of them", _augmented, bound=("input", "python"),
        told=("PY001|DL001|ID002|ID003", "~[Ww]orker"), never=("DL002", "DL006", "GR004", "KE001", "PR001", "~collector"),
    ),
    Story(
        "block masks made for each pass", "LLM, flex attention", GITHUB + "lightseekorg/TorchSpec/pull/187",
        "create_block_mask runs op by op for each pass: compile it, or keep the mask", _masks_anew,
        bound=("launch", "python", "compute"), told=("~create_block_mask",), never=("DL001", "~num_workers", "PR001", "OP001"),
    ),
    Story(
        "flags of fake quantisation read", "vision, QAT, torch 1.9", GITHUB + "pytorch/pytorch/pull/61318",
        "each module reads its flags, scale and zero point: parameters as tensors, the fused module", _observed,
        bound=("sync", "launch", "mixed", "compute"), told=("SY001", "~fake_quant"), never=("DL001", "PY002", "PR001", "GR004"),
    ),
    Story(
        "sizes of the next exchange awaited", "recommender, TorchRec", GITHUB + "meta-pytorch/torchrec/pull/1112",
        "the host waits for sizes while other ranks are late: ask for them earlier", _splits_awaited,
        bound=("communication", "sync", "mixed", "launch", "copy"),
        told=("SY001|SY002|CO001", "~kjt splits|sparse_data_dist|SendRecv|all.to.all"),
        never=("DL001", "GR004", "~bucket_cap_mb", "~pin_memory", "XF001", "PR001"),
    ),
    Story(
        "latents encoded in each step", "diffusion, LoRA", GITHUB + "huggingface/diffusers/pull/6076",
        "models that are not trained run in each step: keep what they give", _latents_anew, bound=("compute",),
        told=("~without gradients|not trained|frozen|no_grad",), never=("DL001", "GR004", "PR001", "OP001", "KE001"),
    ),
    Story(
        "buffers broadcast at each pass", "detection, DDP", GITHUB + "ultralytics/ultralytics/issues/24410",
        "DDP sends the first rank's buffers in front of each pass: broadcast_buffers=False", _buffers_broadcast,
        told=("CO001|CO003", "~broadcast_buffers"), never=("~bucket_cap_mb|no_sync", "DL001", "CO005"),
    ),
    Story(
        "gradient of distances", "metric learning", GITHUB + "pytorch/pytorch/issues/31599",
        "a kernel of its own does what products would do: by products", _distances, bound=("compute",), told=("~cdist",),
        never=("GR004", "DL001", "PR001", "PR002", "KE001", "~2 \\* batch_size"),
    ),
    Story(
        "SSIM by grouped convolutions", "gaussian splatting", GITHUB + "nerfstudio-project/gsplat/pull/396",
        "SSIM is built of convolutions and products: one fused kernel", _similarity, bound=("compute",),
        told=("~conv_depthwise2d|_conv_depthwise|convolution",),
        never=("PR001", "PR002", "DL001", "~channels_last", "~2 \\* batch_size"),
    ),
    Story(
        "targets assigned sample by sample", "detection, 3D", GITHUB + "open-mmlab/OpenPCDet/issues/1057",
        "90 assignments a step in small ops, each with a wait: all samples at once", _assigned,
        bound=("launch", "sync", "mixed", "compute"), told=("SY004|PY003",), never=("DL001", "GR004", "PR001"),
    ),
    Story(
        "gradients reduced behind the backward pass", "LLM pretraining, Megatron", GITHUB + "NVIDIA/Megatron-LM/issues/391",
        "one long collective in front of the update: --overlap-grad-reduce", _reduced_behind, bound=("communication", "mixed"),
        told=("CO001", "~overlap"), never=("~find_unused|broadcast_buffers|no_sync", "DL001", "CO005"),
    ),
    Story(
        "tokens generated inside training", "RL, GRPO", GITHUB + "huggingface/trl/pull/2600",
        "generation token by token takes most of a step: an engine for it", _generated_inside, bound=("launch",),
        told=("ID001", "~_sample|generat"), never=("DL001", "PY006", "PR001", "OP001"),
    ),
)  # fmt: skip
