"""Options: each is checked, all problems are told at once, and none needs torch."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from traces.collect import CollectConfig
from traces.collect.reference.config import default_of, help_for
from traces.errors import UsageError


def test_defaults_are_the_reference_baseline() -> None:
    config = CollectConfig()
    assert (config.model, config.batch_size, config.num_workers, config.pin_memory) == ("mlp", 64, 0, False)
    assert (config.active, config.in_memory) == (None, False)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        CollectConfig(model="gpt", batch_size=0, active=0, steps=5, epochs=1)
    message = str(caught.value)
    for part in ("--model", "'gpt'", "--batch-size must be at least 1, not 0", "--active", "--steps and --epochs"):
        assert part in message


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("device", "tpu"),
        ("num_workers", -1),
        ("wait", -1),
        ("warmup", -1),
        ("steps", 0),
        ("epochs", 0),
        ("seed", -1),
        ("seed", 2**64),
    ],
)
def test_an_option_out_of_range_is_named(option: str, bad: Any) -> None:
    with pytest.raises(UsageError, match="--" + option.replace("_", "-")):
        CollectConfig(**{option: bad})


def test_every_option_has_help_and_a_default() -> None:
    for option in fields(CollectConfig):
        assert help_for(option.name).endswith(".")
        assert default_of(option.name) == getattr(CollectConfig(), option.name)


def test_too_few_steps_tell_the_numbers() -> None:
    config = CollectConfig(steps=10)
    with pytest.raises(UsageError, match=r"10 training steps are too few: recording 6 needs 29"):
        config.total_steps(200)


def test_an_epoch_shorter_than_the_schedule_is_too_few_steps() -> None:
    with pytest.raises(UsageError, match="needs 29"):
        CollectConfig(epochs=1).total_steps(20)


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        (CollectConfig(), 200),
        (CollectConfig(epochs=2), 400),
        (CollectConfig(steps=29), 29),
        (CollectConfig(wait=300), 327),
        (CollectConfig(wait=300, active=6), 309),
    ],
)
def test_total_steps(config: CollectConfig, steps: int) -> None:
    assert config.total_steps(steps_per_epoch=200) == steps


def test_command_holds_no_folder() -> None:
    config = CollectConfig(output=Path("/home/ann/out/t.json"), num_workers=2, pin_memory=True)
    assert config.command() == ("advisor", "collect", "--output", "t.json", "--num-workers", "2", "--pin-memory")


def test_importing_the_collector_imports_no_torch() -> None:
    code = "import sys, traces.collect; sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'PIL', 'pandas')))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[4])
