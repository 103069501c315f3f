"""Why nothing was recorded: in the words of what was seen, with a remedy that works where the script runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traces.collect.script.config import ScriptConfig
from traces.collect.script.unrecorded import explain

CONFIG = ScriptConfig(target="train.py")


def _said(source: str, steps: int, skipping: int = 10, **counts: int) -> list[dict[str, Any]]:
    return [{"problem": "", "torch": True, "source": source, "steps": steps, "skipping": skipping, "counts": counts}]


@pytest.mark.parametrize(
    ("said", "done"),
    [
        (_said("optimizer", 6, optimizer=6, loader=401), "6 steps (401 batches)"),
        (_said("optimizer", 1, optimizer=2, loader=1, backward=6), "1 step (1 batch, 6 backward passes)"),
        (_said("loader", 12, loader=12), "12 steps"),
        (_said("", 0, backward=20), "0 steps (20 backward passes)"),
    ],
)
def test_batches_are_no_steps(tmp_path: Path, said: list[dict[str, Any]], done: str) -> None:
    problem, fix = explain(CONFIG, tmp_path, said, 0)
    assert problem.startswith(
        f"the script ended after {done}; the first is recorded with step 14 (wait 10 + warmup 3 + 1)"
    )
    assert "longer" in fix


def test_what_is_kept_of_a_window_that_is_not_full_counts(tmp_path: Path) -> None:
    """It said that a recording needs 19 steps: the 14th is kept where the script ends with it."""
    problem, _ = explain(CONFIG, tmp_path, _said("optimizer", 13), 0)
    assert problem.endswith("step 14 (wait 10 + warmup 3 + 1), all 6 that are wanted with step 19")


def test_an_epoch_of_few_steps_has_fewer_skipped(tmp_path: Path) -> None:
    problem, _ = explain(CONFIG, tmp_path, _said("optimizer", 5, skipping=2), 0)
    assert problem.endswith("step 6 (wait 2 + warmup 3 + 1), all 6 that are wanted with step 11")


def test_the_steps_that_are_needed_are_more_than_there_were(tmp_path: Path) -> None:
    """It said of two steps that one was needed, later of one that three were."""
    asked = replace(CONFIG, wait=0, warmup=0, active=1)
    problem, _ = explain(asked, tmp_path, _said("optimizer", 1, skipping=0), 0)
    assert problem == "the script ended after 1 step; the first is recorded with step 2 (wait 1 + warmup 0 + 1)"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (CONFIG, "advisor collect --wait 2 --warmup 1 train.py"),
        (
            replace(CONFIG, target="a b/train.py", output=Path("out.json"), arguments=("--epochs", "1")),
            "advisor collect --wait 2 --warmup 1 -o out.json 'a b/train.py' -- --epochs 1",
        ),
        (replace(CONFIG, target="pack.train", module=True), "advisor collect --wait 2 --warmup 1 -m pack.train"),
        (
            replace(CONFIG, target="torchrun", program=True, arguments=("train.py",)),
            "advisor collect --wait 2 --warmup 1 -- torchrun train.py",
        ),
    ],
)
def test_the_command_that_makes_do_with_as_many_steps_is_named(
    tmp_path: Path, config: ScriptConfig, words: str
) -> None:
    """Three options were named and no number: of ten steps nobody knew which of them would do."""
    _, fix = explain(config, tmp_path, _said("optimizer", 10), 0)
    assert fix.endswith(f": {words}")


@pytest.mark.parametrize(("config", "steps"), [(CONFIG, 4), (replace(CONFIG, wait=2, warmup=1, active=8), 9)])
def test_no_command_is_named_that_would_not_help(tmp_path: Path, config: ScriptConfig, steps: int) -> None:
    _, fix = explain(config, tmp_path, _said("optimizer", steps), 0)
    assert fix == "let it run longer: for more epochs, or with more data"


def test_where_there_were_steps_enough_it_is_said_what_they_lacked(tmp_path: Path) -> None:
    """`the script ended after 7 steps; a recording needs 4 steps`: their lengths differed."""
    problem, _ = explain(replace(CONFIG, wait=2, warmup=1, active=1), tmp_path, _said("optimizer", 7, skipping=2), 0)
    assert problem.endswith("step 4 (wait 2 + warmup 1 + 1) where all are of one loop, and of about one length")


def test_the_code_that_is_suggested_needs_nothing_but_torch(tmp_path: Path) -> None:
    problem, fix = explain(CONFIG, tmp_path, _said("", 0), 0)
    assert problem.startswith("no loop was found")
    assert fix.startswith("run it as it trains (`--help`")
    assert "torch.profiler" in fix
    assert "traces." not in fix


@pytest.mark.parametrize("said", [_said("", 0), _said("optimizer", 3, backward=3)])
def test_where_the_script_is_only_tried_no_remedy_is_refused_next(tmp_path: Path, said: list[dict[str, Any]]) -> None:
    """`advisor tune` has no --wait, and refuses a script with a profiler of its own: both were advised."""
    _, fix = explain(replace(CONFIG, guarded=60.0), tmp_path, said, 0)
    assert "--wait" not in fix
    assert "profiler" not in fix
    assert fix.startswith(("let it run longer: more epochs", "run it as it trains"))


def test_a_failure_comes_first(tmp_path: Path) -> None:
    problem, fix = explain(CONFIG, tmp_path, _said("loader", 3, loader=3), 1)
    assert problem == "the script ended with status 1 after 3 steps, before enough were recorded"
    assert fix.startswith("see above why; where nothing is said there,")
    # Where the script is only tried, what it prints is not shown.
    _, fix = explain(replace(CONFIG, guarded=60.0), tmp_path, _said("loader", 3, loader=3), 1)
    assert fix.startswith("see at the end of the log why; where nothing is said there,")


@pytest.mark.parametrize(
    ("status", "advised"),
    [(137, "memory may be short"), (139, "faulthandler"), (134, "faulthandler"), (143, "a limit of time")],
)
def test_what_a_signal_says_of_the_script(tmp_path: Path, status: int, advised: str) -> None:
    """Of a crash in compiled code it said that memory may be short."""
    problem, fix = explain(CONFIG, tmp_path, [], status)
    assert problem.startswith("the script was ended by SIG")
    assert advised in fix
