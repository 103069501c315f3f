"""What ranks wait for that is no late rank: a loop that one runs alone in some steps, and another rank each time."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, in_collectives
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, clear
from analyzer.ranks.document import LateRank, OtherLoop, Turns
from analyzer.ranks.loop_words import for_them, in_which, what_they_do
from analyzer.units import duration, share

DONE_ALONE = Advice(
    "text",
    "Do seldom, on all ranks at once or beside training what this rank alone does: validation, metrics, samples, checkpoints.",
    "Its kernels are neither slower nor larger: it runs more of them. Where it has nothing of its own to do, it gets more batches.",
)
_RUN_ALONE = Advice(
    "text",
    "Do seldom, on all ranks at once (each its part of the samples, and one sum of the results) or beside training what this rank "
    "alone runs: validation, metrics, samples.",
    "It has more to compute in one of every so many steps alone: as a rule by a loop of its own. Where it is by longer samples, "
    "give every rank equal ones.",
)
EQUAL_WORK = Advice(
    "text",
    "Give every rank equal work: group samples by length, and balance tokens over experts.",
    "Its kernels are not slower: they have more to do than those of the other ranks.",
)
SAVED_BESIDE = Advice(
    "python",
    "if step % 1000 == 0:\n    torch.distributed.checkpoint.async_save(state, checkpoint_id=path)   # every rank writes its part",
    "What one rank alone does in every so many steps, as writing a checkpoint, all others wait for. Do it less often, beside "
    "training, or with all ranks: where it is a log or samples, from another thread.",
)
_SAME_IN_EACH_STEP = Advice(
    "text",
    "Give all ranks the same work in each step, not on average: batches of like lengths at the same time, or packed to equal "
    "numbers of tokens; equal tokens for experts.",
    "What is even over many steps is not in one of them, and each waits for the rank that has most.",
)
_TURNS = {
    "Python on its host": Advice(
        "python",
        "gc.disable()   # before the first step\nfor step, batch in enumerate(loader):\n    train(batch)\n    if step % 500 == 0:\n"
        "        gc.collect()   # on all ranks in the same step",
        "Pauses that come to another rank each time, as collections of garbage do, cost all ranks each of them; at the same time "
        "they cost one. Where it is no garbage: what the program does now and then, on all ranks in the same step.",
    ),
    "waiting for its data loader": Advice(
        "text",
        "Let batches wait for the step on each rank: more workers and a larger `prefetch_factor`.",
        "The slowest batch of all ranks is waited for in each step: a longer queue evens out what takes long now and then.",
    ),
}


def unread(place: JobPlace) -> tuple[str, ...]:
    """The caveat that ranks are not here; none where all are."""
    if place.every_rank_is_here:
        return ()
    return ("Ranks whose traces are not here may be later still.",)


def of_more_work(late: LateRank) -> Advice:
    """What to do about a rank that has more to compute: in each step, or in one of every so many."""
    if late.runs_more:
        return DONE_ALONE
    return EQUAL_WORK if late.every is None else _RUN_ALONE


def of_loop(facts: Facts, place: JobPlace, loop: OtherLoop) -> Finding | Outcome:
    """What this rank waits for those that run another loop or save in some steps; clear on one that does."""
    if place.rank in loop.ranks:
        does = "saves a state" if loop.saves else "runs another loop"
        return clear(f"{in_which(loop)} this rank {does}, and the others wait for it: those are in no figure of it")
    return Finding(
        why=f"{what_they_do(loop)}, which this rank does not: it waits {for_them(loop)}, "
        f"{duration(loop.waited_ns)} in all ({share(loop.waited_ratio)} of what was recorded).",
        saving=Saving(
            in_collectives(facts.steps, facts.time, loop.waited_ns / max(facts.steps.count, 1)),
            0,
            "what this rank waits in these steps, as often as they came in the recording",
        ),
        fix=(SAVED_BESIDE if loop.saves else DONE_ALONE,),
        verify="Record all ranks again over as many steps: "
        f"those with {'a checkpoint' if loop.saves else 'another loop'} should be no longer for the others.",
        steps_seen=len(loop.steps),
        confidence=Confidence.MEDIUM,
        caveats=("How often such a step comes a longer recording tells.", *unread(place)),
    )


def by_turns(facts: Facts, place: JobPlace, turns: Turns, ratio: float) -> Finding:
    """What this rank waits where each step waits for another one, `ratio` of the step with its work shared evenly."""
    row = place.row
    waits_ns = min((row.exposed_waiting_most_ns or 0) if row is not None else 0, turns.saved_ns_per_step)
    why = f", mostly for {turns.why}" if turns.why else ""
    return Finding(
        title="Each step waits for another rank",
        why=f"Each step waits for another rank{why}: with {turns.ideal} it takes {duration(turns.saved_ns_per_step)} "
        f"less ({share(ratio)}).",
        saving=Saving(
            in_collectives(facts.steps, facts.time, waits_ns),
            0,
            f"what this rank waits for others, up to what the job's step is shorter by with {turns.ideal}",
        ),
        fix=(_TURNS.get(turns.why, _SAME_IN_EACH_STEP),),
        verify="Record all ranks again: in each step the times inside collectives should be alike, and CO003 clear.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM if turns.why else Confidence.LOW,
        caveats=unread(place),
    )
