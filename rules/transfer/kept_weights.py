"""What is sent piece by piece, or model by model, for want of room: it stays on the device, or is sent beside the kernels."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules import adapters

_SAVED_PINNED = Advice(
    "diff",
    "-with torch.autograd.graph.save_on_cpu():\n+with torch.autograd.graph.save_on_cpu(pin_memory=True):\n     loss = model(batch)",
    "From pinned memory the copies back do not hold the host, and both ways are faster; each tensor is pinned anew. What "
    "offloads on streams of its own hides the copies behind the layers (torchtune: `OffloadActivations(use_streams=True)`).",
)
_SAVED_BESIDE = Advice(
    "text",
    "Offload on streams of their own (torchtune: `OffloadActivations(use_streams=True)`), early enough to hide behind the layers.",
    "They go through pinned memory already: what is left is to copy beside the kernels.",
)
_SAVED_LESS = (
    Advice(
        "python",
        "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
        "Computes the activations again instead of copying them: compare what a block takes with what its copies take.",
    ),
    Advice("text", "Where the device has room for some of them: save only those of the largest layers on the host."),
)

_UPDATED = (
    Advice(
        "text",
        "Where the device has room for the optimizer's state, as in 8 bits or split over the ranks: update there, and none of this "
        "is copied. In DeepSpeed without `offload_optimizer`.",
    ),
    Advice(
        "text",
        "Else fewer updates: with gradients accumulated over more micro-batches, in the device's memory, the copies come once for "
        "all of them. It is another batch size.",
    ),
)


def keep_on_device(facts: Facts) -> tuple[Advice, ...]:
    """What is sent piece by piece, or model by model, stays on the device, or is sent beside the kernels."""
    if facts.transfer.adapters:
        return (adapters.KEPT,)
    if facts.transfer.updated_on_host:
        return _UPDATED
    if facts.transfer.activations_saved:
        pinned = facts.transfer.copies.to_device.of_memory("pinned").bytes
        through = _SAVED_BESIDE if 2 * pinned > facts.transfer.copies.to_device.bytes else _SAVED_PINNED
        return (through, *_SAVED_LESS)
    if facts.transfer.there_and_back:
        return _kept(facts)
    if facts.recording.serving_engine is not None:
        return (_ROOM_IN_ENGINE,)
    if not facts.transfer.piece_by_piece:
        return (
            Advice(
                "diff",
                "-pipe.enable_model_cpu_offload()    # each model's weights, for each call\n"
                "+pipe.to(device)                    # where the card has room, in 16 bits or fewer",
                "Keep on the device what is called most often, and small models first: each call then saves its copies. An engine "
                "that serves the model has a setting for each of its parts.",
            ),
            Advice(
                "text",
                "Where the card has no room: send it layer by layer from pinned memory, the next layer's weights on a stream of "
                "their own while this layer computes; or call it for several inputs at once, and keep what it gives for inputs "
                "that come again.",
                "In diffusers `enable_group_offload(..., use_stream=True)`.",
            ),
        )
    return (
        Advice(
            "diff",
            "-pipe.enable_sequential_cpu_offload()    # each module's weights, for each call\n"
            "+pipe.to(device)                         # where the card has room, in 16 bits or fewer\n"
            "+pipe.enable_model_cpu_offload()         # or whole models, once each",
            "Where these are weights: keep on the device what fits there (of `device_map` as well), and offload large pieces only.",
        ),
        Advice(
            "text",
            "Where the card has no room: keep the host's copies in pinned memory, made once, and send the next layer's weights on "
            "a stream of their own while this layer computes.",
        ),
        Advice(
            "text",
            "Where these are samples: put them together on the host and send them at once.",
        ),
    )


_ROOM_IN_ENGINE = Advice(
    "text",
    "Where these are adapters: room for more of them on the device (`max_loras` in vLLM, `--max-loras-per-batch` in SGLang). Where "
    "they are weights that the engine was told to keep on the host (`cpu_offload_gb` in both): fewer of them, by a smaller "
    "format or one more device.",
)


def _kept(facts: Facts) -> tuple[Advice, ...]:
    """What goes to and fro stays where it is used."""
    binding = Advice(
        "python",
        "binding = session.io_binding()\n"
        'binding.bind_input("x", "cuda", 0, np.float16, tuple(x.shape), x.data_ptr())\n'
        'binding.bind_output("y", "cuda")\n'
        "session.run_with_iobinding(binding)",
        "ONNX Runtime sends inputs from the host and gives outputs back as NumPy arrays, unless they are bound to memory of the "
        "device. In optimum `use_io_binding=True`.",
    )
    resident = Advice(
        "text",
        "Keep it on the device from one use to the next: hooks that offload a model move it there and back at each call, so take "
        "them off while a loop calls it, or let them offload what the loop does not call.",
        "A cache is made on the device, and written in place.",
    )
    in_parts = Advice(
        "text",
        "Where the card has no room: send weights layer by layer from pinned memory on a stream of their own, and do not copy them "
        "back: the host has them already.",
    )
    return (binding,) if facts.recording.onnx_runtime else (resident, in_parts)
