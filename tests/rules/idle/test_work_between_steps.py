"""ID004: a run of 400 steps of 5 ms, some of which hold a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import Bars, Confidence, Severity, State, Table
from building.builders import TraceBuilder
from rules.idle.work_between_steps import RULE
from running.one_rule import judged, run

MS = 1_000_000
ROLLOUT = {
    "functions": [["collect_rollouts", "stable_baselines3/common/on_policy_algorithm.py"]],
    "line": 12, "in_function": "<module>", "in_file": "train.py", "own": True,
}  # fmt: skip


def course(
    *,
    usual: int = 375,
    usual_ms: float = 5,
    long: int = 25,
    long_ms: float = 405,
    place: Any = None,
    other_ms: float = 0,
) -> dict[str, Any]:
    """What the hook tells of a run: `usual` steps, and `long` ones at even distances."""
    every = (usual + long) // max(long, 1)
    samples = round(long * long_ms / 50)
    return {
        "ns": 0, "before_ns": 3000 * MS, "after_ns": 20 * MS, "own_ns": 500 * MS, "steps": usual + long,
        "profiled_steps": 0, "profiled_ns": 0,
        "times": [row for row in ([usual, round(usual * usual_ms * MS)], [long, round(long * long_ms * MS)]) if row[0]],
        "longest": [[every * (number + 1), round(long_ms * MS)] for number in range(long)],
        "other_batches_ns": round(other_ms * MS),
        "between": {
            "sample_ns": 50 * MS, "samples": samples, "cpu_ns": 0,
            "places": [(place or ROLLOUT) | {"samples": samples}],
        },
        "stopped": False,
    }  # fmt: skip


def world(
    *,
    known: bool = True,
    stopped: bool = False,
    told: Any = None,
    loop: str | None = None,
    steps: dict[str, Any] | None = None,
    **options: Any,
) -> TraceBuilder:
    """Six recorded steps of 5 ms, which say nothing of what lies between them; a loop of some framework's."""
    told = (course(**options) | {"stopped": stopped}) if told is None else told
    used = {"imported": {loop.split(".")[0]: None}, "loop": [loop], "data": []} if loop is not None else None
    advisor = {"run": told if known else None, "frameworks": used, "steps": steps}
    builder = TraceBuilder(None, advisor={key: value for key, value in advisor.items() if value is not None})
    for number in range(6):
        builder.step(number, number * 5000, 5000)
        builder.op("aten::linear", number * 5000 + 10, 4900)
    return builder


def test_fires_with_the_share_of_the_run() -> None:
    found = judged(RULE, world())
    # 25 times 400 ms beyond the usual 5 ms, of 375 * 5 ms + 25 * 405 ms.
    assert found.ratio == pytest.approx(10_000 / 12_000)
    assert found.ns_per_step == 25 * MS
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert found.finding.why == (
        "The recorded steps stand for 17 % of the run: 10 s of 12 s lie between usual steps of 5.0 ms, in 25 of 400 steps, "
        "every 16 steps, 400 ms each. Seen there: `collect_rollouts` (stable_baselines3/common/on_policy_algorithm.py, "
        "from line 12 of train.py) 100 %."
    )
    assert found.finding.title == "Rollouts between the steps"
    assert not found.finding.saving.claims
    place = found.finding.location
    assert place is not None
    assert (place.file, place.line) == ("train.py", 12)
    assert "environments" in found.finding.fix[0].code


def test_the_verdict_says_how_much_of_the_run_it_is_of() -> None:
    from analyzer.assemble.verdict import verdict_on_run
    from analyzer.cause_names import CAUSES
    from analyzer.facts import Facts

    def text(builder: TraceBuilder) -> str:
        facts = Facts(builder.trace())
        return verdict_on_run(facts, {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}).text

    assert text(world()).endswith("That holds for 17 % of the run: 83 % lies between its steps (rollouts).")
    assert "of the run" not in text(world(long_ms=20))


