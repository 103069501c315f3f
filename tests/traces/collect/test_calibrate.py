"""What the machine achieves, measured beside a recording, and what operators are then compared with."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from analyzer.facts import Facts
from analyzer.facts.recording.calibration import calibration
from analyzer.hardware.document import hardware
from building.builders import TraceBuilder
from traces.collect.calibrate import calibrate
from traces.errors import UsageError
from traces.reader.read import read

SIZE = 512
PROGRAM = """
import json, sys
print("noise")
print(json.dumps({"device": sys.argv[1], "threads": int(sys.argv[2]), "flops_per_s": {"fp32": 1e11}, "bytes_per_s": 2e10}))
"""


def recording(path: Path, *, device: str | None = None) -> Path:
    builder = TraceBuilder(device=device, advisor={"threads": {"intra_op": 1}, "device": "cpu"})
    for number in range(3):
        builder.step(number, number * 10_000, 9_000)
        dims = {"Input Dims": [[SIZE, SIZE], [SIZE, SIZE]], "Input type": ["float"] * 2}
        # 2 * 512^3 in 4 ms: 67 GFLOP/s.
        builder.op("aten::mm", number * 10_000 + 10, 4_000, **dims)
    content = json.dumps(builder.document()).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A program that measures nothing and answers at once."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setattr("traces.collect.calibrate._PROGRAM", program)
    return program


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_it_is_kept_in_the_recording_and_events_stay(told: Path, name: str, tmp_path: Path) -> None:
    path = recording(tmp_path / name)
    before = read(path)
    calibrate(path, sys.executable)
    after = read(path)
    assert before.ops.equals(after.ops)
    found = calibration(after.meta)
    assert found is not None
    assert (found.device, found.threads, found.flops_per_s, found.bytes_per_s) == ("cpu", 1, {"fp32": 1e11}, 2e10)
    document = hardware(Facts(after))
    assert (document.peaks.source, document.peaks.name) == ("calibrated", "CPU, 1 thread")
    assert document.operators[0].peak_ratio == pytest.approx(2 * SIZE**3 / 4e-3 / 1e11)
    # Without a device the ops themselves do the work: 10 ms from step to step, less what lies above the roofline.
    found = {one.name: one.step_ns for one in document.ceilings}
    assert found["overlap"] is None
    above_ns = 4_000_000 - 2 * SIZE**3 / 1e11 * 1e9
    assert found["roofline"] == pytest.approx(Facts(after).steps.total_ns / 3 - above_ns, rel=1e-3)


def test_faster_than_what_was_measured_is_doubt(told: Path, tmp_path: Path) -> None:
    told.write_text(PROGRAM.replace("1e11", "1e9"))
    path = recording(tmp_path / "trace.json")
    calibrate(path, sys.executable)
    (row,) = hardware(Facts(read(path))).operators
    assert row.peak_ratio is None
    assert "measured beside others" in row.reason


def test_of_another_device_it_says_nothing(told: Path, tmp_path: Path) -> None:
    path = recording(tmp_path / "trace.json")
    calibrate(path, sys.executable)
    document = json.loads(path.read_text())
    document["advisor"]["calibration"]["device"] = "NVIDIA H100 80GB HBM3"
    path.write_text(json.dumps(document))
    assert hardware(Facts(read(path))).peaks.source == "unknown"


@pytest.mark.parametrize(
    "value",
    [None, [], {"device": "cpu"}, {"device": "cpu", "flops_per_s": {"fp32": -1}, "bytes_per_s": 1},
     {"device": "cpu", "flops_per_s": {"fp32": "fast"}, "bytes_per_s": 1},
     {"device": 3, "flops_per_s": {"fp32": 1}, "bytes_per_s": 1},
     {"device": "cpu", "flops_per_s": {"fp32": 1e300}, "bytes_per_s": 1}],
)  # fmt: skip
def test_what_is_no_measurement_counts_as_none(value: object, tmp_path: Path) -> None:
    path = recording(tmp_path / "trace.json")
    document = json.loads(path.read_text())
    document["advisor"]["calibration"] = value
    path.write_text(json.dumps(document))
    assert calibration(read(path).meta) is None


def test_a_program_that_fails_is_told_and_leaves_the_recording(told: Path, tmp_path: Path) -> None:
    told.write_text("import sys; sys.exit('no such device')")
    path = recording(tmp_path / "trace.json")
    before = path.read_bytes()
    with pytest.raises(UsageError) as caught:
        calibrate(path, sys.executable)
    assert "no such device" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_machine_is_measured_for_real(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = recording(tmp_path / "trace.json")
    found = calibrate(path, sys.executable, seconds=0.6)
    assert found["threads"] == 1
    assert 1e8 < found["flops_per_s"]["fp32"] < 1e13
    assert found["flops_per_s"]["fp64"] < found["flops_per_s"]["fp32"] * 1.5
    assert 1e8 < found["bytes_per_s"] < 1e13
