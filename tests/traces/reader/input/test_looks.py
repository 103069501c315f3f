from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from traces.reader.input.looks import looks_like_trace

SAMPLES = Path(__file__).parents[4] / "traces" / "samples"
TRACE = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}'


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (TRACE, True),
        (gzip.compress(TRACE), True),
        (b'[{"ph": "X", "name": "a"}]', True),
        (b'{"version": "1.0", "name": "before", "runs": []}', False),
        (b'{"schema_version": "1.0", "tool": {}}', False),
        (b"", False),
        (b"\x1f\x8bdamaged", False),
    ],
)
def test_the_beginning_tells(tmp_path: Path, content: bytes, looks: bool) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    assert looks_like_trace(path) is looks


def test_our_own_recordings_look_like_traces_and_what_is_not_there_does_not(tmp_path: Path) -> None:
    samples = list(SAMPLES.glob("*.json.gz"))
    assert samples
    assert all(map(looks_like_trace, samples))
    assert not looks_like_trace(tmp_path / "nothing.json")
    assert not looks_like_trace(tmp_path)