@pytest.mark.parametrize(
    ("function", "file", "kind", "word"),
    [
        ("save", "torch/serialization.py", "Saving", "less often"),
        ("Trainer._save_checkpoint", "transformers/trainer.py", "Saving", "less often"),
        ("evaluate", "train.py", "Evaluation", "Validate less often"),
        ("test_epoch", "train.py", "Evaluation", "Validate less often"),
        ("_EvaluationLoop.run", "lightning/pytorch/loops/evaluation_loop.py", "Evaluation", "Validate less often"),
        ("SummaryWriter.add_scalar", "torch/utils/tensorboard/writer.py", "Logging", "every N steps"),
    ],
)
def test_names_what_is_done_there(function: str, file: str, kind: str, word: str) -> None:
    found = judged(RULE, world(place=ROLLOUT | {"functions": [[function, file]]})).finding
    assert found.title == f"{kind} between the steps"
    assert word.lower() in f"{found.fix[0].code} {found.fix[0].note}".lower()


@pytest.mark.parametrize(
    ("function", "page"),
    [
        ("evaluate", "inference_mode"),
        ("save_all", "distributed.checkpoint"),
        ("collect_all", "rl/stable/reference/envs"),
    ],
)
def test_refers_to_pages_on_what_is_done_there(function: str, page: str) -> None:
    pages = judged(RULE, world(place=ROLLOUT | {"functions": [[function, "train.py"]]})).finding.references
    assert [page in one for one in pages] == [True]
    assert not judged(
        RULE, world(place=ROLLOUT | {"functions": [["act", "train.py"]]})
    ).finding.references  # the rule's own


def test_batches_of_another_loader_are_an_evaluation() -> None:
    place = ROLLOUT | {"functions": [["Net.forward", "model.py"]]}
    assert judged(RULE, world(place=place, other_ms=10_000)).finding.title == "Evaluation between the steps"
    unnamed = judged(RULE, world(place=place)).finding
    assert unnamed.title is None
    assert "No name tells" in unnamed.caveats[-1]


def test_waiting_for_the_trainings_own_loader_is_not_work_between() -> None:
    place = ROLLOUT | {"functions": [["_BaseDataLoaderIter.__next__", "torch/utils/data/dataloader.py"]]}
    assert run(RULE, world(place=place)).state is State.CLEAR
    assert run(RULE, world(place=place, other_ms=10_000)).state is State.FIRED


def test_asynchronous_saving_comes_with_its_warning() -> None:
    fixes = judged(RULE, world(place=ROLLOUT | {"functions": [["save", "torch/serialization.py"]]})).finding.fix
    beside = next(fix for fix in fixes if "async_save" in fix.code)
    assert "slower" in beside.note
    assert fixes.index(beside) > 0


@pytest.mark.parametrize(("limit", "state"), [(0.83, State.FIRED), (0.84, State.CLEAR)])
def test_boundary_of_the_share(limit: float, state: State) -> None:
    assert run(RULE, world(), {"min_ratio": limit}).state is state


@pytest.mark.parametrize(
    "options", [{"long": 0}, {"long": 380, "usual": 20}, {"long_ms": 14}, {"usual_ms": 0.1, "long_ms": 9}]
)
def test_quiet_where_steps_are_alike(options: dict[str, Any]) -> None:
    assert run(RULE, world(**options)).state is State.CLEAR


def test_says_what_it_lacks() -> None:
    assert run(RULE, world(known=False)).state is State.NOT_APPLICABLE
    few = run(RULE, world(usual=10, long=2))
    assert few.state is State.CANNOT_TELL
    assert "at least 20 steps" in few.reason


def test_a_run_that_was_ended_early_says_so() -> None:
    assert any("ended" in caveat for caveat in judged(RULE, world(stopped=True)).finding.caveats)


@pytest.mark.parametrize(
    "told",
    [
        "x", [], {"times": 3}, {"times": [[1, 2], "x"]}, {"times": [[0, 0]]}, {"times": [[-1, 5]]}, {"times": [[2**70, 1]]},
        course() | {"between": 7}, course() | {"longest": {}}, course() | {"between": {"places": [None], "samples": 9}},
    ],
)  # fmt: skip
def test_nothing_is_believed_about_the_shape(told: Any) -> None:
    states = (State.NOT_APPLICABLE, State.FIRED, State.CLEAR, State.CANNOT_TELL)
    assert run(RULE, world(told=told)).state in states


