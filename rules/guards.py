"""What torch checks in front of compiled code, and how to have less of it, whether ops or ranges show it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet

_REGIONS = Advice(
    "diff",
    "-model = torch.compile(model)\n+for layer in model.layers:      # the block that repeats\n+    layer.compile()",
    "Guards are checked at each call of what was compiled, one for each module, parameter and flag that the code depends on. A "
    "block by itself has few; that they are checked while the device works on the block before hides them.",
)
_FILTERED = Advice(
    "python",
    'model = torch.compile(model, options={"guard_filter_fn": torch.compiler.skip_guard_on_all_nn_modules_unsafe})',
    "Where nothing changes the modules after the first call: a change would go unnoticed.",
)
_WHICH = Advice("shell", "TORCH_LOGS=guards python train.py", "Lists the guards.")
FEWER_GUARDS = (_REGIONS, _FILTERED, _WHICH)


def in_guards(facts: Facts, time: IntervalSet) -> IntervalSet:
    """What of a time lies in ranges that torch opens in front of compiled code."""
    return time & facts.model.checked_in_ranges
