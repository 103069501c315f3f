"""Fixes for what stops training now and then: saving, evaluating, logging, rollouts, collecting garbage, starting workers."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.recording.place_kinds import COLLECTING, WORKER_STARTS
from analyzer.facts.recording.run_places import RUNS_MODEL
from analyzer.finding import Advice
from analyzer.units import count
from rules.collecting import COLLECT_SELDOM, PASS_OVER
from rules.framework_words import evaluated_in_larger_batches, evaluated_seldom, saved_seldom

SAVE_SELDOM = Advice(
    "diff",
    "-    save(model, step)\n+    if step % 1000 == 0:\n+        save(model, step)",
    "Save less often: every N steps or minutes, as much as you can afford to lose.",
)
# Of `async_save` (torch/distributed/checkpoint/state_dict_saver.py).
NEEDS_GLOO = 'It refuses a process group of NCCL alone: `init_process_group("cpu:gloo,cuda:nccl")`.'
SAVE_BESIDE = Advice(
    "python",
    'torch.distributed.checkpoint.async_save(state, checkpoint_id="checkpoint")',
    "Copies the state and writes it beside training. The steps after it share cores, memory and disk with the writing and may get "
    "slower: compare whole runs, not the step that saves. Wait for the last one (`.result()` of what it returns) before the next. "
    f"{NEEDS_GLOO} Read it back with `torch.distributed.checkpoint.load`.",
)
EVALUATE_SELDOM = Advice(
    "text", "Validate less often, or on fewer batches.", "Or in a second process on the last checkpoint."
)
# Of an evaluation that autograd records.
RECORD_NOTHING = Advice(
    "diff",
    "-def evaluate(model, loader):\n+@torch.inference_mode()\n+def evaluate(model, loader):",
    "Autograd records the evaluation for a backward pass that never comes: the activations of all layers are kept until the "
    "results are dropped. That is memory first, and a part of the evaluation's time. `torch.no_grad()` where a result goes into "
    "training; `model.eval()` is neither.",
)
# A part of what runs there may well be recorded on purpose.
_RECORDED_RATIO = 0.5
ROLL_OUT_FASTER = Advice(
    "text",
    "Step several environments at once, and ask the policy once for all of them.",
    "stable-baselines3: `make_vec_env(..., n_envs=8)`, and on policy an eighth of `n_steps`, so that a rollout stays as long; "
    "gymnasium: `SyncVectorEnv`. Processes of their own (`SubprocVecEnv`, `AsyncVectorEnv`) gain only where a step of one "
    "environment takes about a millisecond or more: to hand it over takes as long. A small policy answers faster on the CPU than "
    "on a GPU.",
)
# Its name tells neither.
RUN_SELDOM = Advice(
    "text",
    "Where the model is evaluated there: less often, on fewer batches, or in larger ones.",
    "Where it acts in an environment: several environments at once, and one call of the model for all of them.",
)
PLOT_LATER = Advice(
    "text", "Draw less often, after the loop, or in another process.", "Keep the numbers or the tensors, draw later."
)
LOG_SELDOM = Advice(
    "diff",
    "-    log(step, loss.item())\n+    if step % 100 == 0:\n+        log(step, loss.item())",
    "Log every N steps.",
)

KEEP_WORKERS = Advice(
    "diff",
    " loader = DataLoader(\n     dataset, ...,\n+    persistent_workers=True,\n )",
    "Each pass through a loader starts its worker processes and ends them again; so they stay until the next pass. A loader that "
    "is passed through once, or in a few batches that take no time to make, is faster with `num_workers=0`.",
)

# Where the fix of each kind is described.
PAGES = {
    "saving": "https://docs.pytorch.org/docs/stable/distributed.checkpoint.html",
    "evaluation": "https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html",
    "rollouts": "https://docs.pytorch.org/rl/stable/reference/envs.html",
    "logging": "https://docs.pytorch.org/docs/stable/tensorboard.html",
    WORKER_STARTS: "https://docs.pytorch.org/docs/stable/data.html",
    COLLECTING: "https://docs.python.org/3/library/gc.html#gc.freeze",
}

# More are rarely of use to a loop that only runs forward.
_WORKERS = 4
_FIXES: dict[str, tuple[Advice, ...]] = {
    "saving": (SAVE_SELDOM, SAVE_BESIDE),
    "evaluation": (EVALUATE_SELDOM,),
    "rollouts": (ROLL_OUT_FASTER,),
    "plotting": (PLOT_LATER,),
    RUNS_MODEL: (RUN_SELDOM,),
    WORKER_STARTS: (KEEP_WORKERS,),
    "logging": (LOG_SELDOM,),
    COLLECTING: (PASS_OVER, COLLECT_SELDOM),
}


# After each step, or nearly: the rest of a loop of the program's own is not known.
EVALUATE_NOT_EACH = Advice(
    "diff",
    "-    evaluate(model, valid_loader)\n+    if step % 1000 == 0:\n+        evaluate(model, valid_loader)",
    f"{EVALUATE_SELDOM.code} {EVALUATE_SELDOM.note}",
)


def fixes(facts: Facts, kind: str, *, within: bool = False) -> tuple[Advice, ...]:
    """What to do about pauses that are for one thing, the likeliest first.

    A framework that runs the loop saves and evaluates itself: only its settings are the program's.

    Args:
        facts: The measurements.
        kind: What they are for: saving, evaluation, rollouts, plotting, logging, garbage collection or starts of workers; nothing
            is known of another.
        within: Whether they come in most steps, so that no rhythm of long ones is theirs.
    """
    if kind == "saving" and (said := saved_seldom(facts, within=within)) is not None:
        return (Advice("diff", said, SAVE_SELDOM.note),)
    if kind == "evaluation" and (said := evaluated_seldom(facts, within=within)) is not None:
        return (Advice("diff", said, f"{EVALUATE_SELDOM.code} {EVALUATE_SELDOM.note}"), *_evaluated_faster(facts))
    seldom = (EVALUATE_NOT_EACH,) if within and kind == "evaluation" else _FIXES.get(kind, ())
    if kind != "evaluation":
        return seldom
    return (*seldom, *((RECORD_NOTHING,) if _is_recorded(facts) else ()), _evaluate_faster(facts))


def recorded(facts: Facts, kind: str) -> str:
    """That autograd records the evaluation, as far as the recorded steps hold one; "" else.

    Args:
        facts: The measurements.
        kind: What the pauses are for.
    """
    if kind != "evaluation" or not _is_recorded(facts):
        return ""
    found = facts.model.recorded_beside
    return (
        f" Of {count(found.layers, 'layer')} there in the recorded steps autograd records {found.recorded:,}: no "
        "`torch.no_grad()` is around them."
    )


def _is_recorded(facts: Facts) -> bool:
    found = facts.model.recorded_beside
    return found.layers > 0 and found.recorded >= _RECORDED_RATIO * found.layers


def _evaluated_faster(facts: Facts) -> tuple[Advice, ...]:
    """The same where a framework makes the loader of the evaluation; nothing where it has no word for its batches."""
    said = evaluated_in_larger_batches(facts)
    note = "An evaluation keeps no gradients: it has room for larger batches, and texts are generated for all of one at once."
    return () if said is None else (Advice("diff", said, note),)


def _evaluate_faster(facts: Facts) -> Advice:
    """A loader of its own, where the program has loaders; with no more workers than there are cores beside the evaluation."""
    if facts.input.without_loader:
        return Advice(
            "python",
            "with torch.inference_mode():\n    evaluate(model, valid_data)   # several times the batch of training",
            "An evaluation keeps no gradients: it has room for larger batches.",
        )
    cores = facts.recording.collected.cores
    workers = _WORKERS if cores is None else min(_WORKERS, cores - 1)
    ahead = f", num_workers={workers}, persistent_workers=True" if workers else ""
    return Advice(
        "python",
        f"valid_loader = DataLoader(valid_set, batch_size=2 * batch_size{ahead})\n"
        "with torch.inference_mode():\n    evaluate(model, valid_loader)",
        "An evaluation keeps no gradients: it has room for larger batches"
        + (", and its loader can work ahead as well." if workers else "."),
    )
