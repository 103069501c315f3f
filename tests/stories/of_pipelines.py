"""Stories of pipelines (speech, images, several devices) and of odd recordings, demands written before the tool was asked."""

from __future__ import annotations

from building.builders import CUDA_DEVICE
from building.clocked import Clocked
from building.dialects import rocm, torch_1_9
from building.other_devices import xpu
from stories.models import ADD, CONV, CONV_OPS, FLASH, NVJET, RELU, SDPA, SGEMM, layers
from stories.of_answering import ARGMAX, TO_HOST
from stories.of_other_software import A770
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import Story

GITHUB = "https://github.com/"
WEIGHT_NORM = "void at::native::(anonymous namespace)::weight_norm_fwd_first_dim_kernel<float, float>(float*, float*, float const*)"
CONV_1D = "aten::conv1d/aten::convolution/aten::_convolution/aten::cudnn_convolution"
ORIN = {
    "id": 0, "name": "Orin", "totalGlobalMem": 32_889_602_048, "computeMajor": 8, "computeMinor": 7, "warpSize": 32, "numSms": 14,
}  # fmt: skip
NO_CUDA = ("~\\.cuda|CUDA|cuda", "~[Nn]vidia|NVIDIA")


def _weights_normalised() -> Clocked:
    """CosyVoice3's vocoder normalises its 77 frozen weights at each chunk of audio; folded once, nothing else changes."""
    world = Clocked(marks=False)
    for _ in range(10):
        with world.inside("code2wav"):
            for _ in range(77):
                world.kernel_of("aten::_weight_norm/aten::_weight_norm_interface", WEIGHT_NORM, 7, host=24)
                world.kernel_of(
                    CONV_1D, "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false>(p)", 14, host=52
                )
                for op in ("aten::mul", "aten::sin", "aten::pow", "aten::add"):
                    world.kernel_of(op, RELU, 3, host=11)
            world.copied("DtoH", 24_000 * 4, path=TO_HOST)
    return world


def _frames_decoded() -> Clocked:
    """NeMo's RNN-T decoder: for each frame a step of the predictor, the joint, a read: the GPU idles 90 % of the time."""
    world = Clocked(marks=False)
    for number in range(3):
        with world.inside(f"transcribe batch {number}"):
            layers(world, 6, 0.4)
            for _ in range(90):
                for _ in range(2):
                    world.kernel_of("aten::embedding/aten::index_select", ADD, 3, host=20)
                    with world.within("aten::lstm"), world.within("aten::_cudnn_rnn"):
                        for _ in range(2):
                            world.kernel_of(None, SGEMM, 6)
                            world.kernel_of(None, "void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2>(p)", 3)
                    world.kernel_of("aten::linear/aten::addmm", SGEMM, 7, host=22)
                    world.kernel_of("aten::add", ADD, 2)
                    world.kernel_of("aten::relu", RELU, 2)
                    world.kernel_of("aten::linear/aten::addmm", SGEMM, 9, host=22)
                    world.kernel_of("aten::max", ARGMAX, 5, host=18)
                    world.kernel_of("aten::eq", ADD, 2)
                    world.kernel_of("aten::bitwise_or_", ADD, 2)
                    world.kernel_of("aten::all", RMS, 3, host=18)
                    world.read_value("aten::is_nonzero/aten::item/aten::_local_scalar_dense")
                    for _ in range(4):
                        world.kernel_of("aten::where", ADD, 2, host=18)
    return world


def _tiles_blended() -> Clocked:
    """diffusers' tiled VAE blends the edges of its tiles row by row, in Python: 120 of 1,130 ms of an image."""
    world = Clocked(marks=False)
    for _ in range(3):
        with world.inside("StableDiffusionPipeline.__call__"):
            for _ in range(10):
                layers(world, 20, 0.6)
            for _ in range(9):
                for _ in range(30):
                    world.kernel_of(CONV_OPS, CONV, 480, host=40)
                    world.kernel_of("aten::silu", ADD, 60)
            for _ in range(12):
                for _ in range(128):
                    for _ in range(3):
                        world.host_op("aten::slice", 2)
                    world.kernel_of("aten::mul", ADD, 2, host=9)
                    world.kernel_of("aten::mul", ADD, 2, host=9)
                    world.kernel_of("aten::add", ADD, 2, host=9)
                    world.kernel_of("aten::copy_", ADD, 2, host=9)
            world.copied("DtoH", 3 * 1_024 * 1_024 * 2, path=TO_HOST)
    return world


