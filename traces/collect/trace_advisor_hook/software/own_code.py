"""Which code is the user's own: what was neither installed in this environment nor generated while the program ran."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
import tempfile
from types import FrameType

# The whole of the hook, of which this file is in a room.
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@functools.lru_cache(maxsize=1)
def library_folders() -> tuple[str, ...]:
    """Folders of installed packages, in the environment that runs."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("purelib", "platlib") if name in paths}
    folders |= {*site.getsitepackages(), site.getusersitepackages()} if hasattr(site, "getsitepackages") else set()
    folders |= {path for path in sys.path if (path + os.sep).endswith(_INSTALLED)}
    return tuple(sorted({os.path.realpath(folder) for folder in folders}))


@functools.lru_cache(maxsize=1)
def _others() -> tuple[str, ...]:
    """Folders of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    folders = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib") if name in paths}
    folders |= {*library_folders(), os.path.realpath(os.path.dirname(os.__file__))}
    return tuple(folder + os.sep for folder in folders)


@functools.lru_cache(maxsize=4096)
def is_own(file: str) -> bool:
    """Whether a code object's file is the user's: it exists on disk, outside all that was installed, and is not the hook's."""
    if file.startswith("<") or file.startswith(_HERE) or any(part in file for part in _INSTALLED):
        return False
    path = os.path.realpath(file)
    if path.startswith(_others()) or path.startswith(os.path.realpath(_HERE)) or not os.path.isfile(path):
        return False
    # Compilers and code generators (Inductor, PyTorch Geometric) write there; so may whoever tries a script out.
    generated = path.startswith(os.path.realpath(tempfile.gettempdir()) + os.sep)
    return not generated or path.startswith(_projects())


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Whether a code object's file is of an installed package other than torch."""
    return package_of(file) not in (None, "torch")


def package_of(file: str) -> str | None:
    """The package of an installed module, by its folder; None of a file that is not installed."""
    path = os.path.realpath(file)
    inside = [os.path.relpath(path, folder) for folder in library_folders() if path.startswith(folder + os.sep)]
    return min(inside, key=len).split(os.sep)[0].removesuffix(".py") if inside else None


@functools.lru_cache(maxsize=1)
def _projects() -> tuple[str, ...]:
    """The folder of the script and the one it was started in."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    folders = [os.getcwd(), *([os.path.dirname(main)] if main else [])]
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)


def qualified(code: object, owner: object = None) -> str:
    """A code object's name with its class: `Signals.__getitem__`; before Python 3.11 without it where no owner is known."""
    name = getattr(code, "co_qualname", None)
    if name is not None:
        return str(name).replace("<locals>.", "")
    bare = str(getattr(code, "co_name", ""))
    return f"{type(owner).__name__}.{bare}" if owner is not None else bare


def own_line(frame: FrameType | None) -> tuple[str, int, str] | None:
    """File, line and function of the innermost line of the program's own, from a frame outwards; None where there is none."""
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, qualified(frame.f_code))
