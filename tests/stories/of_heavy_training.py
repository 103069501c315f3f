"""Stories of training that its kernels bind, in fields with kernels of their own; written down before the tool was asked."""

from __future__ import annotations

from building.clocked import Clocked
from stories import devices
from stories.models import (
    ADD,
    AMPERE,
    CONV_32,
    FLASH,
    FLASH_BACK,
    NVJET,
    RELU,
    SDPA,
    SGEMM,
    blocks,
    blocks_back,
    update,
)
from stories.story import GITHUB, Story

DEQUANTIZE = (
    "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*, int, int)"
)
ADAM_8BIT = (
    "void kOptimizerStatic8bit2StateBlockwise<__nv_bfloat16, 0, 256, 1>(__nv_bfloat16*, __nv_bfloat16*, unsigned char*)"
)
UVA = (
    "void dgl::runtime::cuda::IndexSelectMultiKernelAligned<float, long>(float const*, long, long const*, long, float*)"
)
SAMPLE = (
    "void dgl::aten::impl::_CSRRowWiseSampleUniformKernel<long, 128>(unsigned long, long, long const*, long const*)"
)
TBE = "split_embedding_codegen_forward_unweighted_kernel<float, float, float, long>(p)"
TBE_BACK = "split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float, float, float>(p)"
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16, float, c10::BFloat16>(p)"
ALPHA = "void torchaudio::rnnt::gpu::ComputeAlphasBetasCosts<float, float>(p)"
ALPHA_CTC = "void at::native::(anonymous namespace)::ctc_loss_log_alpha_gpu_kernel<float, long>(float*, float const*, long const*)"
BETA_CTC = (
    "void at::native::(anonymous namespace)::ctc_loss_backward_log_beta_gpu_kernel<float, long>(float*, float const*)"
)
FPS = "void furthest_point_sampling_kernel<512u>(int, int, int, float const*, float*, int*)"
LSTM = "void RNN_blockPersist_fp_LSTM<float, float, float, 256>(p)"
LSTM_BACK = "void RNN_blockPersist_bp_LSTM<float, float, float, 256>(p)"
TF32 = "ampere_tf32_s1688gemm_tf32_128x64_ldg8_f2f_stages_32x1_tn"


def _linear_4bit(world: Clocked, dur: float) -> None:
    """A layer of 4 bits with its adapter: weights become bfloat16, the product, two small products beside it."""
    with world.within("MatMul4Bit"):
        world.kernel_of(None, DEQUANTIZE, 0.4 * dur, call=6)
        world.kernel_of("aten::linear/aten::mm", NVJET, dur)
    world.kernel_of("aten::linear/aten::mm", NVJET, 12)
    world.kernel_of("aten::linear/aten::mm", NVJET, 12)
    world.kernel_of("aten::mul", ADD, 8)
    world.kernel_of("aten::add", ADD, 12)


def _layer_4bit(world: Clocked) -> None:
    for dur in (240, 240, 240, 240):
        _linear_4bit(world, dur)
    world.kernel_of(SDPA, FLASH, 180, host=30)
    for dur in (620, 620, 620):
        _linear_4bit(world, dur)


def _four_bits() -> Clocked:
    """QLoRA with checkpoints: each product's weights are made bfloat16 first, in both forward passes and backward: a quarter."""
    world = Clocked()
    for _ in world.steps(3):
        world.load(60, workers=2)
        for _ in range(6):
            _layer_4bit(world)
        with world.backward():
            for _ in range(6):
                with world.node("CheckpointFunctionBackward"):
                    world.recorded = True
                    _layer_4bit(world)
                    world.recorded = False
                    with world.node("ScaledDotProductFlashAttentionBackward0"):
                        world.kernel_of("aten::_scaled_dot_product_flash_attention_backward", FLASH_BACK, 420, host=30)
                    for dur in (240, 240, 240, 240, 620, 620, 620):
                        with world.node("MatMul4BitBackward"):
                            world.kernel_of(None, DEQUANTIZE, 0.4 * dur, call=6)
                            world.kernel_of("aten::mm", NVJET, dur)
        begin = world.now
        for _ in range(40):
            world.idle(8)
            world.kernel_of(None, ADAM_8BIT, 6, call=6)
        world.optimizer(begin, world.now - begin, "PagedAdamW8bit")
    return world


