"""Samples made cheaper: the loop through a tensor that they are made by, the table of which they take rows, or what is usual."""

from __future__ import annotations

from typing import Any

import pytest

from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as DL001
from rules.data_loading.single_process_loader import RULE as DL002
from rules.data_loading.small_samples import RULE as DL006
from rules.data_loading.starved_by_workers import RULE as DL003
from rules.data_loading.too_few_cores import RULE as DL007
from running.one_rule import judged

SAMPLES, SAMPLE, REST = 4, 10_000, 10_000
PAIR = ("aten::select", "aten::ne", "aten::is_nonzero")
TABLE = {"role": "dataset", "name": "Rows.__getitem__", "file": "data.py", "line": 3, "tables": ["df"]}


def world(
    *, unit: tuple[str, ...] = PAIR, turns: int = 100, cores: int = 2, draws: bool = True, **advisor: Any
) -> TraceBuilder:
    """Four steps: four samples of 10 ms, each with so many turns of a loop that take 90 us, then an op of the model's."""
    known = {
        "usable_cores": cores,
        "batch_size": SAMPLES,
        "loader": {"num_workers": 0, "batch_size": SAMPLES},
        **advisor,
    }
    builder = TraceBuilder(None, advisor=known)
    load = SAMPLES * SAMPLE
    for number in range(4):
        at = number * (load + REST)
        builder.step(number, at, load + REST).loader(at, load, workers=0)
        for sample in range(SAMPLES):
            begin = at + sample * SAMPLE
            if draws:
                builder.op("aten::randint", begin + 20, 10)
            for turn in range(turns):
                for place, name in enumerate(unit):
                    builder.op(name, begin + 40 + turn * 90 + place * 90 / len(unit), 60 / len(unit))
        builder.op("aten::linear", at + load, REST)
    return builder


@pytest.mark.parametrize(("rule", "cores"), [(DL007, 2), (DL001, 2), (DL001, 16), (DL002, 16)])
def test_a_loop_through_a_tensor_is_named_and_its_remedy_comes_first(rule: Any, cores: int) -> None:
    found = judged(rule, world(cores=cores)).finding
    assert (
        "90 % of the loading is a Python loop through a tensor: `aten::select`, `aten::ne`, `aten::is_nonzero`, "
        "100 times in a row." in found.why
    )
    assert found.fix[0].code.endswith("+places = (values != wanted).nonzero().flatten()")
    assert not any("Make a sample cheaper" in one.code for one in found.fix)


@pytest.mark.parametrize(
    ("unit", "turns"),
    [
        # What repeats once a sample is the sample; a sample of many tensors is a row of each of them.
        (PAIR, 1),
        (PAIR, 9),
        (("aten::select",), 100),
        # Goes through no tensor.
        (("aten::mul", "aten::add"), 100),
    ],
)
def test_what_is_no_loop_through_a_tensor_is_not_named(unit: tuple[str, ...], turns: int) -> None:
    found = judged(DL007, world(unit=unit, turns=turns)).finding
    assert "Python loop" not in found.why
    assert not any("nonzero" in one.code for one in found.fix)


def test_a_loop_that_little_of_a_sample_is_made_by_is_not_named() -> None:
    assert "Python loop" not in judged(DL007, world(turns=40)).finding.why


@pytest.mark.parametrize("draws", [True, False])
def test_of_batches_of_unknown_size_ops_tell_samples_from_turns(*, draws: bool) -> None:
    """One op that comes once in so many turns shows where samples begin; without any, each turn may be one."""
    builder = world(draws=draws)
    for name in ("batch_size", "loader"):
        del builder.top["advisor"][name]
    assert ("Python loop" in judged(DL001, builder).finding.why) is draws


@pytest.mark.parametrize(
    ("tables", "library", "told"), [(["df"], None, True), ([], None, False), (["df"], "torchvision", False)]
)
def test_rows_of_a_table_become_arrays(tables: list[str], library: str | None, told: bool) -> None:
    """Of images most is decoding: what a row of the table costs does not matter there."""
    frameworks = {"imported": {library: None}, "loop": [], "data": []} if library else {"imported": {}}
    builder = world(turns=0, loader_code=[TABLE | {"tables": tables}], frameworks=frameworks, dataset={"random": True})
    fixes = judged(DL007, builder).finding.fix
    assert ("self.df[columns].to_numpy()" in fixes[0].code) is told
    assert any("Make a sample cheaper" in one.code for one in fixes)


