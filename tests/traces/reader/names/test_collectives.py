"""Which kernels communicate: by name for each library, by metadata where the name says nothing, and what only sounds like it."""

from __future__ import annotations

from typing import Any

import pytest

from building.builders import TraceBuilder
from traces.reader.names.collectives import collective_word

# A kernel of each library as its profiles name it.
COMMUNICATES = {
    "NCCL": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "NCCL, symmetric": "ncclSymkDevKernel_ReduceScatter_LL_sum_f32(ncclSymkDevWorkArgs4K)",
    "RCCL, old": "rccl_main_kernel(ncclDevComm*, unsigned long, ncclWork*)",
    "RCCL": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
    "MSCCL": "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
    "MSCCL++": "mscclpp::collective::allgatherFullmesh2(void*, mscclpp::DeviceHandle<mscclpp::MemoryChannel>*)",
    "MSCCL++, pipelined by blocks": "void mscclpp::collective::allreduceNvlsBlockPipeline<float>(void*)",
    "MSCCL++, example": "allgather0(int, unsigned long)",
    "UCC, executor": "void executor_kernel<true>(ucc_ec_cuda_executor volatile*, int)",
    "UCC, waiting": "wait_kernel(ucc_ec_cuda_executor_state volatile*)",
    "UCC, NVLS": "allreduce_kernel(float*, unsigned long, unsigned int, unsigned int)",
    "UCC, mangled": "_Z16allreduce_kernelPfmjj",
    "NVSHMEM": "void alltoall_on_stream_kernel<char>(int, char*, char const*, unsigned long)",
    "NVSHMEM, barrier": "sync_all_on_stream_kernel_block()",
    "NVSHMEM in torch": "c10d::nvshmem_extension::allToAllV(void*, void*, long*, unsigned long, int, int)",
    "NVSHMEM in torch, splits": "exchangeSplitAndOffset(long*, int, int)",
    "symmetric memory": "void c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)",
    "symmetric memory, one shot": "void (anonymous namespace)::one_shot_all_reduce_kernel<float, 16, 8, false>(float**, float*)",
    "symmetric memory, two shots": "void two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(c10::BFloat16**)",
    "symmetric memory, NVLS": "void (anonymous namespace)::multimem_one_shot_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    "Triton, all-to-all": "on_device_all_to_all_v_kernel",
    "Triton, all-to-all of ROCm": "rocm_on_device_all_to_all_v_kernel",
    "Triton-distributed": "all_to_all_kernel",
    "Triton, all-gather": "_multimem_all_gather_kernel",
    "Triton, reduce-scatter": "_reduce_scatter_kernel",
    "DeepEP": "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, float*, int*)",
    "DeepEP, legacy": "void deep_ep::legacy::intranode::notify_dispatch<8>(int const*, int*)",
    "DeepEP, mangled": "_ZN7deep_ep12internode_ll7combineILb1ELi7168EEvPv",
    "DeepEP, hybrid": "void hybrid_ep::dispatch_kernel<8>(hybrid_ep::dispatch_kernel_param_t<unsigned char>)",
    "fork: UCCL": "void uccl::internode_ll::dispatch<false, 7168>(void*, float*)",
    "fork: NCCL EP": "void nccl_ep::internode_ll::combine<(bool)0, (int)7168, (int)9>(void*)",
    "fork: NCCL EP, JIT": "nccl_ep_jit_ht_dispatch_kernel",
    "fork: another name": "void acme_ep::dispatch<8, 7168>(void*)",
    "MORI": "void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(p)",
    "MORI, JIT": "EpDispatchIntraNodeKernel_bf16",
    "pplx": "a2a_dispatch_send_kernel",
    "NIXL": "void nixl_ep::ep_kernels::dispatch<true, 7168>(void*)",
    "NIXL, plain": "nixl_ep_dispatch",
    "experts, plain": "ep_combine_kernel",
    "MagiAttention": "void magi_attn_comm::grpcoll::intranode::group_cast_kernel<8>(int4*)",
    "NCCL, symmetric, 2.27": "ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymDevArgs)",
    "DLSlime": "void dlslime::intranode_alltoall_kernel<float>(p)",
    "vLLM": "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals)",
    "SGLang": "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(sglang::RankData*)",
    "AITER": "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(p)",
    "AITER, fused": "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(p)",
    "quickreduce": "void quickreduce::allreduce_prototype<quickreduce::AllReduceTwoshot<__half>>(p)",
    "TensorRT-LLM": "void tensorrt_llm::kernels::mnnvl::oneshotAllreduceFusionKernel<8, __nv_bfloat16>(p)",
    "TensorRT-LLM, experts": "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<p>(p)",
    "FlashInfer": "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16, 8>(p)",
    "userbuffers": "userbuffers_fp16_sum_inplace_gpu_rw_ag(int, int, int)",
    "userbuffers, of one pair": "kuserbuffers_pushsend(int*, int*, int4*, int4*, int)",
    "HCCL": "hcom_allReduce__606_0_1",
}
# They sound like it and are none: the second word is what else their name allows, `unsaid` or certainly not.
SOUNDS_LIKE = {
    "a reduction": ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(p)", "local"),
    "torch's scatter and gather": ("void at::native::_scatter_gather_elementwise_kernel<128, 4>(p)", "local"),
    "CUB": ("void cub::DeviceReduceKernel<cub::Policy, float*>(p)", "local"),
    "torch's check before sending": ("void c10d::checkForNaN<float>(float*, unsigned long)", "local"),
    "compiled around a collective": ("triton_poi_fused_all_gather_into_tensor_wait_tensor_0", "local"),
    "compiled reduction": ("triton_red_fused_all_reduce_mul_1", "local"),
    "inside a block": ("void block_all_reduce_sum_f32_f32_kernel<256>(float*, float*, int)", "unsaid"),
    "inside a warp": ("warpAllReduceKernel", "unsaid"),
    "inside a warp, the other way round": ("all_reduce_warp_sum", "unsaid"),
    "softmax, or an exchange": ("reduce_scatter_softmax_local_kernel", "either"),
    "a template's argument": ("void oneflow::LayerNormBlock<float, BlockAllReduce>(p)", "unsaid"),
    "fused with a product": ("gemm_all_reduce_kernel", "either"),
    "fused with a product of Triton": ("_fused_matmul_all_gather_kernel", "either"),
    "FSDP's packing": ("void fsdp::all_gather_copy_in_kernel<float>(p)", "unsaid"),
    "DeepEP's counts": ("void deep_ep::layout::get_dispatch_layout<512, 4, 32>(long*, int*)", "local"),
    "TensorRT-LLM's check": ("void tensorrt_llm::kernels::moe_alltoall::moeA2ASanitizeExpertIdsKernel(int*)", "unsaid"),
    "steps of a sweep": ("sweep_dispatch_kernel", "unsaid"),
    "attention's parts": ("void flash::flash_fwd_splitkv_combine_kernel<p>(p)", "unsaid"),
    "routing of tokens": ("moe_align_block_size_kernel", "unsaid"),
    "AITER beside its collective": ("void aiter::local_device_load_rmsnorm<__hip_bfloat16, 512, 2>(p)", "unsaid"),
    "small": ("small_gather_kernel", "unsaid"),
    "overall": ("overall_reduce", "unsaid"),
    "occlusion": ("occlusion_kernel", "unsaid"),
    "steps": ("void timestep::dispatch_kernel<float>(p)", "unsaid"),
    "a copy": ("copy_on_stream_kernel", "unsaid"),
    "not mangled to its end": ("_ZN3foo", "unsaid"),
    "length beyond the name": ("_ZN9999foo", "unsaid"),
    "nothing": ("", "unsaid"),
}


