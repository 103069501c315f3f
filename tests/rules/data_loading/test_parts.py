"""A remedy for one part of making a batch leaves the others as they are: slow samples, slow samplers, slow collate functions."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT_BOUND
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from rules.data_loading.too_few_cores import RULE as TOO_FEW_CORES
from running.one_rule import judged, run

OWN = [
    {"role": "dataset", "name": "Rows.__getitem__", "file": "train.py", "line": 5},
    {"role": "collate", "name": "Batcher.__call__", "file": "train.py", "line": 30},
    {"role": "sampler", "name": "Hard.__iter__", "file": "train.py", "line": 50},
]


def world(
    *,
    parts: dict[str, int] | None,
    collates: bool = True,
    own: Any = OWN,
    cores: int = 2,
    step: int = 2_000,
    workers: int = 0,
    **top: Any,
) -> TraceBuilder:
    """Batches of 8 samples that take 800 us each; `collates`: a collate function that is not torch's puts them together."""
    known = {
        "length": 60_000,
        "sample_bytes": 3_136,
        "batch_kind": "mapping" if collates else "tensors",
        "random": False,
    }
    known |= {} if collates else {"sample": {"form": "sequence", "parts": 2}}
    advisor = {
        "loader": {"batch_size": 8, "num_workers": workers},
        "usable_cores": cores,
        "dataset": known,
        "loader_code": own,
    }
    builder = TraceBuilder(None, advisor=advisor | ({"batch_parts_ns": parts} if parts is not None else {}) | top)
    for number in range(3):
        at = number * step
        builder.step(number, at, step).loader(at, 800, workers=workers)
        builder.op("aten::linear", at + 800, step - 800)
    return builder


def split(sampler: int, dataset: int, collate: int) -> dict[str, int]:
    return {"sampler": sampler, "dataset": dataset, "collate": collate}


def codes(rule: Rule, **options: Any) -> str:
    return "\n".join(f"{one.code}\n{one.note}" for one in judged(rule, world(**options)).finding.fix)


@pytest.mark.parametrize("rule", [SMALL_SAMPLES, SINGLE_PROCESS, INPUT_BOUND])
def test_samples_in_memory_are_no_remedy_for_a_slow_collate_function(rule: Rule) -> None:
    """Where it tokenises, a list of samples leaves all of that in the step."""
    said = codes(rule, parts=split(1, 9, 90))
    assert "prepare(dataset[index])" in said
    assert "`Batcher.__call__`" in said
    assert "collate_fn=loader.collate_fn" not in said
    assert "torch.save" not in said


@pytest.mark.parametrize("parts", [split(1, 90, 9), None])
def test_samples_in_memory_remain_the_remedy_for_slow_samples(parts: dict[str, int] | None) -> None:
    said = codes(SMALL_SAMPLES, parts=parts)
    assert "collate_fn=loader.collate_fn" in said
    assert "prepare(" not in said


def test_what_stays_is_not_promised() -> None:
    assert judged(SMALL_SAMPLES, world(parts=split(10, 60, 30))).ns_per_step == pytest.approx(800_000 * 0.6, rel=1e-6)
    assert judged(SMALL_SAMPLES, world(parts=None)).ns_per_step == 800_000
    # Whole batches are indexed: nothing is put together any more.
    assert judged(SMALL_SAMPLES, world(parts=split(10, 30, 60), collates=False)).ns_per_step == pytest.approx(
        720_000, rel=1e-6
    )


@pytest.mark.parametrize(("loop", "kept"), [("transformers", 0.3), (None, 0.0)])
def test_a_collation_that_the_loop_keeps_is_not_promised(loop: str | None, kept: float) -> None:
    """A framework that makes the loader is given samples that lie in memory, and puts them together as before."""
    frameworks = {"frameworks": {"loop": [loop]}} if loop is not None else {}
    found = judged(SMALL_SAMPLES, world(parts=split(10, 60, 30), collates=False, **frameworks))
    assert found.ns_per_step == pytest.approx(800_000 * (0.9 - kept), rel=1e-6)
    assert found.finding.saving.claims.total_ns // 3 == pytest.approx(800_000 * (0.9 - kept), rel=1e-6)


