"""Changes of a loop are said in the words of the framework that runs it, and in torch's where it has none."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules import framework_words
from rules.changes import accumulate_gradients, compiled
from rules.data_loading.words import loader
from rules.optimizer.advice import fused


def _facts(loop: str | None, **more: object) -> Facts:
    name = loop.partition(".")[0] if loop else ""
    told = {"imported": {name: None} if name else {}, "loop": [loop] if loop else [], "data": []} | more
    builder = TraceBuilder(top={"advisor": {"frameworks": told, "batch_size": 32}})
    builder.step(1, 0, 1000)
    return Facts(builder.trace())


@pytest.mark.parametrize(
    ("loop", "bfloat16", "words"),
    [
        ("transformers.trainer", True, "bf16=True"),
        ("pytorch_lightning.trainer", True, 'precision="bf16-mixed"'),
        ("lightning.pytorch", False, 'precision="16-mixed"'),
        ("accelerate.accelerator", True, 'mixed_precision="bf16"'),
        ("fastai.learner", False, "to_fp16()"),
        ("detectron2.engine", False, "SOLVER.AMP.ENABLED"),
        ("mmengine.runner", True, "AmpOptimWrapper"),
        ("keras.src", True, 'set_global_policy("mixed_bfloat16")'),
        ("composer.trainer", True, 'precision="amp_bf16"'),
        # `amp=True` is float16, whatever the card: the finding says that bfloat16 needs no scaled loss.
        ("ultralytics.engine", True, 'amp="bf16"'),
        ("ultralytics.engine", False, "amp=True"),
    ],
)
def test_mixed_precision_is_a_setting_of_the_framework(loop: str, bfloat16: bool, words: str) -> None:
    assert words in (framework_words.sixteen_bits(_facts(loop), bfloat16=bfloat16) or "")


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        ("stable_baselines3.common", "policy_kwargs=dict(optimizer_kwargs=dict(fused=True))"),
        ("fastai.learner", "opt_func=partial(OptimWrapper, opt=torch.optim.Adam, fused=True)"),
        ("skorch.net", "optimizer__fused=True"),
        # Its word is for AdamW alone.
        ("transformers.trainer", "torch.optim.Adam(model.parameters(), lr=lr, fused=True)"),
    ],
)
def test_an_optimizer_that_a_framework_makes_gets_its_arguments_there(loop: str, words: str) -> None:
    assert words in fused(_facts(loop), "Adam").code


@pytest.mark.parametrize("loop", [None, "detectron2.engine", "poutyne.framework", "transformers.models"])
def test_without_a_word_of_its_own_torchs_are_said(loop: str | None) -> None:
    facts = _facts(loop)
    assert framework_words.sixteen_bits(facts, bfloat16=True) is None
    assert "(loss / 2).backward()" in accumulate_gradients(facts).code
    assert compiled(facts, "").code == "+model = torch.compile(model)"
    assert "torch.optim.AdamW(model.parameters(), lr=lr, fused=True)" in fused(facts, "AdamW").code


def test_keras_compiles_and_accumulates_where_its_model_is_compiled() -> None:
    facts = _facts("keras.src")
    assert "model.compile(..., jit_compile=True)" in compiled(facts, "").code
    assert "gradient_accumulation_steps=2" in accumulate_gradients(facts).code


def test_a_trainer_accumulates_compiles_and_updates_by_its_arguments() -> None:
    facts = _facts("transformers.trainer")
    assert accumulate_gradients(facts).code == (
        "-batch_size = 32\n+batch_size = 16\n-args = TrainingArguments(...)\n"
        "+args = TrainingArguments(..., gradient_accumulation_steps=2)"
    )
    assert "torch_compile=True" in compiled(facts, "").code
    assert 'optim="adamw_torch_fused"' in fused(facts, "AdamW").code
    assert "torch.optim.SGD" in fused(facts, "SGD").code  # there is no such word for it


@pytest.mark.parametrize(
    ("loop", "words"), [("skorch.net", "optimizer__fused=True"), ("mmengine.runner", "optimizer=dict(..., fused=True)")]
)
def test_an_optimizer_that_the_framework_makes_is_told_by_its_arguments(loop: str, words: str) -> None:
    assert words in fused(_facts(loop), "Adam").code


@pytest.mark.parametrize("words", [framework_words._BFLOAT16, framework_words._FLOAT16, framework_words._ACCUMULATED])
def test_what_is_left_of_a_change_is_python(words: dict[str, str]) -> None:
    for code in words.values():
        lines = [line[1:] for line in code.splitlines() if not line.startswith("-")]
        compile("\n".join(f"{line} pass" if line.startswith("with") else line for line in lines), "fix", "exec")


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"arguments": "GRPOConfig"}, "GRPOConfig"),
        ({"arguments": "Seq2SeqTrainingArguments"}, "Seq2SeqTrainingArguments"),
        # Recorded before the class was: what puts batches together tells whose it is.
        ({"data": ["trl.trainer"]}, "SFTConfig"),
        ({"data": ["sentence_transformers.sentence_transformer"]}, "SentenceTransformerTrainingArguments"),
        ({}, "TrainingArguments"),
        # A file may say anything.
        ({"arguments": "x(); import os; Config"}, "TrainingArguments"),
        ({"arguments": 3}, "TrainingArguments"),
    ],
)
def test_arguments_are_of_the_trainers_own_class(told: dict[str, object], name: str) -> None:
    facts = _facts("transformers.trainer", **told)
    assert f"+args = {name}(..., bf16=True)" in (framework_words.sixteen_bits(facts, bfloat16=True) or "")
    assert f"+args = {name}(..., torch_compile=True)" in compiled(facts, "").code
    assert f" args = {name}(\n" in loader(facts, {"num_workers": 2}, "").code


def test_where_only_trl_is_known_the_reader_knows_which_trainer() -> None:
    said = framework_words.sixteen_bits(_facts("transformers.trainer", data=["trl.trainer"]), bfloat16=True) or ""
    assert "DPOConfig" in said
    known = _facts("transformers.trainer", data=["trl.trainer"], arguments="DPOConfig")
    assert "GRPOConfig" not in (framework_words.sixteen_bits(known, bfloat16=True) or "")
