"""What the rules say of the zoo's traces, held against what was planted: precision, recall, and bound against measured gain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.analysis import CARD_RATIO, SavingDocument
from analyzer.cli.commands.zoo.chance import Estimate, bound_of, mean_of, noise_of
from analyzer.engine.plugins import load_rules
from analyzer.explain import Explained

if TYPE_CHECKING:
    from traces.collect.zoo.preset import Preset
    from traces.collect.zoo.session import Timing

LEAST = 0.95
MOST_DISTURBED_RATIO = 0.1
# What the same loop differs from itself from one minute to the next, where its stretches of one minute differ less.
LEAST_NOISE_RATIO = 0.03


@dataclass(frozen=True)
class Score:
    """One preset, judged.

    Args:
        name: The preset's.
        right: Codes that had to fire and did.
        missed: Codes that had to fire and did not, with what the rule said instead.
        wrong: Codes that fired and should not have, with the share they claim.
        bound: The largest saving that a right finding promises at most; None where none is promised.
        timing: The preset against its remedy; None where none was measured.
        step_ns: Mean step of the trace.
    """

    name: str
    right: frozenset[str]
    missed: dict[str, str]
    wrong: dict[str, float]
    bound: Estimate | None
    timing: Timing | None
    step_ns: int

    @property
    def bound_ratio(self) -> float | None:
        """The bound as the report states it."""
        return None if self.bound is None else self.bound.value

    @property
    def noise_ratio(self) -> float:
        """What chance may do, as a share of the step: how far the loops lie from themselves, and how little the bound is known."""
        if self.timing is None:
            return LEAST_NOISE_RATIO
        chance = noise_of(mean_of(self.timing.rest_gains), self.bound or Estimate(0.0))
        return math.hypot(LEAST_NOISE_RATIO, chance)

    @property
    def gain_ratio(self) -> float | None:
        """Share of the step that the remedy saved; None where it was not timed."""
        return mean_of(self.timing.gains).value if self.timing else None

    @property
    def rest_gain_ratio(self) -> float | None:
        """The same with the rest of the step as it was in the preset."""
        return mean_of(self.timing.rest_gains).value if self.timing else None

    @property
    def overshoots(self) -> bool:
        """Whether the remedy saved more than was said to be possible, by more than noise.

        Of the gain with the rest of the step as it was: that it gets faster with caches to itself no trace shows. Both are known
        from few values: more than chance is what it does in one of a hundred looks.
        """
        if self.rest_gain_ratio is None or self.bound_ratio is None or not self.right:
            return False
        return self.rest_gain_ratio > self.bound_ratio + self.noise_ratio

    @property
    def faulty(self) -> bool:
        """Whether anything about it is not as it should be."""
        return bool(self.missed or self.wrong) or self.overshoots


def judge(preset: Preset, explained: Iterable[Explained], timing: Timing | None) -> Score:
    """Hold what was found in the traces of a preset (one, or one per rank) against what was planted."""
    explained = list(explained)
    found: dict[str, float] = {}
    bounds: list[tuple[float, Explained, str]] = []
    reasons: dict[str, str] = {}
    for one in explained:
        for check in one.analysis.checks:
            reasons[check.rule] = f"{check.state}: {check.reason}"
        for finding in one.analysis.findings:
            ratio = _bound(finding.saving)
            found[finding.rule] = max(found.get(finding.rule, 0.0), ratio)
            if ratio > 0 and finding.rule in preset.fires:
                bounds.append((ratio, one, finding.id))
        for reason in one.analysis.trust.reasons:
            if reason.code:
                found.setdefault(reason.code, 0.0)
    right = preset.fires & found.keys()
    # Symptoms without a saving of their own describe a trace, and are true of many presets.
    symptoms = {rule.meta.code for rule in load_rules() if "symptom" in rule.meta.topics}
    expected = preset.fires | preset.may | symptoms
    wrong = {
        code: ratio
        for code, ratio in found.items()
        if code in preset.silent or (code not in expected and ratio >= CARD_RATIO)
    }
    return Score(
        preset.name,
        right,
        {code: reasons.get(code, "no such rule") for code in preset.fires - right},
        wrong,
        _largest(bounds, preset.period),
        timing,
        explained[0].analysis.summary.step_ns.mean,
    )


def _largest(bounds: list[tuple[float, Explained, str]], period: int) -> Estimate | None:
    """The largest bound, with how well it is known."""
    from traces.collect.recorder.window import UNPROFILED_STEPS

    if not bounds:
        return None
    ratio, explained, identity = max(bounds, key=lambda bound: bound[0])
    saving = explained.savings.get(identity)
    return Estimate(ratio) if saving is None else bound_of(ratio, explained, saving, period, UNPROFILED_STEPS)


def _bound(saving: SavingDocument) -> float:
    """What is promised of a step without the profiler, as remedies are timed."""
    return saving.ratio_max if saving.unprofiled_ratio is None else saving.unprofiled_ratio


@dataclass(frozen=True)
class Total:
    """All presets together: precision and recall per rule and overall.

    Args:
        scores: The presets that were judged.
        disturbed: How many were not, because the machine was busy with something else.
        again: Names of those that failed at the first look and were looked at once more.
        failures: Presets that raised an error, and traces too large to keep, in words.
    """

    scores: tuple[Score, ...]
    disturbed: int = 0
    again: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def too_busy(self) -> bool:
        """Whether so many presets were disturbed that the rest says little."""
        return self.disturbed > MOST_DISTURBED_RATIO * (len(self.scores) + self.disturbed)

    @property
    def rules(self) -> dict[str, tuple[int, int, int]]:
        """Right, wrong and missed answers of each rule."""
        right = Counter(code for score in self.scores for code in score.right)
        wrong = Counter(code for score in self.scores for code in score.wrong)
        missed = Counter(code for score in self.scores for code in score.missed)
        return {code: (right[code], wrong[code], missed[code]) for code in sorted({*right, *wrong, *missed})}

    @property
    def precision(self) -> float | None:
        """Share of the answers that are right; None without an answer."""
        right, wrong, _ = self._sums()
        return right / (right + wrong) if right + wrong else None

    @property
    def recall(self) -> float | None:
        """Share of what was planted that was found; None where nothing was planted."""
        right, _, missed = self._sums()
        return right / (right + missed) if right + missed else None

    @property
    def problems(self) -> list[str]:
        """Why the zoo fails; empty where it passes."""
        problems = [
            f"{name} {value:.3f} is below {LEAST}"
            for name, value in (("precision", self.precision), ("recall", self.recall))
            if value is not None and value < LEAST
        ]
        if not self.scores and not self.disturbed and not self.failures:
            problems.append("no preset was judged")
        if self.too_busy:
            problems.append(f"{self.disturbed} presets could not be judged: the machine is too busy")
        return [*problems, *self.failures] + [
            f"{score.name}: the remedy saves {score.rest_gain_ratio:.1%}, more than the {score.bound_ratio:.1%} said to be "
            f"possible (noise {score.noise_ratio:.1%})"
            for score in self.scores
            if score.overshoots
        ]

    def _sums(self) -> tuple[int, int, int]:
        right, wrong, missed = (
            (sum(column) for column in zip(*self.rules.values(), strict=True)) if self.rules else (0, 0, 0)
        )
        return right, wrong, missed


def lines(total: Total, skipped: dict[str, str]) -> list[str]:
    """The tables as text."""
    text = [
        f"{'preset':<22} {'step':>9}  {'fired as it must':<22} {'bound':>6} {'gain':>6} {'rest':>6} {'noise':>6}  wrong or missed"
    ]
    for score in total.scores:
        bound = f"{score.bound_ratio:.1%}" if score.bound_ratio is not None else "-"
        gain, rest = (
            f"{ratio:.1%}" if ratio is not None else "-" for ratio in (score.gain_ratio, score.rest_gain_ratio)
        )
        noise = f"{score.noise_ratio:.1%}" if score.timing else "-"
        complaints = [f"{code} wrongly ({ratio:.1%})" for code, ratio in sorted(score.wrong.items())]
        complaints += [f"{code} missed ({reason})" for code, reason in sorted(score.missed.items())]
        text.append(
            f"{score.name:<22} {score.step_ns / 1e6:>6.2f} ms  {' '.join(sorted(score.right)) or '-':<22} "
            f"{bound:>6} {gain:>6} {rest:>6} {noise:>6}  {'; '.join(complaints)}".rstrip()
        )
    text += [f"{name:<22} skipped: {reason}" for name, reason in skipped.items()]
    text += [f"{name:<22} failed at the first look; this is the second" for name in total.again]
    text += ["", f"{'rule':<6} {'right':>5} {'wrong':>5} {'missed':>6} {'precision':>9} {'recall':>6}"]
    for code, (right, wrong, missed) in total.rules.items():
        precision = f"{right / (right + wrong):.2f}" if right + wrong else "-"
        recall = f"{right / (right + missed):.2f}" if right + missed else "-"
        text.append(f"{code:<6} {right:>5} {wrong:>5} {missed:>6} {precision:>9} {recall:>6}")
    return [*text, "", rates(total)]


def rates(total: Total) -> str:
    """`precision 1.000, recall 0.950`; each is unknown where nothing speaks of it."""
    return ", ".join(
        f"{name} {'unknown' if value is None else f'{value:.3f}'}"
        for name, value in (("precision", total.precision), ("recall", total.recall))
    )


def size_problem(path: Path, most: int = 1_500_000) -> str:
    """Why a trace is too large to keep; empty where it is not."""
    size = path.stat().st_size
    return f"{path.name} has {size / 1e6:.1f} MB, more than {most / 1e6:.1f}" if size > most else ""
