"""An option behind the script is the script's own, which stands behind `--`; one ahead of it is a misspelt one of ours."""

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
        (["collect", "my train.py", "--lr", "3"], "advisor collect 'my train.py' -- --lr ..."),
        (["collect", "train.py", "--out", "X"], "advisor collect train.py -- --out ..."),
        (["explain", "--lr", "train.py"], "advisor explain --help"),
    ],
)  # fmt: skip
def test_the_whole_command_is_told(typed: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        (["collect", "--out", "X", "train.py"], "--output"),
        (["collect", "--outpt=X", "train.py"], "--output"),
        (["collect", "--moduls", "-m", "train"], "--modules"),
        (["collect", "--stak", "train.py", "--", "--lr", "3"], "--stacks"),
        (["tune", "--bugdet", "3", "train.py"], "--budget"),
    ],
)
def test_ahead_of_the_script_the_nearest_option_is_told(
    typed: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    told = capsys.readouterr().err
    assert f"fix: write {near}, or see `advisor {typed[0]} --help`" in told
    assert " -- " not in told


def test_ahead_of_the_script_what_is_near_none_of_ours_may_be_the_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--xyzzy", "3", "train.py"]) == 2
    told = capsys.readouterr().err
    assert "see `advisor collect --help`" in told
    assert "advisor collect train.py -- --xyzzy ..." in told
