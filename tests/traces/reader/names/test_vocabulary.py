"""Names that decide what an event is."""

import pytest

from traces.reader.names.vocabulary import annotation_kind, is_range_among_ops


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("enumerate(DataLoader)#_StatefulMultiProcessingDataLoaderIter.__next__", True),
        ("## wait_for_batch 7 ##", True),
        ("## next_batch ##", True),
        ("data_loading", True),
        ("load data", True),
        ("get_data", True),
        ("fetch_batch_3", True),
        ("next(train_loader)", True),
        ("train_dataloader.next", True),
        ("[pl][profile][_TrainingEpochLoop].train_dataloader_next", True),
        # Work on a batch that is there.
        ("## copy_batch_to_gpu 3 ##", False),
        ("data", False),
        ("load_checkpoint", False),
        ("get_data_loss", False),
        ("next(model.parameters())", False),
    ],
)
def test_ranges_around_loading_as_programs_name_them(name: str, loads: bool) -> None:
    assert (annotation_kind(name) == "loader") is loads


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
