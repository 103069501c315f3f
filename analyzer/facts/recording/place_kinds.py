"""What a function of a long step is for, by its name and its file's: saving, evaluating, logging, loading and so on."""

from __future__ import annotations

import re

from traces.patterns import Pattern

# torch's own functions are called by whatever a program does (`_validate_sample` by any distribution), but for those that save;
# `sklearn/utils/validation.py` looks at arguments.
_TELLS_NOTHING = Pattern(
    r"(?:^|/)sklearn/utils/|"
    r"(?:^|/)torch/(?!(?:jit/_)?serialization|package/|distributed/checkpoint/|utils/data/dataloader|utils/tensorboard/)"
)
# A rank that waits in a collective does nothing meanwhile; what the others do then is in their own files.
_COLLECTIVE = Pattern(r"(?:^|/)torch/distributed/(?:c10d_logger|distributed_c10d)\.py$")
# Each pass through a loader starts its workers and ends them, whatever the pass is for: evaluations and folds pay for it alike.
_LOADER, _PROCESS = "torch/utils/data/dataloader.py", "multiprocessing/process.py"
_STARTS = Pattern(r"_MultiProcessingDataLoaderIter\.__init__$|(?:^|\.)_shutdown_workers$")
WORKER_STARTS = "worker starts"
# As the collector calls what it saw by the interpreter's lock: a pass that the program asks for, and one that Python begins.
COLLECTING = "garbage collection"
_PASSES = ("gc.collect", COLLECTING)
# An optimizer with a closure runs forward and backward as often as it likes (LBFGS searches along a line): that is the step itself.
_OPTIMIZER = Pattern(r"(?:^|/)torch/optim/(?!swa_utils)")
# Neither an evaluation nor a rollout runs backward: a step that takes longer there is one of training.
_BACKWARD = {
    ("Tensor.backward", "torch/_tensor.py"),
    ("backward", "torch/_tensor.py"),
    ("backward", "torch/autograd/__init__.py"),
}
# What is done there, by the names of functions and files. `generate` of a language model is evaluation where its program trains; a
# `Generator` is a model.
_KINDS = (
    ("loading", Pattern(r"torch/utils/data/dataloader\.py")),
    ("saving", Pattern(r"torch/serialization\.py|safetensors|checkpoint|(?:^|[_.:])save|pickle|state_dict_saver")),
    # What draws also saves: that is one thing, and no checkpoint.
    (
        "plotting",
        Pattern(
            r"matplotlib|plotly|seaborn|savefig|(?:^|[_.:])plot|torchvision/utils\.py:(?:save_image|make_grid|draw_)|imwrite|"
            r"PIL/\w+\.py:(?:\w+\.)?_?save|imageio/"
        ),
    ),
    (
        "rollouts",
        Pattern(r"roll_?out|collect_|env_step|gymnasium|(?:^|/)gym/|vec_env|self_play|play_", re.IGNORECASE),
    ),
    (
        "evaluation",
        Pattern(
            r"(?:^|[_./:])(?:eval|val(?:id|_)|test|infer|predict|metric|score|\w*accurac|estimate_loss|generat(?!or))",
            re.IGNORECASE,
        ),
    ),
    # Not `log_prob` and its kin, which are arithmetic.
    (
        "logging",
        Pattern(
            r"tensorboard|wandb|mlflow|comet_ml|logging/|"
            r"(?:^|[_.:])log(?:$|_(?!prob|soft|sum|sigm|likel|dens|norm|det)|ger)"
        ),
    ),
)


def is_training(function: str, file: str) -> bool:
    """Whether a function is a backward pass or an update: no name around it makes an evaluation or a rollout of that.

    Args:
        function: Its name.
        file: Its file, as the stack names it.
    """
    return (function, file) in _BACKWARD or _OPTIMIZER.search(file) is not None


def telling(functions: list[tuple[str, str]], loops: str | None) -> tuple[tuple[str, str], str | None]:
    """The outermost function whose name says one thing, and what; where none does, the outermost and nothing.

    `_maybe_log_save_evaluate` says several: what it calls tells which.

    Args:
        functions: Name and file of each.
        loops: The program's own file that calls them: its name (`train_generator.py`) says what is trained, not what they do.
    """
    certain = _certain(functions)
    if certain is not None:
        return certain
    for name, file in functions:
        if _COLLECTIVE.search(file):
            return (name, file), "ranks"
        if _TELLS_NOTHING.search(file):
            continue
        kinds = [kind for kind, pattern in _KINDS if pattern.search(f":{name}" if file == loops else f"{file}:{name}")]
        if len(kinds) == 1:
            return (name, file), kinds[0]
        if kinds == ["saving", "plotting"]:
            return (name, file), "plotting"
    return functions[0], None


def _certain(functions: list[tuple[str, str]]) -> tuple[tuple[str, str], str] | None:
    """What one function alone is known for, whatever calls it or is called by it."""
    if functions[0][0] in _PASSES:
        return functions[0], COLLECTING
    if is_training(*functions[0]):
        return functions[0], "step"
    for name, file in functions:
        if file.endswith(_LOADER) and _STARTS.search(name):
            return (name, file), WORKER_STARTS
        if file.endswith(_PROCESS) and functions[0][1].endswith(_LOADER):
            return (name, file), WORKER_STARTS
    return None
