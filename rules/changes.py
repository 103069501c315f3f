"""Changes that rules of several families advise, in one wording: findings with the same change get one card."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import share

# Twice the batch needs at most twice the memory: activations are at most what is allocated (as ME005).
_HALF = 0.5


def memory_limits_the_batch(facts: Facts) -> float | None:
    """Share of the card that tensors take at the peak, where twice the batch might not fit; None where it fits or is not known."""
    found = facts.device_memory
    if found.peak_allocated_bytes is None or found.capacity_bytes is None:
        return None
    ratio = found.peak_allocated_bytes / found.capacity_bytes
    return ratio if ratio > _HALF else None


def larger_batch(facts: Facts) -> Advice:
    """Twice the batch; where memory is known not to hold it, what makes room for it."""
    full = memory_limits_the_batch(facts)
    if full is not None:
        return Advice(
            "python",
            "from torch.utils.checkpoint import checkpoint\nx = checkpoint(self.block, x, use_reentrant=False)",
            f"Tensors take {share(full)} of the card: memory limits the batch. Checkpoint the largest blocks, then raise it; "
            "accumulating gradients instead does not make the kernels larger.",
        )
    batch = facts.collected.batch_size
    return Advice(
        "diff",
        f"-batch_size = {batch}\n+batch_size = {2 * batch}" if batch else "+batch_size = 2 * batch_size",
        "Double it while memory allows, scale the learning rate, and watch the validation score.",
    )


def accumulate_gradients(facts: Facts, *, data_parallel: bool = False) -> Advice:
    """Several backward passes for one optimizer step: the same gradients from batches of half the size."""
    batch = facts.collected.batch_size
    head = f"-batch_size = {batch}\n+batch_size = {batch // 2}\n" if batch and batch > 1 else ""
    body = "-loss.backward()\n-optimizer.step()\n-optimizer.zero_grad()\n"
    if data_parallel:
        body += "+with model.no_sync() if (index + 1) % 2 else nullcontext():\n+    (loss / 2).backward()\n"
    else:
        body += "+(loss / 2).backward()\n"
    return Advice(
        "diff",
        f"{head}{body}+if (index + 1) % 2 == 0:\n+    optimizer.step()\n+    optimizer.zero_grad()",
        "Half the batch, two backward passes per optimizer step: the same gradients in half the memory for activations. "
        "Batch norm sees the smaller batches.",
    )


def replay_as_graph(facts: Facts) -> Advice:
    """One launch for all kernels of a step."""
    removed = "-model = torch.compile(model)\n" if facts.fusion.compiled else ""
    return Advice(
        "diff",
        f'{removed}+model = torch.compile(model, mode="reduce-overhead")   # CUDA graphs: one launch for many kernels',
        "Needs static shapes and no host reads inside the step; the first steps compile. It falls back where it cannot capture.",
    )


def channels_last() -> Advice:
    """One memory format for all convolutions."""
    return Advice(
        "diff",
        "+model = model.to(memory_format=torch.channels_last)\n for images, labels in loader:\n"
        "+    images = images.to(memory_format=torch.channels_last)\n     output = model(images)",
        "Changes the order in memory only; shapes and results stay the same. `.permute(...).contiguous()` before convolutions "
        "becomes needless.",
    )
