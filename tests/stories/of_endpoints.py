"""Stories of endpoints and pipelines, written down, demands and all, before the tool was asked: handlers, images, video, speech."""

from __future__ import annotations

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import ADD, CONV, CONV_OPS, FLASH, LINEAR, NVJET, RELU, SDPA, SGEMM, TO, blocks
from stories.of_answering import ARGMAX
from stories.of_decoding import INDEXED
from stories.of_requests import COMPARED, NONZERO, NOT_TRAINED
from stories.of_serving import OF_TRAINING, RMS
from stories.story import GITHUB, Story

TRITON = "triton_poi_fused__to_copy_add_mul_silu_3"


def _handler_decodes_images() -> Clocked:
    """TorchServe: the handler decodes and resizes 32 images with PIL for 90 ms, the network takes 25: the GPU stands still."""
    world = Clocked(marks=False)
    for _ in range(6):
        with world.stack(
            "ts/torch_handler/base_handler.py(410): handle", "ts/torch_handler/vision_handler.py(40): preprocess"
        ):
            for _ in range(32):
                with world.stack("torchvision/transforms/functional.py(430): resize", "PIL/Image.py(2300): resize"):
                    world.idle(2_300)
                world.host_op("aten::div", 240)
                world.host_op("aten::sub_/aten::sub", 120)
            world.host_op("aten::stack/aten::cat", 2_100)
        with world.stack(
            "ts/torch_handler/base_handler.py(415): handle", "ts/torch_handler/base_handler.py(330): inference"
        ):
            world.copied("HtoD", 32 * 3 * 224 * 224 * 4)
            blocks(world, 53, 3.2)
            world.kernel_of("aten::linear/aten::addmm", NVJET, 30)
        with world.stack(
            "ts/torch_handler/base_handler.py(420): handle", "ts/torch_handler/image_classifier.py(40): postprocess"
        ):
            world.kernel_of("aten::softmax/aten::_softmax", RMS, 9)
            world.kernel_of("aten::topk", ARGMAX, 9)
            world.copied("DtoH", 32 * 40, path=TO)
    return world


def _reranker_in_floats() -> Clocked:
    """bge-reranker-v2-m3 in full precision on an A100: five times as long as with `use_fp16=True`."""
    world = Clocked(marks=False, top=of(A100))
    floats = {"Input Dims": [[1024], [16_384, 1_024], [1_024, 1_024]], "Input type": ["float", "float", "float"]}
    three = {"Input type": ["float", "float", "float"]}
    for _ in range(6):
        for _ in range(2):
            world.copied("HtoD", 32 * 512 * 8)
        for _ in range(24):
            for dur in (1_800, 1_800, 1_800):
                world.kernel_of(LINEAR, SGEMM, dur, args=floats)
            attention = "aten::scaled_dot_product_attention/aten::_efficient_attention_forward"
            world.kernel_of(attention, "fmha_cutlassF_f32_aligned_64x64_rf_sm80(p)", 1_500, host=40, args=three)
            for dur in (1_800, 7_000, 7_000):
                world.kernel_of(LINEAR, SGEMM, dur, args=floats)
            world.kernel_of("aten::gelu", ADD.replace("c10::BFloat16", "float"), 300, args={"Input type": ["float"]})
        world.copied("DtoH", 32 * 4, path=TO)
    return world


def _speech_in_chunks() -> Clocked:
    """NeMo's streaming FastConformer: hundreds of small kernels a chunk, the GPU waits for the host; captured, 5 times as fast."""
    world = Clocked(marks=False)
    for _ in range(10):
        world.copied("HtoD", 112 * 80 * 4)
        for _ in range(17):
            for op in (
                "aten::layer_norm/aten::native_layer_norm",
                "aten::linear/aten::addmm",
                "aten::silu",
                "aten::linear/aten::addmm",
                "aten::mul",
                "aten::add",
                "aten::layer_norm/aten::native_layer_norm",
                "aten::cat",
                "aten::linear/aten::addmm",
                "aten::linear/aten::addmm",
                "aten::linear/aten::addmm",
                "aten::matmul/aten::bmm",
                "aten::matmul/aten::bmm",
                "aten::masked_fill",
                "aten::softmax/aten::_softmax",
                "aten::matmul/aten::bmm",
                "aten::linear/aten::addmm",
                "aten::conv1d/aten::convolution/aten::cudnn_convolution",
                "aten::glu",
                "aten::cat",
                "aten::conv1d/aten::convolution/aten::_conv_depthwise2d",
                "aten::silu",
                "aten::add",
                "aten::slice/aten::copy_",
            ):
                world.kernel_of(op, NVJET if "linear" in op else ADD, 6 if "linear" in op else 3, host=19)
        world.kernel_of("aten::argmax", ARGMAX, 6)
        world.copied("DtoH", 14 * 8, path=TO)
        world.idle(300)
    return world  # fmt: skip


