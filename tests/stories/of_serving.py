"""Stories of inference, written down, demands and all, before the tool was asked: offloading, decoding, adapters, images."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, CONV_32, FLASH, LINEAR, NVJET, SDPA, layers
from stories.story import GITHUB, Story

# What only training has.
OF_TRAINING = (
    "~zero_grad",
    "~optimizer",
    "~GradScaler",
    "~loss\\.|criterion",
    "~backward",
    "~DataLoader",
    "DL001",
    "PG004",
)
GEMV = (
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, "
    "false, true, true, false, 7, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfloat16 const>>>(p)"
)
NARROW = "void gemvNSP_kernel<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 1, 32, 4, 1024, cublasGemvParamsEx<int>>(p)"
RMS = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, 4>>"
SELECT = (
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::Half, long, unsigned int, 2, 2, -2, true>"
    "(at::cuda::detail::TensorInfo<c10::Half, unsigned int>)"
)
NORM_OF = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>>>"
)
TOPK = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo<float const>)"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::Half, float, float>"


def _moved_encoders() -> Clocked:
    """FLUX.1's text encoders on an H100, moved to it for each prompt: 226 ms a prompt, resident 24 ms."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.marked(number), world.inside("TextEncodingStage"):
            for _ in range(240):
                world.copied("HtoD", 40_000_000, pinned=True, rate=48_000)
            for _ in range(24):
                world.kernel_of("aten::pow", ADD, 20)
                world.kernel_of("aten::mean", RMS, 20)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::mm", NVJET, 110)
                world.kernel_of(SDPA, FLASH, 90, host=30)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::mm", NVJET, 140)
                world.kernel_of("aten::gelu", ADD, 30)
            world.synchronize("cudaStreamSynchronize")
    return world


def _decoded_in_floats() -> Clocked:
    """Wan's VAE decodes in float32 what a transformer in bfloat16 drew in few passes: most of it; in bfloat16 1.3 times as fast."""
    world = Clocked(marks=False)
    floats = {"Input type": ["float", "float", "float"]}
    for number in range(4):
        with world.marked(number), world.inside("generate"):
            for _ in range(3):
                layers(world, 30, 1.0)
            for _ in range(34):
                ops = "aten::conv3d/aten::convolution/aten::_convolution/aten::cudnn_convolution"
                world.kernel_of(ops, CONV_32.replace("nchw", "nhwc"), 7_500, host=60, args=floats)
                world.kernel_of("aten::linalg_vector_norm", NORM_OF, 420, args=floats)
                for op in ("aten::div", "aten::mul", "aten::mul", "aten::silu"):
                    world.kernel_of(op, ADD.replace("c10::BFloat16", "float"), 380, args=floats)
            world.copied("DtoH", 17 * 832 * 480 * 3)
    return world


def _beams_reordered() -> Clocked:
    """fairseq2's beam search reorders keys and values of the encoder for each token, 30 % of it: they are the same in all beams."""
    world = Clocked(marks=False)
    for _ in range(24):
        for _ in range(24):
            for _ in range(3):
                world.kernel_of("aten::linear/aten::addmm", NVJET, 24)
            world.kernel_of("aten::scaled_dot_product_attention/aten::_efficient_attention_forward", FLASH, 50)
            world.kernel_of("aten::linear/aten::addmm", NVJET, 24)
            world.kernel_of("aten::linear/aten::addmm", NVJET, 24)
            world.kernel_of("aten::scaled_dot_product_attention/aten::_efficient_attention_forward", FLASH, 64)
            for dur in (24, 40, 40):
                world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
        world.kernel_of("aten::linear/aten::mm", NVJET, 900)
        world.kernel_of("aten::log_softmax/aten::_log_softmax", SOFTMAX, 160)
        world.kernel_of("aten::topk", TOPK, 240)
        world.read_value()
        for _ in range(24):
            for dur in (16, 16, 66, 66):
                world.kernel_of("aten::index_select", SELECT, dur)
    return world


