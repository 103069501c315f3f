"""Frames of Python whose doing is known by name: kernels compiled, work of others awaited, adapters merged, buffers listed."""

from __future__ import annotations

import pandas as pd

from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import matching
from traces.patterns import Pattern

# Triton compiles a kernel at its first call with new types, sizes or constants, and tries the configurations of one that is tuned
# (triton/compiler/compiler.py, triton/runtime/jit.py and autotuner.py).
_COMPILES = Pattern(
    r"(?:.*[/\\])?triton[/\\](?:compiler[/\\]compiler\.py\(\d+\): compile"
    r"|runtime[/\\](?:jit\.py\(\d+\): _do_compile|autotuner\.py\(\d+\): _bench))$"
)
# A thread that takes what others hand over, and has nothing: queues of threads and processes, an event loop, a socket.
_WAITS = Pattern(
    r"(?:.*[/\\])?(?:queue\.py\(\d+\): get|multiprocessing[/\\]queues\.py\(\d+\): get|selectors\.py\(\d+\): select"
    r"|socket\.py\(\d+\): (?:accept|recv_into)|zmq[/\\]\S*\.py\(\d+\): (?:poll|recv\w*))$"
    r"|<method 'poll' of 'select\.(?:e?poll|devpoll)' objects>$"
)


# Low-rank adapters loaded, merged into weights or taken out of them: PEFT (tuners/lora/layer.py), diffusers (loaders/lora_base.py);
# those of an engine put where its kernels read them: vLLM (lora/worker_manager.py, lora/layers), SGLang (lora/mem_pool.py).
_MERGES = Pattern(
    r".+\.py\(\d+\): _?(?:(?:un)?fuse_lora\w*|(?:un)?merge_(?:adapter|lora\w*)|merge_and_unload|load_lora\w*|load_adapter"
    r"|set_active_(?:loras|adapters)|activate_adapter)$"
    r"|.*(?:lora|peft)[^(]*\.py\(\d+\): (?:(?:un)?(?:merge|fuse)\w*|set_lora|reset_lora|add_adapter|prepare_lora_batch)$"
)


# DDP lists the buffers of all modules and sends them, before each forward pass (torch/nn/parallel/distributed.py).
_LISTS_BUFFERS = Pattern(
    r"(?:.*[/\\])?torch[/\\]nn[/\\]parallel[/\\]distributed\.py\(\d+\): (?:_assign_modules_buffers|_sync_(?:module_)?buffers)$"
)


def listing_buffers(python: pd.DataFrame) -> BoolArray:
    """Which frames list or send the buffers of a model that is wrapped in DistributedDataParallel, shape (rows,)."""
    return matching(python["name"], _LISTS_BUFFERS.match)


def merging(python: pd.DataFrame) -> BoolArray:
    """Which frames load, merge or take out low-rank adapters, shape (rows,)."""
    return matching(python["name"], _MERGES.match)


def compiling(python: pd.DataFrame) -> BoolArray:
    """Which frames compile a single kernel, shape (rows,)."""
    return matching(python["name"], _COMPILES.match)


def waiting(python: pd.DataFrame) -> BoolArray:
    """Which frames wait for what another thread or process hands over, shape (rows,)."""
    return matching(python["name"], _WAITS.match)