def _moved_each_step() -> Clocked:
    """diffusers, a loop of the user's own under enable_model_cpu_offload: the transformer goes to the GPU and back in each step."""
    world = Clocked(marks=False)
    for _ in range(5):
        with world.inside("denoising step"):
            for _ in range(120):
                world.copied("HtoD", 20_000_000)
            layers(world, 30, 2)
            world.synchronize("cudaStreamSynchronize")
            for _ in range(120):
                world.copied("DtoH", 20_000_000, path=TO_HOST)
            world.runtime("cudaFree", world.now, 900)
            world.now += 910
    return world


def _through_numpy() -> Clocked:
    """A T5 decoder in ONNX Runtime, driven by generate(): its cache goes to NumPy and back for each token; slower than PyTorch."""
    world = Clocked(marks=False)
    norm = "void onnxruntime::cuda::cuApplyLayerNorm<__half, float, __half, true>(__half*, float*, float*, __half const*, int, int)"
    gelu = "void onnxruntime::cuda::_UnaryElementWise<__half, __half, onnxruntime::cuda::OP_Gelu<__half>, 256, 4>(__half const*)"
    copied = {"path": None, "stream": 13}
    for _ in range(10):
        for _ in range(48):
            world.copied("HtoD", 1_600_000, **copied)  # type: ignore[arg-type]
        for _ in range(12):
            world.kernel_of(None, norm, 5, stream=13)
            for dur in (14, 12, 9, 14, 11):
                world.kernel_of(None, "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", dur, stream=13)
            world.kernel_of(None, gelu, 4, stream=13)
        for _ in range(49):
            world.copied("DtoH", 1_600_000, **copied)  # type: ignore[arg-type]
        world.host_op("aten::from_numpy", 6)
        world.copied("HtoD", 64_000)
        world.kernel_of("aten::argmax", ARGMAX, 10)
        world.read_value()
        world.idle(500)
    return world


def _in_turn() -> Clocked:
    """A model over two GPUs by device_map="auto": the layers of one wait for those of the other, one GPU works at a time."""
    world = Clocked(marks=False)
    second = {**CUDA_DEVICE, "id": 1}
    for number in range(8):
        with world.inside(f"batch {number}"):
            for device in (0, 1):
                for _ in range(20):
                    with world.stack("accelerate/hooks.py(175): new_forward"):
                        world.kernel_of("aten::mul", ADD, 20, device=device)
                        for dur in (240, 240):
                            world.kernel_of("aten::linear/aten::mm", NVJET, dur, device=device)
                        world.kernel_of(SDPA, FLASH, 160, host=30, device=device)
                        world.kernel_of("aten::linear/aten::mm", NVJET, 480, device=device)
                if device == 0:
                    world.copied("DtoD", 16 << 20, blocks=False, rate=40_000)
                    world.events[-1]["name"] = "Memcpy PtoP (Device -> Device)"
            world.kernel_of("aten::argmax", ARGMAX, 30, device=1)
            world.copied("DtoH", 64, path=TO_HOST)
    world.top["deviceProperties"] = [dict(CUDA_DEVICE), second]
    return world


def _products_in_half() -> Clocked:
    """open-llama-3b on an Arc A770 with IPEX: in float16 aten::bmm takes five times as long as in float32, half of a token."""
    world = Clocked(marks=False)
    half = {"Input type": ["c10::Half", "c10::Half"]}
    for number in range(8):
        with world.inside(f"token {number}"):
            for _ in range(26):
                world.kernel_of(
                    "aten::mul", "at::native::xpu::VectorizedElementwiseKernel<4, MulFunctor>", 6, host=20, args=half
                )
                for _ in range(4):
                    world.kernel_of("aten::linear/aten::mm", "gemm_kernel", 70, host=30, args=half)
                for _ in range(2):
                    world.kernel_of("aten::matmul/aten::bmm", "gemm_kernel", 300, host=34, args=half)
                for _ in range(3):
                    world.kernel_of("aten::linear/aten::mm", "gemm_kernel", 110, host=30, args=half)
            world.kernel_of("aten::argmax", "at::native::xpu::ReduceKernel", 20)
            world.read_value()
    xpu(world)
    world.top["deviceProperties"] = [A770]
    return world


