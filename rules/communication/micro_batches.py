"""How a step of a pipeline is split further, as common libraries call it: no range tells which one splits it."""

from __future__ import annotations

from analyzer.finding import Advice


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