@pytest.mark.parametrize("name", COMMUNICATES.values(), ids=COMMUNICATES)
def test_a_kernel_of_each_library_communicates(name: str) -> None:
    assert collective_word(name) in ("collective", "worded")


@pytest.mark.parametrize(("name", "word"), SOUNDS_LIKE.values(), ids=SOUNDS_LIKE)
def test_what_only_sounds_like_it(name: str, word: str) -> None:
    assert collective_word(name) == word


def collectives(name: str, **arguments: Any) -> list[bool]:
    """Which of two kernels communicate: one of the given name and arguments, and one without any."""
    builder = TraceBuilder()
    builder.launch(0, kernel_start=10, kernel_dur=5, name=name, **arguments)
    builder.launch(20, kernel_start=30, kernel_dur=5, name="plain_kernel")
    found: list[bool] = builder.trace().kernels["collective"].tolist()
    return found


# What launches a kernel, and how many processes the job has, against what its name leaves open: communicates, doubtful.
LAUNCHED = {
    "a word alone": ("all_reduce_kernel", None, 8, (True, False)),
    "a word, by torch's own op": ("all_reduce_kernel", "aten::native_layer_norm", 8, (False, True)),
    "multicast, by torch's own op": ("multimem_all_reduce_kernel<float>", "aten::add", 8, (True, False)),
    "a word, one process": ("all_reduce_kernel", None, 1, (False, False)),
    "a library, one process": ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(p)", None, 1, (True, False)),
    "a library, by torch's own op": ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(p)", "aten::mm", 8, (True, False)),
    "both": ("all_gather_matmul_kernel", None, 8, (False, True)),
    "both, processes unknown": ("all_gather_matmul_kernel", None, None, (False, True)),
    "both, one process": ("all_gather_matmul_kernel", None, 1, (False, False)),
    "both, by torch's own op": ("all_gather_matmul_kernel", "aten::mm", 8, (False, False)),
    "both, by an exchange": ("all_gather_matmul_kernel", "vllm::all_gather", 8, (True, False)),
    "neither, by an exchange": ("one_shot_kernel", "symm_mem::one_shot_all_reduce", 8, (True, False)),
    "neither, by a product in one with it": ("one_shot_kernel", "symm_mem::fused_all_gather_matmul", 8, (False, False)),
    "a product, by an exchange": ("my_gemm", "symm_mem::one_shot_all_reduce", 8, (False, False)),
    "torch's copy, by an exchange": ("void at::native::copy_kernel<float>(p)", "c10d::allreduce_", 8, (False, False)),
}