@pytest.mark.parametrize(
    ("inner", "kind"),
    [("Trainer._evaluate", "Evaluation"), ("Trainer._save_checkpoint", "Saving"), ("Trainer.other", None)],
)
def test_a_function_that_may_do_several_things_is_told_by_what_it_calls(inner: str, kind: str | None) -> None:
    names = [["Trainer._maybe_log_save_evaluate", "transformers/trainer.py"], [inner, "transformers/trainer.py"]]
    found = judged(RULE, world(place=ROLLOUT | {"functions": names})).finding
    assert found.title == (f"{kind} between the steps" if kind else None)


@pytest.mark.parametrize(
    ("name", "logs"), [("Policy.log", True), ("log_scalars", True), ("Categorical.log_prob", False)]
)
def test_arithmetic_is_no_logging(name: str, logs: bool) -> None:
    place = ROLLOUT | {"functions": [[name, "agent.py"]]}
    assert judged(RULE, world(place=place)).finding.title == ("Logging between the steps" if logs else None)


@pytest.mark.parametrize(("share", "advised"), [(0.02, False), (0.2, True)])
def test_what_hardly_takes_part_is_not_advised_on(share: float, advised: bool) -> None:
    told = course()
    few = round(share * told["between"]["samples"])
    told["between"]["places"][0]["samples"] -= few
    logging = ROLLOUT | {"functions": [["log_scalars", "train.py"]], "samples": few}
    told["between"]["places"].append(logging)
    found = judged(RULE, world(told=told)).finding
    assert found.title == "Rollouts between the steps"
    assert any("Log every N steps" in fix.note for fix in found.fix) is advised


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        ("Distribution._validate_sample", "torch/distributions/distribution.py", None),
        ("checkpoint", "torch/utils/checkpoint.py", None),
        ("save", "torch/serialization.py", "Saving"),
        ("validate_sample", "train.py", "Evaluation"),
        ("save_model", "train.py", "Saving"),
        ("plot_losses", "train.py", "Plotting"),
    ],
)
def test_functions_of_torchs_own_tell_nothing_but_that_they_save(name: str, file: str, kind: str | None) -> None:
    """A rollout samples from a distribution, which checks its samples: that is no evaluation."""
    place = ROLLOUT | {"functions": [["Agent.act", "train.py"], [name, file]]}
    assert judged(RULE, world(place=place)).finding.title == (f"{kind} between the steps" if kind else None)


@pytest.mark.parametrize(
    ("file", "kind"), [("train_generator.py", None), ("test_run.py", None), ("evaluation.py", "Evaluation")]
)
def test_the_file_of_the_loop_says_nothing_of_its_functions(file: str, kind: str | None) -> None:
    """That of another file may: `evaluation.py` is called by a loop in `train_generator.py`."""
    loop = "train_generator.py" if kind else file
    place = ROLLOUT | {"functions": [["Agent.act", file]], "in_file": loop}
    assert judged(RULE, world(place=place)).finding.title == (f"{kind} between the steps" if kind else None)


@pytest.mark.parametrize(("samples", "advised"), [(1, False), (2, True)])
def test_a_single_look_is_nothing_to_advise_by(samples: int, advised: bool) -> None:
    told = course(long=3, long_ms=405)
    told["between"]["samples"] = 10
    told["between"]["places"] = [
        ROLLOUT | {"functions": [["inner", "train.py"]], "samples": 10 - samples},
        ROLLOUT | {"functions": [["evaluate", "train.py"]], "samples": samples},
    ]
    fixes = judged(RULE, world(told=told)).finding.fix
    assert any("Validate less often" in fix.code for fix in fixes) is advised


@pytest.mark.parametrize(("environment", "kind"), [(True, "Rollouts"), (False, None), ("yes", None)])
def test_methods_of_an_environment_are_rollouts_whatever_they_are_called(environment: object, kind: str | None) -> None:
    place = ROLLOUT | {"functions": [["Walk.step", "train.py"]], "environment": environment}
    found = judged(RULE, world(place=place)).finding
    assert found.title == (f"{kind} between the steps" if kind else None)
    assert any("environments at once" in fix.code for fix in found.fix) is (kind is not None)


