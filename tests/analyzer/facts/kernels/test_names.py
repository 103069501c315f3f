"""What kernel names say: names as recorded on V100 to B200 and MI210 to MI300X, one line each."""

from __future__ import annotations

import pytest

from analyzer.facts.kernels.names import describe, family_of, is_depthwise
from analyzer.facts.kernels.number_formats import is_cast

MATRIX = [
    # name, family, number format, tensor cores, alignment, oldest generation
    ("volta_sgemm_64x64_nt", "gemm", "fp32", False, None, 7),
    ("ampere_sgemm_32x32_sliced1x4_tn", "gemm", "fp32", False, None, 8),
    ("volta_h884gemm_64x64_ldg8_nn", "gemm", "fp16", True, None, 7),
    ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "gemm", "fp16", True, None, 7),
    ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "gemm", "fp16", True, None, 7),
    ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_nn", "gemm", "bf16", True, None, 8),
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "gemm", "fp16", True, None, 8),
    ("volta_dgemm_64x64_nn", "gemm", "fp64", False, None, 7),
    ("volta_gcgemm_32x32_nt", "gemm", "complex", False, None, 7),
    (
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)",
        "gemm", "tf32", True, 1, 8,
    ),
    ("void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(Params)", "gemm", "bf16", True, 1, 7),
    ("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_64x64_64x6_nn_align8>(Params)", "gemm", "fp16", True, 8, 8),
    ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)", "gemm", "fp32", False, 1, 8),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", "gemm", "bf16", True, None, 9),
    ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64_stage6", "gemm", "fp16", True, None, 8),
    ("nvjet_hsh_128x64_64x6_2x1_v_bz_TNT", "gemm", "fp16", True, None, None),
    ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "gemm", "bf16", True, None, None),
    ("nvjet_sm100_tst_128x128_64x6_2x1_2cta_v_bz_TNN", "gemm", "bf16", True, None, 10),
    ("void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(p)", "gemm", "fp32", None, None, None),
    ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>(p)", "gemv", "fp32", None, None, None),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT32x32x64_MI16x16x1_SN", "gemm", "bf16", True, None, None),
    ("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN_LDSB0", "gemm", "fp32", True, None, None),
    ("Cijk_Ailk_Bljk_HHS_BH_MT64x64x64_MI16x16x16x1_SN", "gemm", "fp16", True, None, None),
    ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", "attention", "fp32", True, None, 8),
    ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "conv", "fp32", False, None, 7),
    ("cudnn_infer_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "conv", "fp32", False, None, 8),
    ("void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(p)", "conv", "fp32", False, None, None),
    ("void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)", "conv", "fp32", False, None, None),
    ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", "conv", "fp32", False, None, None),
    (
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4",
        "conv", "tf32", True, None, 8,
    ),
    ("void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_nhwc_align4>(P)", "conv", "tf32", True, 4, 8),
    ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2", "conv", "bf16", True, None, None),
    # XMMA without tensor cores: what cuBLAS and cuDNN take for float32 on Ampere and Hopper while TF32 is off.
    (
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
        "gemm", "fp32", False, None, 8,
    ),
    (
        "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize64x64x8_stage3_warpsize1x4x1_g1_ffma_aligna4",
        "conv", "fp32", False, None, 8,
    ),
    ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8", "gemm", "tf32", True, None, 8),
    ("nvjet_sss_128x128_64x4_1x2_h_bz_NNT", "gemm", "tf32", True, None, None),
    # cuDNN's tensor-core convolutions before Ampere: the layout in the name is what they write.
    ("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1", "conv", "fp16", True, None, 7),
    ("volta_s884cudnn_fp16_256x128_ldg8_dgrad_exp_small_nhwc_tt_v0", "conv", "fp16", True, None, 7),
    ("volta_h884cudnn_256x128_ldg8_relu_exp_small_nhwc_tn_v1", "conv", "fp16", True, None, 7),
    ("turing_fp16_s1688cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1", "conv", "fp16", True, None, 7),
    # The accumulator's format: half precision goes in.
    ("Volta_hmma_implicit_gemm_fprop_fp32_nhwc_128x128x64x1_1x3x3x0x1", "conv", "fp16", True, None, 7),
    ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*)", "conv", "complex", None, None, None),
    # xmma is a family: the instruction at the end of the name tells plain multiply-adds from tensor cores.
    (
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
        "gemm", "fp32", False, None, 8,
    ),
    (
        "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize128x128x8_stage3_warpsize2x2x1_g1_ffma_aligna4",
        "conv", "fp32", False, None, 8,
    ),
    (
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas",
        "gemm", "tf32", True, None, 8,
    ),
    ("nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT", "gemm", "fp8", True, None, None),
    ("nvjet_sm100_ootst_128x128_256x7_4x1_2cta_v_bx_Avec16UE4M3_Bvec16UE4M3_TNT", "gemm", "fp4", True, None, 10),
    ("nvjet_sss_tf32_128x256_TNT", "gemm", "tf32", True, None, 8),
    (
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<MainloopSm90TmaGmmaWarpSpecialized<4>, bfloat16_t>>(p)",
        "gemm", "bf16", True, None, 9,
    ),
    ("bmm_E4m3_E4m3E4m3_Fp32_t128x64x128u2_s6_et128x64_m128x64x32_cga1x1x1_bmm_sm100f", "gemm", "fp8", True, None, 10),
    ("void marlin::Marlin<__nv_bfloat16, 1125899906909960l, 256, 1, 8, 8, 4, 8, false>(p)", "gemm", "bf16", True, None, None),
    # Tensile: XF32 is AMD's TF32, B8 an 8-bit float, and what adds up the parts of a split product states no formats of its inputs.
    ("Cijk_Alik_Bjlk_S_MX_B_Bias_AS_SAV_UserArgs_MT192x16x64_MI16x16x1_SN", "gemm", "tf32", True, None, None),
    ("Cijk_Alik_Bljk_B8F8BS_BH_Bias_HA_S_SAB_SAV_UserArgs_MT256x256x128_MI16x16x1", "gemm", "fp8", True, None, None),
    ("Custom_Cijk_Ailk_Bljk_HSS_BH_Bias_AS_SAV_MT64x16x64_MI16x16x1_gfx942", "gemm", "fp16", True, None, 9),
    ("Cijk_SS_BiasS_HAS_ScaleAlphaVec_PostGSU16_VW4", "gemm", None, None, None, None),
    ("miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1", "conv", "fp32", None, None, 9),
    ("Cijk_Ailk_Bljk_SB_MT64x64x16_GLS0_ISA942_IU1_K1", "gemm", "fp32", None, None, 9),
    ("Cijk_Ailk_Bljk_SB_MT64x64x16_GLS0_ISA906_IU1_K1", "gemm", "fp32", None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "family", "number_format", "tensor_core", "alignment", "major"), MATRIX)
