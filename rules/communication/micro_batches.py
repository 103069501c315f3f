"""How a step of a pipeline is split further, as common libraries call it: no range tells which one splits it."""

from __future__ import annotations

from analyzer.finding import Advice
from analyzer.ranks.document import PipelinePart

# Micro-batches a stage that leave a fifth of the step as waiting.
_A_STAGE = 4


def of_pipeline(pipe: PipelinePart | None, note: str) -> Advice:
    """More micro-batches a step than a pipeline has, as far as its messages tell how many those are.

    Args:
        pipe: The stages; None where the other ranks are not here.
        note: Why.
    """
    if pipe is None:
        return more(f"{_A_STAGE} * stages", note)
    enough = _A_STAGE * len(pipe.stages)
    if pipe.messages is None or pipe.messages < enough:
        return more(str(enough), note)
    has = f"A rank sends {pipe.messages} messages to the next a step: as many micro-batches at most, of {len(pipe.stages)} stages."
    return more("2 * n_microbatches", f"{has} {note}")


def more(number: str, note: str) -> Advice:
    """More micro-batches a step.

    Args:
        number: How many, as code.
        note: Why.
    """
    return Advice(
        "python",
        f"schedule = Schedule1F1B(stage, n_microbatches={number}, loss_fn=loss_fn)   # torch.distributed.pipelining\n"
        "# Megatron-Core: a smaller --micro-batch-size, or a larger --global-batch-size\n"
        f'# DeepSpeed: ds_config["gradient_accumulation_steps"] = {number}',
        note,
    )


INTERLEAVED = Advice(
    "python",
    "schedule = ScheduleInterleaved1F1B([first_stage, second_stage], n_microbatches=4 * stages, loss_fn=loss_fn)\n"
    "# Megatron-Core: --num-layers-per-virtual-pipeline-stage",
    "Several smaller stages on each rank: a rank waits for less at the beginning and at the end of a step.",
)
