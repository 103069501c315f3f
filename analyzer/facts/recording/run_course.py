"""The whole run that a recording is a part of: how much of it usual steps are, and what lies between them.

`advisor collect` counts every step of a run and samples the stack while one takes long (the key `run` of its metadata). A step
lasts from the end of one to the end of the next, so that what a program does between two, such as a rollout, makes one long.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np

from analyzer.units import count
from traces.trace import Meta

# Twice the median is common among steps that are alike (DL004, PY005), and 10 ms is no dispatch any more (PY004).
LONG_RATIO = 3
LONG_NS = 10_000_000
# Fewer steps than an epoch of a toy hold no second evaluation.
FEWEST_STEPS = 20
# Fewer looks say little of what the time is.
_FEWEST_SAMPLES = 3
# One look in twenty falls on what is next to it, and a single look is none to advise by.
_OF_A_KIND, _FEWEST_OF_A_KIND = 0.05, 2
# torch's own functions are called by whatever a program does (`_validate_sample` by any distribution), but for those that save.
_TELLS_NOTHING = re.compile(
    r"(?:^|/)torch/(?!(?:jit/_)?serialization|package/|distributed/checkpoint/|utils/data/dataloader|utils/tensorboard/)"
)
# Long steps that come as regularly as this come every so many steps.
_REGULAR_RATIO = 0.2
# A file may say anything.
_MOST = 2**62
_MOST_ROWS = 1000

# What is done there, by the names of functions and files. `generate` of a language model is evaluation where its program trains.
_KINDS = (
    ("loading", re.compile(r"torch/utils/data/dataloader\.py")),
    ("saving", re.compile(r"torch/serialization\.py|safetensors|checkpoint|(?:^|[_.:])save|pickle|state_dict_saver")),
    ("plotting", re.compile(r"matplotlib|plotly|seaborn|savefig|(?:^|[_.:])plot")),
    (
        "rollouts",
        re.compile(r"roll_?out|collect_|env_step|gymnasium|(?:^|/)gym/|vec_env|self_play|play_", re.IGNORECASE),
    ),
    ("evaluation", re.compile(r"(?:^|[_./:])(?:eval|valid|test|infer|predict|metric|score|generat)", re.IGNORECASE)),
    # Not `log_prob` and its kin, which are arithmetic.
    (
        "logging",
        re.compile(
            r"tensorboard|wandb|mlflow|comet_ml|logging/|"
            r"(?:^|[_.:])log(?:$|_(?!prob|soft|sum|sigm|likel|dens|norm|det)|ger)"
        ),
    ),
)


class Place(msgspec.Struct, frozen=True):
    """What the stack showed in long steps.

    Args:
        function: Of the first functions that the stack of a usual step does not hold the one whose name tells what it does.
        file: Its file.
        kind: What it does, by its name: saving, plotting, rollouts, evaluation, logging or loading; None where the name does
            not tell.
        ratio: Share of what lies between the steps.
        own_file: File of the program's own line that leads to it; None where no line of its own does.
        own_line: That line.
        own_function: Its function.
    """

    function: str
    file: str
    kind: str | None
    ratio: float
    own_file: str | None
    own_line: int | None
    own_function: str | None


class RunCourse(msgspec.Struct, frozen=True):
    """A run's steps without the profiler, and what lies between usual ones.

    Args:
        steps: How many there were.
        median_ns: Their median, within 4.5 %.
        loop_ns: All of them together.
        between_ns: By how much long steps exceed the median, together.
        long_steps: How many are long.
        every: A long one comes every so many steps; None where they come irregularly.
        before_ns: From the start of the program to the first step.
        after_ns: From the last step to the end.
        waited_ns: For how long the thread had no core in all of the steps; it is in no other figure.
        samples: Looks at the stack in long steps.
        places: What was seen there, most first.
        stopped: Whether the run was ended once its steps were recorded.
    """

    steps: int
    median_ns: int
    loop_ns: int
    between_ns: int
    long_steps: int
    every: int | None
    before_ns: int
    after_ns: int
    waited_ns: int
    samples: int
    places: tuple[Place, ...]
    stopped: bool

    @property
    def judged(self) -> bool:
        """Whether the steps are enough to tell what is usual."""
        return self.steps >= FEWEST_STEPS

    @property
    def loading_ratio(self) -> float:
        """Share of what lies between that is the training's own loader: rules of their own tell of it."""
        return sum(place.ratio for place in self.places if place.kind == "loading")

    @property
    def work_ns(self) -> int:
        """What lies between without the loader's part."""
        return round(self.between_ns * (1 - self.loading_ratio))

    @property
    def work_ratio(self) -> float:
        """The same as a share of all steps together."""
        return self.work_ns / self.loop_ns if self.loop_ns else 0.0

    @property
    def kinds(self) -> dict[str, float]:
        """Share of what lies between by what is done, most first; none with so little of it that it does not matter."""
        found: dict[str, float] = {}
        for place in self.places:
            if place.kind is not None and place.kind != "loading":
                found[place.kind] = found.get(place.kind, 0.0) + place.ratio
        least = max(_OF_A_KIND, (_FEWEST_OF_A_KIND - 0.5) / self.samples if self.samples else 0.0)
        return {kind: ratio for kind, ratio in sorted(found.items(), key=lambda item: -item[1]) if ratio >= least}

    @property
    def rhythm(self) -> str:
        """`in 25 of 380 steps, every 16 steps`."""
        often = f", every {count(self.every, 'step')}" if self.every else ""
        return f"in {self.long_steps} of {count(self.steps, 'step')}{often}"


