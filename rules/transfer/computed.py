"""What an op computes on the host just before it is sent: no loader holds it, or it is the loader's batch, changed in the loop."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.transfer.computed_on_host import Computed
from analyzer.finding import Advice
from analyzer.units import share
from traces.patterns import Pattern

_PUT_TOGETHER = ("aten::stack", "aten::cat", "aten::concat")
_PREPARED = Advice(
    "text",
    "What is put together is made on the host in the step: make it on the device or, of a batch, in the loader's workers.",
)
_CONVERTS = "aten::to"
# What makes tensors of nothing that is there, as noise and masks are made.
_MAKES = Pattern(
    r"aten::(?:rand|normal|uniform|bernoulli|exponential|multinomial|random|full|fill|zero|ones|eye|arange|linspace|tri[lu]|empty)"
)
_CONVERTED = Advice(
    "diff",
    "-x = x.float().to(device)\n+x = x.to(device, non_blocking=True).float()",
    "What gets wider is converted on the device: fewer bytes travel, and the host has less to do. What gets narrower belongs into "
    "the dataset, where workers convert it beside training.",
)


def _changes_batch(facts: Facts, name: str) -> bool:
    """Whether the op works on the loader's batch, which then is what is sent."""
    return _MAKES.match(name) is None and facts.input.prepares(name)


def computed(facts: Facts, name: str | None) -> str:
    """A sentence on the op that computes what is sent; empty without one."""
    if name is None:
        return ""
    made = (
        "converted on the host just before" if name == _CONVERTS else f"computed on the host just before, by `{name}`"
    )
    what = ": the loader's batch, prepared in the loop" if _changes_batch(facts, name) else "; no loader's batch"
    return f" Most of it is {made}{what}."


def computed_beside(facts: Facts, found: Computed | None) -> str:
    """A sentence on a part that is computed beside what may be batches; empty without one."""
    if found is None:
        return ""
    how = "converted on the host" if found.name == _CONVERTS else f"computed on the host, mostly by `{found.name}`,"
    what = (
        "the loader's batch, prepared in the loop" if _changes_batch(facts, found.name) else "that is no loader's batch"
    )
    return f" {share(found.ratio)} of it is {how} just before: {what}."


def _sent_first(name: str) -> tuple[Advice, ...]:
    """What changes the loader's batch on the host: behind the copy, or where the batch is made."""
    return (
        Advice(
            "diff",
            "-images = prepare(images).to(device)\n"
            "+images = images.to(device, non_blocking=True)   # as the loader gives it: bytes stay bytes\n"
            "+images = prepare(images)                        # on the device",
            f"`{name}` changes the loader's batch on the host, while the GPU waits: behind the copy the GPU does it. Where it "
            "makes bytes floats, a quarter of the bytes has to travel.",
        ),
        Advice(
            "text",
            "Where it has to run on the host: in the data set or `collate_fn`, by the loader's workers beside training, with "
            "`pin_memory=True`.",
        ),
    )


def computed_there(facts: Facts, name: str) -> tuple[Advice, ...]:
    """What an op computes on the host just before it is sent: no loader holds it, or it changes what the loader gave."""
    if name == _CONVERTS:
        return (_CONVERTED,)
    if name in _PUT_TOGETHER:
        return (_PREPARED,)
    if _changes_batch(facts, name):
        return _sent_first(name)
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