@pytest.mark.parametrize(
    ("loop", "kind", "said"),
    [
        ("transformers.trainer", "_save_checkpoint", "save_steps=160"),
        ("transformers.trainer", "evaluate", "eval_steps=160"),
        ("lightning.pytorch", "evaluate", "val_check_interval=160"),
        ("keras.src", "evaluate", "validation_freq=5"),
        ("ignite.engine", "evaluate", "Events.ITERATION_COMPLETED(every=160)"),
        ("accelerate.optimizer", "evaluate", "valid_loader"),
        ("", "evaluate", "valid_loader"),
        ("", "save_all", "async_save"),
    ],
)
def test_a_framework_that_evaluates_itself_is_told_in_its_own_words(loop: str, kind: str, said: str) -> None:
    """Only a loop of the program's own has a line `if step % 1000 == 0` to write."""
    frameworks = {"imported": {loop.split(".")[0]: None} if loop else {}, "loop": [loop], "data": []}
    builder = TraceBuilder(
        None, advisor={"run": course(place=ROLLOUT | {"functions": [[kind, "train.py"]]}), "frameworks": frameworks}
    )
    for number in range(6):
        builder.step(number, number * 5000, 5000)
        builder.op("aten::linear", number * 5000 + 10, 4900)
    codes = "\n".join(fix.code for fix in judged(RULE, builder).finding.fix)
    assert said in codes
    assert ("valid_loader" in codes or "async_save" in codes) is (loop in ("", "accelerate.optimizer"))


@pytest.mark.parametrize(
    ("loop", "batches", "said"),
    [
        # Steps are the optimizer's, and each accumulates four batches, which these two count.
        ("lightning.pytorch", 4.0, "val_check_interval=640"),
        ("ignite.engine", 4.0, "-@trainer.on(Events.ITERATION_COMPLETED(every=64))"),
        ("lightning.pytorch", None, "val_check_interval=160"),
        ("transformers.trainer", 4.0, "eval_steps=160"),
    ],
)
def test_where_a_framework_counts_batches_they_are_told(loop: str, batches: float | None, said: str) -> None:
    place = ROLLOUT | {"functions": [["evaluate", "train.py"]]}
    builder = world(place=place, loop=loop, steps={"batches_per_step": batches})
    assert said in judged(RULE, builder).finding.fix[0].code


@pytest.mark.parametrize(
    ("usual", "long", "irregular", "stopped", "said"),
    [
        (375, 25, False, False, "eval_steps=160"),
        # Of a run of 60 steps half, not ten times the six that lie between now.
        (50, 10, False, False, "eval_steps=30"),
        (50, 10, False, True, "eval_steps=60"),
        # Of a rhythm that is not known no more than half of the run either: it would end without an evaluation.
        (375, 25, True, False, "eval_steps=200"),
        (375, 25, True, True, "eval_steps=1000"),
    ],
)
def test_how_seldom_depends_on_how_often_now_and_on_the_run(
    usual: int, long: int, irregular: bool, stopped: bool, said: str
) -> None:
    told = course(usual=usual, long=long, place=ROLLOUT | {"functions": [["evaluate", "train.py"]]})
    if irregular:
        told |= {"longest": [[100 + number, 405 * MS] for number in range(long)]}
    frameworks = {"imported": {"transformers": None}, "loop": ["transformers.trainer"], "data": []}
    builder = TraceBuilder(None, advisor={"run": told | {"stopped": stopped}, "frameworks": frameworks})
    for number in range(6):
        builder.step(number, number * 5000, 5000)
        builder.op("aten::linear", number * 5000 + 10, 4900)
    assert said in judged(RULE, builder).finding.fix[0].code


