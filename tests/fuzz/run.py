"""The fuzzer: `python tests/fuzz/run.py --seconds 60 --seed 1`, or `--cases 20000`; `--guided` lets coverage choose (atheris).

A case that breaks a property is written to `tests/fuzz/found`, where `test_fuzz.py` keeps it as a test for good.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib.util
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]
FOUND = HERE / "found"
# A case that takes so long hangs: the process ends with the stack of where it is, its input in the folder named at the start.
_HANG_S = 120


def main() -> int:
    """Run cases until the time or their number is up; 1 where one broke a property."""
    options = _options()
    warnings.simplefilter("ignore")
    if options.guided and importlib.util.find_spec("atheris"):
        from guided import guided

        return guided(options.seconds, options.seed)
    if options.guided:
        print("atheris is not installed: cases are drawn without looking at coverage")
    from fuzz_seeds import seeds
    from mutations import mutated
    from properties import Watch

    files, watch, outcomes = seeds(), Watch(), Counter[str]()
    print(f"{len(files)} seeds, {sum(map(len, files)):,} bytes; numbers from {options.seed}")
    began, number, broken = time.monotonic(), options.seed, 0
    with tempfile.TemporaryDirectory(prefix="advisor-fuzz-") as folder:
        path = Path(folder) / "case.json"
        while time.monotonic() - began < options.seconds and number < options.seed + options.cases:
            number += 1
            content = mutated(files[number % len(files)], number)
            path.write_bytes(content)
            faulthandler.dump_traceback_later(_HANG_S, exit=True)
            try:
                outcomes[watch.check(path, number)] += 1
            # Whatever reaches the surface is what is looked for.
            except Exception as error:
                broken += 1
                print(f"{kept(content)}: case {number}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            if number % 1_000 == 0:
                print(
                    f"case {number}: {dict(outcomes)}, {broken} broken, {time.process_time():.0f} s of CPU", flush=True
                )
    faulthandler.cancel_dump_traceback_later()
    print(f"{number - options.seed} cases: {dict(outcomes)}, {broken} broken, {time.process_time():.0f} s of CPU")
    return int(broken > 0)


def kept(content: bytes) -> Path:
    """The file in which a case stays."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{hashlib.sha256(content).hexdigest()[:12]}.json"
    path.write_bytes(content)
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--cases", type=int, default=10**12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
