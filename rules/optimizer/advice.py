"""Fixes of the optimizer's rules, worded for the class in use."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.framework_words import fused_optimizer
from rules.optimizer.made_where import by_library, others_class, own_change, own_lines

# Classes of torch.optim with a fused implementation.
FUSED_CLASSES = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
# Classes of torch.optim with a foreach implementation.
FOREACH_CLASSES = FUSED_CLASSES | {"Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"}
# Classes of torch.optim whose repeated ops are no parameters one by one, and why.
WITHOUT_LISTS = {
    "LBFGS": "LBFGS updates one flat vector; what repeats is its history (`history_size`), each turn of which needs the one before",
    "Muon": "Muon makes each matrix orthogonal by matrix products of its own, which no list operation does",
    "SparseAdam": "SparseAdam updates the rows that a sparse gradient names, which no list operation does",
}


def fused(facts: Facts, name: str) -> Advice:
    """One kernel for all parameters, or for each that has an optimizer of its own; of torch's class where another has its name."""
    other = others_class(facts, name)
    if other is not None:
        return _torchs(name, other.class_package)
    if facts.model.optimizing.apart:
        return Advice(
            "diff",
            f"-optimizers = {{p: torch.optim.{name}([p], lr=lr) for p in model.parameters()}}\n"
            f"+optimizers = {{p: torch.optim.{name}([p], lr=lr, fused=True) for p in model.parameters()}}",
            "Same mathematics, one op a parameter. A library that makes an optimizer for each takes it among their arguments.",
        )
    note = (
        "Same mathematics in one pass. Needs floating-point parameters; not with sparse gradients or `differentiable=True`."
        + _beside_tables(facts)
    )
    words, library = fused_optimizer(facts, name), by_library(facts, name)
    if words is None and library is not None:
        called = f", called from {library.place}" if library.place else ""
        return Advice(
            "text",
            f"`fused=True` for `{name}`, among the arguments that {library.package} gives it "
            f"(`{library.function}`{called}).",
            note,
        )
    changed = words or own_change(facts, name) or _changed(name)
    return Advice("diff", changed, note + ("" if words else own_lines(facts, name)))


def _changed(name: str) -> str:
    return (
        f"-optimizer = torch.optim.{name}(model.parameters(), lr=lr)\n"
        f"+optimizer = torch.optim.{name}(model.parameters(), lr=lr, fused=True)"
    )


def _beside_tables(facts: Facts) -> str:
    """What to mind where tables of embeddings could have sparse gradients; empty where none could, or no shapes tell."""
    if all(table.used_by is not None for table in facts.model.dense_tables.found):
        return ""
    return " An embedding with `sparse=True` (OP006) needs an optimizer of its own without it: fused ones refuse its gradients."


def foreach(name: str) -> Advice:
    """One launch per kind of op for many parameters."""
    return Advice(
        "diff",
        f"-optimizer = torch.optim.{name}(model.parameters(), lr=lr)\n"
        f"+optimizer = torch.optim.{name}(model.parameters(), lr=lr, foreach=True)",
        "The default on a GPU since torch 2.0. Needs extra memory of about the size of the parameters.",
    )


def together(name: str) -> Advice:
    """One optimizer instead of one for each parameter."""
    return Advice(
        "python",
        f"optimizer = torch.optim.{name}(model.parameters(), lr=lr, {'fused' if name in FUSED_CLASSES else 'foreach'}=True)",
        "One optimizer for all parameters, which steps after the backward pass. Steps in hooks of the gradients save the memory of "
        "these: change it where memory has room for them.",
    )


def _torchs(name: str, package: str | None) -> Advice:
    """Torch's class instead of one that has its name, and updates tensor by tensor.

    Args:
        name: Of the class.
        package: The one that defines it; None, or `__main__`, for a class of the program's own.
    """
    whose = f"`{package}`'s" if package not in (None, "__main__") else "the program's"
    return Advice(
        "diff",
        f"-optimizer = {name}(model.parameters(), lr=lr)\n"
        f"+optimizer = torch.optim.{name}(model.parameters(), lr=lr, fused=True)",
        f"The `{name}` in use is {whose} own and takes no `fused`. Where it does no more than torch's, torch's does it in one "
        "pass: compare the defaults of both, and the losses.",
    )


def by_hand() -> Advice:
    """For optimizers outside torch.optim."""
    return Advice(
        "python",
        "torch._foreach_mul_(momenta, beta)\ntorch._foreach_add_(momenta, grads)\ntorch._foreach_add_(params, momenta, alpha=-lr)",
        "An optimizer of your own: update lists of tensors instead of one tensor after the other.",
    )
