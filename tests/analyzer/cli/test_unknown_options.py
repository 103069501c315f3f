"""An option that is the script's own stands behind `--`, and who forgot that is told the whole command."""

from __future__ import annotations

import pytest

from analyzer.cli.main import main


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["collect", "train.py", "--lr", "3"], "advisor collect train.py -- --lr ..."),
        (["collect", "-m", "torch.distributed.run", "--standalone", "ddp.py"],
         "advisor collect -m torch.distributed.run -- --standalone ..."),
        (["tune", "-m", "train", "--lr"], "advisor tune -m train -- --lr ..."),
        (["explain", "--lr", "train.py"], "advisor explain --help"),
    ],
)  # fmt: skip
def test_the_whole_command_is_told(typed: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == 2
    assert told in capsys.readouterr().err
