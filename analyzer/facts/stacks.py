"""The user's own lines: which frame of the user's code was running on a thread at a moment.

Two dialects: `python_function` events, whose name is `file.py(line): function` with the line where the function begins; and the
`Call stack` of ops up to torch 2.0, innermost frame first, with the line that was running. Frames of torch,
of installed packages and of the standard library are passed over: nobody can edit those.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from pathlib import PurePosixPath

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.facts.labels import matching, texts
from analyzer.facts.nesting import nest
from analyzer.facts.open_spans import OpenSpans
from analyzer.facts.second_pass import places
from analyzer.intervals import IntervalSet
from traces.trace import Trace

Int64Array = npt.NDArray[np.int64]

_FRAME = re.compile(r"(?P<file>[^()]+?\.(?:py|ipynb))\((?P<line>\d+)\): (?P<function>.+)")
_NOTEBOOK = re.compile(r"(?P<file>(?:<ipython-input[^>]*>|/tmp/ipykernel[^(]*))\((?P<line>\d+)\): (?P<function>.+)")
# torch cuts the part of a path that is on sys.path: `torch/nn/modules/module.py`, `train.py`. What is left of an installed package
# begins with its name, so the usual ones are known by name.
_PACKAGES = """
torch torchvision torchaudio torchtext torchdata functorch triton torch_xla apex deepspeed megatron fairscale xformers
flash_attn transformers datasets tokenizers accelerate peft timm diffusers huggingface_hub sentence_transformers lightning
pytorch_lightning lightning_fabric torchmetrics ignite fastai composer streaming webdataset nvidia dali numpy scipy pandas
sklearn PIL cv2 skimage albumentations matplotlib seaborn plotly tqdm rich wandb tensorboard tensorboardX mlflow comet_ml
click typer hydra omegaconf yaml requests urllib3 fsspec h5py zarr pyarrow joblib numba dask ray einops jaxtyping pydantic
IPython ipykernel ipywidgets traitlets tornado jupyter_client zmq pytest _pytest pluggy vllm sglang aiter setuptools pip
importlib_metadata packaging attr attrs psutil sympy networkx jinja2 regex sentencepiece safetensors
"""
_PACKAGE_NAMES = frozenset(_PACKAGES.split())
_INSTALLED = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages)/|(?:^|/)lib/python\d|^<frozen|^<string>|^<built-in|(?:^|/)\.?venv/"
)


class CodeLine(msgspec.Struct, frozen=True):
    """A place in the user's code.

    Args:
        file: Path relative to the project, as far as the trace tells.
        line: The running line (`Call stack`) or the line where the function begins (`python_function`).
        function: Function name.
    """

    file: str
    line: int
    function: str


def parse_frame(name: str) -> CodeLine | None:
    """A frame of the user's own code, else None."""
    match = _FRAME.match(name) or _NOTEBOOK.match(name)
    if match is None or _INSTALLED.search(name):
        return None
    file = match["file"].replace("\\", "/")
    top = file.split("/", 1)[0].removesuffix(".py")
    if not file.startswith("/") and (top in _PACKAGE_NAMES or top in sys.stdlib_module_names):
        return None
    return CodeLine(file, int(match["line"]), match["function"])


