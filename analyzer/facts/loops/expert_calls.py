"""Which repeated ops call layers group by group on rows of one tensor: experts in a loop, as mixtures of experts are first written.

Each turn takes the rows of its group by their index, sends them through layers and writes the result back by index. No turn needs
another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LAYER = re.compile(r"aten::(?:linear|matmul|addmm|mm|bmm|baddbmm|einsum)$")
_TAKES = re.compile(r"aten::(?:index|index_select|gather)$")
_WRITES = re.compile(r"aten::(?:index_add_?|index_copy_?|index_put_?|_index_put_impl_|scatter_?|scatter_add_?)$")


def routes_rows(unit: Sequence[str]) -> bool:
    """Whether one turn takes rows by index, sends them through a layer and writes them back by index."""
    return all(any(map(pattern.match, unit)) for pattern in (_TAKES, _LAYER, _WRITES))
