"""Which tests stand beside a file: those of the folder of the same name, which look at it closest."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = ("analyzer", "rules", "traces")
# Stands among the tests, and none of them is made of it.
_BENCH = "bench"
# What holds documents, settings and scripts.
_OF_DOCUMENTS = ("test_repository.py", "test_layers.py")


def near(path: Path, root: Path) -> Path:
    """The folder of tests that stands for the folder of a file, or for the next one above it that has one.

    Args:
        path: A file of a package.
        root: The repository.
    """
    folder = root / "tests" / path.relative_to(root).parent
    while not any(folder.rglob("test_*.py")):
        folder = folder.parent
    return folder


def beside(changed: Iterable[Path], root: Path) -> Iterator[Path]:
    """Files and folders of tests that look closest at what changed.

    A test stands for itself, what tests of a folder share for that folder, what all share for all. What is of no package, a bench
    and every document have tests of their own.

    Args:
        changed: Files.
        root: The repository.
    """
    tests = root / "tests"
    for path in changed:
        if path.suffix == ".md" or path.is_relative_to(tests / _BENCH):
            yield from (tests / name for name in _OF_DOCUMENTS)
        elif path.is_relative_to(tests):
            own = path.name.startswith("test_") and path.suffix == ".py"
            yield path if own else near(root / path.relative_to(tests), root)
        elif path.relative_to(root).parts[0] in PACKAGES:
            yield near(path, root)
        else:
            yield from (tests / name for name in _OF_DOCUMENTS)


def changed_since(commit: str, root: Path) -> list[Path]:
    """Files that differ from a commit, those that Git does not know yet among them.

    Args:
        commit: A commit, as Git takes it.
        root: The repository.

    Raises:
        ValueError: Git knows no such commit, or there is no Git.
    """
    asked = (["diff", "--name-only", "-z", commit, "--"], ["ls-files", "-z", "--others", "--exclude-standard"])
    names: list[str] = []
    for words in asked:
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
        except OSError as error:
            raise ValueError(f"what changed since {commit} cannot be asked: {error}") from error
        if done.returncode:
            raise ValueError(f"what changed since {commit} cannot be asked: {done.stderr.strip()}")
        names += done.stdout.split("\0")
    return [root / name for name in names if name]