def test_matrix_kernels(
    name: str,
    family: str,
    number_format: str | None,
    tensor_core: bool | None,
    alignment: int | None,
    major: int | None,
) -> None:
    said = describe(name)
    assert (said.family, said.number_format, said.tensor_core, said.alignment) == (
        family,
        number_format,
        tensor_core,
        alignment,
    )
    assert said.min_compute_major == major


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "collective"),
        ("void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(p)", "layout"),
        ("void regular_fft<256u, EPT<8u>, 64u, 2u, (padding_t)1>(kernel_arguments_t<unsigned int>)", "fft"),
        ("fft_rtc_fwd_len256_factors_8_8_4_wgs_256_tpt_32_sp_ip_CI_unitstride_sbrr_C2R", "fft"),
        ("void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*, int)", "conv"),
        ("void deformable_im2col_kernel<float, int>(int, float const*, float const*)", "conv"),
        # Deformable DETR's attention calls its sampling so (fundamentalvision/Deformable-DETR, ms_deform_im2col_cuda.cuh).
        ("void ms_deformable_im2col_gpu_kernel<float>(int, float const*, long const*)", "other"),
        ("void ms_deformable_col2im_gpu_kernel_gm<float>(int, float const*, float const*)", "other"),
        ("void cask__5x_cudnn::genericTranspose_kernel<float, float, float, false, 2>(p)", "layout"),
        ("void cudnn::engines_precompiled::genericTranspose_kernel<__half, __half, float>(p)", "layout"),
        ("batched_transpose_32x16_half", "layout"),
        ("transpose_NCHW2CNHW_V2_2D_WG_off64", "layout"),
        # A transpose inside cuBLAS has nothing to do with a model's memory format.
        ("void transpose_readWrite_alignment_kernel<float2, float2, 1, false, 6, 4, 4>(p)", "other"),
        ("attn_fwd", "attention"),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u>(p)", "attention"),
        ("_ZN5aiter32mla_dec_stage1_bf16_a16w16_subQ16_mqa16E", "attention"),
        ("void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>(p)", "other"),
        # FlashAttention 3 and XPU's: CUTLASS in the name, and yet no matrix product of the model.
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Mainloop<2>>>>(p)",
            "attention",
        ),
        ("void cutlass::device_kernel<cutlass::reference::kernel::XeFMHAFwdKernel<int>>", "attention"),
        ("gen_conv_kernel", "conv"),
        ("gemm_kernel", "gemm"),
        ("at::native::xpu::VectorizedElementwiseKernel<8, at::native::xpu::AddFunctor<float>>", "elementwise"),
        ("at::native::xpu::ReduceKernel<1, at::native::xpu::ReduceConfig>", "reduce"),
        ("void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(p)", "gather"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(p)", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3", "attention"),
        # Writes keys and values to a cache: no attention, whatever its name.
        ("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(p)", "other"),
        ("triton_poi_fused__unsafe_view_mul_silu_2", "triton"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(p)", "softmax"),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(p)", "softmax"),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(p)", "norm"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(p)", "norm"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(p)", "elementwise"),
        ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(p)", "elementwise"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, float, unsigned int>>(p)", "reduce"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(p)", "cat"),
        ("void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(p)>", "copy"),
        ("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<p>>", "gather"),
        ("void at::native::vectorized_gather_kernel<16, long>(char*)", "gather"),
        ("void cub::DeviceRadixSortOnesweepKernel<p>", "gather"),
        ("void at::native::(anonymous namespace)::fill_reverse_indices_kernel(long*, int)", "gather"),
        ("void rocprim::ROCPRIM_300400_NS::detail::onesweep_iteration_kernel<p>", "gather"),
        ("void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float*)", "scan"),
        ("void at_cuda_detail::cub::DeviceScanInitKernel<at_cuda_detail::cub::ScanTileState<int, true>>(p)", "scan"),
        ("void rocprim::ROCPRIM_300400_NS::detail::lookback_scan_kernel<p>", "scan"),
        # A recurrence of a state space.
        ("void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1>>(SSMParamsBase)", "other"),
        # The library's name holds `gemm`.
        ("void split_embedding_codegen_forward_unweighted_kernel<c10::Half, fbgemm_gpu::x>(p)", "gather"),
        ("void fbgemm_gpu::_offsets_range_cuda_kernel<long>(p)", "other"),
        ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(p)", "multi_tensor"),
        ("event_wait", "other"),
        # Servers' own: experts' products, decoding in two stages, few tokens at once on ROCm, gated activations, norms.
        ("fused_moe_kernel_gptq_awq", "gemm"),
        ("aiter_fused_moe_kernel_bf16", "gemm"),
        ("_fwd_grouped_kernel_stage1", "attention"),
        # Written by many, for many things.
        ("_fwd_kernel", "other"),
        ("void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u>(p)", "attention"),
        ("void wvSplitK_hf_sml_<__half, 64, 4, 16, 8, 1, 1>(int, int, __half const*)", "gemv"),
        # A few columns, in 32 bits as in 16: no tensor core has a part in it.
        (
            "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 2, 2, true, cublasGemvTensorStridedBatched<__nv_bfloat16 const>>(p)",
            "gemv",
        ),
        ("void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(p)", "elementwise"),
        ("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(p)", "norm"),
        # AOTriton's backward pass of attention; not any kernel whose name begins so.
        ("bwd_kernel_dk_dv.kd", "attention"),
        ("bwd_kernel_dx", "other"),
        # Inductor's templates.
        ("triton_tem_fused__scaled_mm_1", "gemm"),
        ("triton_tem_fused_addmm_relu_3", "gemm"),
        ("triton_tem_fused_convolution_2", "conv"),
        ("triton_tem_fused_flex_attention_1", "attention"),
        ("triton_poi_fused_addmm_3", "triton"),
        ("kOptimizer32bit2State<__half, 0>", "multi_tensor"),
        (
            "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(float const*, long const*)",
            "pooling",
        ),
        ("void cudnn::pooling_bw_5d_kernel_max<float, float, cudnn::maxpooling_func<float>>(p)", "pooling"),
        ("mloPoolingMaxBwd", "pooling"),
        ("void at::native::(anonymous namespace)::grid_sampler_2d_backward_kernel<float, int>(int)", "interpolation"),
        ("void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float, float>(int)", "interpolation"),
        # Bags of embeddings are pooled too.
        ("void fbgemm_gpu::permute_pooled_embs_kernel<float>(p)", "gather"),
        # A part of MIOpen's convolutions, which no compiler fuses with the ops around.
        ("SubTensorOpWithScalar1d", "other"),
        ("", "other"),
    ],
)
def test_families(name: str, family: str) -> None:
    assert family_of(name) == family


