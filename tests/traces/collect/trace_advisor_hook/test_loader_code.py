"""What the hook knows of a loader: functions of the user's own, never a library's."""

from __future__ import annotations

import functools
import importlib.util
import io
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, Subset, TensorDataset
from torchvision.transforms import v2

from traces.collect.trace_advisor_hook.loader.loader_code import loader_code
from traces.collect.trace_advisor_hook.run_description import describe_loader
from traces.collect.trace_advisor_hook.sampling.line_sampler import LineSampler
from traces.collect.trace_advisor_hook.software import own_code


class Rows(Dataset[int]):
    def __init__(self, transform: Any = None) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        return index


class DatasetOfLibrary(TensorDataset):
    """One whose methods are all a library's."""

    loader: Any
    classes: Any
    transform: Any

    def __init__(self) -> None:
        super().__init__(torch.zeros(4))


class Jitter:
    def __call__(self, value: int) -> int:
        return value + 1


def pad(samples: list[int], width: int = 3) -> list[int]:
    return samples * width


class Ordered(RandomSampler):
    def __iter__(self) -> Any:
        return iter(range(8))


@pytest.fixture(autouse=True)
def _tests_are_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    own_code.is_own.cache_clear()


def told(loader: DataLoader[Any]) -> list[tuple[str, str]]:
    return [(row["role"], row["name"].rpartition(".")[2]) for row in loader_code(loader)]


def test_data_set_transform_collate_and_sampler_are_named_in_this_order() -> None:
    data = Rows(v2.Compose([v2.Identity(), Jitter()]))
    loader = DataLoader(data, sampler=Ordered(data), collate_fn=functools.partial(pad, width=2))
    assert told(loader) == [
        ("dataset", "__getitem__"), ("transform", "__call__"), ("collate", "pad"), ("sampler", "__iter__"),
    ]  # fmt: skip
    row = loader_code(loader)[0]
    assert row["line"] == Rows.__getitem__.__code__.co_firstlineno
    assert row["file"] == __file__


def test_data_sets_inside_others_are_found() -> None:
    assert told(DataLoader(Subset(ConcatDataset([Rows(Jitter()), Rows()]), [0, 1]))) == [
        ("dataset", "__getitem__"), ("transform", "__call__"),
    ]  # fmt: skip


def test_a_lambda_in_a_transform_is_the_users() -> None:
    assert ("transform", "<lambda>") in told(DataLoader(Rows(v2.Lambda(lambda value: value))))


class Stage:
    """As webdataset's: a function of the library's with those of the user's as arguments."""

    def __init__(self, *args: Any) -> None:
        self.args = args


def test_functions_that_the_stages_of_a_pipeline_are_given_are_the_users() -> None:
    data = Rows()
    data.pipeline = [Stage("shard", 4), Stage(pad)]  # type: ignore[attr-defined]
    assert ("transform", "pad") in told(DataLoader(data))


def test_a_function_set_as_the_format_of_a_data_set_is_the_users() -> None:
    data = Rows()
    data._format_kwargs = {"transform": pad}  # type: ignore[attr-defined]
    assert ("transform", "pad") in told(DataLoader(data))


@pytest.mark.parametrize("given", [pad, functools.partial(pad, width=2)])
def test_a_function_that_opens_the_files_of_a_librarys_data_set_is_the_users(given: Any) -> None:
    """As `loader=` of torchvision's ImageFolder: without it, a cheap transform was named as what makes the samples."""
    data = DatasetOfLibrary()
    data.loader, data.classes, data.transform = given, ["a"], v2.Lambda(lambda value: value)
    assert told(DataLoader(data)) == [("dataset", "pad"), ("transform", "<lambda>")]


def test_libraries_alone_give_nothing() -> None:
    assert told(DataLoader(TensorDataset(torch.zeros(4)), shuffle=True)) == []


def test_an_object_that_answers_everything_does_no_harm() -> None:
    class Anything:
        def __getattr__(self, name: str) -> Any:
            raise ValueError(name)

    assert loader_code(Anything()) == []