def _half_on_cpu() -> Clocked:
    """A model loaded with torch_dtype=float16 on a CPU without the instructions: ten times as slow as in float32."""
    world = Clocked(None, marks=False)
    half = {"Input Dims": [[1, 2_048], [2_048, 2_048]], "Input type": ["c10::Half", "c10::Half"]}
    for number in range(4):
        with world.inside(f"token {number}"):
            for _ in range(16):
                world.host_op("aten::mul", 18, **{"Input type": ["c10::Half", "c10::Half"]})
                for dur in (6_000, 2_000, 2_000, 6_000):
                    world.host_op("aten::linear/aten::matmul/aten::mm", dur, **half)
                world.host_op(
                    "aten::scaled_dot_product_attention/aten::_scaled_dot_product_flash_attention_for_cpu", 400
                )
                for dur in (22_000, 22_000, 22_000):
                    world.host_op("aten::linear/aten::matmul/aten::mm", dur, **half)
            world.host_op("aten::argmax", 90)
    return world


def _served_on_cpu() -> Clocked:
    """vLLM on a CPU: products of oneDNN are half of it, writing keys and values to the cache a sixth."""
    world = Clocked(None, marks=False)
    for _ in range(10):
        with world.inside("execute_context_0(0)_generation_1(1)"):
            world.host_op("aten::embedding", 20)
            for _ in range(22):
                world.host_op("_C::rms_norm", 25)
                world.host_op("_C::onednn_mm", 90)
                world.host_op("_C::rotary_embedding", 14)
                world.host_op("_C_cache_ops::reshape_and_cache", 130)
                with world.within("vllm::unified_attention_with_output"):
                    world.host_op("_C::cpu_attention_with_kv_cache", 120)
                for dur in (80, 160, 120):
                    world.host_op("_C::onednn_mm", dur)
                world.host_op("_C::silu_and_mul", 20)
            world.host_op("aten::argmax", 120)
            world.idle(400)
    return world


def _masks_one_by_one() -> Clocked:
    """RF-DETR-seg on a Jetson: each mask is encoded by itself, with two reads of the device; half of the frames."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.inside(f"infer frame {number}"):
            layers(world, 10, 1.2)
            for _ in range(24):
                world.kernel_of("aten::upsample_bilinear2d", RELU, 90)
                world.kernel_of("aten::gt", ADD, 40)
                world.kernel_of("aten::diff", ADD, 60)
                with world.within("aten::nonzero"):
                    world.kernel_of(None, "void at_cuda_detail::cub::DeviceSelectSweepKernel<Policy900>(p)", 50)
                    world.synchronize("cudaStreamSynchronize")
                world.copied("DtoH", 9_000, path=TO_HOST)
                world.idle(600)
                world.read_value()
    world.top["deviceProperties"] = [dict(ORIN)]
    return world


def _compiled_by_script() -> Clocked:
    """TorchScript on torch 1.9: the second call of a model compiles its fused kernels inside `forward`, for seconds."""
    world = Clocked()
    for number in world.steps(8):
        with world.within("forward"):
            if number == 1:
                world.idle(1_700_000)
            for _ in range(40):
                world.kernel_of(
                    "aten::conv2d/aten::convolution/aten::_convolution/aten::cudnn_convolution", CONV, 180, host=40
                )
                world.kernel_of(None, "fused_mul_sigmoid_add_" + ("1" if number else "0"), 24, api="cuLaunchKernel")
        world.copied("DtoH", 40_000, path=TO_HOST)
    return torch_1_9(world)  # type: ignore[return-value]


def _compiled_by_triton() -> Clocked:
    """vLLM, the first request behind a boot: twelve Triton kernels are compiled in it, 14 s; the same request again needs none."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.inside(f"request {number}"):
            for kernel in range(24):
                with world.stack("vllm/v1/worker/gpu_model_runner.py(3120): execute_model"):
                    if number == 0 and kernel % 2 == 0:
                        with world.stack(
                            "triton/runtime/jit.py(347): <lambda>", "triton/runtime/jit.py(591): run",
                            "triton/compiler/compiler.py(318): compile",
                        ):  # fmt: skip
                            world.idle(320_000)
                    world.kernel_of(None, "_causal_conv1d_update_kernel", 40, api="cuLaunchKernelEx")
                    for dur in (200, 200, 300):
                        world.kernel_of("aten::linear/aten::mm", GEMV, dur)
            world.copied("DtoH", 64, path=TO_HOST)
    return world