def _in_backward(ops: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether an op is called by a node of the backward pass: the line that calls its like elsewhere is not its own."""
    node = matching(ops["name"], lambda name: name.startswith("autograd::engine::evaluate_function"))
    thread, start, end = (ops[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    inside = np.zeros(len(ops), dtype=bool)
    for own in (thread == one for one in np.unique(thread[node])):
        inside[own] = IntervalSet(start[own & node], end[own & node]).contains(start[own])
    return inside & ~node


def relative(files: list[str]) -> dict[str, str]:
    """Absolute paths cut to what lies below their common folder, so that no home directory gets into a report."""
    absolute = [PurePosixPath(file) for file in files if file.startswith("/") or file[1:3] == ":/"]
    shared: tuple[str, ...] = ()
    if absolute:
        shared = absolute[0].parent.parts
        for path in absolute:
            parts = path.parent.parts
            same = [left == right for left, right in zip(shared, parts, strict=False)]
            shared = shared[: same.index(False) if False in same else len(same)]
    cut = {str(path): str(PurePosixPath(*path.parts[len(shared) :])) for path in absolute}
    return {file: cut.get(str(PurePosixPath(file)), file) for file in files}


class Stacks:
    """Looks up the user's frames of a trace.

    Args:
        trace: The trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @property
    def known(self) -> bool:
        """Whether any frame of the user's code was recorded."""
        return len(self.frames) > 0 or len(self._of_ops) > 0

    @cached_property
    def frames(self) -> pd.DataFrame:
        """The user's frames among `python_function` events: name, thread, start_ns, end_ns, parent (row of the one around)."""
        python = self._trace.python
        names = python["name"].cat.categories
        mine = np.array([parse_frame(name) is not None for name in names], dtype=bool)
        rows = python[mine[python["name"].cat.codes.to_numpy()]] if len(names) else python
        frame = pd.DataFrame(
            {
                "name": texts(rows["name"]),
                "thread": rows["thread"].to_numpy(),
                "start_ns": rows["start_ns"].to_numpy(),
                "end_ns": rows["end_ns"].to_numpy(),
            }
        )
        nesting = nest(frame["thread"].to_numpy(), frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
        return frame.assign(parent=nesting.parent)

    @cached_property
    def _of_ops(self) -> pd.DataFrame:
        """Ops with a `Call stack` that holds a frame of the user: name of that frame, thread, start_ns, end_ns."""
        ops = self._trace.ops
        stacks = ops["stack"]
        texts = stacks.cat.categories
        nearest = np.array([_nearest(text) for text in texts] + [""], dtype=object)
        names = nearest[stacks.cat.codes.to_numpy()] if len(texts) else np.full(len(ops), "", dtype=object)
        if not len(texts) and not len(self._trace.python):
            names = np.where(_in_backward(ops), "", self._from_second_pass(ops["name"]))
        has = names != ""
        found: pd.DataFrame = (
            ops.loc[has, ["thread", "start_ns", "end_ns"]].assign(name=names[has]).reset_index(drop=True)
        )
        return found

    def _from_second_pass(self, ops: pd.Series[str]) -> npt.NDArray[np.object_]:
        """For each op the user's frame that calls its like, from a pass with stacks; an empty string where that is unknown."""
        frames = places(self._trace.meta)
        known = [frames.get(op, "") for op in ops.cat.categories]
        mine = [frame if parse_frame(frame) is not None else "" for frame in known]
        return np.array([*mine, ""], dtype=object)[ops.cat.codes.to_numpy()]

    @cached_property
    def _files(self) -> dict[str, str]:
        names = {*self.frames["name"].unique().tolist(), *self._of_ops["name"].unique().tolist()}
        return relative(sorted({line.file for line in map(parse_frame, names) if line is not None}))

    def line(self, name: str) -> CodeLine | None:
        """The place a frame's name stands for, its path relative to the project."""
        line = parse_frame(name)
        return None if line is None else CodeLine(self._files.get(line.file, line.file), line.line, line.function)

    def nearest(self, thread: int, at_ns: npt.ArrayLike) -> npt.NDArray[np.object_]:
        """For each moment the innermost of the user's frames on a thread; an empty string where none is open.

        Args:
            thread: Row in `trace.threads`.
            at_ns: Moments, shape (n,).
        """
        at = np.asarray(at_ns, dtype=np.int64)
        names, spans = self._open
        return names[spans.at(np.full(len(at), thread), at)]

    @cached_property
    def _open(self) -> tuple[npt.NDArray[np.object_], OpenSpans]:
        """Names of the frames, an empty one at the end, and what is open when."""
        frame = self.frames if len(self.frames) else self._of_ops
        parent = frame["parent"].to_numpy() if "parent" in frame else None
        thread, start, end = (frame[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
        return np.append(frame["name"].to_numpy(dtype=object), ""), OpenSpans(thread, start, end, parent)

    def _from(self, thread: int, at_ns: Int64Array, until_ns: Int64Array) -> npt.NDArray[np.object_]:
        """As `nearest`; where no op with a stack is open, the first one that starts before `until_ns`."""
        names = self.nearest(thread, at_ns)
        missing = names == ""
        if len(self.frames) or not missing.any():
            return names
        ops = self._of_ops[(self._of_ops["thread"] == thread).to_numpy()]
        if not len(ops):
            return names
        # In the order of their starts already, as all frames of a trace are.
        starts = ops["start_ns"].to_numpy()
        index = np.searchsorted(starts, at_ns, side="left")
        place = np.minimum(index, len(ops) - 1)
        soon = (index < len(ops)) & (starts[place] < until_ns)
        return np.where(missing & soon, ops["name"].to_numpy(dtype=object)[place], names)

    def at(
        self, threads: npt.ArrayLike, at_ns: npt.ArrayLike, main: int | None, until_ns: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.object_]:
        """As `nearest`, for moments on several threads; the main thread answers for threads without a frame of the user.

        The backward pass runs on a thread of its own that has no Python: what called it stands on the main thread.

        Args:
            threads: Row in `trace.threads` for each moment, shape (n,).
            at_ns: Moments, shape (n,).
            main: The main thread.
            until_ns: Ends, where the moments are starts of spans: ranges have no stack themselves, but the ops inside do.
        """
        thread, at = np.asarray(threads, dtype=np.int64), np.asarray(at_ns, dtype=np.int64)
        until = at if until_ns is None else np.asarray(until_ns, dtype=np.int64)
        names = np.full(len(at), "", dtype=object)
        for one in np.unique(thread).tolist():
            mine = thread == one
            names[mine] = self._from(one, at[mine], until[mine])
        if main is not None:
            missing = names == ""
            names[missing] = self._from(main, at[missing], until[missing])
        return names

    def commonest(
        self,
        threads: npt.ArrayLike,
        at_ns: npt.ArrayLike,
        main: int | None,
        weight: npt.ArrayLike | None = None,
        until_ns: npt.ArrayLike | None = None,
    ) -> CodeLine | None:
        """The user's place that was open at most of the moments (or holds most of their weight); None where no frame is known.

        Args:
            threads: Row in `trace.threads` for each moment, shape (n,).
            at_ns: Moments, shape (n,).
            main: The main thread, for threads without Python.
            weight: Weight of each, shape (n,); each counts one by default.
            until_ns: Ends, where the moments are starts of spans; see `at`.
        """
        if not self.known:
            return None
        names = self.at(threads, at_ns, main, until_ns)
        found = names != ""
        if not found.any():
            return None
        weights = np.ones(len(names)) if weight is None else np.asarray(weight, dtype=np.float64)
        totals = pd.Series(weights[found]).groupby(names[found], sort=True).sum()
        return self.line(str(totals.idxmax()))

    def inside(self, thread: int, time: IntervalSet) -> list[tuple[CodeLine, int]]:
        """Which of the user's functions the thread is in during a time, each with its own nanoseconds, most first.

        A function's own time is that outside the user's functions it calls; what it spends in libraries counts as its own.
        """
        frame = self.frames
        if not len(frame):
            return []
        overlap = time.overlap_with(frame["start_ns"].to_numpy(), frame["end_ns"].to_numpy())
        parent = frame["parent"].to_numpy()
        nested = parent != np.arange(len(frame))
        own = overlap - np.bincount(parent[nested], weights=overlap[nested], minlength=len(frame)).astype(np.int64)
        mine = (frame["thread"] == thread).to_numpy()
        totals = pd.Series(own[mine]).groupby(frame["name"].to_numpy()[mine], sort=True).sum()
        totals = totals[totals > 0].sort_values(ascending=False, kind="stable")
        lines = ((self.line(str(name)), int(total)) for name, total in totals.items())
        return [(line, total) for line, total in lines if line is not None]


def _nearest(stack: str) -> str:
    """The innermost frame of the user in a `Call stack`, as text; empty where there is none."""
    return next((frame for frame in stack.split(";") if parse_frame(frame.strip()) is not None), "").strip()