def test_the_sampler_finds_the_line_and_whether_it_is_inside_the_loader() -> None:
    over = threading.Event()

    def load() -> None:
        while not over.is_set():
            sum(range(200))

    def train() -> None:
        load()

    thread = threading.Thread(target=train)
    thread.start()
    assert thread.ident is not None
    results = []
    for marks in (frozenset({(__file__, "train")}), frozenset[tuple[str, str]]()):
        sampler = LineSampler(thread.ident, marks)
        sampler.start()
        time.sleep(0.3)
        sampler.stop()
        results.append(sampler.told())
    over.set()
    thread.join()
    inside, outside = results
    first = load.__code__.co_firstlineno
    assert inside["loader_ns"] == inside["total_ns"] > 0
    assert outside["loader_ns"] == 0
    for result, where in ((inside, True), (outside, False)):
        assert {row["line"] - first for row in result["rows"] if row["loader"] is where} <= {1, 2}
        assert {row["begins"] for row in result["rows"]} == {first}


_STREAM = """
from concurrent.futures import ThreadPoolExecutor

def ahead(prepare):
    return prepare()

def stream(prepare):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ahead, prepare).result()
"""


@pytest.mark.parametrize("ahead", [True, False])
def test_a_line_that_runs_in_a_librarys_own_thread_is_the_loaders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ahead: bool
) -> None:
    library = tmp_path / "site-packages" / "streams.py"
    library.parent.mkdir()
    library.write_text(_STREAM)
    monkeypatch.setattr(own_code, "library_folders", lambda: (str(library.parent),))
    own_code.is_installed.cache_clear()
    names: dict[str, Any] = {}
    exec(compile(_STREAM, str(library), "exec"), names)
    over = threading.Event()

    def prepare() -> None:
        while not over.is_set():
            sum(range(200))

    def train() -> None:
        names["stream"](prepare if ahead else over.wait)

    threads = [threading.Thread(target=train), threading.Thread(target=prepare)]
    for thread in threads:
        thread.start()
    assert threads[0].ident is not None
    sampler = LineSampler(threads[0].ident, frozenset({(__file__, "train")}))
    sampler.start()
    time.sleep(0.3)
    sampler.stop()
    over.set()
    for thread in threads:
        thread.join()
    own_code.is_installed.cache_clear()
    told = sampler.told()
    assert told["loader_ns"] == told["total_ns"] > 0
    # The program's other thread, which no library runs, is never taken for it.
    first = prepare.__code__.co_firstlineno
    assert bool(told["rows"]) is ahead
    assert {row["begins"] for row in told["rows"]} <= {first}


def test_the_interpreters_switch_interval_is_as_before() -> None:
    import sys

    before = sys.getswitchinterval()
    sampler = LineSampler(threading.get_ident(), frozenset())
    sampler.start()
    assert sys.getswitchinterval() < before
    sampler.stop()
    assert sys.getswitchinterval() == before


