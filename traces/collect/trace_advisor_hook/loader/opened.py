"""Archives and databases that the code of a data set opens anew for each sample."""

from __future__ import annotations

import dis

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


def opened_by(code: SampleCode) -> str | None:
    """What is opened for each sample; None where nothing is, or where an attribute is set, as by what keeps it open."""
    found = next((said for names, said in _OPENS if names <= code.names), None)
    if found is None:
        return None
    keeps = any(step.opname == "STORE_ATTR" for one in code.codes for step in dis.get_instructions(one))
    return None if keeps else found
