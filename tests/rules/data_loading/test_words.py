"""Fixes of a loader in the words of the framework that the program is written in, and fit for what its samples are."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Advice
from building.builders import TraceBuilder
from rules.data_loading.single_process_loader import RULE
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from running.one_rule import judged


def world(
    *,
    loop: str = "",
    data: str = "",
    kind: str | None = "tensors",
    random: bool = False,
    step_us: float = 100_000,
    **more: Any,
) -> TraceBuilder:
    """Three steps of 100 ms on the CPU, four tenths of each in a loader without workers."""
    modules = [name for name in (loop, data) if name]
    known = {
        "usable_cores": 16,
        "frameworks": {"imported": {name.split(".")[0]: None for name in modules}, "loop": [loop], "data": [data]},
        "dataset": {
            "length": 1000,
            "sample_bytes": 3000,
            "batch_kind": kind,
            "random": random,
            "sample": {"form": "sequence", "parts": 2} if kind == "tensors" else None,
        },
        "batch_size": 64,
    }
    builder = TraceBuilder(None, advisor=known | more)
    for number in range(3):
        at = number * step_us
        builder.step(number, at, step_us).loader(at, 0.4 * step_us, workers=0)
        builder.op("aten::linear", at + 0.4 * step_us, 0.6 * step_us)
    return builder


def fixes(**given: Any) -> tuple[Advice, ...]:
    return judged(RULE, world(**given)).finding.fix


def codes(**given: Any) -> str:
    return "\n".join(advice.code for advice in fixes(**given))


@pytest.mark.parametrize(
    ("framework", "word"),
    [
        ({}, "+    num_workers="),
        ({"loop": "transformers.trainer"}, "dataloader_num_workers="),
        ({"loop": "sentence_transformers.trainer"}, "SentenceTransformerTrainingArguments("),
        ({"loop": "lightning.pytorch"}, "def train_dataloader(self):"),
        ({"loop": "fastai.learner"}, "dls = block.dataloaders("),
        ({"loop": "ultralytics.engine"}, "+    workers="),
        ({"loop": "detectron2.engine"}, "cfg.DATALOADER.NUM_WORKERS ="),
        ({"loop": "mmengine.runner"}, "train_dataloader = dict("),
        ({"loop": "accelerate.optimizer"}, "accelerator.prepare(loader)"),
        ({"loop": "skorch.net"}, "iterator_train__num_workers="),
        ({"loop": "keras.src", "data": "keras.src"}, "use_multiprocessing=True,"),
        ({"loop": "keras.src"}, "+    num_workers="),
        ({"data": "torch_geometric.loader"}, "torch_geometric.loader.DataLoader("),
        ({"data": "monai.data"}, "monai.data.DataLoader("),
        ({"data": "webdataset.compat"}, "webdataset.WebLoader("),
        ({"data": "timm.data"}, "timm.data.create_loader("),
        # The loop's framework has the loader's word, and the data's that of samples kept.
        ({"loop": "lightning.pytorch", "data": "monai.data"}, "def train_dataloader(self):"),
        ({"loop": "lightning.pytorch", "data": "monai.data"}, "CacheDataset("),
    ],
)
def test_workers_in_the_words_of_the_framework(framework: dict[str, str], word: str) -> None:
    assert word in codes(**framework)
    for fix in fixes(**framework):
        lines = [line[1:] for line in fix.code.splitlines() if fix.language == "diff"]
        # The first column of a diff is no part of the program.
        assert not [line for line in lines if (len(line) - len(line.lstrip(" "))) % 4]


LINE = "loader = DataLoader(data, batch_size=64, shuffle=True)"
MADE = {"class": "DataLoader", "package": None, "function": None, "file": "train.py", "line": 12, "text": LINE}


@pytest.mark.parametrize("loop", ["", "lightning.pytorch"])
def test_the_change_is_one_of_the_line_that_makes_the_loader(loop: str) -> None:
    found = fixes(loop=loop, loader_made=[MADE])
    own = next(advice for advice in found if advice.code.startswith(f"-{LINE}\n"))
    assert own.code.endswith(
        "+loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=8, persistent_workers=True)"
    )
    assert "The loader is made at train.py:12." in own.note


@pytest.mark.parametrize(
    "made",
    [
        None, [], [7], [MADE | {"text": None}], [MADE | {"class": "Batches", "text": LINE.replace("DataLoader", "Batches")}],
        [MADE | {"package": "lightning", "function": "Trainer.fit"}], [MADE | {"text": "loader = DataLoader("}],
        [MADE | {"text": "loader = make(data)"}],
    ],
)  # fmt: skip
def test_a_line_that_is_not_known_or_not_whole_is_not_changed(made: Any) -> None:
    found = fixes(loader_made=made)
    assert not [advice for advice in found if "made at" in advice.note]
    assert " loader = DataLoader(\n     dataset, ...,\n+    num_workers=" in codes(loader_made=made)


def test_without_a_device_fastais_batches_are_prepared_by_the_thread_that_trains() -> None:
    assert "batch_tfms" not in codes(loop="fastai.learner")


@pytest.mark.parametrize(
    ("loader", "called"),
    [
        (["torch_geometric.loader"], "torch_geometric.loader.DataLoader("),
        ([], " loader = DataLoader("),
        (None, "torch_geometric"),
    ],
)
def test_a_loader_of_torchs_stays_one_whoever_made_the_batches(loader: list[str] | None, called: str) -> None:
    """PyTorch Geometric's takes no `collate_fn`: the sampler that a program has there would be gone."""
    data = "torch_geometric.data"
    known = {"imported": {"torch_geometric": None}, "loop": [], "data": [data]}
    told = known if loader is None else known | {"loader": loader}
    assert called in codes(data=data, frameworks=told)
    assert ("torch_geometric" in codes(data=data, frameworks=told)) is (loader != [])


