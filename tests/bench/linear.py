"""Whether what a bad file costs grows as its size does: `python tests/bench/linear.py`.

A file of each kind is read at one size and at four times that; CPU time should be four times as long, and is called out from eight
on. `tests/traces/reader/test_hostile.py` counts calls for the same kinds; what one call costs is seen here only.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from traces.errors import UnreadableTraceError  # noqa: E402
from traces.reader.read import read  # noqa: E402

_EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":%s}}'
KINDS = {
    "sound": _EVENT % b"2",
    "a quote too many": _EVENT.replace(b'"a"', b'"a"b"') % b"2",
    "no end": _EVENT[:-2] % b"2",
    "a number without end": _EVENT % (b"9" * 400),
    "nested": _EVENT % (b"[" * 600 + b"]" * 600),
    "cut": _EVENT[:40],
    "words": b"NaN, undefined, 'x'",
    "quotes": b'"' * 99,
    "brackets": b"}{" * 50,
}
_FACTOR, _TOO_MUCH = 4, 8.0


def main() -> int:
    """Measure each kind; 1 where one grows faster than its file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=2.0, help="the smaller size")
    smaller = int(parser.parse_args().mb * 1e6)
    grown = 0
    sys.stdout.write("| kind | MB | CPU s | MB | CPU s | times |\n|---|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory() as folder:
        for kind, event in KINDS.items():
            once, more = (_cpu_s(Path(folder) / "bad.json", event, size) for size in (smaller, _FACTOR * smaller))
            grown += more > _TOO_MUCH * once
            sizes = f"{smaller / 1e6:g} | {once:.2f} | {_FACTOR * smaller / 1e6:g} | {more:.2f}"
            sys.stdout.write(f"| {kind} | {sizes} | {more / max(once, 1e-9):.1f} |\n")
            sys.stdout.flush()
    return int(grown > 0)


def _cpu_s(path: Path, event: bytes, size: int) -> float:
    path.write_bytes(b'{"traceEvents":[' + b",".join([event] * (size // len(event))) + b"," + _EVENT % b"2" + b"]}")
    began = time.process_time()
    with contextlib.suppress(UnreadableTraceError):
        read(path)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
