"""Stories of models that do by hand what torch has an op or a setting for; beside each the same with that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from building.clocked import Clocked
from stories.devices import A100, of
from stories.models import (
    ADD,
    AMPERE,
    CONV,
    CONV_BACK,
    CONV_OPS,
    FLASH,
    FLASH_BACK,
    NORM,
    SDPA,
    blocks,
    blocks_back,
    layer,
    perceptron,
    perceptron_back,
    update,
)
from stories.story import GITHUB, Story

MIB = 1 << 20
LAYOUTS = "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html"
PACKING = "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html"
HEADS = "https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html"
DECAY = "https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html"
CONVNEXT = GITHUB + "facebookresearch/ConvNeXt/blob/main/models/convnext.py"
GELU = "https://docs.pytorch.org/docs/stable/generated/torch.nn.GELU.html"
KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 2ul>>(int)"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::sum_functor<float, float, float>>>(p)"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>(p)"
LSTM = "void RNN_blockPersist_fp_LSTM<float, float, float, float, 128>(p)"
BY_TANH = ("mul", "pow", "mul", "add", "mul", "tanh", "add", "mul")
BY_MOMENTS = ("mean", "sub", "pow", "mean", "sub", "add", "sqrt", "div", "mul", "add")


def _fed(world: Clocked, size: int = 8 * MIB) -> None:
    world.load(60, workers=4)
    world.copied("HtoD", size, pinned=True, rate=20_000)


def _chain(world: Clocked, ops: Sequence[str], dur: float) -> list[tuple[str, int]]:
    """Ops one by one in the forward pass, and what each leaves for the backward pass: a node and its number."""
    world.recorded = True
    left = []
    for op in ops:
        world.kernel_of(f"aten::{op}", KERNEL.format(f"{op}_kernel_cuda(at::TensorIteratorBase&)"), dur)
        left.append((op, world.numbered))
    world.recorded = False
    return left


def _chain_back(world: Clocked, left: Sequence[tuple[str, int]], dur: float) -> None:
    for op, number in reversed(left):
        with world.node(f"{op.title()}Backward0", **{"Sequence number": number, "Fwd thread id": 1}):
            world.kernel_of(f"aten::{op}_backward", KERNEL.format(f"{op}_backward_kernel_cuda"), dur)


def _activated(by_hand: bool) -> Clocked:
    """GELU by its formula in each of twelve layers, or by torch's op."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        _fed(world)
        left = []
        for _ in range(12):
            layer(world, 0.5)
            left.append(_chain(world, BY_TANH if by_hand else ("gelu",), 60))
        with world.backward():
            for one in reversed(left):
                _chain_back(world, one, 60)
                with world.node("MmBackward0"):
                    layer(world, 1, backward=True)
        update(world)
    return world


def _normalised(by_hand: bool) -> Clocked:
    """The norm of ConvNeXt over channels, by mean and variance, or by torch's op."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        _fed(world)
        left = []
        for _ in range(18):
            world.kernel_of(CONV_OPS, CONV, 250, host=32)
            left.append(_chain(world, BY_MOMENTS if by_hand else ("layer_norm",), 40))
        with world.backward():
            for one in reversed(left):
                _chain_back(world, one, 40)
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_BACK, 500, host=40)
        update(world, dur=300)
    return world


def _permuted(copies: bool) -> Clocked:
    """A network with channels last whose norms permute their input and make it contiguous, forward and back."""
    world = Clocked(top=of(A100))
    moved = "aten::contiguous/aten::clone/aten::copy_"
    for _ in world.steps(5):
        _fed(world)
        for _ in range(18):
            world.kernel_of(CONV_OPS, CONV, 150, host=32)
            for _ in range(2 if copies else 0):
                world.kernel_of(moved, COPY, 80)
            world.kernel_of("aten::native_layer_norm", NORM, 60)
            world.kernel_of(CONV_OPS, CONV, 150, host=32)
        with world.backward():
            for _ in range(18):
                with world.node("ConvolutionBackward0"):
                    world.kernel_of("aten::convolution_backward", CONV_BACK, 600, host=40)
                for _ in range(2 if copies else 0):
                    with world.node("CloneBackward0"):
                        world.kernel_of(moved, COPY, 80)
                with world.node("NativeLayerNormBackward0"):
                    world.kernel_of("aten::native_layer_norm_backward", NORM, 100)
        update(world, dur=300)
    return world


def _packed(on_device: bool) -> Clocked:
    """Sequences are packed by lengths that lie on the device, and are copied back in each pass; or that stay on the host."""
    world = Clocked(top=of(A100))
    for _ in world.steps(6):
        _fed(world, MIB)
        perceptron(world, 10, 300)
        if on_device:
            world.copied("DtoH", 512)
        world.host_op("aten::_pack_padded_sequence", 700)
        for _ in range(40):
            world.kernel_of("aten::lstm/aten::_cudnn_rnn", LSTM, 40, host=30)
        with world.backward():
            for _ in range(40):
                with world.node("CudnnRnnBackward0"):
                    world.kernel_of("aten::_cudnn_rnn_backward", LSTM, 60, host=30)
        perceptron_back(world, 10, 300)
        update(world, "Adam", dur=100)
    return world


def _headed(weights: bool) -> Clocked:
    """`nn.MultiheadAttention` in twelve layers, asked for its weights as by default, or not."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        _fed(world)
        for _ in range(12):
            if weights:
                world.kernel_of("aten::mul", ADD, 20)
                world.kernel_of("aten::baddbmm", AMPERE, 120)
                world.kernel_of("aten::softmax/aten::_softmax", SOFTMAX, 220)
                world.kernel_of("aten::bmm", AMPERE, 120)
                world.kernel_of("aten::mean", SUM, 100)
            else:
                world.kernel_of(SDPA, FLASH, 130, host=30)
            for _ in range(4):
                world.kernel_of("aten::linear/aten::addmm", AMPERE, 240)
        with world.backward():
            for _ in range(12):
                with world.node("AddmmBackward0"):
                    for _ in range(8):
                        world.kernel_of("aten::mm", AMPERE, 240)
                if not weights:
                    with world.node("ScaledDotProductFlashAttentionBackward0"):
                        world.kernel_of("aten::_scaled_dot_product_flash_attention_backward", FLASH_BACK, 320, host=30)
                    continue
                for name, kernel in (("Bmm", AMPERE), ("Softmax", SOFTMAX), ("Baddbmm", AMPERE)):
                    with world.node(f"{name}Backward0"):
                        op = "aten::_softmax_backward_data" if name == "Softmax" else "aten::bmm"
                        for _ in range(1 if name == "Softmax" else 2):
                            world.kernel_of(
                                op, kernel.replace("forward", "backward"), 240 if name == "Softmax" else 120
                            )
        update(world)
    return world