def _frames_to_floats_on_host() -> Clocked:
    """YOLACT on video: `torch.from_numpy(frame).float().cuda()`: making floats on the host takes 15 of 35 ms; on the device one."""
    world = Clocked(marks=False)
    for _ in range(16):
        with world.stack("eval.py(700): evalvideo", "eval.py(640): prep_frame"):
            world.host_op(TO, 15_000, **{"Input Dims": [[1080, 1920, 3]], "Input type": ["unsigned char"]})
            world.copied("HtoD", 1080 * 1920 * 3 * 4)
        with world.stack("eval.py(704): evalvideo", "yolact.py(560): forward"):
            world.kernel_of("aten::upsample_bilinear2d", ADD, 60)
            blocks(world, 80, 0.9)
            world.copied("DtoH", 100 * 24, path=TO)
    return world


def _one_image_of_flux() -> Clocked:
    """diffusers' guide: one image of Flux.2 Klein, its parts in ranges: four passes of the transformer are most of it."""
    world = Clocked(marks=False)
    with world.inside("encode_prompt"):
        for _ in range(2):
            world.copied("HtoD", 512 * 8)
            for _ in range(27):
                for dur in (120, 90, 160, 160):
                    world.kernel_of("aten::linear/aten::mm", NVJET, dur)
                world.kernel_of(SDPA, FLASH, 90, host=34)
    with world.inside("prepare_latents"):
        world.kernel_of("aten::randn/aten::normal_", ADD, 9)
    for _ in range(4):
        with world.inside("transformer_forward"):
            for _ in range(25):
                for dur in (900, 900, 1_900, 1_900):
                    world.kernel_of("aten::linear/aten::addmm", NVJET, dur)
                world.kernel_of(SDPA, FLASH, 2_100, host=34)
                world.kernel_of("aten::gelu", ADD, 60)
        with world.inside("scheduler_step"):
            world.kernel_of("aten::mul", ADD, 4)
            world.kernel_of("aten::add", ADD, 4)
    with world.inside("vae_decode"):
        for _ in range(30):
            world.kernel_of(CONV_OPS, CONV, 900, host=40)
            world.kernel_of("aten::group_norm/aten::native_group_norm", RMS, 90, host=20)
            world.kernel_of("aten::silu", ADD, 60)
    world.copied("DtoH", 1024 * 1024 * 3, path=TO)
    return world


def _exported_ahead() -> Clocked:
    """A recommender's ranking model from AOTInductor, run from Python: 160 kernels of 4 us, launched without an op of torch."""
    world = Clocked(marks=False)
    for _ in range(20):
        world.copied("HtoD", 4_096, pinned=True)
        for index in range(80):
            world.kernel_of(
                None, TRITON if index % 3 else "triton_red_fused_native_layer_norm_1", 4, call=9, api="cuLaunchKernel"
            )
            world.kernel_of(None, NVJET, 5, call=14, api="cuLaunchKernelEx")
            world.idle(3)
        world.copied("DtoH", 400, path=TO)
        world.idle(60)
    return world


