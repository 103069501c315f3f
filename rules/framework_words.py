"""How changes of a training loop are said in the framework that runs it: the loop is its own, and its settings are the user's.

Names are those that the installed packages take: accelerate 1.15, lightning 2, transformers 5, fastai 2.8, ultralytics 8,
stable-baselines3 2.9. Those of
mmengine (`AmpOptimWrapper`, `accumulative_counts`), detectron2 (`SOLVER.AMP.ENABLED`) and skorch (`compile=True`) are documented.
Keras' are those of version 3 on torch, where `jit_compile` is `torch.compile` (`keras/src/backend/torch/trainer.py`), Composer's
those of its `Trainer` (0.32).
A framework without a word for a change is told of torch's own. Engines that serve models have words as well: vLLM's (0.33)
`enforce_eager` turns off its compiler and its graphs (docs.vllm.ai, design/debug_vllm_compile), SGLang's (0.5.23) are those of its
`ServerArgs`; of graphs they have named the phase since 2026, and an engine refuses the names of before.
"""

from __future__ import annotations

from analyzer.facts import Facts

# Each trainer's arguments are of a class of its own, which stands for `ARGUMENTS`.
_ARGUMENTS = "-args = ARGUMENTS(...)\n+args = ARGUMENTS(..., {})"
_ARGUMENTS_OF = {
    "transformers": "TrainingArguments",
    "sentence_transformers": "SentenceTransformerTrainingArguments",
}
# trl has one for each trainer: where nobody recorded which, the reader knows.
_OF_TRL = "SFTConfig"
_ANY_OF_TRL = "   # or that of another trainer: DPOConfig, GRPOConfig, ..."
_LIGHTNING = "-trainer = L.Trainer(...)\n+trainer = L.Trainer(..., {})"
_ACCELERATE = "-accelerator = Accelerator(...)\n+accelerator = Accelerator(..., {})"
_MMENGINE = '-optim_wrapper = dict(type="OptimWrapper", optimizer=...)\n+optim_wrapper = dict({}, optimizer=...)'
_COMPOSER = "-trainer = Trainer(...)\n+trainer = Trainer(..., {})"
_KERAS = "-model.compile(...)\n+model.compile(..., {})"

_VLLM = "-llm = LLM(model, ...)\n+llm = LLM(model, ..., {})"
_SGLANG = "-engine = sgl.Engine(**arguments)\n+engine = sgl.Engine(**arguments, {})"

