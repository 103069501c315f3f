"""DL006: 8 samples of 1 ms each (or far less), made one by one in the training process."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT_BOUND
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.data_loading.small_samples import RULE
from running.one_rule import judged, run

SMALL = {"loader": {"batch_size": 8}, "dataset": {"length": 60_000, "sample_bytes": 3_136}, "usable_cores": 2}


def world(
    *,
    sample: float = 100,
    samples: int = 8,
    step: float = 2_000,
    op_share: float = 0.3,
    workers: int = 0,
    device: str | None = None,
    advisor: dict[str, object] | None = None,
    draws: int = 0,
) -> TraceBuilder:
    """Three steps: a batch of `samples` samples with three ops each, then one op (or kernel) for the rest of the step.

    The first `draws` samples draw a random number.
    """
    builder = TraceBuilder(device, advisor=advisor)
    for number in range(3):
        at = number * step
        load = sample * samples
        builder.step(number, at, step).loader(at, load, workers=workers)
        for index in range(0 if workers else samples):
            for place, name in enumerate(("aten::permute", "aten::contiguous", "aten::div")):
                builder.op(name, at + index * sample + place * sample / 3, sample / 3 * op_share)
            if index < draws:
                builder.op("aten::uniform_", at + (index + 1) * sample - 2, 1)
        if device is None:
            builder.op("aten::linear", at + load, step - load)
        else:
            builder.launch(at + load, kernel_start=at + load + 1, kernel_dur=step - load - 1)
    return builder


def test_fires_with_the_loaders_time_as_bound() -> None:
    found = judged(RULE, world())
    assert found.ns_per_step == 800_000
    assert found.confidence is Confidence.MEDIUM
    assert found.finding.why == (
        "Each batch is made of 8 samples, one by one, the same 3 ops for each of them: 100 us a sample, "
        "800 us of each 2.0 ms step (40 %)."
    )


@pytest.mark.parametrize(("name", "made"), [("TensorDataset", False), ("Spectra", True)])
def test_tensors_are_not_made_of_samples_again(name: str, made: bool) -> None:
    known = SMALL | {"dataset": {"length": 60_000, "sample_bytes": 3_136, "name": name}}
    code = judged(RULE, world(advisor=known)).finding.fix[0].code
    assert ("dataset.tensors" in code) is not made
    assert ("dataset[index] for index" in code) is made


def test_surer_where_the_size_of_the_data_is_known() -> None:
    found = judged(RULE, world(advisor=SMALL))
    assert found.confidence is Confidence.HIGH
    assert "179 MiB" in found.finding.why
    assert "randperm" in found.finding.fix[0].code


def test_on_a_gpu_only_idle_time_counts() -> None:
    found = judged(RULE, world(device="cuda"))
    assert found.ns_per_step == 800_000


@pytest.mark.parametrize(("sample", "state"), [(190, State.FIRED), (210, State.CLEAR)])
def test_boundary_of_a_sample(sample: float, state: State) -> None:
    assert run(RULE, world(sample=sample, step=10_000)).state is state


@pytest.mark.parametrize(("share", "state"), [(0.55, State.CLEAR), (0.65, State.FIRED)])
def test_boundary_of_ops(share: float, state: State) -> None:
    assert run(RULE, world(sample=500, step=10_000, op_share=share)).state is state


@pytest.mark.parametrize(("step", "state"), [(16_300, State.CLEAR), (15_700, State.FIRED)])
def test_boundary_of_the_step(step: float, state: State) -> None:
    assert run(RULE, world(step=step)).state is state


def test_large_data_do_not_fit() -> None:
    large = {"loader": {"batch_size": 8}, "dataset": {"length": 1_000_000, "sample_bytes": 600_000}}
    assert run(RULE, world(advisor=large)).state is State.NOT_APPLICABLE


def test_cannot_tell_what_workers_do() -> None:
    result = run(RULE, world(workers=2))
    assert result.state is State.CANNOT_TELL
    assert "num_workers=0" in result.reason


def test_cannot_tell_without_repeated_ops() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000).loader(at, 500)
        builder.op("aten::linear", at + 500, 500)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_quiet_when_the_time_goes_elsewhere() -> None:
    assert run(RULE, world(step=100_000)).state is State.CLEAR


def test_it_stands_for_the_more_general_findings() -> None:
    assert {INPUT_BOUND.meta.code, SINGLE_PROCESS.meta.code} <= set(RULE.meta.explains)


def test_ops_that_compute_gain_nothing_from_a_batch() -> None:
    """Three ops of 0.5 ms a sample: one op on eight samples takes as long as eight."""
    assert run(RULE, world(sample=1_600, step=20_000, op_share=0.95)).state is State.CLEAR


@pytest.mark.parametrize(("draws", "state"), [(7, State.FIRED), (8, State.CLEAR)])
def test_augmentation_is_not_to_be_frozen(draws: int, state: State) -> None:
    """Samples that differ in every epoch cannot be made once; a draw or two a batch may be the sampler's."""
    builder = world(advisor=SMALL, draws=draws)
    assert run(RULE, builder).state is state
    advised = [advice.code for advice in judged(SINGLE_PROCESS, builder).finding.fix]
    assert any("default_collate(samples)" in code for code in advised) is (state is State.FIRED)


