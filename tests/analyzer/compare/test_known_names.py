"""Names that anybody may read are those of known libraries, with nothing else inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.compare.known_names import is_known_kernel, is_known_op
from running.recorded import SAMPLES, SHARED, trace_of

# What nobody should find in a repository, as it stood in names of kernels, ops and ranges.
PRIVATE = (
    "~mueller/data", "/home/bob/k.cu", "203.0.113.7", "10.1.2.3:29500", "+49 170 1234567", "4111 1111 1111 1111",
    "5500000000000004", "Siemens_credit_scoring", "score_customer_Acme", '{"password": "hunter2"}', "{'HF_KEY': 'abc'}",
    "pwd=hunter2",
    "d41d8cd98f00b204e9800998ecf8427e", "gpu-a100-node07", "login1.hpc.example.org", "bob@corp.example", "train_on_AcmeBank",
)  # fmt: skip


@pytest.mark.parametrize("private", PRIVATE)
@pytest.mark.parametrize(
    "around",
    ["{}", "void {}", "acme::{}", "at::{}::x", "void at::native::add<{}>(float*)", "triton_{}_0", "aten::add {}"],
)
def test_nothing_private_is_known(private: str, around: str) -> None:
    name = around.format(private)
    # A word that begins with a known namespace is that library's: nobody calls his own functions so.
    if around == "at::{}::x" and private.isidentifier():
        return
    assert not is_known_op(name)
    assert not is_known_kernel(name)


@pytest.mark.parametrize(
    "name",
    [
        "acme::score", "AcmeBackward", "AcmeLossBackward", "forward", "load customer 4711", "Optimizer.step#AcmeSGD.step", "merge",
        "", "enumerate(DataLoader)#_AcmeIter.__next__", "nccl:all reduce", "aten", "aten::", "Torch-Compiled Region: Acme",
        "x" * 300,
    ],
)  # fmt: skip
def test_what_people_call_their_own_is_not_known(name: str) -> None:
    assert not is_known_op(name)


@pytest.mark.parametrize(
    "name",
    [
        "void acme::score_kernel<float>(float*)", "void at::native::elementwise_kernel<4, acme::Score<float> >(int)",
        "acme_fused_kernel", "_ZN4acme5scoreE", "(anonymous namespace)::acme_kernel(at::Tensor)", "ampere_acme",
        "triton_acme_kernel",
    ],
)  # fmt: skip
def test_what_people_write_for_a_device_is_not_known(name: str) -> None:
    assert not is_known_kernel(name)


@pytest.mark.parametrize(
    "name",
    [
        "aten::convolution_backward", "aten::add_.Tensor", "c10d::allreduce_", "nccl:all_reduce", "ConvolutionBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0", "torch::autograd::AccumulateGrad", "Optimizer.step#AdamW.step",
        "Optimizer.zero_grad#SGD.zero_grad", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "Torch-Compiled Region: 0/1", "torchvision::nms", "triton_poi_fused_add_mul_0",
    ],
)  # fmt: skip
def test_ops_of_libraries_are_known(name: str) -> None:
    assert is_known_op(name)


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, float)",
        "ampere_sgemm_128x64_nn", "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_cublas",
        "Memcpy HtoD (Pageable -> Device)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "Memset (Device)", "nvjet_tst_128x256_64x4",
        "_ZN2ck16tensor_operation6device12kernel_gemmE", "triton_red_fused_add_mean_0", "flash_fwd_kernel",
        "void cub::DeviceReduceKernel<float>(float*)", "Cijk_Ailk_Bjlk_SB_MT64x16x16",
    ],
)  # fmt: skip
def test_kernels_of_libraries_are_known(name: str) -> None:
    assert is_known_kernel(name)


@pytest.mark.parametrize(
    "path",
    [*sorted(SAMPLES.glob("*.json.gz")), *sorted(SHARED.glob("*resnet*[as].*json.gz"))],
    ids=lambda path: path.name,
)
def test_most_of_a_recorded_trace_is_known(path: Path) -> None:
    """By time, in programs without kernels of their own: a comparison is of use only where most names are there."""
    trace = trace_of(path)
    for frame, is_known in ((trace.ops, is_known_op), (trace.kernels, is_known_kernel)):
        if frame.empty:
            continue
        known = frame["name"].astype(str).map(is_known)
        assert frame["dur_ns"][known].sum() >= 0.9 * frame["dur_ns"].sum(), set(frame["name"][~known].astype(str))
