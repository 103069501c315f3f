"""Six stories more of training, written down to see whether what was mended for others holds; before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories.models import ADD, AMPERE, FOREACH, layer, layers, layers_back, perceptron_back, update
from stories.story import Story

GITHUB = "https://github.com/"
RANKS = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
)
HISTOGRAM = "void at::native::kernelHistogram1D<long, long, long, 1, 2, -1>(p)"


def _features_on_host() -> Clocked:
    """GraphSAGE on two GPUs: features of the sampled nodes are taken from a table on the host, then sent; no faster than one."""
    world = Clocked(top={"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}})
    for _ in world.steps(6):
        world.load(400, workers=4)
        world.host_op("aten::index", 38_000)
        world.host_op("aten::index", 900)
        world.copied("HtoD", 90 << 20, rate=6_000)
        world.copied("HtoD", 1 << 20, rate=6_000)
        for _ in range(3):
            world.kernel_of(
                "GSpMM", "void dgl::aten::cuda::SpMMCsrKernel<long, float, CopyLhs<float>, Sum<long>>(p)", 700
            )
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 300)
            world.kernel_of("aten::relu", ADD, 40)
        perceptron_back(world, 3, 300)
        update(world, "Adam", dur=80)
    return world


def _masters_one_by_one() -> Clocked:
    """An optimizer with float32 weights beside bfloat16 ones copies both tensor by tensor; foreach: half the time."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(70, workers=4)
        layers(world, 8, 0.4)
        layers_back(world, 8, 0.8)
        for _ in range(320):
            world.kernel_of("aten::to/aten::_to_copy/aten::copy_", CAST, 4, host=24)
        begin = world.now
        for op in ("mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"):
            world.kernel_of(f"aten::_foreach_{op}", FOREACH, 90, host=120)
        world.optimizer(begin, world.now - begin, "AdamW")
        for _ in range(320):
            world.kernel_of("aten::copy_", CAST, 4, host=16)
    return world


def _assigned_on_cpu() -> Clocked:
    """YOLO trained on a CPU: argmax over the middle axis of the overlaps goes element by element; max(dim) instead."""
    world = Clocked(None)
    for _ in world.steps(5):
        for _ in range(30):
            world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::mkldnn_convolution", 5_000)
            world.host_op("aten::silu_", 600)
        for _ in range(2):
            world.host_op("aten::argmax", 150_000)
        world.host_op("aten::sum", 9_000)
        for _ in range(30):
            with world.node("ConvolutionBackward0"):
                world.host_op("aten::convolution_backward", 10_000)
        begin = world.now
        world.host_op("aten::_foreach_add_", 3_000)
        world.optimizer(begin, world.now - begin, "SGD")
    return world


def _counted_tokens() -> Clocked:
    """Fine-tuning a mixture of experts: bincount copies its size to the host twice a block, 80 drains of the queue a step."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(80, workers=4)
        for _ in range(40):
            layer(world, 0.15)
            for _ in range(2):
                with world.within("aten::bincount"):
                    world.kernel_of("aten::max", ADD, 3)
                    world.read_value("aten::item/aten::_local_scalar_dense")
                    world.kernel_of(None, HISTOGRAM, 5)
            world.kernel_of("aten::_grouped_mm", AMPERE, 160, host=60)
        layers_back(world, 40, 0.35)
        update(world, dur=600)
    return world


def _tokens_read() -> Clocked:
    """A trainer reads the number of tokens in each step; the model fills the device for longer than the host needs."""
    world = Clocked()
    for _ in world.steps(5):
        world.load(90, workers=4)
        layers(world, 24, 1.5)
        layers_back(world, 24, 3.0)
        update(world, dur=3_000)
        world.kernel_of("aten::ne", ADD, 3)
        world.kernel_of("aten::sum", ADD, 3)
        world.read_value()
    return world


def _reference_beside() -> Clocked:
    """DPO: the reference model runs over the same pairs in each step; its log-probabilities could be computed once."""
    world = Clocked(top=RANKS)
    for _ in world.steps(4):
        world.load(70, workers=2)
        world.recorded = True
        layers(world, 12)
        world.recorded = False
        layers(world, 12)
        world.kernel_of("aten::log_softmax/aten::_log_softmax", ADD, 400)
        layers_back(world, 12)
        update(world, dur=1_500)
    return world


STORIES = (
    Story(
        "features taken on the host", "GNN, DDP", GITHUB + "dmlc/dgl/issues/3609",
        "rows of a table on the host are taken and sent in the training process: in workers, or the table on the GPU",
        _features_on_host, bound=("launch", "copy", "python", "input", "mixed"), told=("~aten::index",),
        never=("GR004", "~2 \\* batch_size", "PR001", "DL001"),
    ),
    Story(
        "master weights copied one by one", "LLM, bfloat16", GITHUB + "lightseekorg/TorchSpec/pull/151",
        "320 copies in front of the update and behind it: torch._foreach_copy_", _masters_one_by_one,
        bound=("launch", "compute", "mixed"), told=("PY003|ID001|PR004", "~_foreach_copy_"), never=("DL001", "XF005", "PR004"),
    ),
    Story(
        "argmax over the middle axis", "detection, CPU", GITHUB + "ultralytics/ultralytics/pull/26234",
        "argmax goes element by element: max(dim)", _assigned_on_cpu, bound=("compute",), told=("~aten::argmax",),
        never=("PY003", "DL001", "OP001", "~CUDA"),
    ),
    Story(
        "tokens of experts counted", "LLM fine-tuning, MoE", GITHUB + "unslothai/unsloth-zoo/pull/1248",
        "bincount reads its size: scatter_add_ on zeros", _counted_tokens, bound=("sync", "launch", "mixed", "compute"),
        told=("SY004", "~bincount"), never=("DL001", "GR004", "PY002", "~losses\\[mask\\]"),
    ),
    Story(
        "tokens read behind a long step", "LLM", GITHUB + "vllm-project/speculators/pull/722",
        "one read a step beside a busy device: next to nothing", _tokens_read, bound=("compute",),
        never=("SY001", "DL001", "GR004", "PY001", "ID001"),
    ),
    Story(
        "reference model in each step", "RL, DPO", GITHUB + "huggingface/trl/issues/2569",
        "the reference's log-probabilities are the same each time: precompute_ref_log_probs", _reference_beside,
        bound=("compute",), told=("~without gradients",), never=("DL001", "GR004", "OP001", "PR001", "CO001"),
    ),
)  # fmt: skip