@pytest.mark.parametrize(("known", "state"), [({}, State.CLEAR), ({"seeds": True}, State.FIRED)])
def test_what_is_drawn_of_a_seed_of_each_sample_is_the_same_in_every_epoch(
    known: dict[str, object], state: State
) -> None:
    """torchvision's `FakeData`, of 86 % of a step, was said to come out different in every epoch."""
    small = SMALL | {"dataset": {**SMALL["dataset"], "random": False, **known}}
    assert run(RULE, world(advisor=small, draws=8)).state is state


def test_a_seed_tells_nothing_of_what_moves_the_generator_behind_it() -> None:
    small = SMALL | {"dataset": {**SMALL["dataset"], "random": True, "seeds": True}}
    assert run(RULE, world(advisor=small)).state is State.CLEAR


def test_the_fix_names_the_batch_of_this_run() -> None:
    assert "batch_size=8," in judged(RULE, world(advisor=SMALL)).finding.fix[1].code
    assert "batch_size=batch_size," in judged(RULE, world()).finding.fix[1].code


def whole_batches(*, by_batch: bool) -> TraceBuilder:
    """The ops of a batch that is taken from memory in one go; `by_batch`: recorded so, else a loader of 8 samples."""
    batch = None if by_batch else 8
    builder = TraceBuilder(None, advisor=SMALL | {"loader": {"batch_size": batch}, "batch_size": 8})
    for number in range(3):
        at = number * 2_000
        builder.step(number, at, 2_000).loader(at, 800)
        builder.op("aten::index", at, 300)
        builder.op("aten::index", at + 400, 300)
        builder.op("aten::linear", at + 800, 1_200)
    return builder


def test_batches_that_are_made_whole_are_not_loaded_one_by_one() -> None:
    answer = run(RULE, whole_batches(by_batch=True))
    assert answer.state is State.CLEAR
    assert "whole batches" in answer.reason
    assert judged(RULE, whole_batches(by_batch=False)).ns_per_step == 800_000


@pytest.mark.parametrize(("decoded", "samples"), [(1, 6), (0, 18)])
def test_a_sample_may_hold_several_turns_of_the_same_ops(decoded: int, samples: int) -> None:
    """Six samples of three views each; where each is decoded once, that tells how many there are."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 4_000.0
        builder.step(number, at, 4_000).loader(at, 1_800)
        for index in range(6):
            for _ in range(decoded):
                builder.op("image::decode", at + 300 * index, 10)
            for view in range(3):
                for place, name in enumerate(("aten::permute", "aten::contiguous", "aten::div")):
                    builder.op(name, at + 300 * index + 20 + 90 * view + 30 * place, 20)
        builder.op("aten::linear", at + 1_800, 2_200)
    assert Facts(builder.trace()).input.loading.samples == samples


def rows_of_tensors(*, together: int, labels: int = 0) -> TraceBuilder:
    """Three batches of 32 rows, a row taken by `select` each, of so many tensors; `labels` of them are read as numbers."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 2_000.0
        builder.step(number, at, 2_000).loader(at, 800)
        for row in range(32):
            builder.op("aten::select", at + row * 20, 5)
        for label in range(labels):
            builder.op("aten::item", at + label * 40 + 7, 5)
        for tensor in range(together):
            builder.op("aten::stack", at + 700 + tensor * 20, 15)
        builder.op("aten::linear", at + 800, 1_200)
    return builder