def _adapters_as_asked_for() -> Clocked:
    """A server of fifty adapters with room for two: each request copies its adapter to the device, then answers with graphs."""
    world = Clocked(marks=False)
    layer = [
        (RMS, 3),
        (NVJET, 16),
        ("_lora_shrink_kernel", 4),
        ("_lora_expand_kernel", 4),
        (FLASH, 9),
        (NVJET, 40),
        (NVJET, 24),
    ]
    for _ in range(6):
        with world.stack(
            "vllm/v1/worker/lora_model_runner_mixin.py(90): set_active_loras",
            "vllm/lora/layers/base_linear.py(60): set_lora",
        ):
            for _ in range(224):
                world.copied("HtoD", 1_600_000)
                world.copied("HtoD", 1_600_000)
        for _ in range(8):
            with world.inside("execute_context_0(0)_generation_4(4)"):
                world.graph(layer * 32, host=160)
                world.kernel_of("aten::argmax", ARGMAX, 12)
                world.copied("DtoH", 32, path=TO)
            world.idle(180)
    return world


def _one_sentence() -> Clocked:
    """sentence-transformers, MiniLM, one sentence a call: a hundred small kernels, each waiting for its launch."""
    world = Clocked(marks=False)
    for _ in range(24):
        with world.stack("app.py(14): embed", "sentence_transformers/SentenceTransformer.py(600): encode"):
            world.idle(350)
            for _ in range(3):
                world.copied("HtoD", 18 * 8)
            world.kernel_of("aten::embedding/aten::index_select", INDEXED, 4, host=26)
            for _ in range(6):
                for _ in range(4):
                    world.kernel_of(LINEAR, NVJET, 5, host=22, args={"Input Dims": [[384], [18, 384], [384, 384]]})
                world.kernel_of(SDPA, FLASH, 6, host=44)
                world.kernel_of("aten::add", ADD, 2)
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", RMS, 3, host=22)
                for _ in range(2):
                    world.kernel_of(LINEAR, NVJET, 6, host=22, args={"Input Dims": [[1536], [18, 384], [384, 1536]]})
                world.kernel_of("aten::gelu", ADD, 2)
                world.kernel_of("aten::layer_norm/aten::native_layer_norm", RMS, 3, host=22)
            world.copied("DtoH", 384 * 4, path=TO)
    return world


def _everything_segmented() -> Clocked:
    """segment-anything: `aten::index` with masks and `repeat_interleave` ask for sizes in the decoder of each batch of points."""
    world = Clocked(marks=False)
    for _ in range(2):
        world.copied("HtoD", 1024 * 1024 * 3 * 4)
        for _ in range(8):
            for dur in (420, 320, 900, 900):
                world.kernel_of(LINEAR, NVJET, dur)
            world.kernel_of(SDPA, FLASH, 500, host=34)
        for _ in range(32):
            world.kernel_of("aten::add", ADD, 4)
            with world.within("aten::repeat_interleave"):
                world.kernel_of("aten::cumsum", RMS, 4, host=14)
                world.read_value()
                world.kernel_of("aten::index_select", INDEXED, 60, host=16)
            for _ in range(30):
                world.kernel_of(LINEAR, NVJET, 9, host=18)
            for _ in range(4):
                world.kernel_of("aten::gt", COMPARED, 12)
                with world.within("aten::index"), world.within("aten::nonzero"):
                    world.kernel_of(None, NONZERO, 9)
                    world.copied("DtoH", 8, path=None)
                world.kernel_of("aten::index", INDEXED, 14, host=20)
            world.copied("DtoH", 64 * 24, path=TO)
    return world


def _frames_by_torchcodec() -> Clocked:
    """Video is decoded on the CPU in the loop of the model: 150 ms for 100 frames, on the device 12; the model takes 40."""
    world = Clocked(marks=False)
    for _ in range(6):
        world.host_op("torchcodec_ns::get_frames_at_indices", 148_000)
        world.copied("HtoD", 64 * 3 * 256 * 256, pinned=True)
        world.kernel_of("aten::div", ADD, 60)
        blocks(world, 100, 2.8)
        world.kernel_of("aten::relu", RELU, 4)
        world.copied("DtoH", 64 * 4_000, path=TO)
    return world


