"""Fixes for experts that are called one by one, whether launches or waits for the device are what they cost."""

from __future__ import annotations

from analyzer.finding import Advice

AT_ONCE = (
    Advice(
        "python",
        "order = expert.argsort()                       # the rows of each expert side by side\n"
        "counts = torch.bincount(expert, minlength=len(weights))\n"
        "groups = torch.nn.utils.rnn.pad_sequence(x[order].split(counts.tolist()), batch_first=True)\n"
        "y = torch.bmm(groups, weights)                 # weights of all experts: (experts, n, m)",
        "One product for all experts, padded to the fullest. `counts.tolist()` waits for a device once, the loop once an expert.",
    ),
    Advice(
        "python",
        "ends = counts.cumsum(0).to(torch.int32)\ny = torch.nn.functional.grouped_mm(x[order], weights, offs=ends)",
        "Without padding and without a wait, in bfloat16 on a GPU of compute capability 8.0 or newer.",
    ),
)
