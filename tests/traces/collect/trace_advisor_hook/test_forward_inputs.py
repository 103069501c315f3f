"""How many samples a model gets, by the first size of its tensors."""

from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from traces.collect.trace_advisor_hook.loader.forward_inputs import ForwardInputs


@pytest.mark.parametrize(
    ("arguments", "named", "single"),
    [
        ((torch.zeros(1, 7),), None, 1),
        ((), {"input_ids": torch.zeros(1, 7), "attention_mask": torch.zeros(1, 7)}, 1),
        (({"input_ids": torch.zeros(1, 7)},), {}, 1),
        ((torch.zeros(2, 7),), None, 0),
        ((torch.zeros(1, 7), torch.zeros(9, 7)), None, 0),
        ((torch.zeros(3, 8, 8),), None, 0),
        ((torch.zeros(1),), None, 0),
        ((3, "x"), None, 0),
    ],
)
def test_one_sample_is_a_first_size_of_one_everywhere(arguments: Any, named: Any, single: int) -> None:
    inputs = ForwardInputs()
    inputs.note(arguments, named)
    assert inputs.told() == {"calls": 1, "single": single}