STORIES = (
    Story(
        "handler decodes images", "vision, TorchServe", GITHUB + "pytorch/serve/issues/2898",
        "the device waits while the handler prepares its batch: threads beside it, or the device", _handler_decodes_images,
        bound=("python", "launch", "input", "mixed"), told=("PY001|PY003|DL010", "~preprocess|resize"),
        never=("GR004", "~reduce-overhead|make_graphed", "PR001", *NOT_TRAINED),
    ),
    Story(
        "reranker in floats", "reranker", GITHUB + "FlagOpen/FlagEmbedding/issues/969",
        "the weights are float32: run in half", _reranker_in_floats, bound=("compute",),
        told=("PR001", "~\\.half\\(\\)|bfloat16|float16"),
        # Nothing tells it from the forward pass of a program that trains: that is told apart in the words of each fix.
        never=("ID001", "GR004", "PG004", "~zero_grad"),
    ),
    Story(
        "speech in chunks", "speech, streaming", GITHUB + "NVIDIA-NeMo/Speech/pull/15863",
        "hundreds of small kernels a chunk, shapes are static: a graph", _speech_in_chunks, bound=("launch",),
        told=("ID001|GR004", "~CUDA graph|reduce-overhead|make_graphed"),
        never=("PR001", "SY002", "XF001", "GR001", *NOT_TRAINED),
    ),
    Story(
        "frames made floats on the host", "segmentation, video", GITHUB + "dbolya/yolact/issues/35",
        "the cast on the host is what takes long: send bytes, cast on the device", _frames_to_floats_on_host,
        bound=("python", "launch", "input", "copy", "mixed"),
        told=("~prep_frame|_to_copy", "~bytes|uint8|on the device|on the GPU"),
        never=("GR004", "PR001", "~reduce-overhead", *NOT_TRAINED),
    ),
    Story(
        "one image of a pipeline", "diffusion", GITHUB + "huggingface/diffusers/pull/13356",
        "the transformer takes it, nothing waits", _one_image_of_flux, bound=("compute",),
        never=("ID001", "GR004", "XF001", "SY002", "GR001", "~each `?(?:encode_prompt|scheduler_step|vae_decode)",
        "~encode_prompt`? (?:is|was) taken", *OF_TRAINING),
    ),
    Story(
        "exported ahead of time", "recommender, AOTInductor", "https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html",
        "compiled already, launches are the limit: a graph around it", _exported_ahead, bound=("launch",), told=("ID001|GR004",),
        never=("~torch\\.compile\\(model\\)", "GR001", "GR002", "PR001", "KE001", "~graph break", *OF_TRAINING),
    ),
    Story(
        "adapters as they are asked for", "LLM serving, LoRA", "https://docs.vllm.ai/en/latest/features/lora.html",
        "weights of adapters are copied for each request: room for more of them", _adapters_as_asked_for,
        bound=("copy", "mixed"), told=("XF001|XF002|XF003", "~set_lora|set_active_loras|adapter"),
        never=("~[Bb]atch(?:es)? (?:is|are) (?:copied|sent)", "~uint8", "GR004", "PR001", *OF_TRAINING),
    ),
    Story(
        "one sentence a call", "embeddings", GITHUB + "huggingface/sentence-transformers/issues/1347",
        "a call is a hundred launches: several sentences in one, or a graph", _one_sentence, bound=("launch", "python", "mixed"),
        told=("ID001|IN005",), never=("PR001", "XF001", "XF002", "KE001", "GR001", *NOT_TRAINED),
    ),
    Story(
        "everything segmented", "segmentation, SAM", "https://pytorch.org/blog/accelerating-generative-ai/",
        "sizes that only the device knows are asked for: without them the host runs ahead", _everything_segmented,
        bound=("launch", "sync", "mixed", "compute"), told=("SY004|SY001|SY002", "~aten::index|nonzero|repeat_interleave"),
        never=("PR001", "XF001", "GR004", *NOT_TRAINED),
    ),
    Story(
        "frames decoded on the host", "video", GITHUB + "meta-pytorch/torchcodec/pull/242",
        "decoding takes most of it and the device waits: decode there, or beside the model", _frames_by_torchcodec,
        bound=("python", "launch", "input", "mixed", "compute"), told=("~torchcodec_ns::get_frames_at_indices",),
        never=("GR004", "ID001", "PR001", "~reduce-overhead|make_graphed", *NOT_TRAINED),
    ),
)  # fmt: skip
