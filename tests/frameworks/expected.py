"""What must and must not be said of each program: one row a program, all of them unmodified users' scripts."""

from __future__ import annotations

from dataclasses import dataclass, field

# Findings about the loader, any of which may lead: which of them does depends on cores and sizes.
INPUT = frozenset({"DL001", "DL002", "DL003", "DL006", "DL007"})
# The finding about what lies between the steps.
BETWEEN = frozenset({"ID004"})


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program and what is true of it.

    Args:
        file: The script, without its ending.
        needs: Packages it imports.
        finds: Sets of rules, of each of which one must be among the findings.
        never: Rules that must not be among findings of medium or high severity.
        function: Function of the user's that the leading input finding names; empty where none is to be named.
        says: Words that must stand in the fixes of the findings.
        never_says: Words that must not stand in any fix.
        at: A rule, and what the line says that its finding names; empty where that is not asked.
        options: Of `advisor collect`.
        launcher: Words before the script's name: `-m torch.distributed.run --`.
        ranks: Processes that train, each with a file of its own.
        quick: Part of `.ci/run`.
        cores: What the advice takes for granted: workers of a loader are none on a single one.
    """

    file: str
    needs: tuple[str, ...]
    finds: tuple[frozenset[str], ...] = ()
    never: frozenset[str] = frozenset()
    function: str = ""
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    ranks: int = 1
    quick: bool = False
    cores: int = 1
    arguments: tuple[str, ...] = field(default=())


PROGRAMS = (
    Program(
        file="lightning_slow_dataset", needs=("lightning",), finds=(INPUT,), function="__getitem__",
        says=("made at lightning_slow_dataset.py:",), never_says=("dataloader_num_workers", "CacheDataset"), quick=True, cores=2,
    ),
    Program(file="lightning_computes", needs=("lightning",), never=INPUT),
    Program(
        file="trainer_tokenizes", needs=("transformers", "accelerate"), finds=(INPUT,), function="__getitem__",
        says=("dataloader_num_workers",), never_says=("default_collate(", "LightningDataModule"),
    ),
    Program(
        # Its masks say so: no shape does, and every step is equally long.
        file="trainer_pads", needs=("transformers", "datasets"), finds=(frozenset({"DL009"}),), never=INPUT | BETWEEN,
        says=("DataCollatorWithPadding(tokenizer)", "group_by_length"),
    ),
    Program(file="accelerate_slow_collate", needs=("accelerate",), finds=(INPUT,), function="pad"),
    Program(
        file="timm_augments", needs=("timm",), finds=(INPUT,), function="__getitem__",
        never_says=("dataloader_num_workers", "LightningDataModule"),
    ),
    # Nothing of its loader is timm's but what begins its workers.
    Program(
        file="timm_create_loader", needs=("timm",), finds=(INPUT,), function="__getitem__", quick=True, cores=2,
        says=("timm.data.create_loader(",), never_says=(" loader = DataLoader(",),
    ),
    # The only line of the program's own in its steps is that which calls `fit`.
    Program(
        file="lightning_saves", needs=("lightning",), finds=(frozenset({"PY001"}),), never=INPUT, quick=True,
        says=("every_n_train_steps",), never_says=("(lightning_saves.py:",), options=("--evidence",),
    ),
    # A residual block adds what is the frame's own.
    Program(
        file="frame_by_frame", needs=("torch",), finds=(frozenset({"PY003"}),), never=INPUT, quick=True,
        says=("clip.flatten(0, 1)",), options=("--evidence",),
    ),
    Program(
        file="heads_by_hand", needs=("torch",), finds=(frozenset({"PY003"}),), never=INPUT | BETWEEN,
        says=("scaled_dot_product_attention",),
    ),
    Program(file="monai_transforms", needs=("monai",), finds=(INPUT,), says=("CacheDataset",)),
    Program(
        file="pyg_builds_graphs", needs=("torch_geometric",), finds=(INPUT,), function="get",
        never_says=("torch.stack(", "default_collate("), quick=True,
    ),
    Program(file="sb3_rollouts", needs=("stable_baselines3",), finds=(frozenset({"ID004"}),), never=INPUT),
    Program(file="fastai_learner", needs=("fastai",), finds=(INPUT | {"PY001"},)),
    Program(file="peft_lora", needs=("peft", "transformers"), never=INPUT),
    Program(file="metric_learning_embeds", needs=("pytorch_metric_learning",), finds=(INPUT,), function="__getitem__"),
    Program(file="sentence_pairs", needs=("sentence_transformers", "datasets")),
    Program(file="ultralytics_detects", needs=("ultralytics",)),
    Program(file="hydra_app", needs=("hydra",), finds=(frozenset({"PY002"}),), quick=True),
    Program(file="click_app", needs=("click",), never=INPUT),
    Program(
        file="torchrun_ddp", needs=("torch",), finds=(INPUT,), function="__getitem__",
        launcher=("-m", "torch.distributed.run", "--", "--nproc-per-node", "2"), ranks=2,
    ),
    Program(
        file="accelerate_launched", needs=("accelerate",), finds=(INPUT,), function="__getitem__",
        launcher=("--", "accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
                  "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "29577"),
        # A rank that has one core, as on two cores, is not told of workers, whose loader goes through `prepare`.
        says=("give the framework this list",), never_says=("DistributedSampler(",), ranks=2,
    ),
    Program(file="lightning_two_ranks", needs=("lightning",), ranks=2),
    Program(file="spawned_ddp", needs=("torch",), never=INPUT, ranks=2),
    Program(file="tutorial_by_hand", needs=("torch",), never=INPUT, quick=True),
    Program(file="generate_texts", needs=("transformers",), never=INPUT),
    Program(
        # The collate function makes the graphs, and PyTorch Geometric's own loader would not call it.
        file="pyg_neighbours", needs=("torch_geometric",), finds=(INPUT,), function="__call__",
        never_says=("torch_geometric.loader.DataLoader(", "pre_transform"),
    ),
    Program(
        file="diffusers_ddpm", needs=("diffusers", "accelerate"), finds=(BETWEEN,), never=INPUT, says=("Validate less often",),
    ),
    Program(
        file="torchvision_detection", needs=("torchvision",), finds=(INPUT,), function="__getitem__",
        never_says=("default_collate(", "torch.stack("),
    ),
    Program(file="trl_sft", needs=("trl", "datasets"), never=INPUT),
    Program(
        # Its threads make the batches, and take turns with training: that is no loader without workers.
        file="keras_workers", needs=("keras",), finds=(frozenset({"DL001", "PY001"}),),
        never=frozenset({"DL002", "DL003", "DL006", "DL007"}), says=("use_multiprocessing=True",),
    ),
    Program(file="keras_draws", needs=("keras",), finds=(INPUT,), function="__getitem__"),
    Program(
        file="ignite_evaluates", needs=("ignite",), finds=(BETWEEN,), says=("Validate less often",),
        never_says=("Save less often", "environments at once"),
    ),
    Program(
        file="ppo_by_hand", needs=("gymnasium",), finds=(BETWEEN,), never=INPUT, says=("environments at once",),
        never_says=("Validate less often", "Save less often"),
    ),
    Program(
        file="torchrl_collects", needs=("torchrl", "gymnasium"), finds=(BETWEEN,), never=INPUT, says=("environments at once",),
        never_says=("Validate less often",),
    ),
    Program(file="timm_mixup", needs=("timm",), finds=(frozenset({"PY002"}),), never=INPUT),
    Program(file="tabnet_fits", needs=("pytorch_tabnet",), never=INPUT),
    Program(
        file="parquet_stream", needs=("pyarrow",), finds=(INPUT,), function="__iter__", says=("class Batches(IterableDataset)",),
        never_says=("range(len(dataset))", "BatchSampler("),
    ),
    Program(
        file="script_averages", needs=("torch",), finds=(frozenset({"PY003"}),), options=("--evidence",), quick=True,
        at=("PY003", "for kept, weight in zip(average.parameters(), model.parameters(), strict=True):"), says=("_foreach_lerp_",),
    ),
    Program(
        file="batch_augments", needs=("torchvision",), finds=(frozenset({"DL010"}),), options=("--evidence",), quick=True,
        cores=2, never=INPUT, at=("DL010", "images = augment(images)"), says=("return augment(images), labels",),
    ),
    # Workers are started for each of 60 passes of a few batches: evaluating less often would leave half of them.
    Program(file="kfold_workers", needs=("torch",), finds=(BETWEEN,), says=("persistent_workers=True",)),
    # Each evaluation of the closure needs the one before; far from the minimum a step takes more of them.
    Program(file="lbfgs_fits", needs=("torch",), never=INPUT | BETWEEN | {"PY003"}, never_says=("functional_call",)),
    # A sample is one row of text: what reads the file goes on between two of them.
    Program(
        file="stream_parses", needs=("torch",), finds=(INPUT,), never_says=("range(len(dataset))", "BatchSampler("),
    ),
    Program(
        file="pandas_windows", needs=("pandas",), finds=(INPUT,), function="__getitem__", never_says=("decode",),
        says=("self.frame[columns].to_numpy()",),
    ),
    Program(
        file="embeds_one_by_one", needs=("torch",), finds=(frozenset({"IN005"}),), never=INPUT | BETWEEN, quick=True,
        says=("torch.stack(samples[first : first + 32])",), options=("--evidence",), at=("IN005", "index.append(model(ids)[0])"),
    ),
    # What runs before the student keeps no graph, and is no preparing of batches.
    # One call for all letters computes the same in a third of the time.
    Program(
        file="letter_by_letter", needs=("torch",), finds=(frozenset({"PY006"}),), never=INPUT | BETWEEN,
        says=("rnn(embed(x), hidden)",),
    ),
    Program(file="teacher_distils", needs=("torch",), never=INPUT | {"DL010"}),
    Program(file="gan_by_hand", needs=("torch",), never=INPUT | BETWEEN | {"DL010"}),
    Program(
        # The norms go into a log: clipping them would change the training.
        file="script_logs_norms", needs=("torch",), finds=(frozenset({"OP004"}),), never=INPUT | BETWEEN,
        options=("--evidence",), at=("OP004", "for name, parameter in parameters:"), says=(".tolist()",),
    ),
    # Each step holds one, so that none is longer than the others.
    Program(
        file="script_evaluates_each", needs=("torch",), finds=(BETWEEN,), at=("ID004", "evaluate(model, valid)"), quick=True,
        says=("if step % 1000 == 0",),
    ),
    # Its name tells nothing; that it draws from another loader does, also where the first one comes before steps are known.
    Program(file="accelerate_evaluates", needs=("accelerate",), finds=(BETWEEN,), says=("Validate less often",), quick=True),
    # Arguments are of the trainer's own class, and its collator pads to the longest already.
    Program(
        file="trl_reward", needs=("trl", "datasets"), finds=(BETWEEN,), never=INPUT, quick=True,
        says=("+args = RewardConfig(..., eval_strategy",),
        never_says=("TrainingArguments(", "DataCollatorWithPadding", "group_by_length\""),
    ),
)  # fmt: skip
