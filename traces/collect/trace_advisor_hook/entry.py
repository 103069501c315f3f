"""Running the script as Python itself would."""

from __future__ import annotations

import importlib.machinery
import os
import runpy
import sys
import types

from .children import handed_on
from .processes import MAIN, install


def _own_traceback() -> None:
    """A failing script shows its own traceback, without our frames above it."""
    show = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        others = (__file__, MAIN, runpy.__file__, "<frozen runpy>")
        while trace is not None and trace.tb_frame.f_code.co_filename in others:
            trace = trace.tb_next
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = excepthook


def run(words: list[str]) -> None:
    """Run `SETTINGS [-m] SCRIPT ARGS...` as Python itself would run the script."""
    settings, *words = words
    watcher = install(settings)
    os.environ.update(handed_on(settings, os.environ, at_once=bool(watcher.settings.get("guard"))))
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch reads it once; without a GPU it would print an ERROR line
    _own_traceback()
    as_module = words[0] == "-m"
    target, arguments = words[as_module], words[as_module + 1 :]
    sys.argv = [target, *arguments]
    main = sys.modules["__main__"]
    for name in [name for name in vars(main) if not name.startswith("__")]:
        delattr(main, name)
    if not getattr(sys.flags, "safe_path", False):
        # A guarded script runs in a folder of links; its modules are those of the user's folder all the same.
        folder = watcher.settings.get("guard", {}).get("outside", os.getcwd())
        sys.path.insert(0, folder if as_module else os.path.dirname(os.path.realpath(target)))
    try:
        if as_module:
            runpy._run_module_as_main(target)  # type: ignore[attr-defined]
        else:
            # Python names it so, in tracebacks as well: absolute, or a script that changes its folder would lose its lines.
            path = os.path.join(os.getcwd(), target)
            main.__file__, main.__spec__, main.__doc__ = path, None, None
            main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec")
            exec(code, vars(main))
    finally:
        watcher.end()
