"""The fuzzer with libFuzzer's eyes: cases that reach new lines of advisor are mutated further (atheris)."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import atheris

# Whatever imports advisor: a module that is there already is not looked into, and what happens in it guides nothing.
with atheris.instrument_imports(include=["traces", "analyzer", "rules"]):
    from fuzz_seeds import seeds
    from mutations import mutated
    from properties import Watch


def guided(seconds: float, seed: int) -> int:
    """Run for some time; ends the process with libFuzzer's exit code, which is not 0 where a property broke.

    Args:
        seconds: How long; the whole day where it is infinite.
        seed: Of libFuzzer's dice.
    """
    from run import kept

    watch = Watch()
    folder = tempfile.mkdtemp(prefix="advisor-fuzz-")
    corpus, path = Path(folder) / "corpus", Path(folder) / "case.json"
    corpus.mkdir()
    for number, text in enumerate(seeds()):
        (corpus / f"seed{number:03}").write_bytes(text)
    dice = random.Random(seed)

    def one(content: bytes) -> None:
        path.write_bytes(content)
        try:
            watch.check(path, dice.randrange(1, 1_000))
        except Exception:
            print(f"kept as {kept(content)}", flush=True)
            raise

    def mutator(content: bytes, most: int, number: int) -> bytes:
        return mutated(content, number)[:most]

    flags = [
        f"-max_total_time={int(min(seconds, 86_400))}",
        f"-seed={seed + 1}",
        "-max_len=200000",
        "-timeout=120",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one, custom_mutator=mutator)
    atheris.Fuzz()
    return 0
