"""The way in: loads the hook as a package of its own name, then runs the script."""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # this folder, before anything is imported that a file in it could stand for

import importlib
import importlib.util
import os
import signal
import types


def load(part: str) -> types.ModuleType:
    """One of the hook's files, by its name; the package is loaded by its path, as nothing of ours can be imported here."""
    folder = os.path.dirname(os.path.abspath(__file__))
    name = os.path.basename(folder)
    if name not in sys.modules:
        start = os.path.join(folder, "__init__.py")
        spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[folder])
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return importlib.import_module(f"{name}.{part}")


if __name__ == "__main__":
    # The script takes over `__main__`: nothing of this file is used from here on.
    entry = load("entry")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may have been started with it ignored
    entry.run(sys.argv[1:])
