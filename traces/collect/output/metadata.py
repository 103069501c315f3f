"""What a trace of a loop of ours, or of one that marks its steps, cannot say about its own run: the document at its key "advisor".

No host, user or path goes in, and of the environment a fixed list only; every value is named one by one, here or in the hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from traces.collect.output import SCHEMA_VERSION
from traces.collect.output.cores import describe_cores
from traces.collect.trace_advisor_hook.loader.batches import BatchLook
from traces.collect.trace_advisor_hook.run_description import describe_process, describe_training, world
from traces.collect.trace_advisor_hook.software.environment import describe_environment


def describe(
    command: Sequence[str],
    device: torch.device,
    loader: DataLoader[Any] | None,
    look: BatchLook,
    optimizer: torch.optim.Optimizer | None = None,
) -> dict[str, Any]:
    """The run as JSON-able values; unknown is None. What was recorded of it comes from the recorder's `figures`.

    Args:
        command: What records this again.
        device: Where the loop runs.
        loader: The one that the loop draws from; None where it is not known.
        look: What was seen of its batches.
        optimizer: The one that steps; None where it is not known.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "command": list(command),
        **describe_process(world()[1]),
        **describe_training(optimizer, loader, look),
        **describe_cores(),
        "environment": describe_environment(),
        "device": device.type,
    }