@pytest.mark.parametrize("tables", [None, "df", [3], ["no name"], {"df": 1}])
def test_tables_of_another_shape_are_none(tables: object) -> None:
    builder = world(turns=0, loader_code=[TABLE | {"tables": tables}], dataset={"random": True})
    assert not any("to_numpy" in one.code for one in judged(DL007, builder).finding.fix)


@pytest.mark.parametrize(("rule", "cores"), [(DL007, 2), (DL001, 2), (DL002, 16)])
@pytest.mark.parametrize("known", [True, False])
def test_arrays_are_advised_beside_other_ways_once(rule: Any, cores: int, *, known: bool) -> None:
    code = [TABLE] if known else []
    builder = world(turns=0, cores=cores, loader_code=code, dataset={"random": False}, frameworks={"imported": {}})
    codes = [one.code for one in judged(rule, builder).finding.fix]
    assert sum("to_numpy" in code for code in codes) == known
    assert any("torch.save" in code or "num_workers" in code for code in codes)


@pytest.mark.parametrize(
    ("opens", "told"), [("zipfile.ZipFile", True), (None, False), ("rm -rf", False), (3, False), ("a.b(c)", False)]
)
def test_what_is_opened_for_each_sample_stays_open(opens: object, *, told: bool) -> None:
    row = {key: value for key, value in TABLE.items() if key != "tables"} | {"opens": opens}
    builder = world(turns=0, loader_code=[row], dataset={"random": True})
    codes = [one.code for one in judged(DL007, builder).finding.fix]
    assert any(f"self.opened = {opens}(self.path)" in code for code in codes) is told


@pytest.mark.parametrize(("rule", "cores"), [(DL007, 2), (DL001, 2), (DL002, 16)])
def test_what_is_opened_for_each_sample_comes_before_workers(rule: Any, cores: int) -> None:
    """An archive of 20,000 files takes 166 ms to open, and a file of it 0.06 ms to read."""
    row = {key: value for key, value in TABLE.items() if key != "tables"} | {"opens": "zipfile.ZipFile"}
    builder = world(turns=0, cores=cores, loader_code=[row], dataset={"random": False})
    codes = [one.code for one in judged(rule, builder).finding.fix]
    assert "zipfile.ZipFile(self.path)" in codes[0]
    assert any("num_workers" in code or "torch.save" in code for code in codes[1:])


@pytest.mark.parametrize("opens", ["h5py.File", None])
def test_workers_that_open_a_file_for_each_sample_keep_it_open(opens: str | None) -> None:
    row = {key: value for key, value in TABLE.items() if key != "tables"} | {"opens": opens}
    builder = TraceBuilder(
        "cuda", advisor={"usable_cores": 8, "loader": {"num_workers": 2, "batch_size": SAMPLES}, "loader_code": [row]}
    )
    for number in range(4):
        at = number * 50_000
        builder.step(number, at, 50_000).loader(at, 40_000, workers=2)
        builder.launch(at + 40_000, kernel_start=at + 40_010, kernel_dur=9_990)
    codes = [one.code for one in judged(DL003, builder).finding.fix]
    assert ("h5py.File(self.path)" in codes[0]) is (opens is not None)


def test_small_data_are_kept_in_memory_or_their_archive_open() -> None:
    row = {key: value for key, value in TABLE.items() if key != "tables"} | {"opens": "zipfile.ZipFile"}
    kept = {"random": False, "batch_kind": "tensors", "length": 400, "sample_bytes": 100}
    codes = [
        one.code for one in judged(DL006, world(turns=0, draws=False, loader_code=[row], dataset=kept)).finding.fix
    ]
    assert ["range(len(dataset))" in codes[0], "zipfile.ZipFile" in codes[1]] == [True, True]


@pytest.mark.parametrize(("reads", "told"), [("path", True), (None, False), ("no name", False), (["path"], False)])
def test_a_file_that_each_sample_reads_is_read_once(reads: object, *, told: bool) -> None:
    row = {key: value for key, value in TABLE.items() if key != "tables"} | {"reads": reads}
    codes = [one.code for one in judged(DL007, world(turns=0, loader_code=[row], dataset={"random": True})).finding.fix]
    assert ("+self.data = load(self.path)" in codes[0]) is told
