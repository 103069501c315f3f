"""The packages that recording needs: looked for before anything is done, so that a plain install says what is missing."""

from __future__ import annotations

import importlib.util

from traces.errors import UsageError

RECORDING = ("torch", "torchvision", "PIL")
# By other names than they are imported. Packages are told, not the extra: that is true however advisor itself was installed.
_DISTRIBUTIONS = {"PIL": "pillow"}


def check_installed(what: str, packages: tuple[str, ...] = RECORDING) -> None:
    """Does nothing where all are installed; they are looked up, not imported.

    Args:
        what: What needs them, as the message begins.
        packages: Names as they are imported.

    Raises:
        UsageError: The first that is missing, and how to install all that are.
    """
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    if absent:
        raise UsageError(
            f"{what} needs {absent[0]}, which is not installed here",
            fix=f"pip install {' '.join(_DISTRIBUTIONS.get(package, package) for package in absent)}",
        )
