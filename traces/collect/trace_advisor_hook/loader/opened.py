"""Files that the code of a data set opens, or reads as a whole, anew for each sample."""

from __future__ import annotations

import dis
import os

from .sample_code import SampleCode

# What opens one, by the names that its call is made of: to open it reads a directory of all that is in it, or its settings.
_OPENS = (
    ({"ZipFile"}, "zipfile.ZipFile"),
    ({"tarfile", "open"}, "tarfile.open"),
    ({"h5py", "File"}, "h5py.File"),
    ({"lmdb", "open"}, "lmdb.open"),
    ({"sqlite3", "connect"}, "sqlite3.connect"),
    ({"zarr", "open"}, "zarr.open"),
    ({"open_dataset"}, "xarray.open_dataset"),
)
# What reads all of a file, of numpy, torch, pickle, json and pandas; and arguments with which a part is read.
_READ = frozenset(
    {"load", "loadtxt", "genfromtxt", "read_csv", "read_parquet", "read_pickle", "read_json", "read_excel"}
)
_OF_A_PART = frozenset({"mmap_mode", "mmap", "skiprows", "nrows", "filters"})


def opened_by(code: SampleCode) -> str | None:
    """What is opened for each sample; None where nothing is, or where an attribute is set, as by what keeps it open."""
    found = next((said for names, said in _OPENS if names <= code.names), None)
    return None if found is None or not code.each_sample or _keeps(code) else found


def read_whole(code: SampleCode) -> str | None:
    """Name of the attribute that holds the path of the one file which each sample reads as a whole; None where none does."""
    held = getattr(code.owner, "__dict__", None)
    reads = code.each_sample and not _READ.isdisjoint(code.names)
    if not isinstance(held, dict) or not reads or _keeps(code) or _maps(code):
        return None
    paths = (name for name, value in held.items() if name in code.names and isinstance(value, str | os.PathLike))
    return next((name for name in paths if os.path.isfile(held[name])), None)


def _keeps(code: SampleCode) -> bool:
    return any(step.opname == "STORE_ATTR" for one in code.codes for step in dis.get_instructions(one))


def _maps(code: SampleCode) -> bool:
    """Whether a part of the file is read alone: names of arguments are constants."""
    groups = (constant for one in code.codes for constant in one.co_consts if isinstance(constant, tuple))
    return any(not _OF_A_PART.isdisjoint(group) for group in groups)
