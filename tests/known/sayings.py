"""Worlds of which it is known what may be said: mechanisms by which something untrue was once said, with the property and without.

`python tests/confusion.py` prints a row for each thing that is said; verdicts stand in `verdicts.py`, findings in `scenarios.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from analyzer.analysis import Analysis
from analyzer.compare.comparison import compare
from analyzer.compare.snapshot import snapshot as snapshot_of
from analyzer.engine import run_rules
from analyzer.engine.fitting import fitted
from analyzer.engine.trust import grade
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.recording.frameworks import frameworks
from analyzer.facts.recording.versions import versions
from analyzer.finding import Finding, State
from analyzer.page import headline
from building.builders import TraceBuilder, as_read
from building.other_devices import graphed, mps, private_use, xpu
from known.scenarios import RULE_BY_CODE, world
from rules import RULES
from showing.snapshots import finding, snapshot

MS = 1_000_000
_STEP = 10_000.0


@dataclass(frozen=True)
class Saying:
    """Something that may be said of a world.

    Args:
        what: What is said.
        of: What the world has, or lacks.
        true: Whether it is true.
        said: Whether the tool says it.
    """

    what: str
    of: str
    true: bool
    said: Callable[[], bool]

    @property
    def cell(self) -> str:
        """TP, FP, FN or TN."""
        return ("TP" if self.true else "FP") if self.said() else ("FN" if self.true else "TN")


def explained(builder: TraceBuilder) -> Analysis:
    """The whole answer for a world; equal worlds are asked once."""
    return _explained(builder.content())


@lru_cache(maxsize=512)
def _explained(content: str) -> Analysis:
    return explain_facts(Facts(as_read(content)), rules=RULES).analysis


def found(code: str, builder: TraceBuilder) -> Finding | None:
    """What a rule finds alone, with the fixes that the program can follow; None where it finds nothing."""
    facts = Facts(builder.trace())
    (run,) = run_rules(facts, (RULE_BY_CODE[code],), grade(facts))
    if run.state is not State.FIRED:
        return None
    told = versions(facts.trace.meta)
    return fitted(run.findings[0], told, frameworks(facts.trace), on_device=facts.device.main is not None)


def advised(code: str, builder: TraceBuilder, pattern: str) -> bool:
    """Whether a fix of a rule's finding says it."""
    one = found(code, builder)
    return one is not None and any(re.search(pattern, f"{fix.code}\n{fix.note}") for fix in one.fix)


# 3: promises, and what came of them.


def _outcome(after_ms: float, *, kind: str = "bound", steps: int = 30) -> str | None:
    """What becomes of a promise of 4 of 10 ms."""
    promise = msgspec.structs.replace(finding("DL001", 4 * MS), kind=kind)
    (row,) = compare([snapshot(10 * MS, steps, findings=(promise,))], [snapshot(round(after_ms * MS), steps)]).rules
    return row.outcome


def _launches(*, graph: bool) -> TraceBuilder:
    """Steps of 50 kernels of 20 us, each waiting for its launch with 60 us of Python between ops; or replayed with one call."""
    builder = TraceBuilder()
    length = 1_100.0 if graph else 7_500.0
    for number in range(4):
        at = number * length
        builder.step(number, at, length)
        call = builder.runtime("cudaGraphLaunch", at + 5, 10) if graph else None
        for index in range(50):
            if graph:
                builder.kernel(f"k{index}", at + 20 + index * 21, 20, correlation=call)
                continue
            start = at + index * 150
            builder.op("aten::add", start, 90)
            builder.launch(start + 80, kernel_start=start + 87, kernel_dur=20, name=f"k{index}", op=None)
    return builder