def _impossible_lengths() -> Clocked:
    """Wan2.2 on MI300X: 7 of 55,423 events are seconds too long, longer than until the next one of their stream; 62 % "copies"."""
    world = Clocked()
    for _ in world.steps(3):
        for _ in range(12):
            layers(world, 10, 2)
        world.copied("DtoH", 9_700_000, path=TO_HOST, blocks=False)
        world.events[-1]["dur"] += 400_000
        for _ in range(4):
            layers(world, 10, 2)
        world.synchronize()
    return rocm(world)  # type: ignore[return-value]


def _few_device_events() -> Clocked:
    """SGLang on MI355X: kernels were recorded in 2 of 32 passes alone, one of them stretched over all; no figure of it holds."""
    world = Clocked(marks=False)
    for number in range(32):
        with world.inside("step[DECODE bs=64]"):
            world.idle(300)
            if number in (0, 31):
                world.graph([(NVJET, 20)] * 300, host=150)
            else:
                world.runtime("hipGraphLaunch", world.now, 160)
                world.now += 6_600
            world.host_op("aten::argmax", 20)
            world.synchronize("cudaStreamSynchronize")
            world.idle(200)
    first = next(event for event in world.events if event["cat"] == "kernel")
    first["dur"] = 205_000.0
    return rocm(world)  # type: ignore[return-value]