def copying(*, device: str | None, views: int = 0, inside: bool = True) -> TraceBuilder:
    """Batches of 8 rows in 800 us, of which torch's own collation copies for 600, `views` of it in views of the rows."""
    known = {"loader": {"batch_size": 8}, "dataset": {"length": 1_000, "sample_bytes": 600_000}}
    builder = TraceBuilder(device, advisor=known)
    for number in range(3):
        at = number * 2_000
        builder.step(number, at, 2_000).loader(at, 800)
        for row in range(8):
            builder.op("aten::select", at + row * 10, 5)
        if inside:
            builder.op("aten::stack", at + 150, 600)
        if views:
            builder.op("aten::unsqueeze", at + 151, views)
        if device is None:
            builder.op("aten::linear", at + 800, 1_200)
        else:
            builder.launch(at + 800, kernel_start=at + 801, kernel_dur=1_199)
    return builder


@pytest.mark.parametrize(("inside", "views", "stays"), [(True, 0, 600), (True, 100, 500), (False, 0, 0)])
def test_what_torchs_own_collation_copies_is_no_likely_saving(inside: bool, views: int, stays: int) -> None:
    """Samples that take no time of their own: whole batches that are indexed are copied as they are now."""
    found = judged(SMALL_SAMPLES, copying(device=None, inside=inside, views=views))
    assert found.ns_per_step == pytest.approx((800 - stays) * 1_000, abs=2)
    assert ("still takes of it" in found.finding.saving.basis) is (stays > 0)
    # A device has a bound besides: another way to copy may be faster.
    on_device = judged(SMALL_SAMPLES, copying(device="cuda", inside=inside, views=views))
    assert on_device.ns_per_step == pytest.approx(800_000, rel=0.01)
    assert on_device.usual_ns_per_step == pytest.approx((800 - stays) * 1_000, rel=0.01)


def test_of_a_librarys_collate_function_nothing_can_be_taken() -> None:
    options: dict[str, Any] = {"parts": split(1, 9, 90), "own": OWN[:1]}
    assert run(SMALL_SAMPLES, world(**options)).state is State.CLEAR
    said = codes(SINGLE_PROCESS, **options)
    assert "num_workers=1" in said
    assert "dataset[index]" not in said


def test_torchs_own_collation_goes_with_the_samples() -> None:
    assert "default_collate(samples)" in codes(SMALL_SAMPLES, parts=split(1, 9, 90), collates=False, own=[])


def test_workers_and_memory_are_no_remedy_for_a_slow_sampler() -> None:
    parts = split(90, 5, 5)
    for rule in (SMALL_SAMPLES, SINGLE_PROCESS):
        answer = run(rule, world(parts=parts))
        assert answer.state is State.CLEAR
        assert "choosing the samples takes 90 %" in answer.reason
    found = judged(INPUT_BOUND, world(parts=parts)).finding
    assert "`Hard.__iter__`" in found.fix[0].note
    assert not any("num_workers" in one.code for one in found.fix)


def test_cores_are_not_what_a_slow_sampler_lacks() -> None:
    """Loading takes 800 us of a step of 1 ms: one core beside training cannot make it, if workers are to."""
    assert run(TOO_FEW_CORES, world(parts=split(5, 90, 5), step=1_000)).state is State.FIRED
    assert run(TOO_FEW_CORES, world(parts=split(90, 5, 5), step=1_000)).state is State.CLEAR


def test_what_the_sampler_takes_stays_beside_workers() -> None:
    """Two cores: 1,200 us and 60 % of 800 us shared between them, never less than 1,520 us in the training process."""
    assert judged(SINGLE_PROCESS, world(parts=split(40, 55, 5))).ns_per_step == pytest.approx(480_000, rel=1e-6)
    assert judged(SINGLE_PROCESS, world(parts=split(0, 95, 5))).ns_per_step == pytest.approx(800_000, rel=1e-6)


@pytest.mark.parametrize(
    ("parts", "line", "name"),
    [
        (None, 5, "Rows.__getitem__"),
        (split(1, 90, 9), 5, "Rows.__getitem__"),
        (split(1, 9, 90), 30, "Batcher.__call__"),
        (split(90, 9, 1), 50, "Hard.__iter__"),
    ],
)
def test_the_place_is_that_of_the_part(parts: dict[str, int] | None, line: int, name: str) -> None:
    place = judged(INPUT_BOUND, world(parts=parts)).finding.location
    assert place is not None
    assert (place.begins, place.function) == (line, name)


@pytest.mark.parametrize(
    "parts", [{"sampler": 1}, split(0, 0, 0), {"sampler": "1", "dataset": None, "collate": []}, split(-1, 1, 1), []]
)
def test_what_is_no_timing_says_nothing(parts: Any) -> None:
    assert judged(SMALL_SAMPLES, world(parts=parts)).ns_per_step == 800_000