def _features_over_the_bus() -> Clocked:
    """DGL samples on the GPU; features stay in pinned memory of the host and are read over PCIe by a kernel: two thirds."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        for _ in range(3):
            world.idle(60)
            world.kernel_of(None, SAMPLE, 180)
            world.copied("DtoH", 8, path=None)
        world.kernel_of(None, UVA, 9_400)
        for _ in range(3):
            world.kernel_of("GSpMM", "void cusparse::csrmm_v2_kernel<float, float, 256>(p)", 500, host=40)
            world.kernel_of("aten::linear/aten::addmm", TF32, 300)
            world.kernel_of("aten::relu", RELU, 40)
        with world.backward():
            for _ in range(3):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", TF32, 300)
                with world.node("GSpMMBackward"):
                    world.kernel_of(None, "void cusparse::csrmm_v2_kernel<float, float, 256>(p)", 500)
        update(world, "Adam", dur=60)
    return world


def _tables_of_ads() -> Clocked:
    """DLRM on one card: FBGEMM's tables take three quarters, bound by memory; indices come from pageable memory."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        world.load(90, workers=8)
        for _ in range(3):
            world.copied("HtoD", 8 << 20, path="aten::to/aten::_to_copy/aten::copy_")
        for _ in range(3):
            world.kernel_of("aten::linear/aten::addmm", TF32, 90)
            world.kernel_of("aten::relu", RELU, 20)
        world.kernel_of("fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", TBE, 6_200, host=90)
        world.kernel_of("aten::bmm", TF32, 260)
        world.kernel_of("aten::cat", ADD, 60)
        for _ in range(4):
            world.kernel_of("aten::linear/aten::addmm", TF32, 160)
            world.kernel_of("aten::relu", RELU, 20)
        with world.backward():
            for _ in range(7):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", TF32, 140)
                    world.kernel_of("aten::mm", TF32, 140)
            with world.node("SplitLookupFunction_rowwise_adagrad_OpBackward"):
                for _ in range(4):
                    world.kernel_of(None, "void cub::DeviceRadixSortOnesweepKernel<p>", 300)
                world.kernel_of(None, TBE_BACK, 9_800)
        update(world, "SGD", dur=40)
    return world


def _joint_of_a_transducer() -> Clocked:
    """RNN-T: the joint network makes logits of batch x frames x tokens x vocabulary; softmax and gradients of 4 GB take most."""
    world = Clocked()
    for _ in world.steps(4):
        world.load(150, workers=8)
        for _ in range(12):
            world.kernel_of("aten::linear/aten::addmm", NVJET, 120)
            world.kernel_of(SDPA, FLASH, 60, host=30)
        world.kernel_of("aten::add", ADD, 1_400)
        world.kernel_of("aten::tanh", ADD, 1_300)
        world.kernel_of("aten::linear/aten::addmm", NVJET, 2_900)
        world.kernel_of("aten::log_softmax/aten::_log_softmax", SOFTMAX, 6_800)
        world.kernel_of("torchaudio::rnnt_loss", ALPHA, 900, host=60)
        with world.backward():
            with world.node("LogSoftmaxBackward0"):
                world.kernel_of("aten::_log_softmax_backward_data", SOFTMAX.replace("Forward", "Backward"), 8_200)
            with world.node("AddmmBackward0"):
                world.kernel_of("aten::mm", NVJET, 2_900)
                world.kernel_of("aten::mm", NVJET, 2_900)
            with world.node("TanhBackward0"):
                world.kernel_of("aten::tanh_backward", ADD, 1_900)
            for _ in range(12):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", NVJET, 120)
                    world.kernel_of("aten::mm", NVJET, 120)
        update(world, dur=900)
    return world


def _ctc_step_by_step() -> Clocked:
    """CTC without cuDNN: the kernels go through 2,000 frames one after the other with few blocks, half of the step."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(4):
        world.load(140, workers=6)
        for _ in range(20):
            world.kernel_of("aten::linear/aten::addmm", AMPERE, 110)
            world.kernel_of("aten::gelu", ADD, 20)
        world.kernel_of("aten::log_softmax/aten::_log_softmax", SOFTMAX, 160)
        with world.within("aten::ctc_loss"):
            world.kernel_of("aten::_ctc_loss", ALPHA_CTC, 5_600, host=60, **{"blocks per SM": 0.15, "grid": [1, 16, 1]})
        with world.backward():
            with world.node("CtcLossBackward0"):
                world.kernel_of(
                    "aten::_ctc_loss_backward", BETA_CTC, 5_900, host=60, **{"blocks per SM": 0.15, "grid": [1, 16, 1]}
                )
            for _ in range(20):
                with world.node("AddmmBackward0"):
                    world.kernel_of("aten::mm", AMPERE, 110)
                    world.kernel_of("aten::mm", AMPERE, 110)
        update(world, dur=500)
    return world


def _farthest_points() -> Clocked:
    """PointNet++: farthest points are chosen one after the other, one block a cloud; the kernel takes half, on a few processors."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        world.load(160, workers=8)
        world.copied("HtoD", 6 << 20, pinned=True)
        for dur in (5_200, 1_300, 400):
            world.kernel_of("FurthestPointSampling", FPS, dur, host=40, **{"blocks per SM": 0.15, "grid": [16, 1, 1]})
            world.kernel_of("BallQuery", "query_ball_point_kernel(int, int, int, float, int)", 250, host=40)
            world.kernel_of("GroupingOperation", "group_points_kernel(int, int, int, int, int)", 200, host=40)
            blocks(world, 3, 1.2, conv=CONV_32)
        blocks_back(world, 9, 2.4, conv=CONV_32)
        update(world, "Adam", dur=60)
    return world


