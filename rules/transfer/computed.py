"""What an op computes on the host just before it is sent: words and fixes, as no loader holds it."""

from __future__ import annotations

from analyzer.facts.transfer.computed_on_host import Computed
from analyzer.finding import Advice
from analyzer.units import share

_PUT_TOGETHER = ("aten::stack", "aten::cat", "aten::concat")
_PREPARED = Advice(
    "text",
    "What is put together is made on the host in the step: make it on the device or, of a batch, in the loader's workers.",
)
_CONVERTS = "aten::to"
_CONVERTED = Advice(
    "diff",
    "-x = x.float().to(device)\n+x = x.to(device, non_blocking=True).float()",
    "What gets wider is converted on the device: fewer bytes travel, and the host has less to do. What gets narrower belongs into "
    "the dataset, where workers convert it beside training.",
)


def computed(name: str | None) -> str:
    """A sentence on the op that computes what is sent; empty without one."""
    if name is None:
        return ""
    made = (
        "converted on the host just before" if name == _CONVERTS else f"computed on the host just before, by `{name}`"
    )
    return f" Most of it is {made}; no loader's batch."


def computed_beside(found: Computed | None) -> str:
    """A sentence on a part that is computed beside what may be batches; empty without one."""
    if found is None:
        return ""
    how = "converted on the host" if found.name == _CONVERTS else f"computed on the host, mostly by `{found.name}`,"
    return f" {share(found.ratio)} of it is {how} just before: that is no loader's batch."


def computed_there(name: str) -> tuple[Advice, ...]:
    """What an op computes on the host just before it is sent: no loader holds it."""
    if name == _CONVERTS:
        return (_CONVERTED,)
    if name in _PUT_TOGETHER:
        return (_PREPARED,)
    return (
        Advice(
            "text",
            f"Compute it on the device: `{name}` of tensors that lie there, or with a generator of the device, sends nothing.",
        ),
        Advice(
            "text",
            "Where it has to be computed on the host: one ahead, while the device works on this one, into pinned memory made once.",
        ),
    )
