"""What a process group is for, by the words that programs and libraries describe it with."""

from __future__ import annotations

import re

from analyzer.ranks.document import GroupKind

# Words in what a program, or a library, says of its groups (Megatron-LM, DeepSpeed, DeviceMesh).
_KINDS: tuple[tuple[GroupKind, tuple[str, ...]], ...] = (
    ("tp", ("tensor", "tp")),
    ("pp", ("pipeline", "pp", "pipe")),
    ("ep", ("expert", "experts", "ep", "moe")),
    ("dp", ("data", "dp", "fsdp", "zero", "replicate", "shard")),
)
# And of groups whose ranks have a part of each sequence: what they pass on to a neighbour is no batch of a pipeline.
_SEQUENCES = ("context", "cp", "sequence", "ring", "ulysses")


def kind_of_group(description: str | None) -> GroupKind:
    """What a group is for, as far as the program says it; what it sends does not.

    An all-to-all may be of experts, of sequence parallelism or of sharded embeddings, and a group named after two dimensions is of
    neither alone; that of the experts' data parallelism is one of data.
    """
    words = _words(description)
    found: list[GroupKind] = [kind for kind, known in _KINDS if any(word in known for word in words)]
    if len(found) == 1:
        return found[0]
    return "dp" if set(found) == {"ep", "dp"} else "other"


def shares_sequences(description: str | None) -> bool:
    """Whether a group is said to be of context parallelism alone: `DATA_PARALLEL_GROUP_WITH_CP` is one of data."""
    return kind_of_group(description) == "other" and any(word in _SEQUENCES for word in _words(description))


def _words(description: str | None) -> list[str]:
    return re.split(r"[^a-z]+", (description or "").lower())
