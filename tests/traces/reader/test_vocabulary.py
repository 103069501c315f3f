"""Names that decide what an event is."""

import pytest

from traces.reader.vocabulary import annotation_kind, is_range_among_ops


@pytest.mark.parametrize(
    ("name", "compiles"),
    [
        ("dynamo", True),
        ("entire_frame_compile", True),
        ("entire_backward_compile", True),
        ("_compile.compile_inner (dynamo_timed)", True),
        ("dynamo_cache", False),
        ("my dynamo", False),
        ("aten::compile", False),
    ],
)
def test_what_the_compiler_does_is_a_range_even_among_operators(name: str, compiles: bool) -> None:
    """As torch 2.15 names it: `dynamo` holds all of one compilation, what it clears up at its end included."""
    assert (annotation_kind(name) == "compile") is compiles
    assert is_range_among_ops(name) is compiles
