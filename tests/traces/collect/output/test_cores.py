"""What the processor can do, as Linux says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.collect.output.cores import cpu_features, describe_cores


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("processor : 0\nflags\t\t: fpu avx2 avx512f amx_bf16 xsave\n", ["avx2", "avx512f", "amx_bf16"]),
        ("processor : 0\nflags\t\t: fpu\n", []),
        ("processor : 0\nFeatures : fp asimd\n", None),
    ],
)
def test_reads_the_units_that_matter(
    text: str, features: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    monkeypatch.setattr("traces.collect.output.cores._CPUINFO", path)
    assert cpu_features() == features
    assert describe_cores()["cpu_features"] == features


def test_a_system_without_the_file_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.collect.output.cores._CPUINFO", tmp_path / "none")
    assert cpu_features() is None