def _loads(wait: float) -> TraceBuilder:
    """Steps that wait for the loader, then compute for 6 ms."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * (6_000 + wait)
        builder.step(number, at, 6_000 + wait)
        if wait:
            builder.loader(at, wait)
        builder.launch(at + wait, kernel_start=at + wait + 8, kernel_dur=5_900, name="gemm")
    return builder


def _reads(*, each: bool) -> TraceBuilder:
    """Twenty kernels of 200 us a step, queued at once; or one after the other, as a value is read behind each."""
    builder = TraceBuilder()
    length = 20 * 300.0 if each else 20 * 200.0 + 100
    for number in range(5):
        at = number * length
        builder.step(number, at, length)
        for index in range(20):
            launch = at + index * (300 if each else 5)
            start = launch + 10 if each else at + 30 + index * 200
            builder.launch(launch, kernel_start=start, kernel_dur=200, name="gemm", call_dur=4)
            if each:
                builder.op("aten::item", launch + 20, 240)
                builder.op("aten::_local_scalar_dense", launch + 21, 238)
                builder.copy("DtoH", launch + 22, 236, start=start + 201, dur=2, size=4, op=None)
    return builder


def _exceeds(code: str, slow: TraceBuilder, fast: TraceBuilder) -> bool:
    """Whether the remedied world is faster by more than the finding on the other says at most."""
    before, after = explained(slow), explained(fast)
    (one,) = [item for item in before.findings if item.rule == code]
    most = one.saving.ns_per_step_max
    return before.summary.step_ns.mean - after.summary.step_ns.mean > most


def _called_bound(code: str, device: str | None) -> bool:
    """Whether a finding's figure is called "at most"."""
    builder = world(code) if device else _without_device(world(code))
    return any(one.rule == code and one.saving.kind == "bound" for one in explained(builder).findings)


def _without_device(builder: TraceBuilder) -> TraceBuilder:
    """The same ops on a machine without a device."""
    builder.events[:] = [event for event in builder.events if event["cat"] in ("cpu_op", "user_annotation")]
    builder.top["deviceProperties"] = []
    builder.top.pop("cuda_runtime_version", None)
    return builder


PROMISES = (
    Saying("a promise is confirmed", "3.5 of at most 4 ms came true", True, lambda: _outcome(6.5) == "confirmed"),
    Saying("a promise is confirmed", "5 of at most 4 ms came true", False, lambda: _outcome(5) == "confirmed"),
    Saying("a promise is confirmed", "0.1 of at most 4 ms came true", False, lambda: _outcome(9.5) == "confirmed"),
    Saying("a promise is confirmed", "six steps a side that mix", False, lambda: _outcome(9.999, steps=6) == "confirmed"),
    Saying("a promise is exceeded", "5 of at most 4 ms came true", True, lambda: _outcome(5) == "exceeded"),
    Saying("a promise is exceeded", "3.5 of at most 4 ms came true", False, lambda: _outcome(6.5) == "exceeded"),
    Saying(
        "a remedy exceeds the bound",
        "launches replayed from a graph",
        False,
        lambda: _exceeds("GR004", _launches(graph=False), _launches(graph=True)),
    ),
    Saying("a remedy exceeds the bound", "no waiting for data", False, lambda: _exceeds("DL001", _loads(4_000), _loads(0))),
    Saying(
        "a remedy exceeds the bound",
        "no value read behind each kernel",
        False,
        lambda: _exceeds("SY001", _reads(each=True), _reads(each=False)),
    ),
    Saying("a figure is a bound", "loading before a device", True, lambda: _called_bound("DL001", "cuda")),
    Saying("a figure is a bound", "loading on the CPU alone", False, lambda: _called_bound("DL001", None)),
)  # fmt: skip


# 9: versions.


def _fused(torch: str | None) -> bool:
    """Whether `fused=True` on the CPU is advised as it stands, with no word on versions."""
    builder = world("OP001", fires=True)
    builder.top["advisor"] = {"versions": {"torch": torch}} if torch else {}
    builder = _without_device(builder)
    one = found("OP001", builder)
    return one is not None and any("fused=True" in fix.code and "Needs torch" not in fix.note for fix in one.fix)


