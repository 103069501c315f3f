"""What a collective's kernel does, by its name.

Engines that call NCCL themselves, kernels of their own and kernels of a graph leave no range on the host that says it.
"""

from __future__ import annotations

import re

from traces.patterns import Pattern

# Names as `traces.reader.names.collectives` knows them, in the words of torch's own ranges. The first that matches counts: a fused
# reduction that also scatters is a scatter, and what the experts' libraries call dispatch and combine is an all-to-all.
_KINDS = (
    ("reduce_scatter", Pattern(r"reduce_?scatter", re.IGNORECASE)),
    ("all_gather", Pattern(r"all_?gather", re.IGNORECASE)),
    (
        "all_to_all",
        Pattern(
            r"all_?(?:to|2)_?all|(?<![a-z0-9])a2a(?![a-z0-9])|moeA2A|(?<![a-z])(?:Ep)?(?:dispatch|combine)",
            re.IGNORECASE,
        ),
    ),
    (
        "all_reduce",
        Pattern(r"all_?reduce|cross_device_reduce|multimem_\w*reduce|quickreduce::|lamport", re.IGNORECASE),
    ),
    ("broadcast", Pattern(r"broadcast", re.IGNORECASE)),
    ("send_recv", Pattern(r"send_?recv|(?<![a-z])(?:send|recv)(?![a-z])", re.IGNORECASE)),
    ("reduce", Pattern(r"nccl(?:Dev)?Kernel_Reduce(?![a-z])", re.IGNORECASE)),
)


def kind_of_kernel(name: str) -> str:
    """`all_reduce`, `send_recv`, ...; `collective` where the name does not say, as of `ncclDevKernel_Generic`.

    Args:
        name: Of a kernel that communicates, as recorded.
    """
    # Template arguments and parameters name other things: the types of what is sent, the library's own structures.
    function = re.split(r"[<(]", name.replace("(anonymous namespace)::", ""), maxsplit=1)[0]
    return next((kind for kind, pattern in _KINDS if pattern.search(function)), "collective")
