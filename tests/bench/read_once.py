"""One measured process: `reader.py` starts it, with the name of a reader and a file; it prints what that took as JSON."""

from __future__ import annotations

import argparse
import json
import logging
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(reader: str, path: Path) -> int:
    """What the measured process does."""
    logging.disable(logging.CRITICAL)
    read = WORKERS[reader]()
    imports = peak_bytes()
    began, began_cpu = time.perf_counter(), cpu_seconds()
    events = read(path)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - began_cpu
    found = {"work": seconds, "cpu": cpu, "peak": peak_bytes(), "imports": imports, "events": events}
    sys.stdout.write("\n" + json.dumps(found) + "\n")
    return 0


def _advisor() -> Callable[[Path], int]:
    from traces.reader.read import read

    return lambda path: read(path).meta.events


def _explain(*more: str) -> Callable[[Path], int]:
    """The whole `advisor explain --format json`, with the imports it makes on its way."""
    import contextlib
    import io

    from analyzer.cli.main import main as advisor

    def run(path: Path) -> int:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            advisor(["explain", str(path), "--format", "json", *more])
        return int(json.loads(text.getvalue())["trace"]["events"])

    return run


def _json() -> Callable[[Path], int]:
    return lambda path: _count(json.loads(path.read_bytes()))


def _orjson() -> Callable[[Path], int]:
    import orjson

    return lambda path: _count(orjson.loads(path.read_bytes()))


def _bare() -> Callable[[Path], int]:
    """The least there is: the decoder that reading uses too, on the whole file at once, and nothing done with the events."""
    import msgspec

    number, text = int | float | None, str | None
    arguments = msgspec.defstruct(
        "Arguments", [(name, int | str | None, None) for name in ("correlation", "stream", "device")]
    )
    fields = [
        ("ph", text, None), ("cat", text, None), ("name", text, None), ("pid", int | str | None, None),
        ("tid", int | str | None, None), ("ts", number, None), ("dur", number, None), ("args", arguments | None, None),
    ]  # fmt: skip
    event = msgspec.defstruct("Event", fields)
    document = msgspec.defstruct("Document", [("traceEvents", list[event])])
    decoder: Any = msgspec.json.Decoder(document)
    return lambda path: len(decoder.decode(path.read_bytes()).traceEvents)


def _hta() -> Callable[[Path], int]:
    import warnings

    from hta.common.trace import parse_trace_file

    warnings.simplefilter("ignore")
    return lambda path: len(parse_trace_file(str(path))[1])


def _tracelens() -> Callable[[Path], int]:
    from TraceLens import TreePerfAnalyzer

    return lambda path: len(TreePerfAnalyzer.from_file(str(path)).tree.events)


WORKERS: dict[str, Callable[[], Callable[[Path], int]]] = {
    "advisor": _advisor,
    "advisor gz": _advisor,
    "explain": lambda: _explain("--no-cache"),
    "explain again": _explain,
    "json": _json,
    "orjson": _orjson,
    "bare": _bare,
    "hta": _hta,
    "tracelens": _tracelens,
}
# Who keeps the whole file as objects.
OBJECTS = ("json", "orjson", "bare", "hta", "tracelens")


def _count(document: Any) -> int:
    return len(document["traceEvents"])


def cpu_seconds() -> float:
    """What this process and those it started have run."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_bytes() -> int:
    """Largest resident size of this process, without what the process that started it had."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=sorted(WORKERS))
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    raise SystemExit(main(options.reader, options.path))