@pytest.mark.parametrize(
    ("loop", "irregular", "said"),
    [
        # Counted over the run: every fifth epoch is none of a run of one.
        ("lightning.pytorch", False, "val_check_interval=160, check_val_every_n_epoch=None)   # in batches"),
        ("lightning.pytorch", True, "check_val_every_n_epoch=5"),
        ("composer.trainer", False, 'eval_interval="160ba"'),
        ("ignite.engine", False, "every=16))   # what evaluates\n+@trainer.on(Events.ITERATION_COMPLETED(every=160))"),
        ("ignite.engine", True, "every=100))   # what evaluates\n+@trainer.on(Events.ITERATION_COMPLETED(every=1000))"),
    ],
)
def test_an_evaluation_comes_as_seldom_by_the_frameworks_own_count(loop: str, irregular: bool, said: str) -> None:
    told = course(usual=375, long=25, place=ROLLOUT | {"functions": [["evaluate", "train.py"]]})
    if irregular:
        told |= {"longest": [[100 + number, 405 * MS] for number in range(25)]}
    assert said in judged(RULE, world(told=told, loop=loop)).finding.fix[0].code


def test_every_hundredth_step_is_not_taken_for_every_tenth() -> None:
    """Ten times ten is the figure that stands where the rhythm is not known."""
    told = course(usual=900, long=100, place=ROLLOUT | {"functions": [["evaluate", "train.py"]]})
    told |= {"longest": [[10 * number, 405 * MS] for number in range(1, 101)]}
    code = judged(RULE, world(told=told, loop="ignite.engine")).finding.fix[0].code
    assert "-@trainer.on(Events.ITERATION_COMPLETED(every=10))" in code
    assert "+@trainer.on(Events.ITERATION_COMPLETED(every=100))" in code


def test_one_long_step_after_the_other_is_no_rhythm() -> None:
    told = course() | {"longest": [[100 + number, 405 * MS] for number in range(25)]}
    assert "in 25 of 400 steps, 400 ms each" in judged(RULE, world(told=told)).finding.why


@pytest.mark.parametrize("waited_ms", [0, 900])
def test_time_without_a_core_stands_beside_the_run_and_is_no_doubt_of_it(waited_ms: float) -> None:
    unnamed = ROLLOUT | {"functions": [["inner", "train.py"]]}
    found = judged(RULE, world(told=course(place=unnamed) | {"waited_ns": waited_ms * MS})).finding
    (bars,) = (one for one in found.evidence if isinstance(one, Bars))
    assert any(bar.label == "without a core" for bar in bars.bars) is bool(waited_ms)
    assert any("took the cores" in caveat for caveat in found.caveats) is not bool(waited_ms)


def test_steps_that_had_no_core_at_all_hide_no_course() -> None:
    told = course()
    told["times"] = [[4, 0], *told["times"]]
    found = judged(RULE, world(told=told)).finding
    assert "in 25 of 404 steps" in found.why


def test_a_share_of_the_run_goes_before_a_longer_time_of_recorded_steps_that_are_slow() -> None:
    """The recorded steps take 100 ms for the usual 5, with 40 ms of Python: more than the 25 ms a step that rollouts take."""
    builder = TraceBuilder(
        None, advisor={"run": course(), "python_loop": {"core_ns": 20, "before_ns": 20, "after_ns": 20}}
    )
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000)
        for begin in (at, at + 65_000):
            builder.op("aten::linear", begin + 10, 30_000)
    findings = explain_facts(Facts(builder.trace())).analysis.findings
    first, second = (one for one in findings if one.rule in ("ID004", "PY001"))
    assert (first.rule, second.rule) == ("ID004", "PY001")
    assert second.saving.ns_per_step_max > first.saving.ns_per_step_max
    assert second.saving.ratio_max < first.saving.ratio_max


def _forward(line: int, function: str = "Net.forward") -> dict[str, Any]:
    return ROLLOUT | {"functions": [[function, "train.py"]], "line": line}


def _seen(long: dict[int, int], usual: dict[int, int]) -> dict[str, Any]:
    """A run with looks at lines of its long and of its usual steps."""
    told = course(long_ms=45)
    rows = {name: [_forward(line) | {"samples": looks} for line, looks in seen.items()]
            for name, seen in (("long", long), ("usual", usual))}  # fmt: skip
    seen = {"samples": sum(usual.values()), "places": rows["usual"]}
    told["between"] |= {"samples": sum(long.values()), "places": rows["long"], "usual": seen}
    return told