def _compiles(python: str, torch: str) -> bool:
    """Whether a compiler is advised that this Python has for this torch."""
    builder = world("GR004")
    builder.top["advisor"] = {"versions": {"torch": torch, "python": python}}
    one = found("GR004", builder)
    return one is not None and any("torch.compile(" in fix.code and "upgrade" not in fix.note for fix in one.fix)


VERSIONS = (
    Saying("fused on the CPU, as it stands", "torch 2.4", True, lambda: _fused("2.4.0")),
    Saying("fused on the CPU, as it stands", "torch 2.3", False, lambda: _fused("2.3.1")),
    Saying("fused on the CPU, as it stands", "torch unknown", False, lambda: _fused(None)),
    Saying("the compiler is advised", "torch 2.6 on Python 3.12", True, lambda: _compiles("3.12.1", "2.6.0")),
    Saying("the compiler is advised", "torch 2.3 on Python 3.12", False, lambda: _compiles("3.12.1", "2.3.0")),
    Saying("the compiler is advised", "torch 1.13", False, lambda: _compiles("3.10.1", "1.13.1")),
)


# 10: the kind of program.

_SERVING, _NEITHER = "_C_cache_ops::reshape_and_cache", "aten::linear"


def _only_forward(code: str, op: str) -> TraceBuilder:
    """A rule's world without any sign of training."""
    builder = world(code)
    builder.events[:] = [event for event in builder.events if not event["name"].startswith("Optimizer.")]
    builder.op(op, min(event["ts"] for event in builder.events), 1)
    return builder


def _training(code: str) -> TraceBuilder:
    builder = world(code)
    return builder.zero_grad(max(event["ts"] for event in builder.events), 1)


