"""The kinds of trace that reading and showing are measured on: few large events, and many small ones, in steps or in none.

    python tests/bench/made_files.py small 417 trace.json

Large: one recorded trace (with shapes and call stacks, 950 bytes an event) again and again, with shifted times and ids. Small:
a made training loop as torch.profiler prints it without either, 240 bytes an event. Unmarked: the same without marks of its
steps, so that all of it is one. The same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "traces" / "kineto_resnet50_workers0_a.pt.trace.json.gz"
SAMPLES = ROOT / "traces" / "samples"
SEED = 18
_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "Device 0", "totalGlobalMem": 85051572224,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "cuda_runtime_version": 12040,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1700000000000000000,
  "traceEvents": [
"""
_OP = """  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 4242, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Ev Idx": %d
    }
  }"""
_CALL = """  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  }"""
_KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d, "device": 0, "stream": 7, "correlation": %d
    }
  }"""
_STEP = """  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 4242, "tid": 4242,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Ev Idx": %d
    }
  }"""
_OPS = ("linear", "matmul", "add_", "mul", "native_layer_norm", "gelu", "softmax", "addmm", "copy_", "empty_strided")
_FORWARD, _BACKWARD = 4242, 4301
# Of one operator on the host, and of the pause before the next; nanoseconds.
_LONGEST_OP, _LONGEST_PAUSE = 40_000, 6_000
_CALLS_A_STEP = 1_000
_FIRST_NS = 6_233_454_123_456_000


def small(size_mb: int, path: Path, seed: int = SEED, *, marked: bool = True) -> None:
    """Writes about `size_mb` MB of small events: operators, half of which launch a kernel each, in steps with marks or without."""
    drawn = random.Random(seed)
    names = [f"aten::{op}" for op in _OPS]
    kernels = [f"void at::native::vectorized_{op}_kernel<4, float>(int, float*)" for op in _OPS]
    clock, free_at, left, event = _FIRST_NS, _FIRST_NS, size_mb * 1_000_000, 0
    number = 0
    with path.open("w") as file:
        file.write(_HEAD)
        while left > 0:
            begun, texts = clock, []
            for call in range(_CALLS_A_STEP):
                event += 1
                thread = _FORWARD if call < _CALLS_A_STEP // 3 else _BACKWARD
                which = drawn.randrange(len(_OPS))
                dur = drawn.randrange(8_000, _LONGEST_OP)
                texts.append(_OP % (names[which], thread, *divmod(clock, 1000), *divmod(dur, 1000), event, event))
                if call % 2:
                    launch = drawn.randrange(2_000, 6_000)
                    texts.append(_CALL % (thread, *divmod(clock + 1_500, 1000), *divmod(launch, 1000), event, event))
                    work = drawn.randrange(2_000, 50_000)
                    free_at = max(free_at, clock + 1_500 + launch) + 500
                    texts.append(_KERNEL % (kernels[which], *divmod(free_at, 1000), *divmod(work, 1000), event, event))
                    free_at += work
                clock += dur + drawn.randrange(500, _LONGEST_PAUSE)
            clock = max(clock, free_at) + 20_000
            if marked:
                length = clock - begun - 5_000
                texts.append(_STEP % (number, *divmod(begun, 1000), *divmod(length, 1000), event, event))
            number += 1
            text = ",\n".join(texts)
            left -= len(text)
            file.write(text + (",\n" if left > 0 else "\n"))
        file.write('  ],\n  "traceName": "made.json"\n}\n')


def unmarked(size_mb: int, path: Path) -> None:
    """Writes about `size_mb` MB of small events that no step is told of."""
    small(size_mb, path, marked=False)


def large(size_mb: int, path: Path) -> None:
    """Writes about `size_mb` MB: one recorded trace again and again, each copy later and with ids of its own."""
    base = SHARED if SHARED.is_file() else max(SAMPLES.rglob("*.json.gz"), key=lambda found: found.stat().st_size)
    text = gzip.decompress(base.read_bytes())
    start = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = text.rindex(b"]")
    events = text[start:end].strip()
    stamps = [float(found) for found in re.findall(rb'"ts":\s*(\d+(?:\.\d+)?)', events)]
    extent = int(max(stamps) - min(stamps)) + 1000
    copies = max(round(size_mb * 1e6 / len(events)), 1)
    with path.open("wb") as file:
        file.write(text[:start] + b"\n")
        for copy in range(copies):
            file.write(b",\n" if copy else b"")
            file.write(_shifted(events, copy, extent) if copy else events)
        file.write(b"\n" + text[end:])


def _shifted(events: bytes, copy: int, extent: int) -> bytes:
    """The events moved in time, with ids and step numbers that do not collide."""
    pattern = re.compile(
        rb'(?P<ts>"ts":\s*)\d+|(?P<step>ProfilerStep#)\d+|(?P<id>"(?:correlation|[Ee]xternal id|id)":\s*)\d+'
    )
    amounts = {"ts": copy * extent, "step": copy * 100, "id": copy * 10_000_000}

    def move(match: re.Match[bytes]) -> bytes:
        kind = match.lastgroup or "ts"
        prefix = match.group(kind)
        return prefix + b"%d" % (int(match.group()[len(prefix) :]) + amounts[kind])

    return pattern.sub(move, events)


KINDS: dict[str, Callable[[int, Path], None]] = {"large": large, "small": small, "unmarked": unmarked}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("megabytes", type=int)
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    KINDS[options.kind](options.megabytes, options.path)
