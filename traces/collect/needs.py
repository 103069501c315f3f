"""The packages that recording needs: looked for before anything is done, so that a plain install says what is missing."""

from __future__ import annotations

import importlib.util

from traces.errors import UsageError

RECORDING = ("torch", "torchvision", "PIL")
_EXTRA = "'trace-advisor[collect]'"


def check_installed(what: str, packages: tuple[str, ...] = RECORDING) -> None:
    """Does nothing where all are installed; they are looked up, not imported.

    Args:
        what: What needs them, as the message begins.
        packages: Names as they are imported.

    Raises:
        UsageError: The first that is missing, and how to install it.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"{what} needs {package}, which is not installed here",
                fix=f"pip install {_EXTRA if package in RECORDING else package}",
            )