def _adapters_apart() -> Clocked:
    """PEFT: generation with a LoRA adapter beside each of its layers takes 4.2 s, merged into them 2.8 s."""
    world = Clocked(marks=False)
    bf16 = ADD
    for _ in range(12):
        with world.stack("serve.py(31): answer", "transformers/generation/utils.py(2215): _sample"):
            for _ in range(32):
                for dur in (22, 12, 12, 22, 68, 68, 68):
                    with world.stack("peft/tuners/lora/layer.py(497): forward"):
                        world.kernel_of("aten::linear/aten::matmul/aten::mm", GEMV, dur, host=14)
                        world.host_op("aten::to", 2)
                        world.kernel_of("aten::linear/aten::matmul/aten::mm", NARROW, 5, host=14)
                        world.kernel_of("aten::linear/aten::matmul/aten::mm", NARROW, 5, host=14)
                        world.kernel_of("aten::mul", bf16, 2, host=10)
                        world.kernel_of("aten::add", bf16, 2, host=10)
                for op in ("aten::pow", "aten::mean", "aten::rsqrt", "aten::mul", "aten::mul", "aten::add"):
                    world.kernel_of(op, bf16, 2, host=9)
                world.kernel_of(SDPA, FLASH, 9, host=24)
            world.kernel_of("aten::linear/aten::matmul/aten::mm", GEMV, 190)
            world.kernel_of("aten::argmax", RMS.replace("MeanOps", "ArgMaxOps"), 14)
            world.read_value()
    return world


def _prepared_on_host() -> Clocked:
    """A vision model whose images are resized in the same loop on the host, 40 ms for each 100 of the model; on the device 5 ms."""
    world = Clocked(marks=False)
    for number in range(8):
        with world.marked(number), world.inside("predict"):
            for _ in range(8):
                world.host_op("aten::_upsample_bicubic2d_aa", 3_600)
                world.host_op("aten::clamp", 300)
                world.host_op("aten::sub_", 500)
                world.host_op("aten::div_", 500)
            world.host_op("aten::stack/aten::cat", 900)
            world.copied("HtoD", 8 * 3 * 448 * 448 * 4)
            for _ in range(40):
                world.kernel_of(LINEAR, NVJET, 700)
                world.kernel_of(SDPA, FLASH, 400, host=30)
                world.kernel_of(LINEAR, NVJET, 1_000)
                world.kernel_of("aten::gelu", ADD, 120)
            world.copied("DtoH", 8 * 1_000 * 4)
    return world


STORIES = (
    Story(
        "text encoders moved for each prompt", "diffusion, serving", GITHUB + "sgl-project/sglang/pull/25517",
        "weights travel for each prompt, nine tenths of the time: keep them on the device, or move layer by layer",
        _moved_encoders, bound=("copy",), told=("XF002|XF001", "~resident|stay on|kept on|keep (?:them|the weights) on"),
        never=("~pin_memory=True", "~uint8", "XF006", "XF003", "GR004", "~non_blocking=True.*batch", *OF_TRAINING),
    ),
    Story(
        "VAE decodes in float32", "video generation", GITHUB + "hao-ai-lab/FastVideo/pull/1472",
        "the decoder's convolutions run as floats: bfloat16 for decoding alone", _decoded_in_floats, bound=("compute",),
        told=("PR001", "~bfloat16"), never=("PR002", "GR004", "ID001", "IN003", "IN004", *OF_TRAINING),
    ),
    Story(
        "beams reorder what is equal", "translation, beam search", GITHUB + "facebookresearch/fairseq2/pull/258",
        "keys and values of the encoder are indexed anew for each token: once, where a beam ends", _beams_reordered,
        bound=("compute",), told=("KE003", "~index_select"),
        never=("IN003", "GR004", "PR001", "~sparse=True", "~Embedding|vmap", *OF_TRAINING),
    ),
    Story(
        "LoRA beside the layers", "LLM inference, LoRA", GITHUB + "huggingface/peft/issues/957",
        "adapters are ops of their own at each layer: merge the one in use", _adapters_apart, bound=("launch",),
        told=("ID001|IN001", "~merge"), never=("PR001", "PR003", "KE001", *OF_TRAINING),
    ),
    Story(
        "images resized in the loop", "vision, inference", GITHUB + "huggingface/transformers/pull/36314",
        "the device waits while the host resizes: in workers beside it, or on the device", _prepared_on_host,
        bound=("compute", "launch", "python", "mixed"), told=("~_upsample_bicubic2d_aa",),
        never=("GR004", "~reduce-overhead|make_graphed", "PR001",
               *(what for what in OF_TRAINING if "Loader" not in what)),
    ),
)  # fmt: skip