@pytest.mark.parametrize(("together", "samples"), [(1, 32), (2, 16)])
def test_rows_of_a_tensor_dataset_are_put_together_tensor_by_tensor(together: int, samples: int) -> None:
    found = judged(RULE, rows_of_tensors(together=together))
    # What copies the rows, 15 us for each tensor, stays: rows that are indexed are copied as well.
    assert found.ns_per_step == 800_000 - together * 15_000
    assert f"Each batch is made of {samples} samples" in found.finding.why


@pytest.mark.parametrize(
    ("together", "labels"), [(0, 0), (5, 0), (1, 16)], ids=["not put together", "not evenly", "others half as often"]
)
def test_rows_that_are_put_together_otherwise_are_not_counted(together: int, labels: int) -> None:
    assert run(RULE, rows_of_tensors(together=together, labels=labels)).state is State.CANNOT_TELL


def passing(times: float, *, name: str = "Own", sample: float = 100, **run: object) -> TraceBuilder:
    """A run of 100 steps without the profiler that takes each of its samples so many times, in batches of 8."""
    known = {
        "length": round(800 / times),
        "sample_bytes": 3_136,
        "name": name,
        "sample": {"form": "tensor", "parts": 1},
    }
    told = {"steps": 100, "times": [[100, 1_000_000_000]], **run}
    steps = {"batches_per_step": 1}
    return world(advisor=SMALL | {"dataset": known, "run": told, "steps": steps, "batch_size": 8}, sample=sample)


@pytest.mark.parametrize(
    ("times", "said"),
    [(1, "once: there it saves nothing"), (2, "2 times: to make them once takes as long"), (20, "")],
)
def test_a_run_that_passes_through_its_data_a_few_times_makes_them_all_the_same(times: float, said: str) -> None:
    kept = next(one for one in judged(RULE, passing(times)).finding.fix if "range(len(dataset))" in one.code)
    assert ("passes through its data" in (kept.note or "")) is bool(said)
    assert said in (kept.note or "")


def test_samples_that_are_made_once_as_it_is_are_not_to_be_kept() -> None:
    """A program of one epoch was told that a list of all samples saves 86 % of its step."""
    assert "makes each sample once" in run(RULE, passing(1, sample=300)).reason
    assert run(RULE, passing(1, sample=300, stopped=True)).state is State.FIRED
    assert run(RULE, passing(3, sample=300)).state is State.FIRED
    assert run(RULE, passing(1, sample=300, name="TensorDataset")).state is State.FIRED


@pytest.mark.parametrize("times", [1, 5])
def test_whole_batches_of_what_is_held_come_first_where_each_is_made_once(times: int) -> None:
    first = judged(RULE, passing(times)).finding.fix[0].code
    assert ("class InMemory" in first) is (times == 1)


@pytest.mark.parametrize(
    ("name", "sample", "state"),
    [
        ("TensorDataset", {"form": "sequence", "parts": 2}, State.FIRED),
        ("Own", {"form": "sequence", "parts": 2}, State.CANNOT_TELL),
        ("TensorDataset", None, State.CANNOT_TELL),  # a collation of the program's own
    ],
)
def test_workers_that_take_samples_out_of_tensors_are_no_help(
    name: str, sample: dict[str, object] | None, state: State
) -> None:
    """A study of small networks was told to store each sample of a `TensorDataset` in a file of its own."""
    known = {"length": 3_000, "sample_bytes": 128, "name": name, "batch_kind": "tensors", "sample": sample}
    builder = TraceBuilder(
        None, advisor={"loader": {"num_workers": 2, "batch_size": 64}, "dataset": known, "usable_cores": 2}
    )
    for number in range(6):
        at = number * 5_000
        builder.step(number, at, 5_000).loader(at, 2_000, workers=2)
        builder.op("aten::linear", at + 2_000, 3_000)
    result = run(RULE, builder)
    assert result.state is state
    for found in result.findings:
        assert "2 worker processes take samples one by one" in found.why
        assert "dataset.tensors" in found.fix[0].code
        assert found.saving.claims.total_ns == 6 * 2_000_000
