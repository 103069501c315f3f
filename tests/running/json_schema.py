"""The jsonschema package without its check of URIs: where that is installed its grammar takes three seconds to build, unused."""

from __future__ import annotations

import sys

_GRAMMAR = "rfc3987_syntax"

# What cannot be imported is no check of formats, and no schema here is checked for them.
_before = sys.modules.get(_GRAMMAR)
sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
try:
    import jsonschema
finally:
    del sys.modules[_GRAMMAR]
    if _before is not None:
        sys.modules[_GRAMMAR] = _before

__all__ = ["jsonschema"]
