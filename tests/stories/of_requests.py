"""Stories of what the host does around passes of a model that answers, written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, CONV, CONV_OPS, FLASH, NVJET, RELU, SDPA
from stories.of_answering import ARGMAX
from stories.of_serving import GEMV, OF_TRAINING, RMS
from stories.story import GITHUB, Story

# Where nothing tells a model that is run from one that trains, a loader is named as what the other may use.
NOT_TRAINED = tuple(what for what in OF_TRAINING if "Loader" not in what)
TO_HOST = "aten::to/aten::_to_copy/aten::copy_"
COMPARED = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CompareFunctor<float>, std::array<char*, 2ul>>(int)"
)
NONZERO = "void at::native::flag_kernel<false, at::native::NonZeroOp<bool>>(bool*, long, long)"


def _grid_counted() -> Clocked:
    """SGLang, Qwen3-Next: the grid of `causal_conv1d_fn` is counted on the host, with copies both ways, for each layer."""
    world = Clocked(marks=False)
    for _ in range(6):
        with world.inside("step[EXTEND bs=5 toks=310]"):
            world.idle(200)
            for _ in range(36):
                world.kernel_of("sgl_kernel::gemma_rmsnorm", RMS, 5)
                world.kernel_of("aten::linear/aten::mm", NVJET, 28)
                world.copied("DtoH", 40, path=TO_HOST)
                world.idle(120)
                world.copied("HtoD", 312, path=TO_HOST)
                world.copied("HtoD", 312, path=TO_HOST)
                world.kernel_of(None, "_causal_conv1d_fwd_kernel", 9, api="cuLaunchKernelEx")
                world.kernel_of(None, "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", 24, api="cuLaunchKernelEx")
                world.kernel_of(None, "chunk_fwd_kernel_o", 16, api="cuLaunchKernelEx")
                world.kernel_of("aten::linear/aten::mm", NVJET, 18)
                world.kernel_of("aten::linear/aten::mm", NVJET, 44)
            world.copied("DtoH", 40, path=TO_HOST)
    return world


def _guards_each_token() -> Clocked:
    """A compiled Qwen3-8B of transformers: guards are checked and inputs made ready for 2 ms in front of each pass."""
    world = Clocked(marks=False)
    for _ in range(12):
        world.host_op("TorchDynamo Cache Lookup", 2_300)
        with world.inside("Pregraph bytecode"):
            world.idle(1_100)
        with world.within("Torch-Compiled Region: 0/0"), world.within("CompiledFxGraph fkq6"):
            for _ in range(36):
                world.kernel_of(
                    None, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", 3, api="cuLaunchKernel", call=5
                )
                world.kernel_of("aten::mm", GEMV, 14, host=11)
                world.kernel_of(None, "triton_poi_fused_cat_mul_1", 3, api="cuLaunchKernel", call=5)
                world.kernel_of(SDPA.split("/")[1], FLASH, 8, host=20)
                world.kernel_of("aten::mm", GEMV, 10, host=11)
                world.kernel_of("aten::mm", GEMV, 32, host=11)
                world.kernel_of(None, "triton_poi_fused_mul_silu_3", 3, api="cuLaunchKernel", call=5)
                world.kernel_of("aten::mm", GEMV, 20, host=11)
        world.kernel_of("aten::argmax", ARGMAX, 12)
        world.read_value()
        world.idle(120)
    return world


def _timed_with_waits() -> Clocked:
    """Ultralytics' predict: three timers that call torch.cuda.synchronize() twice each for every image, so that streams wait."""
    world = Clocked(marks=False)
    frames = ("ultralytics/engine/predictor.py(330): stream_inference", "ultralytics/utils/ops.py(65): time")
    for _ in range(10):
        for part in ("preprocess", "inference", "postprocess"):
            for end in (False, True):
                if end and part == "preprocess":
                    world.idle(300)
                    world.copied("HtoD", 3 * 640 * 640)
                    world.kernel_of("aten::div", ADD, 8)
                elif end and part == "inference":
                    for _ in range(64):
                        world.kernel_of(CONV_OPS, CONV, 34, host=52)
                        world.kernel_of("aten::silu_", RELU, 6, host=12)
                elif end:
                    world.kernel_of("aten::gt", COMPARED, 4)
                    world.kernel_of(
                        "torchvision::nms", "void vision::ops::nms_kernel_impl<float>(int, double, float*)", 9, host=30
                    )
                    world.copied("DtoH", 300 * 24, path=TO_HOST)
                    world.idle(500)
                with world.stack(*frames):
                    world.synchronize()
                    world.idle(8)
    return world