_BFLOAT16 = {
    "vllm": _VLLM.format('dtype="bfloat16"'),
    "sglang": _SGLANG.format('dtype="bfloat16"'),
    "transformers": _ARGUMENTS.format("bf16=True"),
    "lightning": _LIGHTNING.format('precision="bf16-mixed"'),
    "accelerate": _ACCELERATE.format('mixed_precision="bf16"'),
    "fastai": "+learn = learn.to_bf16()",
    "mmengine": _MMENGINE.format('type="AmpOptimWrapper", dtype="bfloat16"'),
    "composer": _COMPOSER.format('precision="amp_bf16"'),
    "ultralytics": '-model.train(..., amp=False)\n+model.train(..., amp="bf16")   # older versions: amp=True, which is float16',
    "keras": '+keras.mixed_precision.set_global_policy("mixed_bfloat16")   # before the layers are made',
}
_FLOAT16 = {
    "vllm": _VLLM.format('dtype="float16"'),
    "sglang": _SGLANG.format('dtype="float16"'),
    "transformers": _ARGUMENTS.format("fp16=True"),
    "lightning": _LIGHTNING.format('precision="16-mixed"'),
    "accelerate": _ACCELERATE.format('mixed_precision="fp16"'),
    "fastai": "+learn = learn.to_fp16()",
    "mmengine": _MMENGINE.format('type="AmpOptimWrapper"'),
    "keras": '+keras.mixed_precision.set_global_policy("mixed_float16")   # before the layers are made',
    "composer": _COMPOSER.format('precision="amp_fp16"'),
    "ultralytics": "-model.train(..., amp=False)\n+model.train(..., amp=True)",
    "detectron2": "+cfg.SOLVER.AMP.ENABLED = True",
}
_FLOAT32 = {
    "transformers": "-args = ARGUMENTS(..., bf16=True)\n+args = ARGUMENTS(..., bf16=False, fp16=False)",
    "lightning": '-trainer = L.Trainer(..., precision="bf16-mixed")\n+trainer = L.Trainer(..., precision="32-true")',
    "accelerate": '-accelerator = Accelerator(..., mixed_precision="bf16")\n+accelerator = Accelerator(..., mixed_precision="no")',
    "mmengine": '-optim_wrapper = dict(type="AmpOptimWrapper", ...)\n+optim_wrapper = dict(type="OptimWrapper", ...)',
    "composer": '-trainer = Trainer(..., precision="amp_bf16")\n+trainer = Trainer(..., precision="fp32")',
    "keras": '-keras.mixed_precision.set_global_policy("mixed_bfloat16")\n+keras.mixed_precision.set_global_policy("float32")',
    "ultralytics": "-model.train(..., amp=True)\n+model.train(..., amp=False)",
}
_ACCUMULATED = {
    "transformers": _ARGUMENTS.format("gradient_accumulation_steps=2"),
    "lightning": _LIGHTNING.format("accumulate_grad_batches=2"),
    "accelerate": _ACCELERATE.format("gradient_accumulation_steps=2") + "\n+with accelerator.accumulate(model):",
    "mmengine": _MMENGINE.format('type="OptimWrapper", accumulative_counts=2'),
    "keras": _KERAS.format("optimizer=keras.optimizers.Adam(gradient_accumulation_steps=2)"),
}
_COMPILED = {
    "vllm": _VLLM.format("enforce_eager=False"),
    "sglang": _SGLANG.format("enable_torch_compile=True"),
    "transformers": _ARGUMENTS.format("torch_compile=True"),
    "lightning": " model = Model(...)\n+model = torch.compile(model)\n trainer.fit(model, ...)",
    "accelerate": "+model = torch.compile(model)\n model, optimizer = accelerator.prepare(model, optimizer)",
    "ultralytics": "-model.train(...)\n+model.train(..., compile=True)",
    "skorch": "-net = NeuralNetClassifier(...)\n+net = NeuralNetClassifier(..., compile=True)",
    "composer": _COMPOSER.format("compile_config={}"),
    "keras": _KERAS.format("jit_compile=True"),
}
# Graphs of the passes that only decode: prefills, and batches larger than those captured, are launched kernel by kernel.
_REPLAYED = {
    "vllm": _VLLM.format("enforce_eager=False"),
    "sglang": _SGLANG.format("disable_cuda_graph=False, cuda_graph_max_bs_decode=largest_batch")
    + "   # before 2026's: cuda_graph_max_bs",
}
# The next batch is scheduled, and the last one's tokens are handled, while the model works on this one.
_AHEAD = {
    "vllm": _VLLM.format("async_scheduling=True"),
    "sglang": _SGLANG.format("disable_overlap_schedule=False"),
}
_FUSED = {
    "transformers": _ARGUMENTS.format('optim="adamw_torch_fused"'),
    "skorch": "-net = NeuralNetClassifier(...)\n+net = NeuralNetClassifier(..., optimizer__fused=True)",
    "fastai": "-learn = Learner(dls, model, ...)\n"
    "+learn = Learner(dls, model, ..., opt_func=partial(OptimWrapper, opt=torch.optim.{name}, fused=True))",
    # Policies of actors and critics set eps=1e-5 for Adam where nothing is given.
    "stable_baselines3": "-model = PPO(policy, env, ...)   # or DQN, SAC, ...\n"
    "+model = PPO(policy, env, ..., policy_kwargs=dict(optimizer_kwargs=dict(fused=True)))   # PPO: eps=1e-5 as well",
    "mmengine": "-optim_wrapper = dict(optimizer=dict(...))\n+optim_wrapper = dict(optimizer=dict(..., fused=True))",
}

