"""Real scripts, run for real: one tiny script per behaviour, unchanged by us.

Importing torch with an optimizer takes 6 s of CPU in each. What most scripts are, and Ctrl-C, is part of every run of the tests;
the rarer behaviours run with `pytest -m scripts`, which `.ci/run` calls.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from traces.collect.output.cores import cpu_features
from traces.collect.script.config import Recording
from traces.collect.script.session import ScriptConfig, ScriptResult, Verdict, _Run, _with_steps, collect_script
from traces.collect.trace_advisor_hook.phases.stacks import stacks_are_safe
from traces.errors import UsageError

SCRIPTS = Path(__file__).parents[1] / "scripts"
GOOD = Verdict(usable=True)


def _collect(
    tmp_path: Path, script: str, *arguments: str, judge: Any = lambda path: GOOD, **options: Any
) -> ScriptResult:
    target = script if options.get("module") else str(SCRIPTS / script)
    return collect_script(
        ScriptConfig(target=target, arguments=arguments, output=tmp_path / "t.json", **options), judge
    )


def _trace(path: Path) -> tuple[list[str], dict[str, Any]]:
    trace = json.loads(path.read_bytes())
    return [event["name"] for event in trace["traceEvents"]], trace["advisor"]


@pytest.mark.slow
def test_a_script_is_recorded_and_not_disturbed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = _collect(tmp_path, "plain.py", "60", "7", "--token=hush", evidence=True)
    assert result.status == 7
    said = capfd.readouterr()
    assert said.out == "trained 60 __main__ True ['60', '7', '--token=hush']\n"
    assert said.err == ""
    (recording,) = result.recordings
    assert (recording.source, recording.path) == ("optimizer", tmp_path / "t.json")
    assert not recording.evidence_left_out
    # A third of what is left of the sixty: more where steps are steady from the tenth on than where they never are.
    assert 6 <= recording.steps <= 13
    names, advisor = _trace(recording.path)
    assert sum(name == "Optimizer.step#Adam.step" for name in names) == recording.steps
    assert sum(name.startswith("enumerate(DataLoader)") for name in names) == recording.steps
    assert advisor["profiler"] == {"wait": 10, "warmup": 3, "active": recording.steps}
    assert advisor["loader"]["num_workers"] == 0
    shown = {"batch_kind": "tensors", "batch_tensors": 2, "sample": {"form": "sequence", "parts": 2}, "random": False}
    assert advisor["dataset"] == {"name": "TensorDataset", "length": 480, "sample_bytes": 88, **shown}
    assert advisor["frameworks"]["loop"] == advisor["frameworks"]["data"] == []
    assert advisor["steps"] == {"source": "optimizer", "batches_per_step": 1.0}
    assert (advisor["batch_size"], advisor["optimizer"], advisor["model"]["parameters"]) == (8, "Adam", 42)
    (made,) = advisor["optimizer_code"]
    assert (made["class"], made["package"], made["line"]) == ("Adam", None, 12)
    assert made["file"].rpartition("/")[2] == "plain.py"
    assert made["text"] == "optimizer = torch.optim.Adam(model.parameters())"
    (made,) = advisor["loader_made"]
    assert (made["class"], made["line"]) == ("DataLoader", 13)
    assert made["text"] == "for inputs, labels in DataLoader(data, batch_size=8, shuffle=True):"
    assert advisor["cpu_features"] == cpu_features()
    assert advisor["unprofiled_steps"] == 20
    assert advisor["gc_recorded"] is True
    assert advisor["python_loop"]["rounds"] == 160
    assert advisor["samples"]["resident_bytes"] > 1_000_000
    assert advisor["command"] == ["advisor", "collect", "--evidence", "plain.py", "--", "60", "7", "--token=..."]
    assert advisor["script"] == {"target": "plain.py", "arguments": ["60", "7", "--token=..."]}
    text = recording.path.read_text()
    assert "hush" not in text
    assert str(Path.home()) not in text
    assert str(tmp_path) not in text
    places = {(row["op"], row["file"].rpartition("/")[2]) for row in advisor["where"]}
    # Of torch before 2.7 on Python 3.13 there are none, and that is told.
    assert (("aten::linear", "plain.py") in places) is stacks_are_safe() is not recording.stacks_left_out
    assert not any("trace_advisor_hook" in row["file"] for row in advisor["where"])


@pytest.mark.scripts
def test_gradient_accumulation_and_two_optimizers_make_one_step(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "accumulate.py", active=6).recordings
    names, advisor = _trace(recording.path)
    assert recording.steps == 6
    assert advisor["steps"] == {"source": "optimizer", "batches_per_step": 4.0}
    assert sum(name.startswith("Optimizer.step#SGD") for name in names) in (12, 13)


@pytest.mark.scripts
def test_a_critic_that_steps_twice_makes_one_step_of_each_batch(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "critic.py", active=6).recordings
    names, advisor = _trace(recording.path)
    assert (recording.steps, advisor["steps"]["batches_per_step"]) == (6, 1.0)
    assert sum(name.startswith("Optimizer.step#") for name in names) in (17, 18, 19)
    # The rounds after the first: until the second optimizer steps, nobody knows of it.
    assert advisor["run"]["steps"] in (200, 201)


@pytest.mark.scripts
def test_calls_whose_result_is_known_are_told_and_marked(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "known_results.py", active=6).recordings
    names, advisor = _trace(recording.path)
    told = {row["scope"]: row for row in advisor["computed_again"]}
    assert set(told) == {"in this step", "in each epoch"}
    assert [(row["module"], row["calls"], row["forward_only"]) for row in told.values()] == [
        ("Sequential", 1, False)
    ] * 2
    again = told["in this step"]
    assert (again["file"].rpartition("/")[2], again["line"]) == ("known_results.py", 16)
    # The profiler is on in the steps of its warm-up, too, which are thrown away.
    for scope in told:
        assert names.count(f"Computed again {scope}: Sequential") == recording.steps


@pytest.mark.scripts
def test_without_optimizer_batches_are_steps(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "evaluate.py").recordings
    _, advisor = _trace(recording.path)
    assert (recording.source, advisor["loader"]["num_workers"]) == ("loader", 1)
    # A third of what is left of the hundred: of 69 where steps are steady from the tenth on, of 49 where they never are.
    assert 16 <= recording.steps <= 23
    samples = advisor["samples"]
    assert len(samples["worker_cpu_ratio"]) == 1
    assert 0 < samples["memory"]["available_bytes"] <= samples["memory"]["total_bytes"]
    assert 1_000_000 < samples["worker_private_bytes"][0] < samples["resident_bytes"]


@pytest.mark.scripts
def test_without_an_optimizer_backward_passes_are_steps(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "by_hand.py", active=6).recordings
    names, advisor = _trace(recording.path)
    assert (recording.source, recording.steps) == ("backward", 6)
    assert sum(name == "autograd::engine::evaluate_function: PowBackward0" for name in names) > 2 * 6
    assert advisor["run"]["steps"] == 150 - 32 - 1


@pytest.mark.scripts
def test_without_any_training_calls_of_the_model_are_steps(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "generate.py", active=6).recordings
    names, advisor = _trace(recording.path)
    assert (recording.source, recording.steps) == ("forward", 6)
    # One pass in a hundred is followed by one of an unpickled copy, which is no step: at most one of those falls among six.
    assert sum(name == "aten::linear" for name in names) in (6 * 8, 7 * 8)
    # Calls are watched only as long as they are recorded: nothing is known of the rest of the run.
    assert advisor["run"] is None


@pytest.mark.scripts
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_the_course_of_the_whole_run_is_told(tmp_path: Path, name: str) -> None:
    target = str(SCRIPTS / "bursts.py")
    config = ScriptConfig(target=target, output=tmp_path / name, active=6)
    (recording,) = collect_script(config, lambda path: GOOD).recordings
    opened = gzip.open if name.endswith("gz") else open
    with opened(recording.path, "rb") as file:
        run = json.load(file)["advisor"]["run"]
    assert run["steps"] == 16 * 12 - 1
    unprofiled = run["steps"] - run["profiled_steps"]
    assert sum(count for count, _ in run["times"]) == unprofiled
    long = [duration for _, duration in run["longest"] if duration > 200_000_000]
    # All rollouts but the first, which is over before the first step, and at most one beside the profiler.
    assert len(long) in (14, 15)
    function, file = run["between"]["places"][0]["functions"][0]
    assert (function, file.rpartition("/")[2]) == ("collect_rollout", "bursts.py")
    assert not file.startswith("/")
    assert run["between"]["cpu_ns"] < 0.01 * run["ns"]


@pytest.mark.scripts
def test_without_steps_a_time_is_recorded(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "stepless.py", patience_s=0.5, window_s=1).recordings
    assert (recording.source, recording.steps) == ("time", 0)
    assert "aten::tanh" in _trace(recording.path)[0]


@pytest.mark.scripts
def test_few_steps_are_skipped_where_an_epoch_is_short(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "plain.py", "13").recordings
    assert recording.steps == 7  # 3 skipped, 3 of warm-up


@pytest.mark.scripts
def test_a_script_that_ends_early_keeps_what_there_is(tmp_path: Path) -> None:
    (recording,) = _collect(tmp_path, "plain.py", "8").recordings
    assert 1 <= recording.steps < 6
    assert recording.unprofiled_step_ns is None


@pytest.mark.slow
def test_ctrl_c_writes_what_was_recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = _collect(tmp_path, "interrupted.py")
    assert result.status == 130
    (recording,) = result.recordings
    assert 1 <= recording.steps < 6
    assert "KeyboardInterrupt" in capfd.readouterr().err
    ratio = _trace(recording.path)[1]["core_wait_ratio"]
    assert ratio is not None or not Path("/proc/thread-self/schedstat").exists()


@pytest.mark.scripts
def test_what_is_recorded_is_written_before_the_script_leaves_by_itself(tmp_path: Path) -> None:
    result = _collect(tmp_path, "leaves.py", "exit")
    (recording,) = result.recordings
    assert result.status == 5
    # Seven where steps are steady from the tenth on; a busy machine has them begin later.
    assert 1 <= recording.steps <= 7


@pytest.mark.scripts
def test_a_script_goes_on_where_its_recording_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, content: bytes) -> int:
        raise UsageError(f"cannot write {path.name}: No space left on device", fix="use another disk")

    monkeypatch.setattr("traces.collect.script.session.write_atomically", full)
    monkeypatch.setattr("traces.collect.output.files.write_atomically", full)
    result = _collect(tmp_path, "plain.py", "60", "7")
    assert (result.status, result.recordings) == (7, [])
    assert (result.problem, result.fix) == ("cannot write t.json: No space left on device", "use another disk")
    assert capfd.readouterr().out.startswith("trained 60")


@pytest.mark.parametrize(
    ("left", "status", "problem"),
    [
        ("raw-7.json", 0, "no room for the recording"),
        ("settings.json", 137, "SIGKILL"),
        ("settings.json", 3, "status 3"),
    ],
)
def test_a_process_that_left_no_word(tmp_path: Path, left: str, status: int, problem: str) -> None:
    (tmp_path / left).write_text("{")
    run = _Run(ScriptConfig(target="a.py", output=tmp_path / "t.json"), lambda path: GOOD, tmp_path)
    result = run.result(status)
    assert problem in result.problem
    assert result.fix


def test_an_interrupt_before_the_first_step_is_told(tmp_path: Path) -> None:
    said = {"pid": 7, "rank": None, "counts": {"loader": 2}, "problem": "", "recorded": "", "retries": 0, "source": ""}
    said["steps"] = 0
    (tmp_path / "status-7.json").write_text(json.dumps(said))
    run = _Run(ScriptConfig(target="a.py", output=tmp_path / "t.json"), lambda path: GOOD, tmp_path)
    assert run.result(130).problem == (
        "the script was interrupted after 0 steps (2 batches), before enough were recorded"
    )


@pytest.mark.scripts
def test_a_script_that_is_killed_is_told(tmp_path: Path) -> None:
    result = _collect(tmp_path, "leaves.py", "kill")
    assert (result.status, result.recordings) == (137, [])
    assert "ended by SIGKILL before a recording was complete" in result.problem
    assert "memory" in result.fix


def test_a_script_that_does_not_parse_shows_its_own_line_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "typo.py"
    script.write_text("for x in range(3)\n    pass\n")
    result = collect_script(ScriptConfig(target=str(script), output=tmp_path / "t.json"), lambda path: GOOD)
    assert result.status == 1
    error = capfd.readouterr().err
    assert "trace_advisor_hook" not in error
    assert error.splitlines()[-1].startswith("SyntaxError")


@pytest.mark.scripts
def test_a_poor_recording_is_made_once_more_and_stop_ends_the_script(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[Path] = []

    def judge(path: Path) -> Verdict:
        asked.append(path)
        return Verdict(usable=False, message="warm-up", again=True)

    result = _collect(tmp_path, "plain.py", "100000", stop=True, judge=judge)
    assert len(asked) == 2
    assert [(recording.verdict.usable, recording.steps) for recording in result.recordings] == [(False, 24)]
    assert (result.status, capfd.readouterr().out) == (0, "")


def test_a_failing_script_shows_its_own_traceback(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = _collect(tmp_path, "raises.py")
    assert (result.status, result.recordings) == (1, [])
    assert "ended with status 1 after 0 steps" in result.problem
    error = capfd.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith("ValueError: no such column: price\n")
    assert "trace_advisor_hook" not in error


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("no_loop.py", "no loop was found", marks=pytest.mark.scripts),
        ("no_torch.py", "never imported torch"),
        pytest.param("profiles.py", "runs a profiler of its own", marks=pytest.mark.scripts),
        pytest.param("small_files.py", "the profiler left no whole trace", marks=pytest.mark.scripts),
    ],
)
def test_nothing_to_record_is_told(tmp_path: Path, script: str, problem: str) -> None:
    result = _collect(tmp_path, script)
    assert (result.status, result.recordings) == (0, [])
    assert problem in result.problem
    assert result.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.scripts
def test_another_profiler_goes_first(tmp_path: Path) -> None:
    result = _collect(tmp_path, "profiles_late.py")
    assert (result.status, result.recordings[0].steps) == (0, 24)  # all of them after the other
    names = _trace(result.recordings[0].path)[0]
    assert [name for name in names if name.startswith("ProfilerStep#")] == [
        f"ProfilerStep#{number}" for number in range(3, 27)
    ]


@pytest.mark.scripts
@pytest.mark.parametrize("first", ["ours-first", "theirs-first"])
def test_a_range_that_is_open_from_one_session_into_another_writes_nowhere(
    tmp_path: Path, first: str, capfd: pytest.CaptureFixture[str]
) -> None:
    result = _collect(tmp_path, "held_ranges.py", first)
    assert (result.status, capfd.readouterr().out) == (0, "whole\n")
    assert result.recordings[0].steps == 24


@pytest.mark.scripts
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_training_in_a_child_process(tmp_path: Path, how: str) -> None:
    (recording,) = _collect(tmp_path, "forks.py", how).recordings
    assert recording.steps == 24


@pytest.mark.scripts
def test_one_file_per_rank(tmp_path: Path) -> None:
    launch = ("--nproc-per-node", "2", "--master-port", "29533", str(SCRIPTS / "distributed.py"))
    result = _collect(tmp_path, "torch.distributed.run", *launch, module=True)
    assert result.status == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["rank0.json", "rank1.json", "t"]
    assert result.folder == tmp_path / "t"
    # Fewer than 24 where steps take so long, on a busy machine, that a second is full of them.
    assert [6 <= recording.steps <= 24 for recording in result.recordings] == [True, True]


@pytest.mark.parametrize("sources", [("time", "optimizer", "optimizer"), ("time", "time")])
def test_a_launcher_that_waits_for_its_ranks_leaves_no_file(tmp_path: Path, sources: tuple[str, ...]) -> None:
    recordings = []
    for number, source in enumerate(sources):
        path = tmp_path / f"{number}.json"
        path.write_text("{}")
        recordings.append(Recording(path, 1, 6, 2, source, None, None, GOOD))
    kept = [one for one in recordings if one.source != "time"] or recordings
    assert _with_steps(recordings) == kept
    assert sorted(tmp_path.iterdir()) == [one.path for one in kept]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "none.py"}, "the script none.py does not exist"),
        ({"target": "."}, r"the script \. is a folder"),
        ({"target": ""}, "the name of the script is empty"),
        ({"target": "a.py", "output": Path("no/t.json")}, "cannot write no/t.json"),
        ({"target": __file__, "python": Path("no-python")}, "--python no-python is no program"),
        ({"target": __file__, "active": 0}, "--active must be at least 1"),
    ],
)
def test_what_cannot_work_is_told_before_the_script_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message) as told:
        collect_script(ScriptConfig(**options), lambda path: GOOD)
    assert told.value.fix


@pytest.mark.scripts
def test_another_interpreter(tmp_path: Path) -> None:
    assert _collect(tmp_path, "plain.py", "40", python=Path(sys.executable)).recordings[0].steps == 6