def test_workers_of_webdataset_share_out_shards() -> None:
    """They do not each yield every sample, as those of a stream of the program's own may."""
    notes = [one.note for one in fixes(data="webdataset.compat", stream={"splits": None})]
    assert any("need as many .tar files" in note for note in notes)
    assert not any("every sample" in note for note in notes)
    assert any("every sample" in one.note for one in fixes(stream={"splits": None}))


def test_arguments_that_a_framework_does_not_take_are_left_out() -> None:
    assert "persistent" not in codes(loop="ultralytics.engine")


@pytest.mark.parametrize(
    ("kind", "stacked"), [("tensors", True), (None, True), ("mapping", False), ("text", False), ("objects", False)]
)
def test_only_tensors_are_stacked(kind: str | None, *, stacked: bool) -> None:
    images = {"imported": {"torchvision": None}, "loop": [], "data": []}
    assert ("default_collate" in codes(kind=kind)) is stacked
    assert ("resize(image)" in codes(kind=kind, frameworks=images)) is stacked


@pytest.mark.parametrize(
    ("loop", "own"),
    [("skorch.net", True), ("mmengine.runner", True), ("ignite.engine", False), ("lightning.pytorch", False)],
)
def test_whole_batches_are_not_for_a_framework_that_makes_the_loader(loop: str, own: bool) -> None:
    fixes = judged(SMALL_SAMPLES, world(loop=loop)).finding.fix
    assert any("BatchSampler" in advice.code for advice in fixes) is not own


@pytest.mark.parametrize(("kind", "kept"), [("tensors", True), ("objects", False)])
def test_skorch_is_given_arrays_where_samples_are_pairs(kind: str, *, kept: bool) -> None:
    found = "\n".join(advice.code for advice in judged(SMALL_SAMPLES, world(loop="skorch.net", kind=kind)).finding.fix)
    assert ("net.fit(X, y)" in found) is kept


def test_skorchs_own_rows_of_arrays_are_taken_a_batch_at_once() -> None:
    builder = world(loop="skorch.net", data="skorch.dataset")
    found = "\n".join(advice.code for advice in judged(SMALL_SAMPLES, builder).finding.fix)
    assert "def __getitems__(self, indices):" in found
    assert "net.fit(X, y)" not in found


@pytest.mark.parametrize(
    ("module", "streamed"), [("datasets.iterable_dataset", True), ("datasets.arrow_dataset", False)]
)
def test_what_is_streamed_is_not_kept_by_a_map(module: str, *, streamed: bool) -> None:
    assert ("without streaming=True" in codes(data=module, kind="mapping")) is streamed


@pytest.mark.parametrize(
    ("loop", "kind", "kept"),
    [
        ("lightning.pytorch", "mapping", True),
        ("lightning.pytorch", "tensors", False),
        ("transformers.trainer", "mapping", False),
    ],
)
def test_a_loader_of_the_programs_own_keeps_its_collation(loop: str, kind: str, *, kept: bool) -> None:
    assert ("collate_fn=loader.collate_fn" in codes(loop=loop, kind=kind)) is kept


@pytest.mark.parametrize("module", ["datasets.iterable_dataset", "datasets.arrow_dataset"])
@pytest.mark.parametrize(("kind", "formatted"), [("mapping", False), ("tensors", True)])
def test_a_collation_of_the_programs_own_is_given_what_it_was_given(module: str, kind: str, *, formatted: bool) -> None:
    assert ("with_format" in codes(data=module, kind=kind)) is formatted


def test_graphs_are_kept_as_graphs() -> None:
    found = codes(data="torch_geometric.loader", kind="objects")
    assert "pre_transform=" in found
    assert "default_collate" not in found


@pytest.mark.parametrize("kind", ["tensors", "mapping"])
def test_random_augmentation_is_never_done_once(kind: str) -> None:
    found = codes(random=True, kind=kind)
    assert "once" not in found
    assert "num_workers" in found
    assert "once" in codes(random=False, kind=kind)


def test_monai_keeps_what_comes_before_the_random_transforms() -> None:
    assert "CacheDataset(" in codes(data="monai.data", kind="mapping", random=True)


def test_the_same_change_is_advised_once() -> None:
    found = [advice.code for advice in fixes(data="monai.data", kind="mapping")]
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("given", "tiny"),
    [
        ({"batch_size": 1}, True),
        ({"batch_size": 4}, True),
        ({"batch_size": 16}, False),
        # Few samples a batch are chosen where each is large, and where there are no more.
        ({"batch_size": 2, "dataset": {"length": 1000, "sample_bytes": 8_000_000}}, False),
        ({"batch_size": 2, "dataset": {"length": 12, "sample_bytes": 3000}}, False),
        ({"batch_size": 2, "dataset": {"length": 1000}}, False),
        # What makes a sample slow is paid for each one, in a batch of any size.
        ({"batch_size": 4, "step_us": 100_000}, False),
    ],
)
def test_tiny_batches_are_named_as_the_cause(given: dict[str, Any], *, tiny: bool) -> None:
    first = fixes(**{"step_us": 400, **given})[0]
    assert ("batch_size" in first.code and "A batch has" in first.note) is tiny


@pytest.mark.parametrize(("loop", "own"), [("", True), ("lightning.pytorch", False)])
def test_a_framework_that_runs_the_loop_gets_a_data_set_and_no_loop(loop: str, *, own: bool) -> None:
    found = codes(loop=loop)
    assert ("for index in torch.randperm" in found) is own
    assert ("dataset = [dataset[index]" in found) is not own