# ModelCheckpoint and validation of Lightning and Keras, arguments of transformers 5 and ultralytics 8, events of ignite 0.5.
# So many times as seldom as now (`NOW`), but twice in the run at least; else after so many steps. Either stands for `SELDOM`, in
# optimizer steps; where a framework counts batches, of which a step may accumulate several, for `BATCHES_SELDOM` (`BATCHES_NOW`).
_TIMES = 10
_SELDOM = 1000
_NOW = 100
_SAVED_SELDOM = {
    "transformers": _ARGUMENTS.format('save_strategy="steps", save_steps=SELDOM'),
    "lightning": _LIGHTNING.format("callbacks=[ModelCheckpoint(every_n_train_steps=SELDOM)]"),
    "composer": _COMPOSER.format('save_interval="SELDOMba"'),
    "keras": "-keras.callbacks.ModelCheckpoint(path, ...)\n+keras.callbacks.ModelCheckpoint(path, ..., save_freq=SELDOM)",
    "ignite": "-@trainer.on(Events.ITERATION_COMPLETED(every=BATCHES_NOW))   # what saves\n"
    "+@trainer.on(Events.ITERATION_COMPLETED(every=BATCHES_SELDOM))",
}
_EVALUATED_SELDOM = {
    "transformers": _ARGUMENTS.format('eval_strategy="steps", eval_steps=SELDOM'),
    "lightning": _LIGHTNING.format("check_val_every_n_epoch=5, limit_val_batches=0.2"),
    "composer": _COMPOSER.format('eval_interval="SELDOMba"'),
    "keras": "-model.fit(...)\n+model.fit(..., validation_freq=5)",
    "ultralytics": "-model.train(...)\n+model.train(..., val=False)",
    "ignite": "-@trainer.on(Events.ITERATION_COMPLETED(every=BATCHES_NOW))   # what evaluates\n"
    "+@trainer.on(Events.ITERATION_COMPLETED(every=BATCHES_SELDOM))",
}
# Counted in batches over the whole run, as it is where evaluations come every so many steps; a run of few epochs would skip them
# by `check_val_every_n_epoch`.
_EVALUATED_BY_BATCHES = {
    "lightning": _LIGHTNING.format("val_check_interval=BATCHES_SELDOM, check_val_every_n_epoch=None")
    + "   # in batches",
}
_EVALUATED_IN_LARGER_BATCHES = {"transformers": _ARGUMENTS.format("per_device_eval_batch_size=64") + "   # default: 8"}
# Who sets `torch.backends.cudnn.benchmark` by a setting of its own.
_SEARCHED = {
    "lightning": _LIGHTNING.format("benchmark=False"),
    "mmengine": "-env_cfg = dict(cudnn_benchmark=True)\n+env_cfg = dict(cudnn_benchmark=False)",
    "detectron2": "-cfg.CUDNN_BENCHMARK = True\n+cfg.CUDNN_BENCHMARK = False",
}


def sixteen_bits(facts: Facts, *, bfloat16: bool) -> str | None:
    """A diff that turns mixed precision on; None where the loop is the program's own, or its framework has no word for it.

    Args:
        facts: The measurements.
        bfloat16: Whether the card computes in bfloat16; float16 else.
    """
    return _said(facts, _BFLOAT16 if bfloat16 else _FLOAT16)


def thirty_two_bits(facts: Facts) -> str | None:
    """A diff that turns mixed precision off; None as in `sixteen_bits`."""
    return _said(facts, _FLOAT32)


def accumulated(facts: Facts) -> str | None:
    """A diff for two backward passes in each optimizer step; None as in `sixteen_bits`."""
    return _said(facts, _ACCUMULATED)


def compiled_model(facts: Facts) -> str | None:
    """A diff that compiles the model; None as in `sixteen_bits`."""
    return _said(facts, _COMPILED)


def replayed(facts: Facts) -> str | None:
    """A diff by which an engine replays graphs; None as in `sixteen_bits`."""
    return _said(facts, _REPLAYED)


def scheduled_ahead(facts: Facts) -> str | None:
    """A diff by which an engine prepares the next pass beside this one; None as in `sixteen_bits`."""
    return _said(facts, _AHEAD)


