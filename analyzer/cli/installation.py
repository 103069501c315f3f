"""Is what runs really what was installed? The packages' names are generic, another folder may stand before ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PACKAGES = ("traces", "analyzer", "rules")
_HOME = Path(__file__).resolve().parents[2]


def foreign_package() -> str | None:
    """What shadows one of the three packages, and what to do; None where all stand beside each other.

    Looks the packages up without importing them.
    """
    for name in _PACKAGES:
        found = _place(name)
        if found is None:
            return (
                f"the package {name!r} of trace-advisor is missing\n  where: {_HOME}\n"
                "  fix: install it again from where it was installed, with pip install --force-reinstall"
            )
        if found != _HOME / name:
            return (
                f"another package {name!r} stands before the one of trace-advisor\n  where: {found}\n"
                f"  why: Python looks there before {_HOME}\n"
                "  fix: run advisor from another folder or without PYTHONPATH, or install it in an environment of its "
                "own (uv tool, pipx or a venv)"
            )
    return None


def _place(name: str) -> Path | None:
    """The folder (or file) that `import name` would load."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if folders:
        return Path(folders[0]).resolve()
    return Path(spec.origin).resolve() if spec.origin else None


def version() -> str:
    """The version of the installed distribution; of a bare checkout, that it is one."""
    # Costs 10 ms, so not at import of this module's users that need no version.
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("trace-advisor")
    except PackageNotFoundError:
        return "unknown (not installed)"
