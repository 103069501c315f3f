"""What to do instead of reading single values off the device: keep them there, or read them later."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.device_words import of_device


def read_fixes(facts: Facts) -> tuple[Advice, ...]:
    """For values that are read one by one, as `.item()` does."""
    return _running() if facts.model.infers else _training()


def copied_fixes(facts: Facts) -> tuple[Advice, ...]:
    """For small tensors that are copied to the host, as `.to("cpu")` does."""
    return (
        Advice(
            "diff",
            '-    values.append(value.to("cpu"))\n+    values.append(value.detach())        # stays on the device\n'
            "+values = torch.stack(values).cpu()       # one copy for all, after the loop",
            "Keep small results on the device and copy them together. What the host made itself, as lengths or sizes, it keeps: no "
            "need to read it back.",
        ),
        later(
            facts, "value", "Where the host needs it in each step: copy beside the next step, and read one step late."
        ),
    )


def later(facts: Facts, name: str, note: str, *, aside: bool = False) -> Advice:
    """A copy into pinned memory that is read a step later.

    Args:
        facts: The measurements.
        name: What the program calls the tensor.
        note: When to do so.
        aside: Whether on a stream of its own: on that of the kernels the next step's wait until the copy is done.
    """
    copied = f"buffer.copy_({name}.detach(), non_blocking=True)\n"
    return of_device(
        facts,
        Advice(
            "python",
            f"buffer = torch.empty({name}.shape, dtype={name}.dtype, pin_memory=True)   # once\n"
            f"{_aside(name, copied) if aside else copied}"
            "copied = torch.cuda.Event()\n"
            f"copied.record({'side' if aside else ''})\n"
            "# a step later:\n"
            "copied.synchronize()\n"
            "use(buffer)",
            note,
        ),
    )


def _aside(name: str, copied: str) -> str:
    return (
        "side = torch.cuda.Stream()   # once\n"
        "side.wait_stream(torch.cuda.current_stream())\n"
        f"with torch.cuda.stream(side):\n    {copied}"
        f"{name}.record_stream(side)   # its memory is free again behind the copy\n"
    )


def _training() -> tuple[Advice, ...]:
    return (
        Advice(
            "diff",
            "-    total_loss += loss.item()\n+    total_loss += loss.detach()   # stays on the device\n"
            "+    if step % 100 == 0:\n+        print(total_loss.item() / (step + 1))",
            "Keep running values on the device and read them every N steps.",
        ),
        Advice(
            "diff",
            "-    if loss > limit:\n-        loss = loss * 0\n+    loss = torch.where(loss > limit, torch.zeros_like(loss), loss)",
            "Where a value decides what happens next, let the device decide.",
        ),
    )


def _running() -> tuple[Advice, ...]:
    return (
        Advice(
            "diff",
            "-    scores.append(score.item())\n+    scores.append(score)            # stays on the device\n"
            "+scores = torch.stack(scores).tolist()   # one read for all",
            "Keep values on the device and read them together, best one step later.",
        ),
        Advice(
            "diff",
            "-    if token.item() == end:\n-        break\n+    done |= token == end\n"
            "+    if step % 16 == 0 and bool(done):\n+        break",
            "Where a value decides what happens next: look at it every few steps, or let `torch.where` decide on the device.",
        ),
    )