def test_a_data_set_without_indices_is_listed() -> None:
    said = codes(SMALL_SAMPLES, parts=None, stream={"splits": False})
    assert "samples = list(dataset)" in said
    assert "dataset[index]" not in said
    assert "prepare(sample) for sample in dataset" in codes(
        SMALL_SAMPLES, parts=split(1, 9, 90), stream={"splits": False}
    )


@pytest.mark.parametrize(
    ("stream", "cores", "words"),
    [
        ({"splits": False}, 8, "and yields every sample"),
        ({"splits": None}, 8, "and may yield every sample"),
        ({"splits": True}, 8, ""),
        ({"splits": False}, 2, ""),
        (None, 8, ""),
    ],
)
def test_several_workers_of_a_stream_yield_it_several_times(stream: Any, cores: int, words: str) -> None:
    """One worker yields it once, and so do those that share it out."""
    said = codes(SINGLE_PROCESS, parts=None, stream=stream, cores=cores)
    assert "num_workers=" in said
    assert (words in said) if words else "get_worker_info" not in said


@pytest.mark.parametrize(("imported", "images"), [({"torchvision": "0.29"}, True), ({"lightning": "2.6"}, False)])
def test_numbers_from_a_file_are_no_images(imported: dict[str, str], *, images: bool) -> None:
    frameworks = {"imported": imported, "loop": [], "data": [], "loader": []}
    said = codes(SINGLE_PROCESS, parts=None, collates=False, frameworks=frameworks)
    assert ("resize(image)" in said) is images
    assert "torch.save" in said


@pytest.mark.parametrize(
    ("imported", "data", "kind", "words"),
    [
        ({"torchvision": "0.29"}, ["torchvision.datasets"], "tensors", "sample cheaper: smaller images"),
        # Imported by a library of metrics, as likely as for images.
        ({"torchvision": "0.29"}, [], "tensors", "Where they are images: smaller images"),
        ({"torchvision": "0.29"}, [], "objects", ""),
        ({"lightning": "2.6"}, [], "tensors", ""),
    ],
)
def test_a_wave_or_a_molecule_is_not_told_to_be_a_smaller_image(
    imported: dict[str, str], data: list[str], kind: str, words: str
) -> None:
    frameworks = {"imported": imported, "loop": [], "data": data, "loader": []}
    known = {"random": True, "batch_kind": kind, "sample": {"form": "sequence", "parts": 2}}
    said = codes(TOO_FEW_CORES, parts=split(5, 90, 5), step=1_000, frameworks=frameworks, dataset=known)
    assert "Make a sample cheaper" in said
    assert (words in said) if words else "images" not in said


@pytest.mark.parametrize(("collate", "prepared"), [(90, True), (10, False), (None, False), (200, False)])
def test_of_workers_the_samples_of_their_lines_tell(collate: int | None, *, prepared: bool) -> None:
    """Samples stored on disk are tokenised as before by a collate function that does so."""
    part = {"processes": 1, "total_ns": 100, "loader_ns": 100, "rows": []}
    lines = {"workers": part | ({"collate_ns": collate} if collate is not None else {})}
    said = codes(INPUT_BOUND, parts=None, lines=lines, workers=1)
    assert said.startswith("samples = [prepare(dataset[index])") is prepared
    assert ("torch.save" in said) is not prepared


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("lacked", "storage"), [(0.02, True), (0.2, False)])
def test_workers_whose_cores_others_had_wait_for_no_storage(lacked: float, workers: int, *, storage: bool) -> None:
    """They run for 6 % of the time: what they do else is waiting for files, or for a core and for training that lacks one too."""
    samples = {"worker_cpu_ratio": [0.06] * workers, "worker_core_wait_ratio": [lacked] * workers}
    said = codes(INPUT_BOUND, parts=None, samples=samples, workers=workers)
    assert ("rsync" in said) is storage
    assert ("torch.save" in said) is not storage


@pytest.mark.parametrize(("making", "storage"), [(90, True), (30, False)])
def test_workers_that_were_asked_for_nothing_wait_for_no_storage(making: int, *, storage: bool) -> None:
    """Their lines say whether they were making a batch while they hardly computed, or had made what was asked for."""
    samples = {"worker_cpu_ratio": [0.06], "worker_core_wait_ratio": [0.0]}
    lines = {"workers": {"processes": 1, "total_ns": 100, "loader_ns": making, "collate_ns": 0, "rows": []}}
    said = codes(INPUT_BOUND, parts=None, samples=samples, lines=lines, workers=1)
    assert ("rsync" in said) is storage
