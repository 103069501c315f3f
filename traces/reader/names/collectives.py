"""Which device kernels communicate: what their names say of it, and what their arguments say.

A kernel is judged by the qualified name of its function alone: arguments of templates name other kernels' parts (`BlockAllReduce`).
Where the name says nothing, the collective's metadata decides, which torch writes into the arguments of each kernel that it
launches for a collective (pytorch/kineto, libkineto/src/output_json.cpp). Names are asked once per distinct name. A name of both,
as of a product fused with an exchange, leaves it open: `traces.reader.frames.exchanges` asks what launched the kernel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from traces.patterns import Pattern

# What a kernel's name says of communication: nothing; it is communication, by its library or by a word that anybody may use; it is
# work on the device alone, whatever range it was launched in; or it names both.
COLLECTIVE_WORDS = ("unsaid", "collective", "local", "worded", "either")

# Libraries and namespaces that hold nothing but communication, from the start of the qualified name. Beside each stands where the
# names come from: the repository, and the names themselves where profiles state them.
_LIBRARIES = Pattern(
    # NVIDIA/nccl (ncclKernel_*, ncclDevKernel_*, ncclSymkDevKernel_*), ROCm/rccl with its MSCCL (rccl_main_kernel,
    # mscclKernel_Sum_*), and makers who keep the naming; Intel's oneCCL.
    r"[a-z]{1,3}ccl(?:[A-Z_]\w*)?[Kk]ernel|rccl|oneccl|xccl"
    # microsoft/mscclpp, src/ext/collectives; Ascend's operators (hcom_allReduce__606_0_1, msprof-analyze).
    r"|mscclpp::|hcom_[a-z]"
    # NVIDIA/nvshmem (alltoall_on_stream_kernel, sync_all_on_stream_kernel_block) and ROCm/rocSHMEM.
    r"|(?:nv|roc)shmem\w*_|(?:alltoall|barrier|broadcast|fcollect|r(?:dxn|educe)|signal|sync)\w*_on_stream_kernel"
    # NVIDIA/TransformerEngine, userbuffers.cu (userbuffers_fp16_sum_inplace_gpu_rw_ag, kuserbuffers_pushsend); quickreduce of vLLM.
    r"|k?userbuffers_|(?:\w+::)*quickreduce::"
    # deepseek-ai/DeepEP, csrc/kernels and csrc/hybrid_ep, and ROCm/mori, src/ops; its forks keep the inner namespaces (NCCL EP
    # nccl_ep::internode_ll::dispatch and nccl_ep_jit_ht_dispatch_kernel; uccl-project/uccl uccl::internode_ll::dispatch) or what
    # the kernels do.
    r"|(?:\w+::)*(?:deep_ep|hybrid_ep|nccl_ep|mori|intranode|internode(?:_ll)?)::|nccl_ep_"
    r"|(?:\w+::)*(?:\w+_)?ep::(?:\w+::)*(?:cached_)?(?:notify|dispatch|combine)"
    r"|Ep(?:Dispatch|Combine)\w*Kernel"
    # SandAI-org/MagiAttention (grpcoll::intranode::group_cast_kernel, notify_group_cast_kernel, group_reduce_kernel).
    r"|magi_attn_comm::"
    # pytorch/pytorch, torch/csrc/distributed/c10d/symm_mem: barriers, signals and exchanges over symmetric memory.
    r"|c10d::(?:symmetric_memory|nvshmem_extension)::|exchangeSplitAndOffset"
    # NVIDIA/TensorRT-LLM (moeA2ADispatchKernel, moeAllToAllKernel; moeA2ASanitizeExpertIdsKernel sends nothing).
    r"|(?:\w+::)*moe(?:A2A(?!Sanitize)|AllToAll)\w*Kernel"
)
# What a kernel does, as a word of the last part of its name, whoever wrote it. Triton's kernels have no namespace
# (meta-pytorch/kraken one_shot_all_reduce_kernel, on_device_all_to_all_v_kernel, megatron.core _multimem_all_gather_kernel,
# ByteDance-Seed/Triton-distributed all_to_all_kernel); nor have those of openucx/ucc, tl/cuda/kernels (allreduce_kernel),
# perplexityai/pplx-garden (a2a_dispatch_send_kernel) and the examples of MSCCL++ (allgather0), nor what libraries of experts are
# written in elsewhere (ep_dispatch_kernel, nixl_ep_dispatch, ai-dynamo/nixl).
_WORDS = Pattern(
    r"(?:(?<![a-z])all|All|ALL)_?(?:[rR]educe|REDUCE|[gG]ather|GATHER|(?:[tT]o|TO|2)_?(?:[aA]ll|ALL))"
    r"|(?:(?<![a-z])r|R)educe_?[sS]catter|(?<![A-Za-z0-9])a2a(?![a-z0-9])|A2A(?=[A-Z_])"
    r"|(?<![A-Za-z0-9])ep_(?:dispatch|combine)(?![a-z])"
)
# vllm::, sglang:: and aiter::cross_device_reduce_1stage, aiter::reduce_scatter_cross_device_store; multicast addresses, Lamport's
# flags exist only between devices (torch's symmetric memory; TensorRT-LLM and FlashInfer).
_BETWEEN = Pattern(
    r"cross_device_(?:reduce|all_gather|store)|(?:multimem|mnnvl)_\w*(?:reduce|gather)|(?<![a-z])lamport|Lamport"
)
# Handles of libraries among the parameters, where the function has a plain name: openucx/ucc, ec/cuda (executor_kernel,
# wait_kernel), and what is written on the device interfaces of NCCL and MSCCL++.
_HANDLES = Pattern(r"\bucc_e[ce]\w*_|\bnccl(?:DevComm|Window)|\bmscclpp::\w*(?:Channel|Semaphore)")
# Reductions inside a block, or over its lanes, communicate with nobody; packing, permuting or indexing what is sent stays on the
# device (LeetCUDA block_all_reduce_sum_f32_f32_kernel, torch fsdp::all_gather_copy_in).
_UNIT = r"(?:block|warp|wave(?:front)?|thread|simd|sub_?group|cta|cluster|lane|quad)"
_INSIDE = Pattern(
    rf"(?i){_UNIT}_?(?:all|reduce)|all_?reduce_?{_UNIT}(?![a-z])"
    r"|copy_(?:in|out)|permute|recat|segment|index|sparse|offset|metadata|sanitize|_(?:like|free)_"
)
# Fused with arithmetic it is not only communication, or not at all: the name does not tell which.
_ARITHMETIC = Pattern(
    r"(?i)ge(?:mm|mv)|matmul|(?<![a-z])b?mm(?![a-z])|attention|attn|(?<![a-z])conv|fprop|[wd]grad|soft_?max"
    r"|(?<![a-z])local(?![a-z])"
)
# Whatever the arguments say: torch's check of what is about to be sent runs inside the collective's own range (NanCheck.cu), and
# so may torch's own kernels, libraries' primitives, and what Inductor compiled around a collective and named after it.
# DeepEP counts on the device alone which tokens go where before it sends any.
_LOCAL = Pattern(
    r"(?:\w+::)*checkForNaN|at::|(?:at_cuda_detail::)?(?:cub|thrust)::|triton_[a-z]{2,4}_fused_"
    r"|(?:\w+::)*layout::get_dispatch_layout"
)
_MANGLED_PART = Pattern(r"L?(\d{1,4})")


# The reader asks for each name, and whoever reads what kernels are called asks again.
@lru_cache(maxsize=65_536)
def collective_word(name: str) -> str:
    """What a device kernel's name says of communication, one of `COLLECTIVE_WORDS`.

    Args:
        name: As recorded, demangled or not.
    """
    function, rest = _parted(name)
    if _LOCAL.match(function):
        return "local"
    if _LIBRARIES.match(function):
        return "collective"
    last = function.rpartition("::")[2]
    if _BETWEEN.search(last) and not _ARITHMETIC.search(last):
        return "collective"
    worded = _WORDS.search(last) is not None
    if _INSIDE.search(last):
        return "unsaid"
    if _ARITHMETIC.search(last):
        return "either" if worded else "unsaid"
    return "worded" if worded else "collective" if _HANDLES.search(rest) else "unsaid"


def are_collective(words: npt.NDArray[np.integer], named: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which kernels communicate, by their names, or by their arguments where the name says nothing. Shape (kernels,).

    Args:
        words: Codes of `COLLECTIVE_WORDS`, shape (kernels,).
        named: Which kernels' arguments name a collective, shape (kernels,).
    """
    unsaid, collective, worded, either = map(COLLECTIVE_WORDS.index, ("unsaid", "collective", "worded", "either"))
    result: npt.NDArray[np.bool_] = (
        (words == collective) | (words == worded) | (named & ((words == unsaid) | (words == either)))
    )
    return result


