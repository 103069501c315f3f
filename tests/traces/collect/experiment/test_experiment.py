"""The comparison on few images: every form of the data, what is skipped, what the table says."""

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch

from analyzer.cli.commands.experiment import row
from analyzer.cli.main import main
from traces.collect.experiment import METHODS, ExperimentConfig, MethodResult, Skipped, run_experiment
from traces.collect.recorder.window import LEAST_STEPS, MOST_STEPS
from traces.errors import UsageError

RESULT = MethodResult(
    "standard", "standard", (2_000_000_000, 2_400_000_000), 2, (0.5, 0.7), (0.91, 0.93), Path("standard.json")
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_methods_are_timed_and_recorded(tmp_path: Path, digits_dir: Path) -> None:
    config = ExperimentConfig(
        output=tmp_path / "out", methods=("memory", "uint8", "amp", "pinned"),
        epochs=1, repeats=1, device="cpu", data_dir=digits_dir,
    )  # fmt: skip
    results = list(run_experiment(config, lambda done, total, label: None))
    skipped = [result for result in results if isinstance(result, Skipped)]
    assert [(result.name, result.reason) for result in skipped] == [("pinned", "no accelerator to copy to")]
    measured = [result for result in results if isinstance(result, MethodResult)]
    assert [result.name for result in measured] == ["standard", "amp", "memory", "uint8"]
    for result in measured:
        assert result.total_ns > 0
        assert 0 <= result.accuracy <= 1
        trace = json.loads(result.trace.read_bytes())
        steps = sum(event["name"].startswith("ProfilerStep#") for event in trace["traceEvents"])
        assert LEAST_STEPS <= steps <= MOST_STEPS  # fewer where another program has the cores
    in_memory = next(result for result in measured if result.name == "memory")
    assert in_memory.losses == pytest.approx(measured[0].losses, rel=1e-3)  # the same batches, the same training


def test_names_are_unique_and_the_standard_loop_is_first() -> None:
    names = [method.name for method in METHODS]
    assert names[0] == "standard"
    assert len(names) == len(set(names))


def test_a_row_of_the_table() -> None:
    assert row(RESULT, RESULT).split() == [
        "standard", "2.20", "s", "1.10", "s", "1.00", "x", "9%", "0.6000", "92.0%",
    ]  # fmt: skip
    worse = replace(RESULT, totals_ns=(1_100_000_000,), accuracies=(0.80,))
    assert row(worse, RESULT).split()[5:7] == ["2.00", "x"]
    assert row(worse, RESULT).endswith("less accurate")
    assert not replace(worse, accuracies=(0.905,)).is_less_accurate(RESULT)
    assert row(Skipped("amp", "AMP", "no device"), RESULT).split() == ["AMP", "skipped:", "no", "device"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"methods": ("sleep",)}, "there is no method sleep"), ({"epochs": 0}, "must be at least 1")],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as told:
        ExperimentConfig(**options)  # type: ignore[arg-type]
    assert told.value.fix


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
def test_a_folder_that_cannot_be_made_is_told_with_the_option_that_names_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("none")
    config = ExperimentConfig(output=tmp_path / "file" / "traces", device="cpu")
    with pytest.raises(UsageError, match="cannot make the folder") as told:
        list(run_experiment(config, lambda done, total, label: None))
    assert told.value.where == "-o/--output"


def test_a_missing_device_and_a_missing_package_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["experiment", "--device", "cuda", "-o", str(tmp_path)]) == 2
    assert "no CUDA device" in capsys.readouterr().err
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "tensorboard" else find(name))
    assert main(["experiment", "--tensorboard", str(tmp_path)]) == 2
    assert "needs tensorboard" in capsys.readouterr().err


@pytest.mark.slow
def test_a_method_that_fails_leaves_the_others_their_results(
    tmp_path: Path, digits_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from traces.collect.experiment.training import Trainer

    step = Trainer._step

    def failing(self: Trainer, *batch: torch.Tensor) -> float:
        # Not the fused optimizer: before torch 2.4 the CPU has none, and it fails by itself.
        if self.setup.accumulate > 1:
            raise RuntimeError("DataLoader worker (pid 7) is killed by signal: Interrupt.\nmore")
        return step(self, *batch)

    monkeypatch.setattr(Trainer, "_step", failing)
    options = ["--methods", "accumulate,memory", "--epochs", "1", "--repeats", "2", "--data-dir", str(digits_dir)]
    assert main(["experiment", "-o", str(tmp_path / "out"), "--device", "cpu", *options]) == 2
    said = capsys.readouterr()
    assert "1 method failed: accumulate; the others' results stand" in said.err
    rows = (said.out + said.err).splitlines()
    assert any(
        line.startswith("gradient accumulation") and "failed: DataLoader worker (pid 7)" in line for line in rows
    )
    assert any(line.startswith("data in memory") and "1.00 x" not in line and " x " in line for line in rows)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["memory.json", "standard.json"]