def _mask_waits_for_network() -> Clocked:
    """YOLOv5 on large images: the line `x[xc[xi]]` seems to take 30 ms; it waits for the network, which is what takes them."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.marked(number):
            world.copied("HtoD", 3 * 1920 * 800, pinned=True)
            world.kernel_of("aten::div", ADD, 14)
            for _ in range(80):
                world.kernel_of(CONV_OPS, CONV, 380, host=52)
                world.kernel_of("aten::silu_", RELU, 40, host=12)
            world.kernel_of("aten::gt", COMPARED, 8)
            with world.within("aten::index"), world.within("aten::nonzero"):
                world.kernel_of(None, NONZERO, 6)
                world.copied("DtoH", 8, path=None)
            world.kernel_of("aten::index", COMPARED, 5)
            world.kernel_of(
                "torchvision::nms", "void vision::ops::nms_kernel_impl<float>(int, double, float*)", 9, host=30
            )
            world.copied("DtoH", 300 * 24, path=TO_HOST)
            world.idle(300)
    return world


def _video_unpickled() -> Clocked:
    """SGLang with a video: the scheduler's thread unpacks mm_inputs for 500 ms in `from_dict`, on each rank, before a pass."""
    world = Clocked(marks=False)
    loop = "sglang/srt/managers/scheduler.py(925): event_loop_overlap"
    for _ in range(4):
        with world.stack(
            loop,
            "sglang/srt/managers/scheduler.py(1215): handle_generate_request",
            "sglang/srt/managers/schedule_batch.py(341): from_dict",
        ):
            world.idle(480_000)
        with (
            world.stack(loop, "sglang/srt/managers/scheduler.py(2040): run_batch"),
            world.inside("step[EXTEND bs=1 toks=9200]"),
        ):
            world.copied("HtoD", 60_000_000)
            for _ in range(32):
                for dur in (300, 240, 900):
                    world.kernel_of("aten::linear/aten::mm", NVJET, dur)
                world.kernel_of("flashinfer::batch_prefill", FLASH, 260, host=22)
            world.copied("DtoH", 8, path=TO_HOST)
        for _ in range(10):
            with (
                world.stack(loop, "sglang/srt/managers/scheduler.py(2040): run_batch"),
                world.inside("step[DECODE bs=1]"),
            ):
                world.graph(
                    [(RMS, 4), (GEMV, 20), (FLASH, 9), (GEMV, 14), (RMS, 4), (GEMV, 44), (GEMV, 24)] * 32, host=150
                )
                world.copied("DtoH", 8, path=TO_HOST)
    return world


def _tokenised_between() -> Clocked:
    """A reranker that tokenises each batch in the loop that runs the model: the GPU idles meanwhile; in threads it does not."""
    world = Clocked(marks=False)
    for number in range(10):
        with world.marked(number):
            world.idle(14_000)
            for _ in range(3):
                world.copied("HtoD", 32 * 512 * 8)
            for _ in range(24):
                for dur in (120, 60, 120, 160, 160):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
                world.kernel_of(SDPA, FLASH, 110, host=30)
                world.kernel_of("aten::gelu", ADD, 40)
            world.copied("DtoH", 32 * 4, path=TO_HOST)
    return world


STORIES = (
    Story(
        "grid of a kernel counted on the host", "LLM serving, linear attention", GITHUB + "sgl-project/sglang/pull/10680",
        "counts are read and lists sent for each layer, while the device waits: a grid that needs none", _grid_counted,
        # Copies, and what the host counts between them: either is most of it.
        bound=("sync", "launch", "copy", "python", "mixed"), told=("SY004|SY001|XF003|XF007|SY002", "~_to_copy|\\.to\\(|copy"),
        never=("PR001", "GR004", "~num_workers", "~overlap_schedule", "~advisor collect", *OF_TRAINING),
    ),
    Story(
        "guards in front of each token", "LLM inference, compiled", GITHUB + "pytorch/pytorch/issues/191753",
        "TorchDynamo's lookup takes 2 ms a pass: fewer guards, or a graph around it", _guards_each_token,
        bound=("launch", "python", "mixed", "compute"), told=("~TorchDynamo Cache Lookup", "~guards"),
        never=("PR001", "GR001", "~fullgraph=True", "~lie on the GPU", "~AsyncVectorEnv", *OF_TRAINING),
    ),
    Story(
        "timers that wait for the device", "detection, inference", GITHUB + "ultralytics/ultralytics/issues/21411",
        "six synchronisations an image to time its parts: without them images overlap", _timed_with_waits,
        # One image at a time, launches are the limit: without the waits several may be on their way.
        bound=("launch", "sync", "mixed"), told=("ID001|SY003",), never=("PR001", "GR004", *NOT_TRAINED),
    ),
    Story(
        "mask that waits for the network", "detection, inference", GITHUB + "ultralytics/yolov5/issues/6639",
        "the wait in the mask is the network's time: it costs next to nothing itself", _mask_waits_for_network, bound=("compute",),
        never=("SY001", "SY002", "SY004", "ID001", "GR004", "PY001", *OF_TRAINING),
    ),
    Story(
        "video unpacked by the scheduler", "multimodal serving", GITHUB + "sgl-project/sglang/pull/11910",
        "the scheduler's thread unpacks inputs for 500 ms on each rank: on one, and broadcast", _video_unpickled,
        bound=("python", "launch", "mixed"), told=("~from_dict",), never=("GR004", "PR001", "~reduce-overhead",
        "~advisor collect", *OF_TRAINING),
    ),
    Story(
        "texts tokenised between batches", "reranker", GITHUB + "michaelfeil/infinity/pull/154",
        "the device waits while texts are made tokens: do it in threads beside the model", _tokenised_between,
        told=("PY001", "~executor\\.submit"),
        never=("GR004", "SY001", "PR001", "~reduce-overhead|make_graphed", *NOT_TRAINED),
    ),
)  # fmt: skip
