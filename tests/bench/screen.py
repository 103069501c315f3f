"""How soon the terminal UI shows itself, and how soon it answers keys: in a terminal of its own, from outside.

    python tests/bench/screen.py [TRACE] [--repeat 5] [--megabytes 417] [--kind small] [--size 120x40]

First screen: from the start of the process until the pane says which trace is read. First look: until the step and where its
time goes are there, while the rules still run. Answer: until its findings are there. Of both also how much came after the
trace was read. Looking deeper: from the answer until that has ended, in the first run, which fills the bytecode cache and
counts for nothing else; the others stop it with x, from the key until the screen says so.
Keys: from the key until the first bytes of the changed screen come back (`first`), and until nothing follows for a quarter
of a second (`whole`: a table may fill in later). Medians over the runs, and the fastest and slowest. On a shared machine
those say as much of the others as of the program: `CPU` is what its main thread computed until the first bytes (up to the
answer all its threads), `all` until nothing followed, the least of the runs (Linux only). A key that changed nothing within
ten seconds has `-`, and behind its row stands in how many runs one did.
Without a trace it is the recorded 35 MB one where it lies beside the repository, else the largest sample; --megabytes makes
one of about this size, of many small events (417 MB are 1.7 million) or of the recorded ones repeated (470 MB are a million).
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from explain import largest_sample
from made_files import KINDS, ROOT, SHARED

PROGRAM = "import sys; from analyzer.cli.main import main; sys.exit(main())"
# What is waited for: the loading screen, and then the keys under the answer.
LOADING, FIRST_LOOK, ANSWER = b"Reading ", b"not judged yet", b"Operators"
# The first stage that is done is reading; the list's title says what goes on behind the answer.
READ, DEEPER, STOP = "\N{CHECK MARK}".encode(), b"looking deeper", "x"
# Behind the name in /proc/PID/stat; the time in the kernel follows it.
_USER = 11
QUIET_SECONDS, PATIENCE_SECONDS = 0.25, 600.0
# How long a key may take on a machine that others use; one without an effect is waited for as long.
KEY_SECONDS = 10.0
# What is pressed, with what to call it. Modes are opened once before their keys are measured, and once more.
KEYS = (
    ("j", "Findings: the next finding"),
    ("j", "Findings: the next finding"),
    ("k", "Findings: the finding before"),
    ("s", "Findings: sort"),
    ("\r", "Findings: open"),
    ("\x1b", "Findings: back"),
    ("2", "Timeline, for the first time"),
    ("j", "Timeline: the next gap"),
    ("+", "Timeline: nearer"),
    ("+", "Timeline: nearer"),
    ("\x1b[C", "Timeline: to the right"),
    ("z", "Timeline: the lanes alone"),
    ("\x1b[C", "Timeline: the next event"),
    ("\x1b[C", "Timeline: the next event"),
    ("\x1b[B", "Timeline: the lane below"),
    ("z", "Timeline: back to the gaps"),
    ("0", "Timeline: the whole step"),
    ("]", "Timeline: the next step"),
    ("[", "Timeline: the step before"),
    ("3", "Operators, for the first time"),
    ("j", "Operators: the next row"),
    ("s", "Operators: sort"),
    ("s", "Operators: sort"),
    ("b", "Operators: by op and shape"),
    ("s", "Operators: sort by shape"),
    ("b", "Operators: by kernel"),
    ("b", "Operators: by module"),
    ("b", "Operators: by op again"),
    ("\r", "Operators: open"),
    ("\x1b", "Operators: back"),
    ("4", "Memory, for the first time"),
    ("5", "Checks, for the first time"),
    ("j", "Checks: the next rule"),
    ("1", "Findings again"),
    ("3", "Operators again"),
)


@dataclass(frozen=True)
class Took:
    """What one thing took, in seconds: until it began to show, until all was there, and of CPU until either."""

    first: float
    whole: float
    computed: float
    computed_whole: float


class Screen:
    """The command in a pseudo terminal."""

    def __init__(self, trace: Path, size: tuple[int, int], bytecode: str) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {
            name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS", "LINES")
        }
        environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "explain", str(trace)],
            stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._terminal = master
        self._clock = Path(f"/proc/{self._process.pid}/schedstat")
        self._shown = b""

    def wait(self, words: bytes) -> float:
        """Seconds from the start until the screen has these words."""
        while words not in self._shown:
            if not self._read(PATIENCE_SECONDS):
                raise SystemExit(f"{words!r} never came; the last of the screen: {self._shown[-500:]!r}")
        return time.perf_counter() - self.began

    def shows(self, words: bytes, seconds: float = 1.0) -> bool:
        """Whether the screen has these words now, or soon."""
        until = time.perf_counter() + seconds
        while words not in self._shown and time.perf_counter() < until:
            self._read(QUIET_SECONDS)
        return words in self._shown

    def settle(self, seconds: float = QUIET_SECONDS) -> float:
        """Read until nothing comes; the time of the last bytes."""
        last = time.perf_counter()
        while self._read(seconds):
            last = time.perf_counter()
        return last

    def computed(self, *, of_all_threads: bool = False) -> float:
        """Seconds of CPU that the main thread, or the whole process, took so far; 0 where the system does not say."""
        try:
            if not of_all_threads:
                return int(self._clock.read_text().split()[0]) / 1e9
            # Threads that have ended count there too. The name of the command, in parentheses, may hold blanks.
            of_process = (self._clock.parent / "stat").read_text().rpartition(")")[2].split()
            return sum(map(int, of_process[_USER : _USER + 2])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return 0.0

    def press(self, key: str) -> Took | None:
        """Until the screen begins to change, and until it has changed; None where it does not."""
        # What was still to come of the key before is not of this one.
        while self._read(0.0):
            pass
        began, computed = time.perf_counter(), self.computed()
        os.write(self._terminal, key.encode())
        if not self._read(KEY_SECONDS):
            return None
        first, of_first = time.perf_counter(), self.computed()
        whole = max(first, self.settle())
        return Took(first - began, whole - began, of_first - computed, self.computed() - computed)

    def close(self) -> None:
        """End the process."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._terminal)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if not ready:
            return False
        try:
            read = os.read(self._terminal, 1 << 16)
        except OSError:  # Linux: the other end is closed.
            return False
        self._shown = (self._shown + read)[-(1 << 17) :]
        return bool(read)


