"""Every bottleneck that can be planted on this machine is found, and nothing else is: `pytest -m zoo`."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from analyzer.cli.commands.zoo import run
from analyzer.cli.commands.zoo.score import lines


@pytest.mark.zoo
@pytest.mark.parametrize(
    "timing", [pytest.param(False, id="findings", marks=pytest.mark.quick), pytest.param(True, id="remedies")]
)
def test_the_zoo(tmp_path: Path, capsys: pytest.CaptureFixture[str], timing: bool) -> None:
    total, skipped = run(tmp_path, timing=timing)
    with capsys.disabled():
        print("", *lines(total, skipped), sep="\n")  # noqa: T201 - the table is what people run this for
    if total.too_busy:
        pytest.skip(f"other programs had the cores: {total.disturbed} presets could not be judged")
    assert total.problems == []
