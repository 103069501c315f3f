"""HolisticTraceAnalysis's evidence, looked for after the first screen: it takes seconds, and the reader does not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from analyzer.tui.messages import Deepened
from traces.errors import AdvisorError

if TYPE_CHECKING:
    from analyzer.explain import Explained

# What HTA raises on traces it was not made for; its own checks are assertions.
_GIVES_UP = (
    AdvisorError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)


def look_deeper(explained: Explained, index: int, post: Callable[[Deepened], object]) -> threading.Thread | None:
    """Looks in a thread that ends with the process, so that leaving need not wait; None where there is nothing to do.

    Args:
        explained: The answer to add to.
        index: Which of the opened answers it is.
        post: Told the document with more evidence, if there is more.
    """
    from analyzer import hta

    if explained.facts is None or hta.missing() is not None:
        return None
    thread = threading.Thread(target=_look, args=(explained, index, post), name="deeper", daemon=True)
    thread.start()
    return thread


def _look(explained: Explained, index: int, post: Callable[[Deepened], object]) -> None:
    from analyzer.deepen import deepen

    assert explained.facts is not None
    try:
        analysis = deepen(explained.analysis, explained.facts.trace)
    except _GIVES_UP:
        return
    if analysis is not explained.analysis:
        post(Deepened(analysis, index))