STORIES = (
    Story(
        "weights normalised for each chunk", "speech, vocoder", GITHUB + "vllm-project/vllm-omni/pull/7871",
        "weight norm is computed anew at each call: fold it once", _weights_normalised,
        bound=("launch",), told=("~weight_norm",), never=("PR001", "GR006", "OP001", "~zero_grad", "~optimizer", "DL001"),
    ),
    Story(
        "RNN-T decoded frame by frame", "speech, inference", GITHUB + "NVIDIA-NeMo/Speech/pull/7976",
        "small kernels and a read for each frame: CUDA graphs with a loop on the device", _frames_decoded,
        bound=("launch", "sync", "mixed"), told=("SY001|ID001|PY006",),
        never=("PR001", "PR002", "KE001", "~nn\\.LSTM", "~whole sequence", *OF_TRAINING),
    ),
    Story(
        "edges of tiles, row by row", "diffusion, VAE tiling", GITHUB + "huggingface/diffusers/issues/14722",
        "a Python loop over rows: blend all of them at once", _tiles_blended,
        bound=("compute", "launch", "mixed"), told=("PY002|PY003|ID001|ID003", "~aten::copy_|aten::mul"),
        never=("GR004", "PR001", *OF_TRAINING),
    ),
    Story(
        "transformer moved in each step", "diffusion, offload", GITHUB + "huggingface/diffusers/issues/11872",
        "weights go to the GPU and back in each step: keep them for the loop", _moved_each_step, bound=("copy",),
        told=("XF001|XF002", "~resident|stay on|kept on|keep (?:them|the weights) on|offload"),
        never=("~pin_memory=True", "~uint8", "XF006", "XF003", "GR004", "~loss", *OF_TRAINING),
    ),
    Story(
        "ONNX Runtime through NumPy", "translation, ONNX Runtime", GITHUB + "huggingface/optimum/pull/421",
        "outputs go to the host and back for each token: IOBinding", _through_numpy, bound=("copy", "sync", "mixed"),
        told=("XF001|XF002|XF003|SY002", "~ONNX Runtime|IOBinding|io_binding"),
        never=("~uint8", "XF006", "GR004", "PY001", "~pin_memory=True", *OF_TRAINING),
    ),
    Story(
        "two GPUs in turn", "LLM inference, device_map", "https://huggingface.co/docs/accelerate/usage_guides/big_modeling",
        "naive model parallelism: one GPU works at a time; tensor parallelism, or batches in flight", _in_turn,
        bound=("queue",), told=("ID002", "~tensor parallelism|pipeline"),
        never=("GR004", "ID001", "PY001", "PR001", "SY002", *OF_TRAINING),
    ),
    Story(
        "bmm in half on an Arc", "LLM inference, XPU", GITHUB + "intel/intel-extension-for-pytorch/issues/433",
        "aten::bmm in float16 is slow there: float32 for it", _products_in_half, bound=("compute",), told=("~aten::bmm",),
        never=("PR001", "PR002", "GR004", "ID001", *NO_CUDA, *OF_TRAINING),
    ),
    Story(
        "float16 on a CPU", "LLM inference, CPU", GITHUB + "huggingface/transformers/issues/34692",
        "the CPU has no instructions for float16: float32, or bfloat16 where it has those", _half_on_cpu, bound=("compute",),
        told=("~float16|c10::Half|half precision",),
        never=("PR001", "PY001", "PY003", "~autocast", "~\\.half\\(\\)", *NO_CUDA, *OF_TRAINING),
    ),
    Story(
        "vLLM on a CPU", "LLM serving, CPU", GITHUB + "vllm-project/vllm/pull/28130",
        "products and the cache's writes take it: nothing else", _served_on_cpu, bound=("compute",), told=("~onednn_mm",),
        never=("PY001", "PY003", "DL001", "CP002", *NO_CUDA, *OF_TRAINING),
    ),
    Story(
        "masks encoded one by one", "segmentation, Jetson", GITHUB + "roboflow/inference/pull/2517",
        "two reads for each mask: encode a chunk of them at once", _masks_one_by_one,
        bound=("sync", "launch", "python", "mixed"), told=("SY001|SY002|SY004|PY002|PY003",),
        never=("PR001", "GR004", "XF001", "~PCIe", "~_foreach_", "~zero_grad", "~optimizer", "~backward"),
    ),
    Story(
        "TorchScript compiles in a call", "vision, torch 1.9", GITHUB + "pytorch/pytorch/issues/33354",
        "the second call compiles: call it a few times first", _compiled_by_script,
        told=("PY005|PG002|PG006|GR003|ID003",),
        never=("PY001", "GR004", "ID001", "~^Launch-bound", "~^Python-bound", *OF_TRAINING),
    ),
    Story(
        "Triton compiles in a request", "LLM serving, first request", GITHUB + "vllm-project/vllm/pull/45631",
        "kernels are compiled in the first request: warm them up", _compiled_by_triton,
        told=("GR003|PG002|PG006|PY005|ID003", "~[Tt]riton|compil"),
        never=("PY001", "PY003", "ID001", "~^Launch-bound", "~^Python-bound", *OF_TRAINING),
    ),
    Story(
        "copies seconds too long", "video generation, recording", GITHUB + "AMD-AGI/Hyperloom/pull/1116",
        "lengths that reach over the next event of the stream are no lengths: compute", _impossible_lengths,
        bound=("compute",), never=("SY002", "XF001", "XF002", "XF007", "~^Copy-bound|^Sync-bound", *OF_TRAINING),
    ),
    Story(
        "kernels of 2 passes of 32", "LLM serving, recording", GITHUB + "AMD-AGI/TraceLens/issues/972",
        "device events are missing in most passes: record again", _few_device_events,
        told=("PG005",), never=("~^Compute-bound", "~^Launch-bound", "GR004", "ID001", "IN001", "PR001", *OF_TRAINING),
    ),
)  # fmt: skip
