"""What to do where the loop spends the loader's calls on receiving: workers have made the batch, of many small tensors."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import share

# From this part of the loader's calls on, what the workers do decides little.
_MOST = 0.5


def packed(facts: Facts) -> tuple[Advice, ...]:
    """Fewer tensors in a batch, or another thread that receives them; empty where receiving is not most of the loader's calls."""
    found = facts.input.receiving
    if found.ratio < _MOST:
        return ()
    each = found.tensors / max(len(facts.input.wait), 1)
    return (
        Advice(
            "python",
            "def collate(samples):                                  # collate_fn of the loader\n"
            "    images, targets = zip(*samples)\n"
            "    sizes = torch.tensor([len(target) for target in targets])\n"
            "    return torch.stack(images), torch.cat(targets), sizes     # in the loop: targets.split(sizes.tolist())",
            f"{share(found.ratio)} of the loader's calls is the loop itself receiving: {each:,.0f} tensors a batch, each a file "
            "that is handed over and opened. Pack those of a kind into one tensor. More workers do not help: the batch is made "
            "already.",
        ),
        Advice(
            "diff",
            " loader = DataLoader(\n     dataset, ...,\n+    pin_memory=True,\n )",
            "A thread of the loader then receives the batch beside training.",
        ),
    )