def _prepares(*, workers: int) -> TraceBuilder:
    """Training whose loop prepares data itself for 5 ms a step, behind a loader."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.loader(at, 50, workers=workers)
        builder.copy("HtoD", at + 5_091, 5, start=at + 5_097, dur=2, size=4 << 20, op=None, pinned=True)
        builder.launch(at + 5_100, kernel_start=at + 5_110, kernel_dur=4_500, name="gemm", op="aten::mm")
        builder.zero_grad(at + 9_900, 10)
    return builder


def _anomaly(node: str) -> bool:
    """Whether SY006 says that there is no backward pass."""
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * _STEP, _STEP)
        builder.op(node, number * _STEP + 100, 500)
    facts = Facts(builder.trace())
    (run,) = run_rules(facts, (RULE_BY_CODE["SY006"],), grade(facts))
    return run.state is State.NOT_APPLICABLE


def _halved_in_training() -> bool:
    return advised("PR001", _training("PR001"), r"model\.to\(")


KINDS = (
    Saying("words of training", "an optimizer", True, lambda: advised("PR001", _training("PR001"), r"\bloss\b")),
    Saying(
        "words of training", "a cache of keys and values",
        False, lambda: advised("PR001", _only_forward("PR001", _SERVING), r"\bloss\b"),
    ),
    Saying("half precision weights, no condition", "a cache of keys and values", True, lambda: _halved(_SERVING)),
    Saying("half precision weights, no condition", "neither training nor serving shows", False, lambda: _halved(_NEITHER)),
    Saying("half precision weights, no condition", "an optimizer", False, _halved_in_training),
    *(
        Saying("words of serving", name, True, lambda name=name: _sent_to_serving(name))  # type: ignore[misc]
        for name in ("FSDP::pre_forward", "look_backwards")
    ),
    *(
        Saying("words of serving", name, False, lambda name=name: _sent_to_serving(name))  # type: ignore[misc]
        for name in ("FSDP::post_backward_reduce", "[pl][profile]run_training_batch", "## backward ##")
    ),
    Saying("a loader with workers is advised", "a loader without", True, lambda: _workers(0)),
    Saying("a loader with workers is advised", "a loader with workers", False, lambda: _workers(4)),
    Saying("no backward pass", "forward ops alone", True, lambda: _anomaly("aten::conv2d")),
    Saying("no backward pass", "a node of torch 1", False, lambda: _anomaly("CudnnConvolutionBackward")),
)  # fmt: skip


def _halved(op: str) -> bool:
    one = found("PR001", _only_forward("PR001", op))
    return one is not None and any(
        "model.to(" in fix.code and not fix.note.startswith("Where the program") for fix in one.fix
    )


def _sent_to_serving(name: str) -> bool:
    """Whether a program is told what one that only runs its model would do, of which one range a step is known."""
    builder = _prepares(workers=0)
    # Batches of a loader would make it an evaluation.
    dropped = ("Optimizer.", "enumerate(DataLoader)")
    builder.events[:] = [event for event in builder.events if not event["name"].startswith(dropped)]
    for number in range(4):
        builder.annotation(name, number * _STEP + 5_100, 4_000)
    return advised("PY001", builder, "only runs its model")


def _workers(count: int) -> bool:
    return advised("PY001", _prepares(workers=count), r"num_workers=")


# 11: first steps, batches, step times.


def _first(*, kernels: int, backlog: bool = False, on: Callable[[TraceBuilder], TraceBuilder] | None = None) -> bool:
    """Whether the first of six steps is used, of whose device work so many of ten kernels are in the file; `on` another device."""
    builder = TraceBuilder()
    for number in range(6):
        at = number * 1_000.0
        begins = at + 600 if backlog and number == 0 else at
        builder.step(number, begins, at + 1_000 - begins)
        for index in range(10):
            if number or index >= 10 - kernels:
                builder.launch(at + index * 95, kernel_start=at + index * 95 + 8, kernel_dur=80, name=f"k{index}")
    if on is not None:
        on(builder)
    return bool(Facts(builder.trace()).steps.frame["used"].iloc[0])


def _batch(sizes: Sequence[int], *, marked: bool = True) -> bool:
    """Whether a batch is stated of steps whose layer gets so many rows."""
    builder = TraceBuilder(None)
    for number, rows in enumerate(sizes):
        if marked:
            builder.step(number, number * 1_000, 1_000)
        builder.op("aten::linear", number * 1_000 + 10, 500, **{"Input Dims": [[rows, 64], [64, 10], []]})
    facts = Facts(builder.trace())
    return snapshot_of(explained(builder), facts).conditions.batch is not None


def _decides(before_ms: Sequence[float], after_ms: Sequence[float]) -> bool:
    """Whether step times of two sides get an answer."""
    sides = (snapshot(steps_ns=tuple(round(step * MS) for step in side)) for side in (before_ms, after_ms))
    change = compare(*([side] for side in sides)).change
    return change is not None and change.kind != "inconclusive"


def _recorded_apart(each: float, on: Callable[[TraceBuilder], TraceBuilder]) -> bool:
    """Whether seven steps of about 10 ms and seven of so many get an answer, recorded on some device."""
    taken = []
    for length in (10_000.0, each):
        builder, at = TraceBuilder(), 0.0
        for number in range(7):
            lasts = length + 40 * (number % 4)
            builder.step(number, at, lasts)
            for index in range(10):
                start = at + index * lasts / 10
                builder.launch(start, kernel_start=start + 8, kernel_dur=lasts / 10 - 10, name=f"k{index}")
            at += lasts
        facts = Facts(on(builder).trace())
        taken.append(snapshot_of(explain_facts(facts, rules=RULES).analysis, facts))
    change = compare([taken[0]], [taken[1]]).change
    return change is not None and change.kind != "inconclusive"


STEPS = (
    Saying("the first step is used", "it is whole", True, lambda: _first(kernels=10)),
    Saying("the first step is used", "the recording began inside it", False, lambda: _first(kernels=4, backlog=True)),
    Saying("the first step is used", "whole, a graph a step", True, lambda: _first(kernels=10, on=graphed)),
    Saying("the first step is used", "begun inside, a graph a step", False, lambda: _first(kernels=4, backlog=True, on=graphed)),
    Saying("the first step is used", "whole, on Intel's GPU", True, lambda: _first(kernels=10, on=xpu)),
    Saying("the first step is used", "begun inside, on Intel's GPU", False, lambda: _first(kernels=4, backlog=True, on=xpu)),
    Saying("the first step is used", "whole, on a private device", True, lambda: _first(kernels=10, on=private_use)),
    Saying("the first step is used", "begun inside, private device", False,
           lambda: _first(kernels=4, backlog=True, on=private_use)),
    Saying("the first step is used", "whole, Apple's GPU", True, lambda: _first(kernels=10, on=mps)),
    Saying("the first step is used", "begun inside, Apple's GPU", False, lambda: _first(kernels=4, backlog=True, on=mps)),
    Saying("a batch is stated", "equal inputs of each step", True, lambda: _batch([32, 32, 32])),
    Saying("a batch is stated", "tokens that differ", False, lambda: _batch([32, 17, 203])),
    Saying("a batch is stated", "tokens of one window", False, lambda: _batch([1_024], marked=False)),
    Saying("step times get an answer", "seven a side, no overlap", True, lambda: _decides(_around(10), _around(8.5))),
    Saying("step times get an answer", "seven a side that mix", False, lambda: _decides(_around(10), _around(9.97))),
    *(
        Saying("step times get an answer", f"apart, {on.__name__}", True, lambda on=on: _recorded_apart(8_500, on))  # type: ignore[misc]
        for on in (graphed, xpu, private_use, mps)
    ),
    *(
        Saying("step times get an answer", f"that mix, {on.__name__}", False, lambda on=on: _recorded_apart(9_970, on))  # type: ignore[misc]
        for on in (graphed, xpu, private_use, mps)
    ),
    Saying("step times get an answer", "two a side, apart a little", False, lambda: _decides(_around(10)[:2], _around(9.5)[:2])),
)  # fmt: skip


def _around(ms: float) -> list[float]:
    return [ms + 0.05 * (index % 4) for index in range(7)]


# 13: totals.


def _whole(builder: TraceBuilder) -> bool:
    """Whether the headline saves at least as much as its largest finding."""
    analysis = explained(builder)
    saved = analysis.summary.step_ns.mean - analysis.summary.reachable_step_ns
    return saved >= max(one.saving.ns_per_step_max for one in analysis.cards if one.saving.kind == "bound") - 1


def _profiler(with_ms: int, without_ms: int, *, one_longer_ms: int = 0) -> str:
    """What is said of steps with the profiler and without, where the fourth of five may last longer."""
    builder = _loads(with_ms * 1_000 - 6_000)
    for event in builder.events:
        number = event["ts"] // (with_ms * 1_000)
        event["ts"] += (number > 3) * one_longer_ms * 1_000
        if event["name"] == "ProfilerStep#3":
            event["dur"] += one_longer_ms * 1_000
    builder.top["advisor"] = {"unprofiled_step_ns": without_ms * MS, "profiled_step_ns": with_ms * MS}
    return " ".join(headline.outlook(explained(builder)))


def _says_step(*, marked: bool) -> bool:
    """Whether findings speak of a step."""
    builder = _loads(4_000)
    if not marked:
        builder.events[:] = [event for event in builder.events if event["cat"] != "user_annotation"]
        builder.annotation("fetch", 0, 4_000)
    analysis = explained(builder)
    said = [one.why for one in analysis.findings] + [one.reason or "" for one in analysis.checks]
    return any(re.search(r"\ba step\b|\beach step\b|\bthe used steps\b", text) for text in said)


TOTALS = (
    Saying("the headline holds its largest", "one finding", True, lambda: _whole(_loads(4_000))),
    Saying("the headline holds its largest", "findings that share time", True, lambda: _whole(_launches(graph=False))),
    Saying(
        "the profiler makes steps longer", "13 ms with, 10 without", True, lambda: "30 % longer" in _profiler(13, 10)
    ),
    Saying("the profiler makes steps longer", "13 ms with, 14 without", False, lambda: "longer" in _profiler(13, 14)),
    Saying(
        "the profiler makes steps longer",
        "one of five is long, the others 13 ms with, 14 without",
        False,
        lambda: "longer" in _profiler(13, 14, one_longer_ms=20),
    ),
    Saying("what is lost is told by step", "marked steps", True, lambda: _says_step(marked=True)),
    Saying("what is lost is told by step", "one recording", False, lambda: _says_step(marked=False)),
)


# 15: trust.


def _trusted(builder: TraceBuilder) -> bool:
    return explained(builder).trust.verdict == "ok"


def _recorded(steps: int, *, marked: bool = True) -> TraceBuilder:
    """Waiting and computing, told apart by marks and by an optimizer, or by nothing."""
    builder = TraceBuilder()
    for number in range(steps):
        at = number * _STEP
        if marked:
            builder.step(number, at, _STEP)
            builder.optimizer(at + _STEP - 50, 40)
        builder.annotation("fetch" if not marked else "enumerate(DataLoader)#_X.__next__", at, 4_000)
        for index in range(10):
            start = at + 4_000 + index * 590
            builder.launch(start, kernel_start=start + 10, kernel_dur=570, name=f"kernel_{index}")
    return builder


def _lowered(builder: TraceBuilder) -> bool:
    """Whether a severity was lowered; a reason then has to stand beside it."""
    lowered = [one for one in explained(builder).findings if one.lowered_from is not None]
    assert all(one.lowered_because for one in lowered)
    return bool(lowered)


TRUST = (
    Saying("trust is ok", "three steps, no stacks", True, lambda: _trusted(_recorded(3))),
    Saying("trust is ok", "ten steps, no stacks", True, lambda: _trusted(_recorded(10))),
    Saying("trust is ok", "two steps", False, lambda: _trusted(_recorded(2))),
    Saying("trust is ok", "nothing tells steps apart", False, lambda: _trusted(_recorded(1, marked=False))),
    Saying("a severity was lowered", "two steps", True, lambda: _lowered(_recorded(2))),
    Saying("a severity was lowered", "four steps", False, lambda: _lowered(_recorded(4))),
)


# Loops that hold layers: which of them is a batch taken apart.


def _turns(*unit: str, backward_each: bool = False) -> TraceBuilder:
    """Steps of 10 ms in which a unit of short ops runs 16 times, and one backward pass, or one a turn."""
    builder = TraceBuilder(None)
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        for turn in range(16):
            for place, name in enumerate((*unit, *(("aten::ones_like", node) if backward_each else ()))):
                builder.op(name, at + turn * 500 + place * 15, 12)
        builder.op(node, at + 8_100, 900, **{"Sequence number": number})
        builder.optimizer(at + 9_100, 800)
    return builder


def _by_sample(builder: TraceBuilder) -> bool:
    return any(one.title == "Model called sample by sample" for one in explained(builder).findings)


_LOSS = ("aten::linear", "aten::cross_entropy_loss", "aten::add")
SAMPLES = (
    Saying("samples go one by one", "recurrent layer from zeros, loss", True,
           lambda: _by_sample(_turns("aten::zeros", "aten::gru", "aten::select", *_LOSS))),
    Saying("samples go one by one", "two layers, loss", True, lambda: _by_sample(_turns("aten::linear", "aten::relu", *_LOSS))),
    Saying("samples go one by one", "state handed on to the next turn", False,
           lambda: _by_sample(_turns("aten::gru", "aten::select", *_LOSS))),
    Saying("samples go one by one", "state joined to the input", False,
           lambda: _by_sample(_turns("aten::cat", "aten::linear", *_LOSS))),
    Saying("samples go one by one", "gradients accumulated", False,
           lambda: _by_sample(_turns("aten::linear", "aten::relu", *_LOSS, backward_each=True))),
    Saying("samples go one by one", "tokens generated", False,
           lambda: _by_sample(_turns("aten::embedding", "aten::linear", "aten::relu", "aten::linear", "aten::argmax"))),
)  # fmt: skip

SAYINGS = (*PROMISES, *VERSIONS, *KINDS, *STEPS, *TOTALS, *TRUST, *SAMPLES)