def main() -> int:
    """Measure and print; 0 whatever comes out: a clock on a shared machine is no test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SHARED if SHARED.is_file() else largest_sample())
    parser.add_argument("--repeat", type=int, default=5, help="counted runs")
    parser.add_argument("--megabytes", type=int, help="make a trace of this size")
    parser.add_argument("--kind", choices=tuple(KINDS), default="small", help="what it holds")
    parser.add_argument("--size", default="120x40", help="columns and rows")
    options = parser.parse_args()
    columns, _, rows = options.size.partition("x")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        trace = options.trace
        if options.megabytes:
            trace = Path(folder) / f"{options.kind}-{options.megabytes}MB.json"
            KINDS[options.kind](options.megabytes, trace)
        size = (int(columns), int(rows))
        deeper = looked_deeper(trace, size, folder)
        runs = [one_run(trace, size, folder) for _ in range(options.repeat)]
    sys.stdout.write(
        f"{trace.name}, {options.size}, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; {options.repeat} runs; milliseconds\n"
        f"{'':<34}{'first':>8}{'fastest':>9}{'slowest':>9}{'whole':>9}{'CPU':>9}{'all':>9}\n"
    )
    for row in zip(*runs, strict=True):
        sys.stdout.write(line_of(row[0][0], [took for _, took in row]))
    sys.stdout.write(f"looking deeper, to its end: {f'{deeper:.1f} s, once' if deeper else 'nothing to look for'}\n")
    return 0


def line_of(name: str, runs: list[Took | None]) -> str:
    """The line of one thing: medians over the runs in which it came, of CPU the least."""
    came = [took for took in runs if took is not None]
    missing = f"  in {len(came)} of {len(runs)} runs" if len(came) < len(runs) else ""
    if not came:
        return f"{name:<34}{'-':>8}{'-':>9}{'-':>9}{'-':>9}{'-':>9}{'-':>9}{missing}\n"
    firsts = [took.first * 1e3 for took in came]
    return (
        f"{name:<34}{statistics.median(firsts):8.0f}{min(firsts):9.0f}{max(firsts):9.0f}"
        f"{statistics.median(took.whole * 1e3 for took in came):9.0f}"
        f"{min(took.computed * 1e3 for took in came):9.0f}{min(took.computed_whole * 1e3 for took in came):9.0f}{missing}\n"
    )


def looked_deeper(trace: Path, size: tuple[int, int], bytecode: str) -> float:
    """Seconds from the answer until the look for more evidence has ended; 0 where none begins."""
    screen = Screen(trace, size, bytecode)
    try:
        answered = screen.wait(ANSWER)
        # While it goes on, a clock counts its seconds.
        return screen.settle(2.0) - screen.began - answered if screen.shows(DEEPER) else 0.0
    finally:
        screen.close()


def one_run(trace: Path, size: tuple[int, int], bytecode: str) -> list[tuple[str, Took | None]]:
    """One process from its start through all keys."""
    screen = Screen(trace, size, bytecode)
    try:
        found: list[tuple[str, Took | None]] = []
        stages = {}
        for name, words in (
            ("first screen", LOADING),
            ("trace read", READ),
            ("first look", FIRST_LOOK),
            ("answer", ANSWER),
        ):
            took = screen.wait(words)
            stages[name] = (took, screen.computed(of_all_threads=True))
            found.append((name, _stage(*stages[name])))
        read, of_reading = stages["trace read"]
        for name in ("first look", "answer"):
            took, computed = stages[name]
            found.append((f"{name}, after reading", _stage(took - read, computed - of_reading)))
        # What is looked for after the answer would be in the way of what is measured.
        found.append(("Looking deeper: stop", screen.press(STOP) if screen.shows(DEEPER) else None))
        screen.settle(2.0)
        found += [(name, screen.press(key)) for key, name in KEYS]
    finally:
        screen.close()
    return found


def _stage(took: float, computed: float) -> Took:
    return Took(took, took, computed, computed)


if __name__ == "__main__":
    raise SystemExit(main())
