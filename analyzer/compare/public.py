"""What of a run may lie in a repository that others read: figures, and names that are public already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from analyzer.compare.known_names import is_known_kernel, is_known_op
from analyzer.compare.snapshot import Conditions, LeftOut, Snapshot
from traces.patterns import Pattern

# Where the time of all names that were left out is kept, so that its growth shows.
OTHERS = "(names left out)"
# `2.9.1`, `2.6.0a0`, `2.3.0+cu121`; what else may follow the sign is whatever a build was called.
_VERSION = Pattern(r"\d+(?:\.\d+){1,3}(?:(?:a|b|rc|\.dev|\.post)\d{1,8})?")
_BUILD = Pattern(r"\+(?:cpu|xpu|(?:cu|rocm)\d[\d.]{0,6})$")
_DEVICE = Pattern(
    r"(?:cpu|(?:NVIDIA|Tesla|GeForce|Quadro|AMD|Radeon|Intel|Apple)[\w ().-]{0,60}|[ABHLTVP]\d{1,4}[\w -]{0,20}|MI\d{3}\w{0,4})$"
)


def public(runs: Sequence[Snapshot]) -> list[Snapshot]:
    """The runs with known names only, numbered instead of called by the names of their files."""
    return [replace(known_only(run), name=f"run {number}") for number, run in enumerate(runs, 1)]


def known_only(run: Snapshot) -> Snapshot:
    """The run with the names of kernels and ops of known libraries, the time of all others under one. Once is enough."""
    if run.left_out is not None:
        return run
    kernels, kernels_left = _known(run.kernels_ns, is_known_kernel)
    ops, ops_left = _known(run.ops_ns, is_known_op)
    # The names left out are those of ops: they are counted there.
    operators = None if run.operators_ns is None else _known(run.operators_ns, is_known_op)[0]
    return replace(
        run,
        kernels_ns=kernels,
        ops_ns=ops,
        operators_ns=operators,
        conditions=_known_conditions(run.conditions),
        left_out=LeftOut(kernels=kernels_left, ops=ops_left),
    )


def _known(times: Mapping[str, float], is_known: Callable[[str], bool]) -> tuple[dict[str, float], int]:
    """The times of known names and of all others together, and how many those were."""
    kept = {name: ns for name, ns in times.items() if is_known(name)}
    left = [ns for name, ns in times.items() if name not in kept]
    return kept | ({OTHERS: sum(left)} if left else {}), len(left)


def _known_conditions(told: Conditions) -> Conditions:
    return replace(
        told,
        device=told.device if told.device is not None and _DEVICE.match(told.device) else None,
        torch=_version(told.torch),
        cuda=_version(told.cuda),
    )


def _version(text: str | None) -> str | None:
    """The version without what somebody called his own build."""
    match = _VERSION.match(text) if text is not None else None
    if text is None or match is None:
        return None
    build = _BUILD.fullmatch(text[match.end() :])
    return match.group() + (build.group() if build else "")
