"""Commands that are sent a signal: what they leave behind, and how they end."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from running.recorded import ROOT

PROGRAM = "from analyzer.cli.entry import program; program()"
SAMPLE = ROOT / "traces" / "samples" / "baseline.json.gz"
KINDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
# Commands and what they are given; `{out}` is the folder for what they write. Each of them does all that its command does.
READING = {
    "explain": "explain {trace} -o {out}/report.html",
    "compare": "compare {trace} {trace} -o {out}/comparison.html",
    "baseline": "baseline save main {trace}",
    "slim": "slim {trace} -o {out}/slim.json.gz",
    "repair": "repair {trace} -o {out}/whole.json.gz",
    "annotate": "annotate {trace} -o {out}/marked.json.gz",
    "summarize": "summarize {trace} -o {out}/summary.json.gz",
}
TRAINING = {
    "collect": "collect --num-workers 1 --epochs 50 -o {out}/trace.json",
    "collect-script": "collect {script} -o {out}/script.json.gz",
    "tune": "tune --folder {out}/run {script}",
    "experiment": "experiment --methods workers --epochs 1 --repeats 1 -o {out}",
    "zoo": "zoo --only slow-collate,ranks-straggler --no-timing -o {out}",
}
# A signal is handed to what is recorded, whose status and temporary files are its own.
LAUNCHED = "collect -o {out}/ranks.json.gz torchrun --nproc-per-node 2 {script}"
# Temporary names of torch's compiler.
_OF_TORCH = ("torchinductor", "torch_")
# And of torchrun, and of loaders' workers that it kills.
OF_LAUNCHER = (*_OF_TORCH, "torchelastic_", "pymp-")
# Longer than the program gives itself.
_ENDS_S = 120
# A loop with a worker that goes on until it is ended.
SCRIPT = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while True:
        for (batch,) in DataLoader(TensorDataset(torch.rand(4096, 8)), batch_size=8, num_workers=1):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
"""


@dataclass(frozen=True)
class Place:
    """Folders of one run.

    Args:
        out: What it may write to; also where it runs.
        scratch: The folder for temporary files.
        cache: Where drawn digits are kept.
    """

    out: Path
    scratch: Path
    cache: Path

    def left(self, of_others: tuple[str, ...] = _OF_TORCH) -> list[str]:
        """What is there that no command promises: temporary files and folders, and outputs that are no whole document.

        Args:
            of_others: How temporary names begin that are none of ours.
        """
        found = [
            str(path)
            for path in self.scratch.rglob("*")
            if not path.relative_to(self.scratch).parts[0].startswith(of_others)
        ]
        found += [str(path) for path in self.out.rglob("*") if path.name.startswith(".") and path.name != ".advisor"]
        found += [str(path) for path in self.cache.rglob("drawing-*")]
        # Of runs there is a line each.
        written = [path for path in self.out.rglob("*.json*") if path.suffix != ".jsonl"]
        return found + [str(path) for path in written if not _is_whole(path)]


def _is_whole(path: Path) -> bool:
    content = path.read_bytes()
    try:
        msgspec.json.decode(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, msgspec.DecodeError):
        return False
    return True


def place_in(folder: Path, cache: Path) -> Place:
    """Empty folders for one run."""
    place = Place(folder / "out", folder / "scratch", cache)
    place.out.mkdir(parents=True)
    place.scratch.mkdir()
    return place


def started(command: str, place: Place, trace: Path, script: Path) -> subprocess.Popen[str]:
    """The command in a session of its own, so that what it starts can be told from all else."""
    words = command.format(out=place.out, trace=trace, script=script).split()
    surroundings = os.environ | {"TMPDIR": str(place.scratch), "XDG_CACHE_HOME": str(place.cache)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=place.out,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Under nohup every test would see that a signal is not heard: who asked for that gets it.
        preexec_fn=heard,
    )


def heard() -> None:
    """Lets signals do what they do by default in a process about to begin, whatever its parent ignores."""
    for kind in KINDS:
        signal.signal(kind, signal.SIG_DFL)


def last_words(process: subprocess.Popen[str]) -> str:
    """What a process that was sent a signal says until it ends; one that goes on is killed with all of its session, and fails."""
    try:
        return process.communicate(timeout=_ENDS_S)[1]
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[1]
        raise AssertionError(f"still runs {_ENDS_S} s after the signal: {said}") from error


# Of a loader's worker, or of whoever gets its batches: Python's thread that hands on tensors, where the other end is gone.
_SHARER = re.compile(
    r"Traceback \(most recent call last\):\n(?:  File \"[^\"]*multiprocessing.*\n(?:    .*\n)*)+\w*Error.*\n?"
)


def without_sharers(said: str) -> str:
    """What was said but for tracebacks of Python's own thread that shares tensors, which training without advisor prints too."""
    return _SHARER.sub("", said)


def is_caught(kind: signal.Signals, process: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (kind - 1) & 1)


def others(session: int) -> list[int]:
    """Processes of a session that live, but for its first."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != session:
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_until(true: Callable[[], object], seconds: float) -> bool:
    """Whether it became true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        # To look is to read all of /proc: without a rest it takes a core from what is looked at.
        time.sleep(0.01)
    return bool(true())
