"""Arguments that may be handed around: names of options, numbers, a few words; nothing that could be a secret or a path."""

from __future__ import annotations

import pytest

from traces.collect.script.arguments import shareable


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("--epochs 3 --lr 1e-4 -b 64", "--epochs 3 --lr 1e-4 -b 64"),
        ("--amp --device cuda:0 --precision bf16-mixed", "--amp --device cuda:0 --precision bf16-mixed"),
        ("--data /home/me/data --name run7", "--data ... --name ..."),
        ("--token=hush --api-key 1234 --password 99", "--token=... --api-key ... --password ..."),
        ("trainer.max_epochs=3 data.root=/home/me +model=big", "trainer.max_epochs=3 data.root=... +model=..."),
        ("train hunter2 7", "... ... 7"),
        ("https://host/?token=abc", "..."),
        ("123456789012345", "..."),
    ],
)
def test_what_is_left(words: str, left: str) -> None:
    assert " ".join(shareable(words.split())) == left


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (
            "launch --num_processes 2 code/train.py --epochs 3 --data /home/me",
            "launch --num_processes 2 train.py --epochs 3 --data ...",
        ),
        ("-n 2 python -u fit.py hunter2", "-n 2 python -u fit.py ..."),
        ("run.sh --key=train.py --token torchrun", "run.sh --key=... --token torchrun"),
    ],
)
def test_a_launchers_words_lead_to_the_script(words: str, left: str) -> None:
    assert " ".join(shareable(words.split(), launcher=True)) == left
    assert " ".join(shareable(words.split())) != left


def test_as_many_words_as_before() -> None:
    words = ["a", "--b", "c d", "e=f"]
    assert len(shareable(words)) == len(words)