def test_a_data_set_behind_a_generator_of_the_frameworks_is_named() -> None:
    class Adapter:
        def __init__(self, data: Any) -> None:
            self.py_dataset = data

        def batches(self) -> Any:
            for index in range(len(self.py_dataset)):
                yield self.py_dataset[index]

    class Wrapped(IterableDataset[int]):
        def __init__(self, iterable: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Any:
            yield from self.iterable

    generated = Adapter(Rows()).batches()
    loader = DataLoader(Wrapped(generated), batch_size=None)
    assert ("dataset", "__getitem__") in told(loader)
    assert list(generated) == list(range(8))
    assert ("dataset", "__getitem__") not in told(loader)  # it is over


@pytest.mark.parametrize(
    ("settings", "filled", "expected"),
    [
        ({"_workers": 2, "_use_multiprocessing": False}, True, {"workers": 2, "processes": False}),
        ({"_workers": 3, "_use_multiprocessing": True}, True, {"workers": 3, "processes": True}),
        ({"_workers": 1, "_use_multiprocessing": False}, False, None),
        ({}, True, None),
    ],
)
def test_workers_that_fill_a_queue_of_the_frameworks_are_told(
    settings: dict[str, Any], filled: bool, expected: Any
) -> None:
    """Of Keras' adapter, as version 3.15 makes it: a queue only where its `PyDataset` asks for more than one worker."""

    class Adapter:
        def __init__(self) -> None:
            self.py_dataset = Rows()
            vars(self.py_dataset).update(settings)
            self.enqueuer = object() if filled else None

        def batches(self) -> Any:
            yield from range(3)
            yield self

    class Wrapped(IterableDataset[int]):
        def __init__(self, iterable: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Any:
            return iter(self.iterable)

    loader = DataLoader(Wrapped(Adapter().batches()), batch_size=None)
    assert describe_loader(loader).get("own_workers") == expected
    assert "own_workers" not in describe_loader(DataLoader(Rows()))


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")
def test_keras_own_adapter_tells_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    adapters: Any = importlib.import_module("keras.src.trainers.data_adapters.py_dataset_adapter")

    class Drawn(adapters.PyDataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 2

    loader = adapters.PyDatasetAdapter(Drawn(workers=2)).get_torch_dataloader()
    assert describe_loader(loader)["own_workers"] == {"workers": 2, "processes": False}
    assert "own_workers" not in describe_loader(adapters.PyDatasetAdapter(Drawn()).get_torch_dataloader())


class Table(Dataset[Any]):
    """Samples of a table's rows; `names` is one that no sample takes."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.names = rows, rows.copy()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([self.rows.iloc[index][name] for name in ("x", "y")])


class Columns(Table):
    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self.rows["x"][index])


class Streamed(IterableDataset[Any]):
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __iter__(self) -> Any:
        return (row for _, row in self.rows.iterrows())


@pytest.mark.parametrize(("kind", "expected"), [(Table, ["rows"]), (Columns, None), (Streamed, ["rows"])])
def test_a_table_of_which_samples_take_rows_is_told(kind: Any, expected: list[str] | None) -> None:
    data = kind(pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}))
    (row,) = (one for one in loader_code(DataLoader(data)) if one["role"] == "dataset")
    assert row.get("tables") == expected


def test_arrays_are_no_tables() -> None:
    (row,) = (one for one in loader_code(DataLoader(Table(torch.zeros(3)[None].numpy()))) if one["role"] == "dataset")
    assert "tables" not in row


class ByHelper(Table):
    """The rows are taken by another method."""

    def __getitem__(self, index: int) -> Any:
        return self.row(index)

    def row(self, index: int) -> Any:
        return torch.tensor(self.rows.iloc[index].to_numpy())


def test_a_method_that_a_sample_is_made_by_is_looked_into() -> None:
    (row,) = (one for one in loader_code(DataLoader(ByHelper(pd.DataFrame({"x": [1.0]})))) if one["role"] == "dataset")
    assert row["tables"] == ["rows"]


class Archived(Dataset[bytes]):
    """One that opens its archive for each sample."""

    path = "images.zip"

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(str(index))


class KeptOpen(Archived):
    archive: Any = None

    def __getitem__(self, index: int) -> bytes:
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path)
        return bytes(self.archive.read(str(index)))


class OpenedOnce(IterableDataset[bytes]):
    """One that opens its archive, and reads its list, once a pass."""

    path = __file__

    def __iter__(self) -> Any:
        with zipfile.ZipFile(self.path) as archive:
            yield from map(archive.read, np.load(self.path))


class OpenedBefore(Archived):
    def __init__(self) -> None:
        self.archive = zipfile.ZipFile(io.BytesIO(), "w")

    def __getitem__(self, index: int) -> bytes:
        return self.archive.read(str(index))


@pytest.mark.parametrize(("kind", "expected"), [(Archived, "zipfile.ZipFile"), (KeptOpen, None), (OpenedBefore, None)])
def test_what_is_opened_for_each_sample_is_told(kind: Any, expected: str | None) -> None:
    (row,) = (one for one in loader_code(DataLoader(kind())) if one["role"] == "dataset")
    assert row.get("opens") == expected


class Stored(Dataset[Any]):
    """Samples of one array in a file, which each of them reads."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return np.load(self.path)[index]


class Mapped(Stored):
    def __getitem__(self, index: int) -> Any:
        return np.load(self.path, mmap_mode="r")[index]


class Cached(Stored):
    data: Any = None

    def __getitem__(self, index: int) -> Any:
        if self.data is None:
            self.data = np.load(self.path)
        return self.data[index]


class ReadOnce(IterableDataset[Any]):
    """What yields samples reads the file once a pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Any:
        return iter(np.load(self.path))


class OfItsOwn(Stored):
    """Each sample has a file in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = str(path.parent)

    def __getitem__(self, index: int) -> Any:
        return np.load(f"{self.path}/{index}.npy")


@pytest.mark.parametrize(("kind", "expected"), [(Stored, "path"), (Mapped, None), (Cached, None), (OfItsOwn, None)])
def test_the_file_that_each_sample_reads_is_told(kind: Any, expected: str | None, tmp_path: Path) -> None:
    np.save(tmp_path / "samples.npy", np.zeros((2, 3)))
    (row,) = (one for one in loader_code(DataLoader(kind(tmp_path / "samples.npy"))) if one["role"] == "dataset")
    assert row.get("reads") == expected