def test_a_step_that_is_long_at_what_every_step_does_holds_no_work_between_steps() -> None:
    known = run(RULE, world(told=_seen({36: 12, 38: 9}, {36: 20, 38: 18, 40: 2})))
    assert known.state is State.CLEAR
    assert "take longer over what every step does" in known.reason


@pytest.mark.parametrize(
    ("usual", "why"),
    [
        ({36: 20, 38: 18}, "another line of the same loop"),
        ({36: 20, 38: 18, 50: 2}, "a call that a usual step makes as well, and that seldom takes long"),
    ],
)
def test_what_usual_steps_hardly_do_is_work_between_them(usual: dict[int, int], why: str) -> None:
    found = judged(RULE, world(told=_seen({50: 21}, usual))).finding
    assert found.location is not None, why
    assert found.location.line == 50


@pytest.mark.parametrize(("usual_looks", "ratio"), [(2, 1.0), (5, 1.0), (10, 0.667)])
def test_the_usual_step_that_a_long_one_ends_with_is_no_part_of_what_lies_between(
    usual_looks: int, ratio: float
) -> None:
    """Of 20 looks at steps of 25 ms, 5 ms and what lies between, 5 fall on the usual part: more is work that takes longer."""
    told = course(long_ms=25)
    told["between"] |= {
        "samples": 20,
        "places": [_forward(50) | {"samples": 20 - usual_looks}, _forward(36) | {"samples": usual_looks}],
        "usual": {"samples": 30, "places": [_forward(36) | {"samples": 30}]},
    }
    found = judged(RULE, world(told=told)).finding
    assert found.saving.between_ratio == pytest.approx(ratio * 500 / 2500, rel=1e-3)
    assert "36 of train.py" not in found.why


def test_what_the_usual_part_explains_whole_is_not_in_the_table() -> None:
    told = course(long_ms=25)
    told["between"] |= {
        "samples": 20,
        "places": [_forward(50) | {"samples": 18}, _forward(36) | {"samples": 2}],
        "usual": {"samples": 30, "places": [_forward(36) | {"samples": 30}]},
    }
    (table,) = (piece for piece in judged(RULE, world(told=told)).finding.evidence if isinstance(piece, Table))
    assert [row[2] for row in table.rows] == ["train.py:50"]


@pytest.mark.parametrize(
    ("function", "kind"), [("Generator.forward", None), ("generate", "Evaluation between the steps")]
)
def test_the_generator_of_a_gan_evaluates_nothing(function: str, kind: str | None) -> None:
    assert judged(RULE, world(place=_forward(7, function))).finding.title == kind


def test_a_check_of_arguments_is_no_validation() -> None:
    place = ROLLOUT | {"functions": [["check_array", "sklearn/utils/validation.py"]]}
    assert judged(RULE, world(place=place)).finding.title is None


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("save_image", "torchvision/utils.py"),
        ("Figure.savefig", "matplotlib/figure.py"),
        ("Image.save", "PIL/Image.py"),
    ],
)
def test_pictures_that_are_saved_are_no_checkpoints(function: str, file: str) -> None:
    found = judged(RULE, world(place=ROLLOUT | {"functions": [[function, file]]})).finding
    assert found.title == "Plotting between the steps"
    assert not [advice for advice in found.fix if "save" in advice.code]


@pytest.mark.parametrize(
    ("after_ms", "said"),
    [(20, ""), (4_000, "; of the whole run 37 % is before its first step and 49 % is after its last")],
)
def test_what_is_in_no_step_at_all_is_said(after_ms: int, said: str) -> None:
    """A last evaluation, or preparing data, lies between no steps: 375 of 3 ms, 3 s before them, 4 s after."""
    told = course(usual=375, usual_ms=3, long=0) | {"after_ns": after_ms * MS}
    told |= {} if said else {"before_ns": 20 * MS}
    answer = run(RULE, world(told=told))
    assert answer.state is State.CLEAR
    assert answer.reason.partition("below 10 %")[2] == said


_WAITS = [
    ["_exception_logger.<locals>.wrapper", "torch/distributed/c10d_logger.py"],
    ["all_reduce", "torch/distributed/distributed_c10d.py"],
]
_BACKWARD = [["Tensor.backward", "torch/_tensor.py"], ["backward", "torch/autograd/__init__.py"]]


