"""Fixes several transfer rules share, worded for what was seen: pinned or not, workers or not, the copy's stream."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.device_words import of_device
from rules.purpose import by_purpose
from rules.sent_by_loader import left_to_the_loop
from rules.transfer.computed import computed, computed_beside, computed_there
from rules.transfer.kept_weights import keep_on_device
from traces.patterns import Pattern

_PIECES = (
    " They take turns with kernels: weights or activations that are kept on the host for room, as offloading does, or samples that "
    "are sent one by one; no batch."
)
_MODELS = (
    " So many large ones come one after the other, again and again: the weights of a model that is kept on the host between its "
    "calls, as offloading does, or of adapters loaded anew; no batch."
)


_BACK = (
    " As much comes back, in tensors of the same sizes: what is kept on the host between its uses, weights or a cache of keys and "
    "values; no batch."
)


_IN_PASSES = (
    " Batches come from pinned memory; this goes between kernels of each pass, in the same size each time: a tensor that the model "
    "keeps on the host, or makes there; no batch."
)
# As large as 1,300 images of 224 x 224 in single precision.
_LARGE_BYTES = 768 << 20
_BLOCKS = " Most of it are blocks of 768 MiB and more, as few batches are: weights, states or a table kept on the host may be."
_BLOCKS_KEPT = Advice(
    "text",
    "Where these blocks are no batches, keep on the device what each step needs, or send the next block beside this one's kernels; "
    "what is needed seldom may stay on the host.",
)
_ADAPTERS = " Most of it are weights of low-rank adapters, which are loaded where they are asked for; no batch."
_ACTIVATIONS = (
    " The backward pass asks for it, and as much was copied to the host before, in tensors of the same sizes: activations that are "
    "kept there meanwhile, as `save_on_cpu` and offloading do; no batch."
)
_UPDATED = (
    " Most of it is sent behind the backward pass, and as much is copied to the host: gradients, and the weights that an optimizer "
    "updates there; no batch."
)
COMPUTED_ON_DEVICE = Advice(
    "python",
    "import cupy, cupyx.scipy.ndimage as ndimage          # NumPy and SciPy by another name, on the GPU\n"
    "result = torch.as_tensor(ndimage.gaussian_filter(cupy.asarray(tensor.detach()), sigma=2), device=tensor.device)",
    "What the host makes of these tensors goes back to the device: make it there, by torch or a library for the GPU, and neither "
    "copy nor host is waited for. What depends on labels alone, and not on what the model gives, belongs into the dataset, where "
    "workers make it beside training.",
)


_BY_NCCL = Advice(
    "text",
    "gloo's collectives take the device's tensors through the host's memory: with NCCL they stay on the device, and nothing of "
    "this is copied.",
)


def _instead_of_the_host(facts: Facts) -> Advice:
    """What keeps on the device what comes back from the host: there it is computed on, or gloo sums it up."""
    return _BY_NCCL if facts.communication.calls_of("gloo") & facts.steps.window else COMPUTED_ON_DEVICE


def what_is_pageable(facts: Facts) -> str:
    """The same of what is sent from unpinned memory alone, which may be other things than what is sent as a whole."""
    if facts.transfer.sent_in_passes:
        return _IN_PASSES
    return (
        _known_kind(facts)
        or computed(facts, facts.transfer.computed_unpinned)
        or computed_beside(facts, facts.transfer.computed_in_part)
    )


def comes_back(facts: Facts) -> bool:
    """Whether most of what is sent from unpinned memory was on the device just before, and is computed on by the host."""
    unpinned = facts.transfer.copies.to_device
    if unpinned.states_memory:
        unpinned = unpinned.of_memory("pageable")
    return 2 * facts.transfer.through_host.returned_bytes > unpinned.bytes > 0


def what_is_sent(facts: Facts) -> str:
    """A sentence on what the copies are, where they, or a good part of them, are no batches; empty where all may be."""
    return _known_kind(facts) or computed_beside(facts, facts.transfer.computed_in_part)


def _known_kind(facts: Facts) -> str:
    if facts.transfer.adapters:
        return _ADAPTERS
    if facts.transfer.activations_saved:
        return _ACTIVATIONS
    if facts.transfer.updated_on_host:
        return _UPDATED
    if facts.transfer.piece_by_piece:
        return _PIECES
    if facts.transfer.there_and_back:
        return _BACK
    if facts.transfer.whole_models:
        return _MODELS
    if comes_back(facts):
        return " Most of it comes back from the host, which computes on what was copied there just before; no loader's batch."
    return computed(facts, facts.transfer.computed_on_host) or (_BLOCKS if in_large_blocks(facts) else "")


def in_large_blocks(facts: Facts) -> bool:
    """Whether most of what is sent are blocks larger than batches are, of which nothing else tells what they are."""
    sent = facts.transfer.copies.to_device
    return not facts.transfer.of_weights and 2 * sent.of_size(_LARGE_BYTES).bytes > sent.bytes > 0


def pin_memory(facts: Facts) -> tuple[Advice, ...]:
    """Pinned batches, copied without waiting."""
    if facts.transfer.of_weights or facts.transfer.activations_saved:
        return keep_on_device(facts)
    if facts.transfer.sent_in_passes:
        return (_BUFFER,)
    if comes_back(facts):
        return (_instead_of_the_host(facts),)
    made = facts.transfer.computed_on_host or facts.transfer.computed_unpinned
    if made is not None:
        return computed_there(facts, made)
    if in_large_blocks(facts):
        return (_BLOCKS_KEPT, *_pinned_by_loader(facts)[:1])
    if not _without_loader(facts):
        return _pinned_by_loader(facts)
    return by_purpose(
        facts,
        (_BY_ENGINE if facts.recording.serving_engine is not None else _PINNED_ONCE,),
        _pinned_by_loader(facts),
    )


_BUFFER = Advice(
    "diff",
    "-self.positions = positions                        # a plain attribute stays on the host\n"
    '+self.register_buffer("positions", positions)      # goes to the device with the model, once\n'
    " ...\n"
    "-x = x + self.positions.to(x.device)               # in each pass\n"
    "+x = x + self.positions",
    "Nothing is sent in the passes then, and none of them waits. What is made anew on the host each time: once, or on the device.",
)
# What a program that only runs its model sends, where no loader makes it.
_PINNED_ONCE = Advice(
    "python",
    "pinned = torch.empty(shape, dtype=dtype, pin_memory=True)   # two in turns, made once\n"
    "pinned.copy_(inputs)\n"
    "on_device = pinned.to(device, non_blocking=True)",
    "Only from pinned memory does `non_blocking=True` return at once. Pinning anew for each input takes longer than it saves.",
)
_BY_ENGINE = Advice(
    "text",
    "The engine sends these inputs itself: look whether a newer version of it keeps them in pinned memory. What its caller "
    "can do is "
    "to send less, as images of fewer pixels, or in bytes.",
)


_SENT_BY_ENGINE = Advice(
    "text",
    "Where the engine keeps cached keys and values on the host: more room for them on the device (`gpu_memory_utilization` in "
    "vLLM, `mem_fraction_static` in SGLang). Where requests bring images: fewer pixels, or bytes.",
    "The engine sends this itself: whether beside the kernels of another pass is up to its version.",
)


def _without_loader(facts: Facts) -> bool:
    """Whether a program only runs its model, and no DataLoader shows, nor was one recorded."""
    return facts.model.infers and not len(facts.input.wait) and facts.recording.collected.pin_memory is None


def _pinned_by_loader(facts: Facts) -> tuple[Advice, ...]:
    batch_type = Advice(
        "python",
        "class Batch:\n    def pin_memory(self):\n        self.images = self.images.pin_memory()\n        return self",
        "A batch that is no tensor, list, tuple or dict is pinned only by a method of its own.",
    )
    made_in_step = Advice(
        "text",
        "Look for tensors made on the host inside the step and moved with .to(device): only the loader's batches are pinned.",
    )
    if facts.recording.collected.pin_memory:
        return (batch_type, made_in_step)
    workers = "\n+    num_workers=4, persistent_workers=True," if _pins_in_training_thread(facts) else ""
    return (
        Advice(
            "diff",
            f" loader = DataLoader(\n     dataset, ...,{workers}\n+    pin_memory=True,\n )\n"
            "-images = images.to(device)\n+images = images.to(device, non_blocking=True)",
            "Both together: only from pinned memory does `non_blocking=True` return at once. "
            f"Do not call `pin_memory()` in the loop itself.{left_to_the_loop(facts)}",
        ),
        batch_type,
    )


def _pins_in_training_thread(facts: Facts) -> bool:
    cores = facts.recording.collected.cores
    return facts.input.wait.single_process and (cores is None or cores > 4)


def prefetch(facts: Facts, own_stream: bool) -> tuple[Advice, ...]:
    """Copy the next batch while this one is computed; and, of what is computed beside batches, where.

    Args:
        facts: The measurements.
        own_stream: Whether the copies already run on another stream than the kernels.
    """
    beside = facts.transfer.computed_in_part
    said = _prefetched(facts, own_stream)
    return said if beside is None or in_large_blocks(facts) else (*said, *computed_there(facts, beside.name)[:1])


def _prefetched(facts: Facts, own_stream: bool) -> tuple[Advice, ...]:
    if facts.transfer.of_weights or facts.transfer.activations_saved:
        return keep_on_device(facts)
    if comes_back(facts):
        return (_instead_of_the_host(facts),)
    if facts.transfer.computed_on_host is not None:
        return computed_there(facts, facts.transfer.computed_on_host)
    if facts.recording.serving_engine is not None:
        return (_SENT_BY_ENGINE,)
    blocks = in_large_blocks(facts)
    bytes_first = (
        (_BLOCKS_KEPT,) if blocks else () if _looks_rows_up(facts) or _in_many_parts(facts) else (fewer_bytes(),)
    )
    if own_stream:
        return (
            Advice(
                "text",
                "The copies have a stream of their own and still run beside no kernel: start them one batch earlier, before the "
                "forward pass of the batch in hand, and let the compute stream wait for an event, not the host.",
            ),
            *bytes_first,
        )
    return (
        *bytes_first,
        of_device(
            facts,
            Advice(
                "python",
                "side = torch.cuda.Stream()\n"
                "def move(batch):\n"
                "    with torch.cuda.stream(side):\n"
                "        return [part.to(device, non_blocking=True) for part in batch]\n\n"
                "batches = iter(loader)\n"
                "following = move(next(batches))\n"
                "for _ in range(len(loader)):\n"
                "    torch.cuda.current_stream().wait_stream(side)\n"
                "    batch = following\n"
                "    for part in batch:\n"
                "        part.record_stream(torch.cuda.current_stream())\n"
                "    following = move(next(batches, ()))\n"
                f"    {'output = model(*batch)' if facts.model.infers else 'train_step(batch)'}",
                "Copies and kernels share a stream here, so they take turns; on a side stream the next batch travels while this "
                f"one is computed. Needs pinned batches.{left_to_the_loop(facts)}",
            ),
        ),
    )


def _looks_rows_up(facts: Facts) -> bool:
    """Whether rows of tables are looked up, and nothing shows that images are read: what is sent are numbers of rows."""
    found = facts.kernels.named
    tables = facts.input.padding.looked_up or found.like(_TABLES).any()
    return bool(tables) and not found.is_family("conv").any()


# FBGEMM's tables (pytorch/FBGEMM, fbgemm_gpu/codegen).
_TABLES = Pattern(r"split_embedding|bounds_check_indices|jagged")


def _in_many_parts(facts: Facts) -> bool:
    """Whether no one copy of a step is most of what it sends: images travel as one tensor."""
    sent = facts.transfer.copies.to_device
    return 2 * sent.largest_bytes * facts.steps.count < sent.bytes


def fewer_bytes() -> Advice:
    """Send bytes, make floats on the device."""
    return Advice(
        "diff",
        "-transform = ToTensor()                                  # float32 on the host: 4 bytes a value\n"
        "+transform = v2.PILToTensor()                            # uint8: 1 byte a value\n"
        " images = images.to(device, non_blocking=True)\n"
        "+images = images.float().div_(255)                       # on the device",
        "Where they are images: bytes until they are normalised. Do that on the device, and a quarter of the bytes has to travel.",
    )