def may_exchange(name: str) -> bool:
    """Whether a kernel whose name says nothing is an exchange where an op that communicates launched it: no product is."""
    return collective_word(name) == "unsaid" and not _ARITHMETIC.search(_parted(name)[0].rpartition("::")[2])


# Ops that communicate, as torch and engines that serve models register them: torch's exchanges over symmetric memory and functional
# collectives, vLLM's and SGLang's all-reduce. Not torch's products fused with them (`symm_mem::fused_all_gather_matmul`).
_OP = Pattern(
    r"(?:nccl|gloo|mpi|ucc|xccl|hccl|rccl):|c10d::|record_param_comms|_?c10d_functional::|_dtensor::shard_dim_alltoall"
    r"|symm_mem::(?!\w*(?:matmul|mm\b))|_C_custom_ar::"
    r"|\w+::_?(?:\w+_)?(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)(?:_(?!\w*(?:matmul|mm|attention|norm))\w*)?$"
)


def is_collective_op(name: str) -> bool:
    """Whether an op, or a range around ops, is there to communicate."""
    return not name.startswith("aten::") and _OP.match(name) is not None


# torch's functional collectives return at once, and this op waits for one: `torch/csrc/distributed/c10d/Functional.cpp`.
_WAIT = Pattern(r"_?c10d_functional::wait_tensor")


def waits_for_collective(name: str) -> bool:
    """Whether an op is there to wait for a collective that another one began."""
    return _WAIT.match(name) is not None


def _parted(name: str) -> tuple[str, str]:
    """The qualified name of the function, anonymous namespaces left out, and its template arguments and parameters."""
    if name.startswith("_Z"):
        return _demangled(name), ""
    plain = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    end = min((at for at in (plain.find("<"), plain.find("(")) if at >= 0), default=len(plain))
    # In front stands what it returns.
    return plain[:end].rstrip().rpartition(" ")[2], plain[end:]


def _demangled(name: str) -> str:
    """The qualified name in a mangled one, as far as it consists of plain parts (Itanium C++ ABI, 5.1.4)."""
    at, parts = 3 if name.startswith("_ZN") else 2, []
    while found := _MANGLED_PART.match(name, at):
        at = found.end() + int(found.group(1))
        parts.append(name[found.end() : at])
    return "::".join(part for part in parts if not part.startswith("_GLOBAL__N_"))