@pytest.mark.parametrize(
    ("functions", "word"),
    [
        (_WAITS, "wait for other ranks"),
        (_WAITS[1:], "wait for other ranks"),
        (_BACKWARD, "take longer over what every step does"),
        ([["Tensor.backward", "lightning/_tensor.py"]], ""),
        ([["evaluate", "train.py"], *_WAITS], ""),
        ([["train_critic", "train.py"], *_BACKWARD], ""),
    ],
)
def test_a_rank_that_waits_does_no_work_between_steps_and_neither_does_a_backward_pass(
    functions: Any, word: str
) -> None:
    """Few looks at usual steps, which are short: what they do as well does not show by those."""
    place = ROLLOUT | {"functions": functions}
    answer = run(RULE, world(place=place))
    assert answer.state is (State.CLEAR if word else State.FIRED)
    if word:
        assert word in answer.reason
    elif functions[0][0] == "evaluate":
        assert judged(RULE, world(place=place)).finding.title == "Evaluation between the steps"


@pytest.mark.parametrize(
    ("cores", "workers"), [(None, "num_workers=4"), (16, "num_workers=4"), (2, "num_workers=1"), (1, "")]
)
def test_an_evaluations_loader_gets_no_more_workers_than_there_are_cores_for(cores: int | None, workers: str) -> None:
    builder = world(place=ROLLOUT | {"functions": [["evaluate", "train.py"]]})
    builder.top["advisor"] |= {"usable_cores": cores} if cores else {}
    (code,) = (one.code for one in judged(RULE, builder).finding.fix if "valid_loader" in one.code)
    assert workers in code if workers else "num_workers" not in code


@pytest.mark.parametrize(
    ("told", "loads"),
    [
        ({"command": ["advisor"], "loader": None}, False),
        ({"command": ["advisor"], "loader": {"num_workers": 0}}, True),
        ({}, True),  # of a recording by other means nobody knows
    ],
)
def test_a_program_without_a_loader_is_not_told_to_make_one(told: dict[str, Any], loads: bool) -> None:
    builder = world(place=ROLLOUT | {"functions": [["evaluate", "train.py"]]})
    builder.top["advisor"] |= told
    codes = "\n".join(fix.code for fix in judged(RULE, builder).finding.fix)
    assert ("DataLoader(" in codes) is loads
    assert "torch.inference_mode()" in codes


_LOADER, _PROCESS = "torch/utils/data/dataloader.py", "multiprocessing/process.py"


@pytest.mark.parametrize(
    ("functions", "starts"),
    [
        ([["DataLoader.__iter__", _LOADER], ["_MultiProcessingDataLoaderIter.__init__", _LOADER]], True),
        (
            [["_BaseDataLoaderIter.__next__", _LOADER], ["_MultiProcessingDataLoaderIter._shutdown_workers", _LOADER]],
            True,
        ),
        # Before Python 3.11 names have no class.
        ([["__iter__", _LOADER], ["_get_iterator", _LOADER], ["start", _PROCESS]], True),
        ([["_BaseDataLoaderIter.__next__", _LOADER], ["_SingleProcessDataLoaderIter._next_data", _LOADER]], False),
        ([["evaluate", "train.py"], ["start", _PROCESS]], False),
    ],
)
@pytest.mark.parametrize("other_ms", [0, 10_000])
def test_workers_that_each_pass_starts_are_kept_whatever_the_pass_is_for(
    functions: list[list[str]], starts: bool, other_ms: float
) -> None:
    """Evaluating less often would leave those of training; and an evaluation of few batches is nothing but the start."""
    result = run(RULE, world(place=ROLLOUT | {"functions": functions}, other_ms=other_ms))
    if starts:
        (found,) = result.findings
        assert found.title == "Worker starts between the steps"
        assert "persistent_workers=True" in found.fix[0].code
        assert not any("Validate" in advice.code for advice in found.fix)
    else:
        assert all(found.title != "Worker starts between the steps" for found in result.findings)


