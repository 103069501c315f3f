"""What the program writes inside its steps: to the terminal, to logs, to files. Told by the names of Python's own calls."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.patterns import Pattern
from traces.trace import Trace

# Where it goes, by the frame's name: `<built-in function print>`, `logging/__init__.py(1024): emit`.
_KINDS = {
    "print": Pattern(r"<built-in function print>|<built-in method (?:write|flush) of _io\.TextIOWrapper"),
    "logging": Pattern(r"(?:.*/)?logging/__init__\.py\(\d+\): (?:emit|handle|callHandlers|_log)"),
    "progress bar": Pattern(r"(?:.*/)?tqdm/\w+\.py\(\d+\): (?:refresh|update|display|__iter__|close)$"),
    "experiment tracker": Pattern(
        r"(?:.*/)?(?:torch/utils/tensorboard|tensorboardX|wandb|mlflow|comet_ml|neptune|clearml|aim)/[\w/]*\.py\(\d+\): \w+"
    ),
    "checkpoint": Pattern(r"(?:.*/)?torch/serialization\.py\(\d+\): save$"),
    "file": Pattern(
        r"<built-in method write of _io\.Buffered|<built-in (?:method dump of|function dump>)"
        r"|(?:.*/)?(?:pickle|json/__init__)\.py\(\d+\): dump$"
    ),
    "picture": Pattern(
        r"(?:.*/)?(?:PIL/Image\.py\(\d+\): save|matplotlib/\w+\.py\(\d+\): savefig|torchvision/utils\.py\(\d+\): save_image)$"
    ),
}  # fmt: skip
# A progress bar's own iterator holds the whole loop.
_HOLDS_MORE = Pattern(r".*tqdm/\w+\.py\(\d+\): __iter__$")


class Output(msgspec.Struct, frozen=True):
    """Writing on the thread of the loop, in the used steps.

    Args:
        spans: When.
        kinds: Time by where it goes, the largest first; what is inside another counts for the outer one.
    """

    spans: IntervalSet
    kinds: dict[str, int]


def output(trace: Trace, steps: Steps, main: int | None) -> Output:
    """Finds the calls that write; nothing without Python stacks."""
    python = trace.python
    texts = distinct_texts(python["name"])
    codes = codes_of(python["name"])
    mine = python["thread"].to_numpy() == (-1 if main is None else main)
    start, end = python["start_ns"].to_numpy(), python["end_ns"].to_numpy()
    taken, kinds = EMPTY, {}
    for kind, pattern in _KINDS.items():
        wanted = np.array(
            [*(pattern.match(text) is not None and _HOLDS_MORE.match(text) is None for text in texts), False],
            dtype=bool,
        )
        rows = np.flatnonzero(wanted[codes] & mine)
        spans = IntervalSet(start[rows], end[rows]) & steps.host_window
        kinds[kind] = (spans - taken).total_ns
        taken |= spans
    return Output(taken, {kind: ns for kind, ns in sorted(kinds.items(), key=lambda one: -one[1]) if ns})