def fused_optimizer(facts: Facts, name: str) -> str | None:
    """A diff for one kernel an update; None as in `sixteen_bits`, or where the framework's word is for another optimizer.

    Args:
        facts: The measurements.
        name: Class of the optimizer.
    """
    said = _said(facts, _FUSED)
    return None if said is None or ("adamw" in said and name != "AdamW") else said.replace("{name}", name)


def saved_seldom(facts: Facts, *, within: bool = False) -> str | None:
    """A diff for fewer checkpoints; None as in `sixteen_bits`.

    Args:
        facts: The measurements.
        within: Whether most steps hold one, so that the rhythm of long steps is not theirs.
    """
    return _spaced(facts, _said(facts, _SAVED_SELDOM), within=within)


def evaluated_seldom(facts: Facts, *, within: bool = False) -> str | None:
    """A diff for fewer evaluations; None as in `sixteen_bits`.

    Args:
        facts: The measurements.
        within: As for `saved_seldom`.
    """
    course = facts.recording.run_course
    rhythmic = course is not None and (within or course.every is not None)
    counted = _said(facts, _EVALUATED_BY_BATCHES) if rhythmic else None
    return _spaced(facts, counted or _said(facts, _EVALUATED_SELDOM), within=within)


def evaluated_in_larger_batches(facts: Facts) -> str | None:
    """A diff for larger batches of an evaluation; None as in `sixteen_bits`."""
    return _said(facts, _EVALUATED_IN_LARGER_BATCHES)


def _spaced(facts: Facts, said: str | None, *, within: bool) -> str | None:
    """With ten times the steps that lie between now, where that is known, and no more than half of the run's."""
    if said is None:
        return None
    course = facts.recording.run_course
    now = course.every if course is not None and not within else None
    seldom = _SELDOM if now is None else _TIMES * now
    if course is not None and not course.stopped and (now is not None or "NOW" not in said or within):
        seldom = min(seldom, max(course.steps // 2, 2 * (now or 1)))
    # Of a step that draws batches of an evaluation as well nobody knows how many are its own.
    batches = 1.0 if within else facts.recording.collected.batches_per_step or 1.0
    counts = {"SELDOM": seldom, "NOW": now or (1 if within else _NOW)}
    for name, number in counts.items():
        said = said.replace(f"BATCHES_{name}", str(round(number * batches))).replace(name, str(number))
    return said


def searched(facts: Facts) -> str | None:
    """A diff by which convolutions are chosen without a search; None as in `sixteen_bits`."""
    return _said(facts, _SEARCHED)


def _said(facts: Facts, words: dict[str, str]) -> str | None:
    loop = facts.recording.serving_engine or facts.recording.frameworks.of_loop
    # Whatever the class, the arguments are those of Hugging Face's Trainer.
    said = words.get("transformers" if loop in _ARGUMENTS_OF else loop) if loop is not None else None
    return None if said is None else said.replace("ARGUMENTS", arguments_class(facts)) + _unsure(facts, said)


def arguments_class(facts: Facts) -> str:
    """Class of the arguments of a trainer of Hugging Face's: `TrainingArguments`, or what a trainer made of it has instead."""
    used = facts.recording.frameworks
    made = _OF_TRL if used.uses_trl else _ARGUMENTS_OF.get(used.of_loop or "", _ARGUMENTS_OF["transformers"])
    return used.arguments or made


def said_by_arguments(facts: Facts, argument: str) -> str:
    """A diff of an argument of a trainer of Hugging Face's, which is known to run the loop."""
    return _ARGUMENTS.format(argument).replace("ARGUMENTS", arguments_class(facts))


def _unsure(facts: Facts, said: str) -> str:
    used = facts.recording.frameworks
    return _ANY_OF_TRL if "ARGUMENTS" in said and used.uses_trl and used.arguments is None else ""


def engine_setting(facts: Facts, words: dict[str, str]) -> str | None:
    """A diff of an argument of the engine that serves the model; None where no engine shows, or it has no word for it.

    Args:
        facts: The measurements.
        words: The argument, by engine.
    """
    engine = facts.recording.serving_engine
    template = {"vllm": _VLLM, "sglang": _SGLANG}.get(engine or "")
    return template.format(words[engine]) if template is not None and engine in words else None
