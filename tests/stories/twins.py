"""Stories whose neighbour is the same program after the advised change: what that brought is known, and no bound may be less."""

from __future__ import annotations

# The program, the same after the change, and the rule that advises it.
TWINS: tuple[tuple[str, str, str], ...] = (
    ("host code between casts of a model", "casts of a model and nothing between", "PY001"),
    ("garbage collected behind each step", "garbage left to Python", "PY001"),
    ("progress bar behind each batch", "progress bar drawn at once", "PY001"),
    ("numbers made on the device by way of the host", "numbers made once", "XF003"),
    ("constants sent in each pass", "constants on the device", "XF003"),
    ("pinned batches awaited", "pinned batches sent ahead", "XF007"),
    ("cache comes back before each pass", "cache stays on the device", "XF002"),
    ("layers on two devices in turn", "halves on two devices", "XF008"),
    ("permuted and made contiguous around norms", "permuted as a view", "XF005"),
    ("weights penalised one by one", "weights decayed by the optimizer", "PY003"),
    ("average of weights, one by one, queued", "average of weights in one pass", "PY003"),
    ("GELU by its formula", "GELU by one op", "GR007"),
    ("norm over channels by mean and variance", "norm over channels by one op", "GR007"),
    ("sequences packed by lengths of the GPU", "sequences packed by lengths of the host", "SY002"),
    ("labels encoded without their number", "labels encoded with their number", "SY001"),
    ("inverses checked one by one", "inverses unchecked", "SY001"),
    ("distributions check their arguments", "distributions check nothing", "SY001"),
    ("sequence sliced in a loop", "sequence unbound once", "KE013"),
    ("buffers of zeros in each step", "buffers made once", "KE013"),
    ("masks drawn on the host", "masks drawn on the device", "ID001"),
    ("hooks of each parameter", "hooks in C++", "ID001"),
    ("casts around compiled norms", "norms in 16 bits", "PR004"),
    ("TensorDataset on the GPU, row by row", "TensorDataset on the GPU, indexed at once", "DL006"),
    ("accuracy read for each batch", "accuracy kept on the device", "SY001"),
    ("loss logged for each micro-batch", "micro-batches and no log", "SY001"),
)
