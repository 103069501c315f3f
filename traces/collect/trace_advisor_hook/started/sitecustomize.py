"""Python runs this at its start, in each process that a recorded program starts: the ranks of a launcher, say.

It waits until torch is imported and loads the hook then: a process without torch imports nothing more than ever. A `sitecustomize`
of the user's own, which this one hides, runs all the same. Written for any Python 3, as a launcher may start any.
"""

import os
import sys

SETTINGS = "TRACE_ADVISOR_SETTINGS"
# Where it is set, the hook is loaded at the start: a guard listens from there, not from the import of torch on.
AT_ONCE = "TRACE_ADVISOR_AT_ONCE"
# The hook is written for these.
_PYTHON = (3, 10)


class BeforeTorch:
    """Loads the hook when torch is about to be imported, and leaves the import to it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """The spec of torch that the hook gives, None for any other module."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        watch()
        import importlib.util

        return importlib.util.find_spec("torch")


def watch() -> None:
    """Load the hook; where that fails, as its settings are gone with the run that they were for, the program is none the wiser."""
    import runpy

    start = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")
    try:
        load = runpy.run_path(start)["load"]
        load("processes").install(os.environ[SETTINGS], launched=True)
    except (OSError, ImportError, SyntaxError, ValueError, KeyError, AttributeError, TypeError, RuntimeError):
        return


def _leave_the_path() -> None:
    here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != here]


def _run_the_other() -> None:
    """Import the module of this name that Python would have found."""
    ours = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


if __name__ == "sitecustomize":
    _leave_the_path()
    if sys.version_info >= _PYTHON and os.path.isfile(os.environ.get(SETTINGS, "")):
        if os.environ.get(AT_ONCE):
            watch()
        else:
            sys.meta_path.insert(0, BeforeTorch())  # type: ignore[arg-type]
    _run_the_other()
