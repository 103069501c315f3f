"""What goes with sparse gradients of embedding tables, and how they are asked for."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice, Outcome, clear, not_applicable

SAME_RESULT = ("SGD", "Adagrad")
MOVES_ALL = ("Adam", "AdamW")
MOVED_OTHERWISE = (
    "SGD passes over the table more than once: with weight decay it refuses sparse gradients, with momentum its sparse buffers "
    "grow to all rows that were ever looked up"
)


def refuses(facts: Facts) -> Outcome | None:
    """Why sparse gradients would not go with the optimizer or the ranks; None where they do."""
    work, sent = facts.model.optimizing, facts.communication.collectives
    if not len(work.spans):
        return not_applicable(
            "no Optimizer.step span in the used steps: which optimizer passes over the tables is not known"
        )
    if sent.sharded:
        return clear("parameters are sharded, and sharded ones have no sparse gradients")
    if sent.running and facts.device.main is not None:
        return clear("ranks reduce their gradients, and NCCL reduces no sparse ones (gloo does)")
    if work.class_name not in (*SAME_RESULT, *MOVES_ALL):
        return clear(
            f"{work.class_name} takes no sparse gradients: SGD, Adagrad and SparseAdam do, which is another training"
        )
    return None


def sparse_caveats(name: str) -> tuple[str, ...]:
    """What sparse gradients change, and what of the rows is not known.

    Args:
        name: The optimizer's class.
    """
    rows = "Each index is taken for another row: where many name the same, an update changes fewer."
    if name in MOVES_ALL:
        return (
            f"{name} moves rows that are not in the batch too, by their moments"
            + (" and its weight decay" if name == "AdamW" else "")
            + "; SparseAdam does not: compare the validation score.",
            rows,
        )
    return (rows,)


def sparse_fix(facts: Facts) -> tuple[Advice, ...]:
    """How the gradients become sparse, for the optimizer at hand."""
    name = facts.model.optimizing.class_name
    among = " DistributedDataParallel reduces sparse gradients with gloo, not with NCCL." if _ranks(facts) else ""
    module = "-self.table = nn.Embedding(rows, width)\n+self.table = nn.Embedding(rows, width, sparse=True)"
    if name in SAME_RESULT:
        without = "without momentum and weight decay" if name == "SGD" else "without weight decay"
        return (
            Advice(
                "diff",
                module,
                f"`EmbeddingBag` too, but for `mode='max'`. {name} takes sparse gradients {without}, and not with `fused=True`; "
                f"the result is the same.{among}",
            ),
        )
    return (
        Advice(
            "diff",
            f"{module}\n-optimizer = torch.optim.{name}(model.parameters(), lr=lr)\n"
            "+rest = [each for each in model.parameters() if each is not model.table.weight]\n"
            f"+optimizer = torch.optim.{name}(rest, lr=lr)\n"
            "+of_table = torch.optim.SparseAdam([model.table.weight], lr=lr)    # step and zero_grad beside the other",
            f"`EmbeddingBag` too, but for `mode='max'`. {name} itself refuses sparse gradients.{among}",
        ),
    )


def _ranks(facts: Facts) -> bool:
    return bool(facts.communication.collectives.running) or facts.communication.collectives.data_parallel