@pytest.mark.parametrize(("name", "collects"), [("gc.collect", True), ("garbage collection", True), ("collect", False)])
def test_collections_between_the_steps_pass_over_what_was_imported(name: str, collects: bool) -> None:
    """A framework that collects at each end of an epoch was told to validate less often."""
    found = judged(
        RULE, world(place=ROLLOUT | {"functions": [[name, "lib/loop.py"], ["Loop._evaluate", "lib/loop.py"]]})
    ).finding
    assert (found.title == "Garbage collection between the steps") is collects
    assert any("gc.freeze()" in advice.code for advice in found.fix) is collects
    assert any("Evaluations" in caveat for caveat in found.caveats) is not collects
    if collects:
        assert not any("Validate" in advice.code for advice in found.fix)


def test_an_optimizer_that_runs_its_closure_more_often_is_no_work_between_steps() -> None:
    """LBFGS far from a minimum evaluates twenty times a step, near it once."""
    place = ROLLOUT | {"functions": [["LBFGS.step", "torch/optim/lbfgs.py"], ["closure", "train.py"]]}
    result = run(RULE, world(place=place))
    assert result.state is State.CLEAR
    assert "lies in steps that take longer over what every step does" in result.reason


@pytest.mark.parametrize(
    ("name", "usual", "state"),
    [
        ("inner", 0, State.CANNOT_TELL),
        ("inner", 14, State.CANNOT_TELL),
        ("inner", 15, State.FIRED),
        ("collect_rollouts", 0, State.FIRED),
        (None, 40, State.CANNOT_TELL),
    ],
)
def test_long_steps_that_nothing_tells_from_usual_ones_are_no_work_between(
    name: str | None, usual: int, state: State
) -> None:
    """Episodes of reinforcement learning, and fits that converge, are steps that differ."""
    told = course(place=ROLLOUT | {"functions": [[name or "inner", "train.py"]]})
    told["between"] |= {"usual": {"samples": usual, "places": []}}
    if name is None:
        told["between"] |= {"samples": 0, "places": []}
    result = run(RULE, world(told=told))
    assert result.state is state
    assert state is State.FIRED or "more of the same" in result.reason


def _calls(function: str, *inner: tuple[str, str], samples: int) -> dict[str, Any]:
    return ROLLOUT | {"functions": [[function, "train.py"], *map(list, inner)], "line": 50, "samples": samples}


_MODEL = ("Net.forward", "train.py")
_OTHERS = {
    "trains": ("Tensor.backward", "torch/_tensor.py"),
    "updates": ("Adam.step", "torch/optim/adam.py"),
    "evaluates": _MODEL,
    "hardly": ("shuffle", "train.py"),
}


@pytest.mark.parametrize("other", _OTHERS)
def test_a_function_that_calls_the_model_and_trains_nothing_may_evaluate_or_act(other: str) -> None:
    told = course()
    rows = [_calls("progress", _MODEL, samples=30), _calls("progress", _OTHERS[other], samples=40)]
    told["between"] |= {"samples": 70, "places": rows}
    found = judged(RULE, world(told=told)).finding
    assert (found.title == "Model runs between the steps") is (other == "evaluates")
    assert ("Where the model is evaluated there" in found.fix[0].code) is (other == "evaluates")


@pytest.mark.parametrize(
    ("inner", "title"), [(_MODEL, "Model runs"), (("Axes.plot", "matplotlib/axes.py"), "Plotting")]
)
def test_a_function_that_is_called_after_plots_and_runs_the_model_plots_little(
    inner: tuple[str, str], title: str
) -> None:
    """`sample_plot_image` of diffusion models: to keep the numbers and draw later would save next to nothing."""
    told = course()
    told["between"] |= {"samples": 30, "places": [_calls("sample_plot_image", inner, samples=30)]}
    assert judged(RULE, world(told=told)).finding.title == f"{title} between the steps"


@pytest.mark.parametrize("function", ["estimate_loss", "check_accuracy", "accuracy", "Trainer.compute_accuracy"])
def test_losses_that_are_estimated_and_accuracies_are_evaluations(function: str) -> None:
    told = course(place=ROLLOUT | {"functions": [[function, "train.py"]]})
    assert judged(RULE, world(told=told)).finding.title == "Evaluation between the steps"
