"""What the user's line calls in the time outside ops, where stacks tell: a library's function, or one written in C."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.library_calls import LibraryCall
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share

# A call that holds less of the time than this is one of several.
_MOST = 0.5
# Make a tensor of what Python holds; of what holds its numbers in a block they take no time outside ops.
_MAKES_TENSORS = ("tensor", "as_tensor")
_ONE_ARRAY = Advice(
    "diff",
    "-batch = torch.as_tensor(rows)                # a list: read number by number\n"
    "+batch = torch.as_tensor(numpy.array(rows))   # of arrays as well: one array first",
    "A list of arrays or of lists is read element by element in Python; one array is taken as it lies in memory.",
)


def sentence(facts: Facts, time: IntervalSet, line: CodeLine) -> str:
    """Words to put behind the user's line: `, 97 % of it inside `as_tensor`, called by `batch``; empty where that line is all."""
    call = _called(facts, time)
    if call is None or call.function == line.function:
        return ""
    by = f", called by `{call.caller}`" if call.caller not in (None, line.function) else ""
    return f"; {share(call.ns / time.total_ns)} of it inside `{call.function}`{by}"


def of_library(facts: Facts, time: IntervalSet) -> str:
    """Where the time is, where no line is known to be the user's: `, 85 % of it inside `from_dict``; empty where no frame tells."""
    call = _called(facts, time)
    if call is None:
        return ""
    return f", {share(call.ns / time.total_ns)} of it inside `{call.function}`{_caller(call, ', ')}"


def by_library(facts: Facts, time: IntervalSet) -> Advice | None:
    """What to do about a function of an engine that holds most of the time; None where stacks name none."""
    call = _called(facts, time)
    if call is None:
        return None
    return Advice(
        "text",
        f"Look what `{call.function}`{_caller(call)} does there: whether a setting or a newer version of the engine does without "
        "it, does it in another process, or on one rank for all.",
        "The times are of a trace with stacks: believe the order, not the milliseconds.",
    )


def remedy(facts: Facts, time: IntervalSet) -> tuple[Advice, ...]:
    """What to do about that call, where it is known."""
    call = _called(facts, time)
    return (_ONE_ARRAY,) if call is not None and call.built_in and call.function in _MAKES_TENSORS else ()


def _caller(call: LibraryCall, before: str = " ") -> str:
    return f"{before}called by `{call.caller}`" if call.caller is not None else ""


def _called(facts: Facts, time: IntervalSet) -> LibraryCall | None:
    main = facts.host.main_thread
    call = None if main is None else facts.host.library_call(main, time)
    return call if call is not None and call.ns >= _MOST * time.total_ns else None