def _one_layer_through_time() -> Clocked:
    """cuDNN's LSTM over 500 steps in one kernel a layer: sequential by nature, a few blocks; no loop of Python's."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(5):
        world.load(90, workers=4)
        world.copied("HtoD", 1 << 20, pinned=True)
        for _ in range(3):
            with world.within("aten::lstm"):
                world.kernel_of("aten::_cudnn_rnn", TF32, 220, host=60)
                world.kernel_of(None, LSTM, 4_800, **{"blocks per SM": 0.6, "grid": [64, 1, 1]})
        world.kernel_of("aten::linear/aten::addmm", TF32, 60)
        with world.backward():
            for _ in range(3):
                with world.node("CudnnRnnBackward0"), world.within("aten::_cudnn_rnn_backward"):
                    world.kernel_of(None, LSTM_BACK, 5_400, **{"blocks per SM": 0.6, "grid": [64, 1, 1]})
                    world.kernel_of(None, TF32, 400)
        update(world, "Adam", dur=50)
    return world


def _teacher_in_floats() -> Clocked:
    """Distillation: the student runs under autocast, the teacher in front of it in float32: its products take 60 %."""
    world = Clocked(top=devices.of(devices.A100))
    for _ in world.steps(4):
        world.load(110, workers=8)
        world.copied("HtoD", 30 << 20, pinned=True)
        for _ in range(24):
            for _ in range(4):
                world.kernel_of("aten::linear/aten::addmm", SGEMM, 260)
            world.kernel_of("aten::gelu", ADD, 30)
        world.recorded = True
        for _ in range(12):
            for _ in range(4):
                world.kernel_of("aten::linear/aten::addmm", AMPERE, 70)
            world.kernel_of("aten::gelu", ADD, 12)
        world.kernel_of("aten::kl_div", ADD, 30)
        world.recorded = False
        with world.backward():
            for _ in range(12):
                with world.node("GeluBackward0"):
                    world.kernel_of("aten::gelu_backward", ADD, 14)
                for _ in range(4):
                    with world.node("AddmmBackward0"):
                        world.kernel_of("aten::mm", AMPERE, 70)
                        world.kernel_of("aten::mm", AMPERE, 70)
        update(world, dur=700)
    return world


STORIES = (
    Story(
        "weights of four bits", "LLM fine-tuning, QLoRA", GITHUB + "artidoro/qlora",
        "weights are made bfloat16 before each product, and the forward pass runs twice", _four_bits, bound=("compute",),
        told=("~quanti|4 bits|fewer bits|kDequantizeBlockwise", "KE006|~recomput"),
        never=("PR001", "PR002", "DL001", "GR004", "OP001", "~autocast", "PR004"),
    ),
    Story(
        "features read over the bus", "GNN, sampled on the GPU", "https://www.dgl.ai/dgl_docs/guide/minibatch-gpu-sampling.html",
        "a kernel reads features from the host's memory: cache the hot ones on the device", _features_over_the_bus,
        bound=("compute",), told=("~IndexSelectMultiKernel",), never=("DL001", "PR001", "GR004", "XF001", "OP001"),
    ),
    Story(
        "tables of a recommender on one card", "recommender, FBGEMM", "https://docs.pytorch.org/FBGEMM/",
        "tables are bound by memory; what can be had is the copy of indices", _tables_of_ads, bound=("compute",),
        told=("~embedding", "XF001"), never=("PR001", "PR002", "GR004", "DL001", "OP001", "GR001"),
    ),
    Story(
        "joint network of a transducer", "speech, RNN-T",
        "https://docs.pytorch.org/audio/stable/generated/torchaudio.functional.rnnt_loss.html",
        "logits for each frame and token: softmax and its gradient take most; fused or pruned losses", _joint_of_a_transducer,
        bound=("compute",), told=("~softmax",), never=("PR001", "PR002", "GR004", "DL001", "GR005", "KE001"),
    ),
    Story(
        "CTC frame by frame", "speech, CTC", "https://docs.pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html",
        "torch's own kernels go frame by frame; cuDNN's take targets of int32 on the CPU", _ctc_step_by_step, bound=("compute",),
        told=("~ctc_loss",), never=("GR004", "DL001", "GR005", "PR002", "OP001"),
    ),
    Story(
        "farthest points one by one", "point clouds", GITHUB + "erikwijmans/Pointnet2_PyTorch",
        "one block a cloud chooses points one after the other: most of the device idles meanwhile", _farthest_points,
        bound=("compute",), told=("~furthest_point|FurthestPointSampling", "KE001"), never=("GR004", "DL001", "PR002", "GR005"),
    ),
    Story(
        "LSTM through time", "time series, cuDNN", "https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html",
        "one kernel goes through time, sequential by nature: larger batches, half precision", _one_layer_through_time,
        bound=("compute",), told=("~LSTM|lstm|recurrent",), never=("PY006", "PY002", "GR004", "GR001", "DL001", "~flash"),
    ),
    Story(
        "teacher in floats", "distillation", "https://docs.pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html",
        "the teacher runs in float32 in front of a student in 16 bits: half precision for it too", _teacher_in_floats,
        bound=("compute",), told=("PR001|PR002", "~16 bits|half|bfloat16|autocast"), never=("GR004", "DL001", "OP001"),
    ),
)  # fmt: skip
