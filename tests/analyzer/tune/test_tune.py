"""What is tried, in which order, what is said of it: on scripts that are simulated, so that every figure is known."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.analysis.tuning import Promise, TrialDocument, Tuning
from analyzer.calibration.taken import of_tuning
from analyzer.page import tuning as words
from analyzer.report.drawing.shapes import NARROW
from analyzer.report.drawing.tuning import gains
from analyzer.report.tuning import html, markdown, schema, text
from analyzer.report.tuning import json as as_json
from analyzer.tune import events
from analyzer.tune.bench import OutOfBudgetError
from analyzer.tune.candidates import candidates, promised_together
from analyzer.tune.catalogue import BY_NAME, CATALOGUE, Machine
from analyzer.tune.lines import line
from analyzer.tune.losses import held
from analyzer.tune.noise import gain, noise_ratio
from analyzer.tune.result import About
from analyzer.tune.search import search
from analyzer.tune.session import BASELINE_RUNS, Wanted, tune
from rules import RULES
from showing import analyses
from traces.collect.tune.trial import Asked, Changes, Ran, Script
from traces.errors import UntrustedTraceError

MS = 1_000_000
OUTSIDE = {
    "DL001": ("workers", "in-memory"), "OP001": ("optimizer",), "PR001": ("autocast",), "PY004": ("collector",),
    "GR001": ("compile",),
}  # fmt: skip
WORKERS: dict[str, tuple[str, ...]] = {"DL001": ("workers",)}
Cost = Callable[[Changes], float]


@dataclass
class Simulated:
    """A script whose step is known: `cost` of the changes in ms, with noise; some changes end it another way."""

    cost: Cost
    noise: float = 0.002
    ends: dict[str, Ran] = field(default_factory=dict)
    losses: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    asked: list[Changes] = field(default_factory=list)
    interrupt_at: int = 10**9
    lacks: Callable[[int, Changes], float | None] = lambda number, changes: None
    # Milliseconds to start, and steps of an epoch.
    starts: Callable[[Changes], float] = lambda changes: 3000.0
    epoch_steps: int | None = None
    wall_s: float = 0.001
    # What the script has already.
    own: Changes = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(7)

    def __call__(self, script: Script, asked: Asked, log: Path) -> Ran:
        self.asked.append(dict(asked.changes))
        if len(self.asked) >= self.interrupt_at:
            raise KeyboardInterrupt
        for name in asked.changes:
            if name in self.ends:
                return self.ends[name]
        step = self.cost(asked.changes) * MS * math.exp(self.random.gauss(0, self.noise))
        applied = {name: value for name, value in asked.changes.items() if self.own.get(name) != value}
        lacked = self.lacks(len(self.asked), asked.changes)
        curve = next((self.losses[name] for name in asked.changes if name in self.losses), None)
        plain = tuple(1 / (place + 1) for place in range(40))
        return Ran(
            ending="measured", times_ns=(round(step),) * 40, step_ns=step + (lacked or 0.0), lacked_ns=lacked,
            losses=curve or plain, source="optimizer", epoch_steps=self.epoch_steps, steps_before=10,
            setup_ns=round(self.starts(asked.changes) * MS * math.exp(self.random.gauss(0, self.noise)) + 10 * step),
            applied=applied, wall_s=self.wall_s,
        )  # fmt: skip


def analysis_of(**ratios: float) -> Analysis:
    """A document whose findings, by rule, promise these shares of the step."""
    base = analyses.example()
    findings = tuple(
        msgspec.structs.replace(
            base.findings[0],
            id=f"{rule}-0000", rule=rule, explained_by=(), accepted=None,
            saving=msgspec.structs.replace(
                base.findings[0].saving, kind="bound", ratio_max=ratio, ratio_expected=None, ns_per_step_expected=None,
                ns_per_step_max=round(ratio * 100 * MS), unprofiled_ratio=ratio,
            ),
        )
        for rule, ratio in ratios.items()
    )  # fmt: skip
    return msgspec.structs.replace(
        base, findings=findings, summary=msgspec.structs.replace(base.summary, gpu_busy_ratio=None)
    )


ABOUT = About("0", "2 cores", None, "2026-11-22", 2)


def tuned(
    folder: Path,
    simulated: Simulated,
    analysis: Analysis,
    outside: dict[str, tuple[str, ...]] = OUTSIDE,
    **wanted: object,
) -> tuple[Tuning, list[events.Event]]:
    heard: list[events.Event] = []
    asked = Wanted(script=Script(target="train.py"), folder=folder, **wanted)  # type: ignore[arg-type]
    return tune(asked, ABOUT, analysis, outside, heard.append, simulated), heard


def trial(tuning: Tuning, name: str) -> TrialDocument:
    return next(one for one in tuning.trials if one.change.partition("=")[0] == name)


def slow_loader(changes: Changes) -> float:
    """Loading takes 80 of 100 ms and divides among up to 3 workers; in memory it is gone."""
    if "in-memory" in changes:
        loading = {"batches": 0.0, "samples": 10.0}[str(changes["in-memory"])]
    else:
        workers = int(changes.get("workers", 0))
        loading = 80 / max(min(workers, 3), 1) + max(0, workers - 3) * 4
    return 20 - (8 if changes.get("optimizer") == "fused" else 0) + loading


@pytest.mark.slow
def test_the_best_loading_and_the_optimizer_are_found_and_put_together(tmp_path: Path) -> None:
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8, OP001=0.2))
    assert trial(tuning, "in-memory").change == "in-memory=batches"
    assert trial(tuning, "in-memory").verdict == "helps"
    assert trial(tuning, "in-memory").measured_ratio == pytest.approx(0.8, abs=0.02)
    assert trial(tuning, "optimizer").change == "optimizer=fused"
    assert {one.change for one in tuning.recommended} == {"in-memory=batches", "optimizer=fused"}
    assert tuning.together is not None
    assert tuning.together.measured_ratio == pytest.approx(0.88, abs=0.02)
    assert tuning.together.low_ratio < 0.88 < tuning.together.high_ratio + 0.02
    assert any("another change of its kind" in note for note in tuning.notes), "workers stand back behind in-memory"


def all_samples_first(changes: Changes) -> float:
    """What is held in memory is made before the first step: as long as an epoch of 500 steps loads."""
    return 3000.0 + (500 * 80.0 if "in-memory" in changes else 0.0)


def test_what_the_start_takes_longer_is_told_with_the_steps_that_pay_for_it(tmp_path: Path) -> None:
    simulated = Simulated(slow_loader, starts=all_samples_first, epoch_steps=500)
    tuning, heard = tuned(tmp_path, simulated, analysis_of(DL001=0.8))
    held_in_memory, workers = trial(tuning, "in-memory"), trial(tuning, "workers")
    assert held_in_memory.setup_ns == pytest.approx(40_000 * MS, rel=0.02)
    assert held_in_memory.pays_after_steps == pytest.approx(500, rel=0.05)
    assert workers.pays_after_steps is None, "it is ahead from the first step on"
    assert tuning.together is not None
    assert tuning.together.pays_after_steps == held_in_memory.pays_after_steps
    assert re.search(r"less \(.*\); ahead after \d+ steps \([01]\.[019] epochs\)", words.headline(tuning))
    assert any(re.search(r"^workers: another .* helps more once [12],\d+ steps are over", one) for one in tuning.notes)
    for shown in (text.render(tuning), markdown.render(tuning), html.render(tuning)):
        assert "a shorter one loses" in " ".join(shown.split())
    assert any("ahead after" in line(one) for one in heard)


def test_the_steps_of_the_headline_differ_by_what_it_says(tmp_path: Path) -> None:
    """Runs with the change fell into a busy half, its turns aside: `21 ms → 14 ms: 51 % less` was said."""

    def busier(changes: Changes) -> float:
        return slow_loader(changes) * (1.0 if len(simulated.asked) < 9 else 2.5)

    simulated = Simulated(busier)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(DL001=0.8), WORKERS)
    assert tuning.together is not None
    left = tuning.together.step_ns / tuning.baseline_step_ns
    assert 1 - left == pytest.approx(tuning.together.measured_ratio)


def test_the_scripts_own_number_is_a_mark_in_the_search_and_never_a_change(tmp_path: Path) -> None:
    def most_at_two(changes: Changes) -> float:
        return 50.0 + 20.0 * abs(int(changes.get("workers", 2)) - 2)

    simulated = Simulated(most_at_two, own={"workers": 2})
    tuning, _ = tuned(tmp_path, simulated, analysis_of(DL001=0.8), WORKERS)
    workers = trial(tuning, "workers")
    assert (workers.verdict, tuning.recommended) == ("not run", ())
    assert workers.reason == "of those tried workers=2, as the script has it, is the best"
    assert {one.value for one in workers.tried} > {"1", "2", "4"}


def test_starts_that_differ_by_chance_are_not_told(tmp_path: Path) -> None:
    chance = random.Random(3)
    simulated = Simulated(slow_loader, starts=lambda changes: chance.uniform(2000, 9000))
    tuning, _ = tuned(tmp_path, simulated, analysis_of(DL001=0.8), WORKERS)
    assert trial(tuning, "workers").verdict == "helps"
    assert "ahead after" not in text.render(tuning)


@pytest.mark.parametrize("best", range(1, 9))
def test_workers_are_within_a_tenth_of_a_sweep_in_half_its_runs(best: int) -> None:
    def cost(workers: int) -> float:
        return 0.2 + 1 / max(min(workers, best), 0.5) + 0.02 * max(0, workers - best)

    values, asked = list(BY_NAME["workers"].values(Machine(2, False))), []
    found = search(values, 2, lambda value: asked.append(value) or cost(value), 0.03)  # type: ignore[func-returns-value]
    assert len(asked) == len(set(asked)) <= len(values) // 2
    assert found is not None
    assert cost(found) <= 1.1 * min(map(cost, values))


def test_a_search_lives_with_values_that_do_not_run() -> None:
    assert search([1, 2, 4, 8], 2, lambda value: None) is None
    assert search([1, 2, 4, 8], 2, lambda value: None if value > 2 else 1.0 / value) == 2


def test_a_healthy_script_gains_nothing(tmp_path: Path) -> None:
    simulated = Simulated(lambda changes: 100.0)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(OP001=0.3))
    assert trial(tuning, "optimizer").verdict == "no effect"
    assert tuning.recommended == ()
    assert tuning.together is None
    assert "none of 1 change that was tried helps" in text.render(tuning)


def test_noise_alone_is_not_taken_for_a_gain(tmp_path: Path) -> None:
    helped = 0
    for seed in range(20):
        simulated = Simulated(lambda changes: 100.0, noise=0.05)
        simulated.random = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        tuning, _ = tuned(folder, simulated, analysis_of(PY004=0.9))
        helped += trial(tuning, "collector").verdict == "helps"
    assert helped <= 2


def test_nothing_is_tried_where_nothing_can_be(tmp_path: Path) -> None:
    simulated = Simulated(lambda changes: 100.0)
    tuning, heard = tuned(tmp_path, simulated, analysis_of(SY001=0.4))
    assert simulated.asked == []
    assert tuning.trials == ()
    assert [one.rule for one in tuning.by_hand] == ["SY001"]
    assert "Nothing to try" in text.render(tuning)
    assert "seconds" not in text.render(tuning), "nothing was run"
    assert events.Planned(()) in heard


def test_a_ceiling_below_the_noise_is_not_run_and_said(tmp_path: Path) -> None:
    simulated = Simulated(lambda changes: 100.0, noise=0.05)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(PY004=0.01))
    assert trial(tuning, "collector").verdict == "not run"
    assert "below the noise" in trial(tuning, "collector").reason
    assert all(changes == {} for changes in simulated.asked)
    assert "none of 1 change was tried" in text.render(tuning), "what was not run is not called useless"


def test_precision_is_tried_only_where_allowed(tmp_path: Path) -> None:
    half = Simulated(lambda changes: 60.0 if "autocast" in changes else 100.0)
    tuning, _ = tuned(tmp_path, half, analysis_of(PR001=0.5))
    assert trial(tuning, "autocast").verdict == "not run"
    assert "--allow-numerics" in trial(tuning, "autocast").reason
    other = tmp_path / "other"
    other.mkdir()
    tuning, _ = tuned(other, half, analysis_of(PR001=0.5), allow_numerics=True)
    assert trial(tuning, "autocast").verdict == "helps"
    assert trial(tuning, "autocast").loss_difference_ratio == 0


@pytest.mark.parametrize(
    ("curve", "why"),
    [((1.0, *[None] * 39), "no finite number from step 1"), (tuple(1.0 for _ in range(40)), "of its scale away")],
)
def test_a_change_that_lets_the_loss_go_is_rejected_with_the_figure(
    curve: tuple[float | None, ...], why: str, tmp_path: Path
) -> None:
    simulated = Simulated(lambda changes: 60.0 if changes else 100.0, losses={"autocast": curve})
    tuning, _ = tuned(tmp_path, simulated, analysis_of(PR001=0.5), allow_numerics=True)
    assert trial(tuning, "autocast").verdict == "rejected"
    assert why in trial(tuning, "autocast").reason
    assert tuning.recommended == ()


@pytest.mark.parametrize("ending", ["failed", "no memory", "timed out", "stopped"])
def test_what_fails_costs_only_itself(ending: str, tmp_path: Path) -> None:
    ends = {"compile": Ran(ending=ending, reason="because")}  # type: ignore[arg-type]
    simulated = Simulated(lambda changes: 70.0 if "collector" in changes else 100.0, ends=ends)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(GR001=0.5, PY004=0.4))
    assert trial(tuning, "compile").verdict == "failed"
    assert "because" in trial(tuning, "compile").reason
    assert trial(tuning, "collector").verdict == "helps"


def test_what_the_script_has_no_call_for_is_not_run(tmp_path: Path) -> None:
    class Deaf(Simulated):
        def __call__(self, script: Script, asked: Asked, log: Path) -> Ran:
            from dataclasses import replace

            return replace(super().__call__(script, asked, log), applied={})

    tuning, _ = tuned(tmp_path, Deaf(lambda changes: 100.0), analysis_of(PY004=0.4))
    assert trial(tuning, "collector").verdict == "not run"
    assert "nothing in the script takes it" in trial(tuning, "collector").reason


def test_worse_is_a_result(tmp_path: Path) -> None:
    tuning, _ = tuned(tmp_path, Simulated(lambda changes: 130.0 if changes else 100.0), analysis_of(PY004=0.4))
    assert trial(tuning, "collector").verdict == "worse"
    assert tuning.recommended == ()


def test_what_carries_nothing_beside_the_others_is_taken_away(tmp_path: Path) -> None:
    """Either change alone brings the same 40 %; both together no more."""
    simulated = Simulated(lambda changes: 60.0 if changes else 100.0)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(PY004=0.5, OP001=0.5))
    assert len(tuning.recommended) == 1
    assert any("brings nothing" in note for note in tuning.notes)


def test_a_promise_of_the_recorded_step_is_told_so(tmp_path: Path) -> None:
    """`at most 96 %` was promised where `advisor explain` says `96 % as recorded`."""
    analysis = analysis_of(DL001=0.7, OP001=0.2, PY002=0.3)
    recorded = {"DL001", "PY002"}
    findings = tuple(
        msgspec.structs.replace(
            one, saving=msgspec.structs.replace(one.saving, unprofiled_ratio=None, of_recorded=True)
        ) if one.rule in recorded else one
        for one in analysis.findings
    )  # fmt: skip
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), msgspec.structs.replace(analysis, findings=findings))
    assert {one.change.partition("=")[0]: words.promised(one) for one in tuning.trials} == {
        "in-memory": "at most 70 % as recorded", "workers": "at most 70 % as recorded", "optimizer": "at most 20 %"
    }  # fmt: skip
    assert any(one.endswith(" as recorded.") for one in words.method(tuning))
    assert next(one for one in words.by_hand(tuning) if "PY002" in one).endswith("at most 30 % as recorded")
    for shown in (text.render(tuning), markdown.render(tuning), html.render(tuning)):
        assert "70 % as recorded" in " ".join(shown.replace("&nbsp;", " ").split())
    assert trial(tuning, "in-memory").verdict == "helps"
    assert "more than was promised" not in words.said(trial(tuning, "in-memory"), None), "80 % of another step"
    assert {pair.rule for pair in of_tuning(tuning)} == {"OP001"}


def test_a_tuning_that_goes_on_tells_what_all_of_it_took(tmp_path: Path) -> None:
    """It told the seconds of the last call alone."""
    for resume in (False, True):
        # No run is left for the second call.
        tuning, _ = tuned(tmp_path, Simulated(slow_loader, wall_s=50.0), analysis_of(DL001=0.8), WORKERS, resume=resume)
        assert (tuning.seconds > 500, trial(tuning, "workers").seconds > 200) == (resume, resume)
        assert any(f"; {round(tuning.seconds)} seconds without the recording" in line for line in words.method(tuning))


def test_an_interrupt_keeps_what_was_measured_and_resume_goes_on(tmp_path: Path) -> None:
    first = Simulated(slow_loader, interrupt_at=14)
    tuning, _ = tuned(tmp_path, first, analysis_of(DL001=0.8, OP001=0.2))
    assert not tuning.complete
    assert any(one.reason == "interrupted" for one in tuning.trials)
    second = Simulated(slow_loader)
    tuning, _ = tuned(tmp_path, second, analysis_of(DL001=0.8, OP001=0.2), resume=True)
    assert tuning.complete
    assert {one.change for one in tuning.recommended} == {"in-memory=batches", "optimizer=fused"}
    whole = Simulated(slow_loader)
    other = tmp_path / "whole"
    other.mkdir()
    tuned(other, whole, analysis_of(DL001=0.8, OP001=0.2))
    assert len(second.asked) < len(whole.asked), "runs that were over are not run again"


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe", b"[" * 100_000, b"[]", b'{"key": 3, "ran": {}}',
        b'{"key": "{}", "ran": {"ending": "perfect"}}', b'{"key": "{}"',
    ],
    ids=range(6),
)  # fmt: skip
def test_a_line_that_is_no_run_is_measured_again(damage: bytes, tmp_path: Path) -> None:
    tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8))
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines()
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join([damage, *lines[1:]]) + b"\n")
    again = Simulated(slow_loader)
    tuning, _ = tuned(tmp_path, again, analysis_of(DL001=0.8), resume=True)
    assert tuning.complete
    assert len(again.asked) == 1


def test_a_used_up_budget_leaves_the_rest_not_run(tmp_path: Path) -> None:
    with pytest.raises(UntrustedTraceError, match="not be timed often enough"):
        tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8), budget_s=0.0015)


@dataclass
class Budgeted(Simulated):
    """A script for so many of whose runs there is time."""

    runs: int = 10**9

    def __call__(self, script: Script, asked: Asked, log: Path) -> Ran:
        if len(self.asked) >= self.runs:
            raise OutOfBudgetError
        return super().__call__(script, asked, log)


def test_a_budget_that_ends_within_a_search_keeps_the_values_that_were_tried(tmp_path: Path) -> None:
    """One run times the script, four more tell the noise; then there is time for two values."""
    tuning, _ = tuned(tmp_path, Budgeted(slow_loader, runs=BASELINE_RUNS + 3), analysis_of(DL001=0.8), outside=WORKERS)
    found = trial(tuning, "workers")
    assert (found.verdict, found.reason) == ("not run", "the budget is used up")
    assert len(found.tried) == 2
    assert "no change was tried to its end" in text.render(tuning)
    assert "tried: 2 " in text.render(tuning)


def test_a_budget_that_ends_behind_a_turn_keeps_its_interval(tmp_path: Path) -> None:
    """A gain of 2 % in unrest of 5 %: one turn does not decide, and there is time for one."""
    simulated = Budgeted(lambda changes: 98.0 if changes else 100.0, noise=0.05, runs=BASELINE_RUNS + 3)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(PY004=0.9))
    found = trial(tuning, "collector")
    assert found.runs == 1
    assert found.low_ratio is not None
    assert found.high_ratio is not None
    assert found.low_ratio < 0.02 < found.high_ratio
    assert found.verdict == "no effect"


def test_a_number_that_only_loses_is_not_searched_to_the_end(tmp_path: Path) -> None:
    """Two workers are the best of those that are tried, and cost thrice the step: what lies beside them is left alone."""
    simulated = Simulated(lambda changes: 300.0 + 50 * abs(int(changes["workers"]) - 2) if changes else 100.0)
    tuning, _ = tuned(tmp_path, simulated, analysis_of(DL001=0.8), outside=WORKERS)
    found = trial(tuning, "workers")
    assert found.verdict == "worse"
    gaining = Simulated(slow_loader)
    (tmp_path / "gaining").mkdir()
    searched, _ = tuned(tmp_path / "gaining", gaining, analysis_of(DL001=0.8), outside=WORKERS)
    assert [one.value for one in found.tried] == ["2", "4", "1"]
    assert "6" in {one.value for one in trial(searched, "workers").tried}, "what gains is looked at closely"


def test_a_budget_that_is_used_up_before_the_first_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(UntrustedTraceError, match="not be timed often enough"):
        tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8), budget_s=-1.0)


@pytest.mark.parametrize(
    ("ending", "what"),
    [("short", "ends before enough steps"), ("stopped", "would overwrite"), ("failed", "the script fails")],
)
def test_a_script_that_cannot_be_timed_is_refused(ending: str, what: str, tmp_path: Path) -> None:
    class Refused(Simulated):
        def __call__(self, script: Script, asked: Asked, log: Path) -> Ran:
            return Ran(ending=ending, reason="why")  # type: ignore[arg-type]

    with pytest.raises(UntrustedTraceError, match=what):
        tuned(tmp_path, Refused(lambda changes: 1.0), analysis_of(DL001=0.8))


def test_every_document_says_the_same(tmp_path: Path) -> None:
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8, OP001=0.2, SY001=0.1))
    document = json.loads(as_json.render(tuning))
    jsonschema.validate(document, schema.schema())
    assert schema.SHIPPED.read_text("utf-8") == schema.render()
    assert msgspec.json.decode(as_json.render(tuning), type=Tuning) == tuning
    for rendered in (text.render(tuning), markdown.render(tuning), html.render(tuning)):
        for one in tuning.recommended:
            assert one.change in rendered
        assert "SY001" in rendered


def test_reasons_stand_below_the_table_each_with_its_change(tmp_path: Path) -> None:
    """In a column beside seven others they were a word wide, and the rows a hand high."""
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8, OP001=0.2, SY001=0.1))
    for rendered, ends, mark in (
        (markdown.render(tuning), "\n\n", "- `{}` {}"),
        (html.render(tuning), "</table>", "<li><code>{}</code> {}"),
    ):
        table, _, below = rendered.replace("\xa0", " ").partition(words.HEADS[-1])[2].partition(ends)
        told = [(one.change, words.said(one, None)) for one in tuning.trials if words.said(one, None)]
        assert told
        for change, said in told:
            assert mark.format(change, said[:30]) in below
            assert said[:30] not in table


def test_a_telephone_has_the_words_above_bars_that_fill_its_width(tmp_path: Path) -> None:
    """Beside them the bars were a third of it, and a long name lay across its own."""
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), analysis_of(DL001=0.8, OP001=0.2, SY001=0.1))
    drawn = gains(tuning, NARROW)
    assert drawn is not None
    boxes = re.findall(r'<rect class="(?:part|drawn)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawn.body)
    assert max(float(x) + float(width) for x, _, width in boxes) == pytest.approx(NARROW, abs=1)
    lines = {float(y) for y in re.findall(r'<text[^>]* y="([\d.]+)"', drawn.body)}
    assert not any(float(y) - 8 < line < float(y) + 12 for _, y, _ in boxes[::2] for line in lines if line > float(y))
    assert 'class="narrow"' in html.render(tuning)


def test_a_gain_has_an_interval_that_holds_it() -> None:
    """Of 400 simulated trials with a true gain of 20 % and unrest of 3 % the interval holds it in about 95 %."""
    source, inside = random.Random(1), 0
    for _ in range(400):
        times = [math.exp(source.gauss(0, 0.03)) for _ in range(6)]
        around = [(times[3 + turn], 0.8 * math.exp(source.gauss(0, 0.03)), times[4 + turn]) for turn in range(2)]
        found = gain(times, around)
        inside += found.low <= 0.2 <= found.high
    assert inside >= 0.93 * 400


def test_equal_runs_have_no_noise_but_that_of_clocks() -> None:
    assert noise_ratio([1.0, 1.0, 1.0], 2) == pytest.approx(0.005)
    assert noise_ratio([1.0, 1.1, 1.0], 2) > 0.05


def test_a_short_loss_curve_says_nothing() -> None:
    assert held([(1.0, 0.9)], (5.0, 5.0)).rejected == ""
    assert held([], ()).difference is None


def test_rules_name_changes_that_there_are_and_each_change_is_advised() -> None:
    named = {name for rule in RULES for name in rule.meta.outside}
    assert named <= set(BY_NAME)
    assert set(BY_NAME) - named == {"cudnn-benchmark"}, "no rule tells when cuDNN's search pays"
    assert len(BY_NAME) == len(CATALOGUE)


def test_what_other_programs_took_is_left_out_only_where_it_is_known_of_all_runs(tmp_path: Path) -> None:
    """Every other run loses half as much again to another program; the change itself brings a fifth."""
    for name, blind in (("all", False), ("some", True)):
        (tmp_path / name).mkdir()
        simulated = Simulated(lambda changes: 80.0 if changes else 100.0)
        # Of a change whose processes may have had the core themselves, nobody knows.
        simulated.lacks = lambda number, changes, blind=blind: None if blind and changes else number % 2 * 50.0 * MS  # type: ignore[misc]
        tuning, _ = tuned(tmp_path / name, simulated, analysis_of(PY004=0.9))
        found = trial(tuning, "collector")
        assert found.low_ratio is not None
        assert found.high_ratio is not None
        wide = found.high_ratio - found.low_ratio
        assert wide > 0.2 if blind else (wide < 0.05 and found.low_ratio < 0.2 < found.high_ratio)


def test_an_estimate_is_promised_as_its_card_says_and_tried_up_to_what_pairs_brought(tmp_path: Path) -> None:
    base = analysis_of(PY004=0.0)
    saving = msgspec.structs.replace(
        base.findings[0].saving, kind="estimate", ratio_max=0.25, ratio_expected=0.2, ns_per_step_max=25 * MS,
        ns_per_step_expected=20 * MS, unprofiled_ratio=None,
    )  # fmt: skip
    analysis = msgspec.structs.replace(base, findings=(msgspec.structs.replace(base.findings[0], saving=saving),))
    (found,) = candidates(analysis, OUTSIDE, Machine(2, False))
    assert found.promise == Promise(promised_ratio=0.2, promised_kind="estimate")
    assert found.ceiling_ratio == 0.25
    assert promised_together(analysis, [analysis.findings[0].id]).promised_ratio <= 0.2
    # Of the two figures the one that keeps it from being run says how it comes to be larger than the other.
    tuning, _ = tuned(tmp_path, Simulated(lambda changes: 100.0, noise=1.5), analysis)
    reason = trial(tuning, "collector").reason
    assert "even its ceiling, 25.0 % of the step where 20.0 % are promised and more may come, is below" in reason
    assert "below the noise" in reason
    assert "a change that can bring less is not run" in text.render(tuning), "not one that promises less"
    # What only a change of the program brings is an estimate as well.
    other = msgspec.structs.replace(analysis.findings[0], rule="PY002")
    tuning, _ = tuned(
        tmp_path / "by hand", Simulated(lambda changes: 100.0), msgspec.structs.replace(analysis, findings=(other,))
    )
    assert [one.promised_kind for one in tuning.by_hand] == ["estimate"]
    assert "up to about 20 %" in text.render(tuning)


def test_steps_that_differ_for_no_known_reason_are_no_reason_to_move_the_collector() -> None:
    """Passes of the collector are recorded, and PY004 tells of them: a step that the machine held up is none."""
    outside = {rule.meta.code: rule.meta.outside for rule in RULES}
    found = candidates(analysis_of(PY004=0.1, PY005=0.3), outside, Machine(2, False))
    assert [(one.change.name, one.rules) for one in found] == [("collector", ("PY004",))]
    assert candidates(analysis_of(PY005=0.3), outside, Machine(2, False)) == ()


@pytest.mark.parametrize("explained", [False, True])
def test_a_change_is_promised_what_the_finding_states_that_explains_the_others(explained: bool, tmp_path: Path) -> None:
    """Training waits for 80 %; that samples are small is all of that, what workers can do on these cores a quarter."""
    outside = {"DL001": ("workers", "in-memory"), "DL002": ("workers",), "DL006": ("in-memory",)}
    base = analysis_of(DL001=0.8, DL002=0.25, DL006=0.79)
    waiting = msgspec.structs.replace(base.findings[0], explained_by=("DL006-0000", "DL002-0000"))
    analysis = msgspec.structs.replace(base, findings=(waiting, *base.findings[1:])) if explained else base
    tuning, _ = tuned(tmp_path, Simulated(slow_loader), analysis, outside)
    promised = {one.change.partition("=")[0]: (one.rules, one.promised_ratio) for one in tuning.trials}
    if explained:
        assert promised == {"workers": (("DL002",), 0.25), "in-memory": (("DL006",), 0.79)}
        assert [pair.rule for pair in of_tuning(tuning) if pair.measured_ratio > 0.7] == ["DL006"]
    else:
        assert promised == {"workers": (("DL001", "DL002"), 0.8), "in-memory": (("DL001", "DL006"), 0.8)}