def _decayed(by_hand: bool) -> Clocked:
    """The squares of 160 weights are summed up in the loss, one by one, or the optimizer has a weight decay."""
    world = Clocked(top=of(A100))
    for _ in world.steps(5):
        _fed(world)
        blocks(world, 50, 0.6)
        left = _chain(world, ("pow", "sum", "add") * (160 if by_hand else 0), 4)
        with world.backward():
            _chain_back(world, left, 4)
        blocks_back(world, 50, 1.2)
        update(world, "SGD", dur=300)
    return world


STORIES = (
    Story(
        "GELU by its formula", "LLM, A100", GELU, "eight kernels, each over all of it, where one does: `gelu`",
        partial(_activated, True), bound=("compute",), told=("GR007", "~GELU", "~functional.gelu"), never=("DL001", "GR004"),
    ),
    Story(
        "GELU by one op", "LLM, A100", GELU, "the same by `gelu`",
        partial(_activated, False), bound=("compute",), never=("GR007", "GR001", "DL001"),
    ),
    Story(
        "norm over channels by mean and variance", "vision, ConvNeXt", CONVNEXT,
        "`F.layer_norm` is one kernel, its formula ten", partial(_normalised, True), bound=("compute",),
        told=("GR007", "~normalisation", "~functional.layer_norm"), never=("DL001", "GR004", "~RMSNorm"),
    ),
    Story(
        "norm over channels by one op", "vision, ConvNeXt", CONVNEXT,
        "the same by `F.layer_norm`", partial(_normalised, False), bound=("compute",), never=("GR007", "DL001"),
    ),
    Story(
        "permuted and made contiguous around norms", "vision, channels last", LAYOUTS,
        "with channels last a permute is a view that is contiguous already: nothing has to be copied",
        partial(_permuted, True), bound=("compute", "copy"), told=("XF005", "~a view, contiguous already"),
        never=("~model.to\\(memory_format", "KE002", "DL001"),
    ),
    Story(
        "permuted as a view", "vision, channels last", LAYOUTS, "the same without copies",
        partial(_permuted, False), bound=("compute",), never=("XF005", "KE002", "DL001"),
    ),
    Story(
        "sequences packed by lengths of the GPU", "NLP, LSTM", PACKING,
        "`pack_padded_sequence` takes lengths on the host: what was sent is copied back, behind all queued work",
        partial(_packed, True), bound=("compute",), told=("SY002", "~lengths, batch_first=True\\)   # as the loader gave them"),
        never=("~outputs.append", "DL001", "GR004"),
    ),
    Story(
        "sequences packed by lengths of the host", "NLP, LSTM", PACKING, "the same with lengths that stay",
        partial(_packed, False), bound=("compute",), never=("SY002", "DL001"),
    ),
    Story(
        "heads asked for their weights", "transformer, nn.MultiheadAttention", HEADS,
        "`need_weights=True`, the default, writes attention out: `need_weights=False` takes the fused kernels",
        partial(_headed, True), bound=("compute",), told=("GR005", "~need_weights=False"), never=("DL001", "GR004"),
    ),
    Story(
        "heads not asked for weights", "transformer, nn.MultiheadAttention", HEADS, "the same with `need_weights=False`",
        partial(_headed, False), bound=("compute",), never=("GR005", "DL001"),
    ),
    Story(
        "weights penalised one by one", "vision, A100", DECAY,
        "the squares of all weights are summed up in the loss: the optimizer's `weight_decay` does it in the update",
        partial(_decayed, True), bound=("launch", "mixed", "compute"), told=("PY003", "~weight_decay=decay"),
        never=("DL001", "~batch_size = 2"),
    ),
    Story(
        "weights decayed by the optimizer", "vision, A100", DECAY, "the same by `weight_decay`",
        partial(_decayed, False), bound=("compute",), never=("PY003", "ID001", "DL001"),
    ),
)  # fmt: skip
