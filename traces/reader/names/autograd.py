"""How torch names what its autograd engine runs."""

from __future__ import annotations

# The op around a node of the backward pass, and what stands before the node's own name.
BACKWARD_NODE = "autograd::engine::evaluate_function"
OF_NODE = f"{BACKWARD_NODE}: "
# The node that adds to one parameter's gradient.
ACCUMULATES = "torch::autograd::AccumulateGrad"