def run_course(meta: Meta) -> RunCourse | None:
    """Reads what the recording says of its run, believing nothing about its shape; None where it says nothing."""
    told = meta.advisor.get("run")
    if not isinstance(told, dict):
        return None
    bins = _pairs(told.get("times"))
    if not len(bins):
        return None
    counts, sums = bins[:, 0], bins[:, 1]
    steps, loop = int(counts.sum()), int(sums.sum())
    means = sums / counts
    median = float(means[np.searchsorted(counts.cumsum(), steps / 2)])
    limit = max(LONG_RATIO * median, LONG_NS)
    long = means > limit
    between = dict_of(told.get("between"))
    places = _places(between, others=_int(told.get("other_batches_ns")) > sums[long].sum() / 2)
    return RunCourse(
        steps=steps,
        median_ns=round(median),
        loop_ns=loop,
        between_ns=int(sums[long].sum() - median * counts[long].sum()),
        long_steps=int(counts[long].sum()),
        every=_every(_pairs(told.get("longest")), limit),
        before_ns=_int(told.get("before_ns")),
        after_ns=_int(told.get("after_ns")),
        waited_ns=_int(told.get("waited_ns")),
        samples=_int(between.get("samples")),
        places=places,
        stopped=told.get("stopped") is True,
    )


def _pairs(rows: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows of a positive number and a duration, shape (rows, 2); empty where the value is anything else.

    A step that had no core all the while took no time of its own.
    """
    good = [row for row in rows if _is_pair(row)] if isinstance(rows, list) and len(rows) <= _MOST_ROWS else []
    return np.array(good if isinstance(rows, list) and len(good) == len(rows) else [], dtype=float).reshape(-1, 2)


def _is_pair(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and 0 < _int(row[0]) < _MOST and _is_duration(row[1])


def _is_duration(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else 0


def dict_of(value: Any) -> dict[str, Any]:
    """The value where it is a dictionary; an empty one else."""
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _every(longest: np.ndarray[Any, np.dtype[np.float64]], limit: float) -> int | None:
    """After how many steps a long one comes again; None where there are too few, or the distance varies, or is one step."""
    numbers = longest[longest[:, 1] > limit, 0]
    if len(numbers) < _FEWEST_SAMPLES:
        return None
    distances = np.diff(numbers)
    usual = float(np.median(distances))
    return round(usual) if usual >= 2 and np.mean(np.abs(distances - usual) <= _REGULAR_RATIO * usual) > 0.5 else None


def _places(between: dict[str, Any], *, others: bool) -> tuple[Place, ...]:
    """What was seen, by function and line, most first.

    Args:
        between: As the recording has it.
        others: Whether most long steps draw batches of another loader than usual ones do, which evaluations do.
    """
    rows = between.get("places")
    total = _int(between.get("samples"))
    if not isinstance(rows, list) or total < _FEWEST_SAMPLES:
        return ()
    found: dict[Place, int] = {}
    for row in map(dict_of, rows[:_MOST_ROWS]):
        place = _place(row, others=others)
        if place is not None:
            found[place] = found.get(place, 0) + _int(row.get("samples"))
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return tuple(msgspec.structs.replace(place, ratio=min(1.0, samples / total)) for place, samples in ranked)


def _place(row: dict[str, Any], *, others: bool) -> Place | None:
    functions = [pair for pair in _list(row.get("functions")) if isinstance(pair, list) and len(pair) == 2]
    if not functions:
        return None
    own = row.get("own") is True
    (function, file), kind = _telling(
        [(_text(name), _text(file)) for name, file in functions], _text(row.get("in_file")) if own else None
    )
    kind = "rollouts" if kind is None and row.get("environment") is True else kind
    return Place(
        function=function,
        file=file,
        kind="evaluation" if others and kind in (None, "loading") else kind,
        ratio=0.0,
        own_file=_text(row.get("in_file")) if own else None,
        own_line=_int(row.get("line")) or None if own else None,
        own_function=_text(row.get("in_function")) if own else None,
    )


def _telling(functions: list[tuple[str, str]], loops: str | None) -> tuple[tuple[str, str], str | None]:
    """The outermost function whose name says one thing, and what; where none does, the outermost and nothing.

    `_maybe_log_save_evaluate` says several: what it calls tells which.

    Args:
        functions: Name and file of each.
        loops: The program's own file that calls them: its name (`train_generator.py`) says what is trained, not what they do.
    """
    for name, file in functions:
        if _TELLS_NOTHING.search(file):
            continue
        kinds = [kind for kind, pattern in _KINDS if pattern.search(f":{name}" if file == loops else f"{file}:{name}")]
        if len(kinds) == 1:
            return (name, file), kinds[0]
    return functions[0], None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
