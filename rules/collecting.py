"""Fixes for passes of the garbage collector that a program or its framework asks for again and again."""

from __future__ import annotations

from analyzer.finding import Advice

# Either alone is not enough: a pass that is asked for comes whether or not Python begins any, and looks at what was imported.
PASS_OVER = Advice(
    "python",
    "gc.collect(); gc.freeze()   # once, before the loop: after the imports, with the model made",
    "A full collection looks at every object there is, those of all imported modules included; what is frozen it passes over, and "
    "takes a few milliseconds where it is asked for again and again.",
)
_NOT_NEEDED = (
    "Tensors are freed as soon as nothing refers to them. The collector is for objects that refer to each other in a "
    "circle."
)
# Where nothing says whose call it is.
COLLECT_SELDOM = Advice(
    "text", "Where the call is your own: leave it out, or collect every so many steps.", _NOT_NEEDED
)
COLLECT_NOT_EACH = Advice(
    "diff",
    "-    gc.collect()\n+    if step % 1000 == 0:\n+        gc.collect()",
    f"Every so many steps, or never. {_NOT_NEEDED}",
)
