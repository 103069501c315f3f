"""The data set of the reference loop: MNIST where the user has it, drawn digits otherwise.

torch is not imported here: finding and drawing the files needs none of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from traces.collect.reference.idx import is_whole_idx, write_idx
from traces.errors import UsageError
from traces.leftovers import scratch_folder

TRAIN_COUNT = 12_800
TEST_COUNT = 2_000

# Raise the number when the drawing changes: digits drawn by another version are then left alone.
DRAWN_FOLDER = "drawn-digits-1"

_RAW = Path("MNIST") / "raw"
_FILES = tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))


@dataclass(frozen=True)
class DataSource:
    """Where the images are.

    Attributes:
        root: the folder that `torchvision.datasets.MNIST` takes as its `root`.
        name: "MNIST" or "drawn digits", for people and for the trace.
    """

    root: Path
    name: str


def find_data(data_dir: Path | None, progress: Callable[[int, int, str], None]) -> DataSource:
    """MNIST in `data_dir` if it is there, else drawn digits, drawn now if nobody did before.

    Drawn digits go into a folder of their own, in `data_dir` or in the user's cache: in `data_dir`
    itself, every other program would take them for the real MNIST.

    Args:
        data_dir: torchvision's root folder, or None.
        progress: told (done, total, label) while digits are drawn.

    Raises:
        UsageError: `data_dir` is not a folder, or nothing can be written where digits belong.
    """
    if data_dir is not None:
        if data_dir.exists() and not data_dir.is_dir():
            raise UsageError(what=f"--data-dir {data_dir} is not a folder", fix="name a folder")
        if _holds_images(data_dir):
            return DataSource(data_dir, "MNIST")
    root = (data_dir or cache_dir()) / DRAWN_FOLDER
    if not _holds_images(root):
        try:
            _draw_into(root, progress)
        except OSError as error:
            raise UsageError(
                what=f"cannot keep the drawn digits: {error.strerror or error}",
                where=str(root),
                fix="name a folder that can be written with --data-dir, or set XDG_CACHE_HOME",
            ) from error
    return DataSource(root, "drawn digits")


def cache_dir() -> Path:
    """The user's cache folder for this program; `XDG_CACHE_HOME` wins, as its standard asks for."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "trace-advisor"


def _holds_images(root: Path) -> bool:
    return all(is_whole_idx(root / _RAW / name) for name in _FILES)


def _draw_into(root: Path, progress: Callable[[int, int, str], None]) -> None:
    """Draw beside `root`, then move into place: an interrupted drawing leaves nothing behind."""
    # Here, so that a plain install can say what it lacks before it needs PIL.
    from traces.collect.reference.glyphs import draw_digits

    total = TRAIN_COUNT + TEST_COUNT
    root.mkdir(parents=True, exist_ok=True)
    with scratch_folder(root, "drawing-") as scratch:
        for part, count, before, seed in (("train", TRAIN_COUNT, 0, 1), ("t10k", TEST_COUNT, TRAIN_COUNT, 2)):

            def report(drawn: int, before: int = before) -> None:
                progress(before + drawn, total, "drawing digits")

            images, labels = draw_digits(count, seed, report)
            write_idx(scratch / f"{part}-images-idx3-ubyte", images)
            write_idx(scratch / f"{part}-labels-idx1-ubyte", labels)
        target = root / _RAW
        target.mkdir(parents=True, exist_ok=True)
        # File by file, each move atomic: two collectors that draw at the same time write the same bytes.
        for name in _FILES:
            os.replace(scratch / name, target / name)
    progress(total, total, "drawing digits")
