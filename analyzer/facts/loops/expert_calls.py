"""Which repeated ops call layers group by group on rows of one tensor: experts in a loop, as mixtures of experts are first written.

Each turn takes the rows of its group by their index, sends them through layers and writes the result back by index. No turn needs
another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from traces.patterns import Pattern

_LAYER = Pattern(r"aten::(?:linear|matmul|addmm|mm|bmm|baddbmm|einsum)$")
_TAKES = Pattern(r"aten::(?:index|index_select|gather)$")
_WRITES = Pattern(r"aten::(?:index_add_?|index_copy_?|index_put_?|_index_put_impl_|scatter_?|scatter_add_?)$")


def routes_rows(unit: Sequence[str]) -> bool:
    """Whether one turn takes rows by index, sends them through a layer and writes them back by index, in this order.

    A loop over the relations of a graph has the same ops: a product, the rows of each edge's source, their sum.
    """
    kinds = [kind for name in unit for kind, pattern in enumerate((_TAKES, _LAYER, _WRITES)) if pattern.match(name)]
    # A run may begin anywhere in a turn.
    turns = (kinds[place:] + kinds[:place] for place, kind in enumerate(kinds) if not kind)
    return set(kinds) == {0, 1, 2} and any(turn.index(1) < turn.index(2) for turn in turns)
