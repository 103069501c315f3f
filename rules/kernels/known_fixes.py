"""How to compute once what is known, by how far back the result lies."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.facts.recording.known_results import KnownResult
from analyzer.finding import Advice
from analyzer.units import size
from rules.data_loading.kept import sentence
from traces.reader.names.again import IN_EACH_EPOCH, IN_EACH_STEP, IN_STEP

_ONE_CALL = Advice(
    "diff",
    "-loss = criterion(model(x), y)\n-correct += (model(x).argmax(1) == y).sum()\n"
    "+output = model(x)\n+loss = criterion(output, y)\n+correct += (output.detach().argmax(1) == y).sum()",
    "One call, and its result used for both; `.detach()` where no gradient is to go through.",
)
_ONE_CALL_TO_RUN = Advice(
    "diff",
    "-labels, scores = model(x).argmax(1), model(x).softmax(1)\n"
    "+output = model(x)\n+labels, scores = output.argmax(1), output.softmax(1)",
    "One call, and its result used for both.",
)
_BEFORE_LOOP = Advice(
    "diff",
    "+projected = self.project(x)      # the same in each turn\n for step in range(steps):\n"
    "-    state = self.cell(self.project(x), state)\n+    state = self.cell(projected, state)",
    "In front of the loop what each turn computes alike.",
)
_BEFORE_TRAINING = Advice(
    "diff",
    "+with torch.no_grad():\n+    wanted = features(style)      # the same in each step\n for x in loader:\n"
    "-    loss = criterion(features(model(x)), features(style))\n+    loss = criterion(features(model(x)), wanted)",
    "In front of the training loop: neither the input nor the module changes.",
)
_KEPT_CODE = (
    "with torch.no_grad():\n"
    "    kept = [(backbone(x).cpu(), y) for x, y in DataLoader(dataset, batch_size=B)]      # once, in order\n"
    "inputs, targets = (torch.cat(part) for part in zip(*kept))\n"
    "loader = DataLoader(TensorDataset(inputs, targets), batch_size=B, shuffle=True)"
)
_REFERENCE = Advice(
    "python",
    "args = DPOConfig(..., precompute_ref_log_probs=True)",
    "Where it is the reference model of trl's `DPOTrainer`: once over the data set, before training, and then no more.",
)


def fixes(facts: Facts, found: Sequence[KnownResult]) -> tuple[Advice, ...]:
    """One remedy for each kind of call, that of the longest first.

    Args:
        facts: The measurements.
        found: What the collector tells of the calls, those that take longest first.
    """
    of_trl = facts.recording.frameworks.uses_trl and any(one.scope == IN_EACH_EPOCH for one in found)
    return (*((_REFERENCE,) if of_trl else ()), *dict.fromkeys(_fix(facts, one) for one in found))


def _fix(facts: Facts, one: KnownResult) -> Advice:
    if one.scope == IN_STEP:
        first = _ONE_CALL if facts.recording.trains else _ONE_CALL_TO_RUN
        return first if one.calls == 1 else _BEFORE_LOOP
    if one.scope == IN_EACH_STEP:
        return _BEFORE_TRAINING
    assert one.scope == IN_EACH_EPOCH
    return Advice(
        "python",
        _KEPT_CODE,
        "Once over the data set; training then draws what was kept, and reads no sample again. Results of unlike length are kept "
        "one by one."
        f"{_size(facts, one)}{sentence(facts)}",
    )


def _size(facts: Facts, one: KnownResult) -> str:
    """How much there is to keep, where the samples of a step are known; else nothing is said."""
    told = facts.recording.collected
    if not (told.dataset_length and told.batch_size and told.batches_per_step and one.result_bytes):
        return ""
    total = one.result_bytes / (told.batch_size * told.batches_per_step) * told.dataset_length
    return f" That is {size(total)} for {told.dataset_length:,} samples."
