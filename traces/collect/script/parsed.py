"""A file of the user's own as Python reads it."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path


def nodes_of(file: str) -> list[ast.AST]:
    """All nodes of a file; none of one that is gone, or is no Python that this version reads.

    Args:
        file: The file.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(ast.walk(ast.parse(Path(file).read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