def test_a_double_argument_is_no_double_precision() -> None:
    noise = "void at::native::distribution_elementwise_grid_stride_kernel<float, 4, uniform(double, double)>"
    assert describe(noise).number_format == "fp32"
    assert (
        describe("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double>>").number_format
        == "fp64"
    )


def test_casts_and_depthwise_convolutions_are_recognised() -> None:
    assert is_cast("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(p)>")
    # Back to 32 bits, since torch 2.6; and since 2.15 any pair of formats.
    for copy in ("bfloat16tofloat32_copy_kernel_cuda", "converting_copy_kernel_cuda<float, c10::Half>"):
        name = f"void at::native::vectorized_elementwise_kernel<4, at::native::{copy}(p)>"
        assert is_cast(name)
        assert family_of(name) == "copy"
    assert not is_cast("void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(p)>")
    assert is_depthwise("void at::native::conv_depthwise2d_forward_kernel<3, float, int>(p)")


@pytest.mark.parametrize(
    "name",
    [
        "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymkDevWorkArgs4K)",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)",
        "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(c10::BFloat16**)",
        "void c10d::symmetric_memory::one_shot_all_reduce_kernel<float, 16, 8, false>(float**)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16, 8>(p)",
        "allreduce_two_shot_multimem_intra_node_kernel",
        "void quickreduce::allreduce_prototype<quickreduce::AllReduceTwoshot<__half>>(p)",
        "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
        "mscclpp::collective::allreduceNvls(p)",
        "multimem_all_reduce_kernel<c10::BFloat16, 16, 8>",
        "void (anonymous namespace)::multimem_one_shot_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void (anonymous namespace)::multimem_all_gather_kernel<16>(char*, char*)",
        "_multimem_all_gather_kernel",
        "void tensorrt_llm::kernels::mnnvl::twoshotAllreduceKernel<8, __nv_bfloat16>(p)",
        "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<p>(p)",
        "userbuffers_fp16_sum_gpu_mc_rmsnorm",
        "void mori::moe::EpCombineIntraNodeKernel<__hip_bfloat16>(p)",
        "_ZN4mori3moe24EpDispatchIntraNodeKernelI14__hip_bfloat16EEvNS0_14EpDispatchCombineArgsIT_EE",
    ],
)
def test_collectives_of_servers_and_newer_libraries(name: str) -> None:
    assert family_of(name) == "collective"


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::reduce_kernel<512, 1>(p)",
        "allreduce_free_gemm",
        "my_nccl_helper",
        "reduce_scatter_like_gather",
        # Compiled compute around a collective has its name among others.
        "triton_red_fused_all_gather_into_tensor_wait_tensor_0",
    ],
)
def test_what_only_sounds_like_a_collective(name: str) -> None:
    assert family_of(name) != "collective"
