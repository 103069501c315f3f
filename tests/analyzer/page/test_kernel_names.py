"""Short names of kernels, of names as torch, cuDNN, CUTLASS, Triton and ROCm write them."""

from __future__ import annotations

import pytest

from analyzer.page.words.kernel_names import short

ADD = "at::native::CUDAFunctor_add<float>"
COPY = (
    "at::native::(anonymous namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const"
    "::{lambda()#7}::operator()() const::{lambda(c10::BFloat16)#1}"
)
SUM = (
    "at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()"
    "(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4>"
)
MUL = "at::native::AUnaryFunctor<float, float, bool, at::native::binary_internal::MulFunctor<double> >"
ADAM = "at::native::(anonymous namespace)::TensorListMetadata<4>"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (f"void at::native::vectorized_elementwise_kernel<4, {ADD}, std::array<char*, 3ul> >(int, {ADD}, std::array<char*, 3ul>)",
         "elementwise add<float>"),
        (f"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<{COPY}>(at::TensorIteratorBase&, {COPY})"
         f"::{{lambda(int)#1}}>(int, at::native::gpu_kernel_impl_nocast<{COPY}>)", "elementwise direct_copy<bfloat16>"),
        (f"void at::native::vectorized_elementwise_kernel<4, {MUL}, at::detail::Array<char*, 2> >(int, {MUL})",
         "elementwise Mul<double>"),
        (f"void at::native::reduce_kernel<512, 1, {SUM} >({SUM})", "reduce sum<float>"),
        (f"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<{ADAM}, AdamFunctor<float>, float>({ADAM}, float)",
         "foreach Adam<float>"),
        ("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, (cudnnKernelDataType_t)2>(cudnn::ops::params<float>)",
         "nchwToNhwcKernel<half>"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nt_align4>(cutlass_80_tensorop_s1688gemm::Params)",
         "cutlass_80_tensorop_s1688gemm_256x64_16x4_nt_align4"),
        ("void at::native::(anonymous namespace)::CatArray<int, 4>(char*)", "CatArray<int>"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        ("<lambda>", "<lambda>"),
        # No name of C++: what looks like an argument may be all there is.
        ("`|<b>@all|`", "`|<b>@all|`"),
        # What a wrapper runs, not the wrapper.
        ("void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_64x64_nn_align8>(Params)",
         "cutlass_80_tensorop_s16816gemm_f16_64x64_nn_align8"),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(p)", "GemmUniversal"),
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<2>>>(p)", "FlashAttnFwdSm90"),
        ("void ck_tile::kentry<ck_tile::gfx9_t, 2, ck_tile::FmhaFwdKernel<ck_tile::Pipeline>>(p)", "FmhaFwdKernel"),
        ("void cutlass::Kernel<>(p)", "cutlass::Kernel"),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(p)", "gemvx::kernel<float>"),
        ("kernel", "kernel"),
        # Indices are integers in every kernel.
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(cublasLt::cublasSplitKParams<float>)",
         "splitKreduce_kernel<float>"),
        ("void gemvx::kernel<int, int, float>(int)", "gemvx::kernel<float>"),
        ("void index_kernel<long>(long)", "index_kernel<long>"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        ("triton_poi_fused_add_cos_sin_0", "triton_poi_fused_add_cos_sin_0"),
        ("Cijk_Ailk_Bjlk_SB_MT64x16x16", "Cijk_Ailk_Bjlk_SB_MT64x16x16"),
        # Mangled: what a wrapper runs stands in its first argument that has a name; a long name may be cut anywhere.
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdE", "Rmsnorm2dFwd"),
        ("_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock", "ImplicitGemmConvolution"),
        ("_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28Gridwise",
         "kernel_grouped_conv_fwd_xdl_cshuffle_v3"),
        ("_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdl", "kernel_batched_gemm_xdl"),
        ("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_1",
         "elementwise direct_copy"),
        ("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_6detail5ArrayIPcLi3EEEEEviT0_",
         "elementwise add"),
        ("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_1",
         "reduce sum"),
        ("_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi4EEENS1_11AdamFunctorIfEE",
         "multi_tensor_apply_kernel"),
        ("_Z16allreduce_kernelPfmjj", "allreduce_kernel"),
        ("_Z", "_Z"),
        ("_ZNK3", "_ZNK3"),
    ],
)  # fmt: skip
def test_what_a_kernel_does_is_left(name, shown):
    assert short(name) == shown


@pytest.mark.parametrize(
    "name",
    [
        "a<b",
        "<",
        "a<>",
        "((((<",
        "}{<",
        "f<" * 5_000,
        "void <int>",
        "x::" * 3_000 + "f<int>",
        "operator<<int>(x)",
        " < ",
        "_ZN" + "3fooI" * 5_000,
        "_ZN9999foo",
        "-<-",
    ],
)
def test_a_name_that_cannot_be_taken_apart_still_has_one(name):
    assert short(name)
