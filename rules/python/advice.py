"""Fixes for host code outside any op: learn which line it is, move it, or do more of it at once."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from rules.commands import arguments_note, collect
from rules.framework_words import scheduled_ahead
from rules.purpose import by_purpose
from rules.python.sent import nothing_sent

_BY_ITS_ENGINE = {
    "vllm": Advice(
        "text",
        "Record a few passes with stacks: `torch_profiler_with_stack` of the engine's profiler configuration, or "
        "`VLLM_TORCH_PROFILER_WITH_STACK=1` where the version takes variables.",
        "Names the functions. Believe this trace for how much.",
    ),
    "sglang": Advice(
        "text",
        "Record a few passes with stacks: ask the server's `/start_profile` for `with_stack` and a few `num_steps`.",
        "Names the functions. Believe this trace for how much.",
    ),
}


def look(facts: Facts) -> Advice:
    """Record again with what names the functions; an engine records itself."""
    own = _BY_ITS_ENGINE.get(facts.recording.serving_engine or "")
    if own is not None:
        return own
    return Advice(
        "shell",
        collect(facts, "--stacks", "--active 2", "-o where.json"),
        "Names the functions; `profile(..., with_stack=True)` for one or two steps does too. Believe this trace for how much."
        + arguments_note(facts),
    )


def engine_ahead(facts: Facts, time: IntervalSet) -> Advice | None:
    """The setting by which an engine prepares its next pass early; None where that would not end this time.

    Args:
        facts: The measurements.
        time: What is to be ended: most of it lies between passes, not between two kernels of one.
    """
    ahead = scheduled_ahead(facts)
    if ahead is None or 2 * (time & facts.generation.inside).total_ns > time.total_ns:
        return None
    note = "The engine prepares the next pass while the model works on this one; newer versions do so unasked."
    return Advice("diff", ahead, note)


def in_engine(facts: Facts, time: IntervalSet, found: Advice | None) -> tuple[Advice, ...]:
    """What ends host code of an engine's loop: no simulator is in it, and no place for a thread of the user's.

    Args:
        facts: The measurements.
        time: What is to be ended.
        found: What to do about a function that holds most of it, where one is known.
    """
    ahead = engine_ahead(facts, time)
    return (*((ahead,) if ahead is not None else ()), found if found is not None else look(facts))


IN_WORKERS = Advice(
    "diff",
    "-for item in samples:\n-    batch = prepare(item)\n"
    "+for batch in DataLoader(PreparedDataset(samples), batch_size=B, num_workers=4):\n"
    "     train_step(batch)",
    "Where it prepares data: in the loader's workers it runs beside training.",
)
LESS_OFTEN = Advice(
    "text",
    "Where it is what comes every few steps, as a log, a checkpoint or an evaluation: less often, or beside the loop.",
)
# A program whose loader has workers already has the place: what is prepared in the loop belongs there.
IN_ITS_WORKERS = Advice(
    "diff",
    " class Samples(Dataset):\n     def __getitem__(self, index):\n-        return self.samples[index]\n"
    "+        return prepare(self.samples[index])\n for batch in loader:\n-    batch = prepare(batch)\n     train_step(batch)",
    "Where it prepares data: the loader's workers do it beside training, in `__getitem__` or in `collate_fn`.",
)
BESIDE = Advice(
    "python",
    "upcoming = executor.submit(prepare, requests)   # a thread or process of its own\noutput = model(batch)\n"
    "batch = upcoming.result()",
    "Where it prepares requests or handles answers: do that for the next batch while the model works on this one.",
)


def elsewhere(facts: Facts) -> tuple[Advice, ...]:
    """Another place for what the program prepares in its loop: the loader's workers, or beside the model where none is fed so.

    A program that draws from no loader and steps a simulator prepares nothing: it asks for several simulators. One that sends
    nothing to its device has nothing to load for it.
    """
    if not len(facts.input.wait) and steps_simulator(facts):
        return (simulator(facts),)
    workers = facts.input.wait.multi_process or facts.recording.collected.num_workers
    loading = IN_ITS_WORKERS if workers else IN_WORKERS
    if nothing_sent(facts):
        return () if facts.recording.evaluates else by_purpose(facts, (BESIDE,), ())
    if facts.recording.evaluates:
        return (replace(loading, code=loading.code.replace("train_step(batch)", "output = model(batch)")),)
    return by_purpose(facts, (BESIDE,), (loading,))


# Of Keras alone it is known whether threads make the batches.
PROCESSES = Advice(
    "diff",
    " batches = Batches(            # a keras.utils.PyDataset\n     ...,\n-    workers=2,\n"
    "+    workers=1, use_multiprocessing=True,\n )",
    "Threads that make batches in Python take turns with training, as one thread of a process runs Python at a time: processes run "
    "beside it.",
)
_SIMULATOR = Advice(
    "python",
    "envs = gymnasium.vector.SyncVectorEnv([make_env] * 16)   # AsyncVectorEnv where steps are slow\n"
    "actions = policy(torch.from_numpy(observations))   # 16 at once",
    "Where it steps an environment or a simulator after each read value: several at once, and one call of the policy for all.",
)
_SIMULATORS_OF_SB3 = Advice(
    "diff",
    "-env = gymnasium.make(name)\n+env = make_vec_env(name, n_envs=16)   # vec_env_cls=SubprocVecEnv where steps are slow\n"
    " model = DQN(policy, env, ...)   # or PPO, SAC, ...; off policy: 16 times the gradient_steps",
    "Steps several environments, and asks the policy once for all of them. Off policy (DQN, SAC) as many updates for each of their "
    "steps need `gradient_steps` times `n_envs`.",
)


def steps_simulator(facts: Facts) -> bool:
    """Whether a framework of simulators is surely in use."""
    return facts.recording.frameworks.uses("gymnasium", "stable_baselines3")


def simulator(facts: Facts) -> Advice:
    """Several simulators at once, in the words of the framework that steps them."""
    return _SIMULATORS_OF_SB3 if facts.recording.frameworks.of_loop == "stable_baselines3" else _SIMULATOR


CLIPPED_IN_PARTS = Advice(
    "python",
    "local = [p.grad.to_local() for p in parameters]      # DTensors: each op of one is dispatched in Python\n"
    "squared = torch.stack(torch._foreach_norm(local)).square().sum()\n"
    "torch.distributed.all_reduce(squared)                # the other ranks' shards\n"
    "torch._foreach_mul_(local, (limit / (squared.sqrt() + 1e-6)).clamp(max=1.0))",
    "Norms are computed there one by one, as clipping of gradients does. Where gradients are plain tensors: `clip_grad_norm_(..., "
    "foreach=True)`. Where FSDP2 shards them, they are tensors whose every op goes through Python: clip the local parts, in lists.",
)


def move(line: CodeLine) -> Advice:
    """Another place for the work of a known line."""
    return Advice(
        "text",
        f"Move the work of `{line.function}` ({line.place}) out of the step, vectorise it, or do it every N steps.",
        "The times are of a trace with stacks: believe the order, not the milliseconds.",
    )
