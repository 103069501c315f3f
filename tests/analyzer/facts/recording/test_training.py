"""What tells training from serving and evaluation."""

from __future__ import annotations

import pytest

from analyzer.facts.recording.training import trains
from building.builders import TraceBuilder


@pytest.mark.parametrize(
    ("name", "category", "training"),
    [
        ("Optimizer.step#SGD.step", "user_annotation", True),
        ("Optimizer.zero_grad#SGD.zero_grad", "user_annotation", True),
        ("DistributedDataParallel.forward", "user_annotation", True),
        ("DistributedDataParallel.forward", "cpu_op", True),
        ("CudnnConvolutionBackward", "cpu_op", True),
        ("FSDP::post_backward_reduce", "user_annotation", True),
        ("FullyShardedDataParallel._post_backward_hook", "user_annotation", True),
        ("[pl][profile]run_training_batch", "user_annotation", True),
        ("## backward ##", "user_annotation", True),
        ("loss.backward", "user_annotation", True),
        ("backward_pass", "user_annotation", True),
        ("aten::_fused_adamw_", "cpu_op", True),
        ("torch/_tensor.py(428): backward", "python_function", True),
        ("torch/optim/adamw.py(230): step", "python_function", True),
        ("deepspeed/runtime/engine.py(1900): backward", "python_function", True),
        ("DataParallel.forward", "user_annotation", False),
        # Weights that are gathered for a forward pass alone.
        ("FSDP::pre_forward", "user_annotation", False),
        ("FullyShardedDataParallel.forward", "user_annotation", False),
        ("backward_compatible_cache", "user_annotation", False),
        ("look_backwards", "user_annotation", False),
        ("sim/world.py(31): step", "python_function", False),
        ("history.py(20): backward", "python_function", False),
        ("aten::linear", "cpu_op", False),
        ("bwd_kernel_dk_dv.kd", "kernel", True),
        ("MIOpenBatchNormBwdSpatial", "kernel", True),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(p)", "kernel", True),
        ("igemm_wrw_gtcx_nhwc_fp16_bx0_ex0", "kernel", True),
        ("void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<Traits>(p)", "kernel", True),
        ("kOptimizer32bit2State<__half, 0>", "kernel", True),
        # A transposed convolution is computed like a gradient in forward passes as well.
        ("igemm_bwd_gtcx_nhwc_fp16_bx0_ex0", "kernel", False),
        ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(p)", "kernel", False),
        ("attn_fwd.kd", "kernel", False),
    ],
)
def test_what_shows_training(name: str, category: str, *, training: bool) -> None:
    builder = TraceBuilder()
    builder.op("aten::relu", 0, 10)
    builder.event(name, category, 20, 10)
    assert trains(builder.trace()) is training