@pytest.mark.parametrize(("name", "op", "processes", "found"), LAUNCHED.values(), ids=LAUNCHED)
def test_what_launched_a_kernel_says_what_its_name_leaves_open(
    name: str, op: str | None, processes: int | None, found: tuple[bool, bool]
) -> None:
    builder = TraceBuilder(top={"distributedInfo": {"world_size": processes}} if processes else {})
    builder.op("c10d::allreduce_", 0, 30)
    builder.op("aten::copy_", 1, 2)
    builder.launch(40, kernel_start=50, kernel_dur=5, name=name, op=op)
    frame = builder.trace().kernels
    assert (bool(frame["collective"].iloc[0]), bool(frame["doubtful"].iloc[0])) == found


def test_the_innermost_op_counts() -> None:
    builder = TraceBuilder()
    builder.op("symm_mem::one_shot_all_reduce", 0, 100)
    builder.op("aten::contiguous", 10, 20)
    builder.launch(15, kernel_start=50, kernel_dur=5, name="copying", op=None)
    builder.launch(40, kernel_start=60, kernel_dur=5, name="exchanging", op=None)
    assert builder.trace().kernels["collective"].tolist() == [False, True]


# As torch writes them into the kernel's arguments.
METADATA = {"Collective name": "allreduce", "In msg nelems": 1024, "Group size": 8, "dtype": "Float"}


def test_metadata_tells_where_the_name_says_nothing() -> None:
    assert collectives("void my::exchange<float>(float*)", **METADATA) == [True, False]
    assert collectives("void my::exchange<float>(float*)") == [False, False]


@pytest.mark.parametrize("nothing", ["", None])
def test_metadata_that_names_nothing_tells_nothing(nothing: str | None) -> None:
    assert collectives("void my::exchange<float>(float*)", **METADATA | {"Collective name": nothing}) == [False, False]


def test_metadata_does_not_make_torchs_own_check_a_collective() -> None:
    assert collectives("void c10d::checkForNaN<float>(float*, unsigned long)", **METADATA) == [False, False]


def test_a_message_alone_is_no_collective() -> None:
    assert collectives("my_kernel", **{"In msg nelems": 1024, "dtype": "Float"}) == [False, False]
