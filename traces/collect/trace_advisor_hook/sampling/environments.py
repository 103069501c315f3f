"""Whether code belongs to an environment that a policy acts in: programs call theirs anything, but give it `step` and `reset`."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from ..common import FAILURES

# Classes of these packages whose name or module says so are environments, and so is what is derived from them.
_PACKAGES = (
    "gymnasium.",
    "gym.",
    "pettingzoo.",
    "dm_env.",
    "torchrl.envs.",
    "stable_baselines3.common.vec_env.",
    "ray.rllib.env.",
)
# What one without a library has: both methods, and a word for what can be done, or seen.
_METHODS = ("step", "reset")
_SPACES = ("action_space", "observation_space", "single_action_space", "action_spec", "observation_spec", "n_actions")


class Environments:
    """Tells methods of environments, by the classes that their own module knows; looks at each code once."""

    def __init__(self) -> None:
        self._known: dict[CodeType, bool] = {}

    def holds(self, frame: FrameType) -> bool:
        """Whether the frame runs a method of an environment."""
        code = frame.f_code
        if code not in self._known:
            self._known[code] = _is_of_environment(code, frame.f_globals)
        return self._known[code]


def _is_of_environment(code: CodeType, module: dict[str, Any]) -> bool:
    """Looks through the module's classes, and asks no object of the program's anything."""
    try:
        # `isinstance` would ask the object for its class: torch.distributed's `reduce_op` warns whoever asks it anything.
        for kind in [value for value in list(module.values()) if issubclass(type(value), type)]:
            method = vars(kind).get(code.co_name)
            if code in (getattr(one, "__code__", None) for one in (method, getattr(method, "__wrapped__", None))):
                return _is_environment(kind)
    except FAILURES:
        return False
    return False


def _is_environment(kind: type) -> bool:
    names = [f"{one.__module__}.{one.__name__}" for one in kind.__mro__]
    if any(name.startswith(_PACKAGES) and "env" in name.lower() for name in names):
        return True
    held = {name for one in kind.__mro__ for name in vars(one)}
    made = getattr(vars(kind).get("__init__"), "__code__", None)
    given = held | set(made.co_names if made is not None else ())
    return held.issuperset(_METHODS) and not given.isdisjoint(_SPACES)
