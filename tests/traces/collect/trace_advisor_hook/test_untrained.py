"""Parameters that get gradients and no update: told of a teacher, and of a backbone that was to be frozen; of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from traces.collect.trace_advisor_hook.steps.optimizer_turns import OptimizerTurns
from traces.collect.trace_advisor_hook.untrained import Untrained

NODES = {"SumBackward0": "20", "AddmmBackward0": "20", "TBackward0": "20"}
Loss = Callable[[nn.Module, nn.Module, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, both: bool = False, size: int = 1, copies: bool = False) -> dict[str, Any] | None:
    """What is said after five steps that update the first of two layers, or each by an optimizer of its own.

    Args:
        loss: Of the layer that is trained, the other one and a batch.
        both: Whether the other one has an optimizer, too.
        size: World size.
        copies: Whether the optimizer updates copies, as one with weights in more bits does.
    """
    trained, other, look = nn.Linear(4, 4), nn.Linear(4, 40), Untrained()
    parameters = [one.detach().clone() for one in trained.parameters()] if copies else list(trained.parameters())
    optimizers = [torch.optim.SGD(parameters, 0.1)]
    optimizers += [torch.optim.SGD(other.parameters(), 0.1)] if both else []
    for _ in range(5):
        value = loss(trained, other, torch.randn(8, 4))
        look.before_backward(value)
        value.backward()
        for optimizer in optimizers:
            optimizer.step()
            look.after_optimizer(optimizer)
    return look.told(size)


def _of_both(trained: nn.Module, other: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return trained(batch).sum() + other(batch).sum()


def _without_recording(trained: nn.Module, other: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        target = other(batch)
    return trained(batch).sum() * target.sum()


def _of_inputs(trained: nn.Module, other: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return trained(batch.requires_grad_()).sum()


def test_what_no_optimizer_updates_is_counted() -> None:
    assert told(_of_both) == {"nodes": NODES, "tensors": 2, "numbers": 200, "of_tensors": 4, "of_numbers": 220}


@pytest.mark.parametrize(
    ("loss", "both"),
    [(_without_recording, False), (_of_both, True), (_of_inputs, False)],
    ids=["no gradient asked for", "updated as well", "a gradient of inputs"],
)
def test_nothing_is_untrained(loss: Loss, both: bool) -> None:
    found = told(loss, both=both)
    assert found is not None
    assert found["tensors"] == 0


def _through(trained: nn.Module, other: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return nn.functional.linear(trained(batch), other.weight, other.bias).sum()


def _behind(trained: nn.Module, other: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return nn.functional.linear(other(batch)[:, :4], trained.weight, trained.bias).relu().sum()


@pytest.mark.parametrize(
    ("loss", "nodes"),
    [
        # The gradient has to pass the layer, whose weights' own is for nothing: one of two products.
        (_through, {"AddmmBackward0": "10", "TBackward0": "20"}),
        # Of the layer that is trained only the gradient of its input is, and all behind it.
        (_behind, {"AddmmBackward0": "12", "TBackward0": "02", "SliceBackward0": "2"}),
        (_without_recording, None),
    ],
    ids=["through a frozen layer", "in front of what is trained", "no gradient asked for"],
)
def test_nodes_that_lead_to_nothing_are_named(loss: Loss, nodes: dict[str, str] | None) -> None:
    found = told(loss)
    assert found is not None
    assert found.get("nodes") == nodes


@pytest.mark.parametrize("options", [{"size": 2}, {"copies": True}])
def test_optimizers_with_weights_of_their_own_tell_nothing(options: dict[str, bool]) -> None:
    assert told(_of_both, **options) is None


def test_a_pass_to_chosen_inputs_hands_nothing_to_other_leaves() -> None:
    trained, other, look = nn.Linear(4, 4), nn.Linear(4, 40), Untrained()
    optimizer = torch.optim.SGD(trained.parameters(), 0.1)
    for _ in range(5):
        loss = _of_both(trained, other, torch.randn(8, 4))
        look.before_backward(loss, inputs=list(trained.parameters()))
        loss.backward(inputs=list(trained.parameters()))
        optimizer.step()
        look.after_optimizer(optimizer)
    assert look.told(1) is None


def of_turns(
    *, detach: bool = False, zeros: bool = False, by_hand: bool = False, rounds: int = 6
) -> dict[str, Any] | None:
    """What is said of a generator and a discriminator that take turns.

    Args:
        detach: Whether the generated batch goes into the discriminator's pass without its graph.
        zeros: Whether gradients are set to zero instead of dropped.
        by_hand: Whether a pass before each turn of the discriminator is read by hand.
        rounds: How many steps there are.
    """
    makes, judges, look = nn.Linear(4, 4), nn.Linear(4, 1), Untrained()
    first, second = torch.optim.SGD(judges.parameters(), 0.1), torch.optim.SGD(makes.parameters(), 0.1)

    def update(optimizer: torch.optim.Optimizer, loss: torch.Tensor, *, steps: bool = True) -> None:
        optimizer.zero_grad(set_to_none=not zeros)
        look.before_backward(loss)
        loss.backward()
        look.after_backward()
        if steps:
            optimizer.step()
            look.round += optimizer is first
            look.after_optimizer(optimizer)

    for _ in range(rounds):
        made = makes(torch.randn(8, 4))
        if by_hand:
            update(first, judges(made.detach()).sum(), steps=False)
        update(first, judges(made.detach() if detach else makes(torch.randn(8, 4))).sum())
        update(second, judges(made).sum())
    return look.told(1)


@pytest.mark.parametrize("zeros", [False, True])
def test_what_is_dropped_before_its_turn_is_told_of_each_pass(*, zeros: bool) -> None:
    found = of_turns(zeros=zeros)
    assert found is not None
    # A step ends with the discriminator's turn: first the generator's pass, then its own, which goes on into the generator.
    assert found["passes"] == [
        {"AddmmBackward0": "10", "TBackward0": "20"},
        {"AddmmBackward0": "12", "TBackward0": "02"},
    ]
    assert (found["dropped"], found["tensors"]) == (4, 0)


@pytest.mark.parametrize("several", [1, 5])
@pytest.mark.parametrize("detach", [False, True])
def test_a_critic_with_several_turns_to_one_of_the_generator(*, several: int, detach: bool) -> None:
    """Each of its steps looks like one of the loop until the generator has had its turn: whole rounds begin behind that."""
    makes, judges, look, turns = nn.Linear(4, 4), nn.Linear(4, 1), Untrained(), OptimizerTurns()
    critic, generator = torch.optim.SGD(judges.parameters(), 0.1), torch.optim.SGD(makes.parameters(), 0.1)

    def update(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
        optimizer.zero_grad()
        look.before_backward(loss)
        loss.backward()
        look.after_backward()
        optimizer.step()
        look.after_optimizer(optimizer)
        look.round += turns.ends_step(optimizer)

    for _ in range(6):
        for _ in range(several):
            made = makes(torch.randn(8, 4))
            update(critic, judges(made.detach() if detach else made).sum())
        update(generator, judges(makes(torch.randn(8, 4))).sum())
    found = look.told(1)
    assert found is not None
    of_critic = {} if detach else {"AddmmBackward0": "12", "TBackward0": "02"}
    of_generator = {"AddmmBackward0": "10", "TBackward0": "20"}
    # A step ends with the first of the critic's turns.
    assert found["passes"] == [*[of_critic] * (several - 1), of_generator, of_critic]
    assert found["dropped"] == (2 if detach else 4)


@pytest.mark.parametrize("zeroed", [True, False])
def test_a_gradient_that_is_zero_by_itself_was_not_dropped(*, zeroed: bool) -> None:
    """As that of a term whose weight still is zero: its optimizer takes what a later pass adds."""
    model, other, look = nn.Linear(4, 1), nn.Linear(4, 1), Untrained()
    optimizers = [torch.optim.SGD(model.parameters(), 0.1), torch.optim.SGD(other.parameters(), 0.1)]
    for _ in range(6):
        for weight in (0.0, 1.0):
            loss = (weight * model(torch.randn(8, 4)) + other(torch.randn(8, 4))).sum()
            look.before_backward(loss)
            loss.backward()
            look.after_backward()
            if zeroed:
                optimizers[0].zero_grad(set_to_none=False)
            optimizers[1].step()
            look.after_optimizer(optimizers[1])
            optimizers[1].zero_grad()
        optimizers[0].step()
        look.after_optimizer(optimizers[0])
        look.round += 1
    found = look.told(1)
    assert found is not None
    assert ("passes" in found) is zeroed


def test_of_a_detached_batch_only_the_discriminators_own_are_dropped() -> None:
    found = of_turns(detach=True)
    assert found is not None
    assert found["passes"] == [{"AddmmBackward0": "10", "TBackward0": "20"}, {}]
    assert found["dropped"] == 2


def test_a_pass_of_which_no_optimizer_takes_anything_was_read_by_hand() -> None:
    found = of_turns(detach=True, by_hand=True)
    assert found is not None
    assert found["passes"][1:] == [{}, {}]


@pytest.mark.parametrize("options", [{"rounds": 3}, {"zeros": True, "rounds": 3}])
def test_what_was_not_seen_to_be_dropped_is_not_told(options: dict[str, Any]) -> None:
    found = of_turns(**options)
    assert found is not None
    assert "passes" not in found


def test_turns_of_one_optimizer_drop_nothing() -> None:
    found = told(_of_both, both=True)
    assert found is not None
    assert "passes" not in found


@pytest.mark.parametrize(
    ("attack", "drops", "solves"), [(True, True, False), (True, False, False), (False, True, False), (True, True, True)]
)
def test_a_pass_for_the_gradient_of_an_input_gives_the_weights_theirs_for_nothing(
    *, attack: bool, drops: bool, solves: bool
) -> None:
    """Where they are kept until the update, or where the first pass leads to no input, somebody may want them.

    So it is where all passes lead to inputs, as of an equation's residuals: each loss's gradients may be read by hand.
    """
    model, look = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), Untrained()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(6):
        batch = torch.randn(8, 4, requires_grad=attack)
        for _ in range(2):
            loss = model(batch).sum()
            look.before_backward(loss)
            loss.backward()
            if drops or not attack:
                optimizer.zero_grad()
            batch = batch.detach()
        look.before_backward(loss := model(batch.requires_grad_(solves)).sum())
        loss.backward()
        optimizer.step()
        look.round += 1
        look.after_optimizer(optimizer)
        optimizer.zero_grad()
    found = look.told(1)
    assert found is not None
    assert ("passes" in found) == (attack and drops and not solves)
    if "passes" in found:
        # Of three passes the first leads to the input, the second is read by hand.
        assert (found["of_input"], found["dropped"]) == (4, 4)
        assert found["passes"] == [{"AddmmBackward0": "11", "TBackward0": "22"}, {}, {}]


@pytest.mark.parametrize("fits", [1, 3])
@pytest.mark.parametrize("keeps", [True, False])
def test_of_models_that_are_fitted_one_after_the_other_all_is_updated(fits: int, keeps: bool) -> None:
    """The optimizer of a fit is gone with it, and so may be its model, whose tensors' identities are given again."""
    look, models = Untrained(), []
    for _ in range(fits):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(2):
            loss = model(torch.randn(8, 4)).sum()
            look.before_backward(loss)
            loss.backward()
            optimizer.step()
            look.after_optimizer(optimizer)
        del optimizer
        models = [*models, model] if keeps else [model]
        del model
    said = look.told(1)
    assert (said is None) if fits > 1 and not keeps else (said is not None and said["tensors"] == 0)
