"""What helps where ranks pass parts of a sequence around: ring attention, which libraries call context parallelism."""

from __future__ import annotations

from analyzer.finding import Advice

SHORTER = Advice(
    "text",
    "Share each sequence among fewer ranks, all of them on the fast links of one machine (NVLink), and use others for more data.",
    "These messages pass keys and values on around a ring (context parallelism), and are hidden while a rank computes with the "
    "piece that it has. Among fewer ranks a piece is longer: what is computed with it grows faster than what is sent. "
    "Micro-batches, buckets and accumulating gradients change nothing about it.",
)
HEADS_INSTEAD = Advice(
    "shell",
    "--cp-comm-type a2a   # Megatron-Core; a2a+p2p with --hierarchical-context-parallel-sizes: a ring between machines alone",
    "Exchanges the sequence for heads before attention and back behind it (Ulysses), and passes nothing around. It needs as many "
    "heads of keys and values as there are ranks, or more.",
)
