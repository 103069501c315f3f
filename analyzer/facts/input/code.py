"""Which of the user's functions and lines make the batches that training waits for."""

from __future__ import annotations

import msgspec

from analyzer.facts.host.section import HostFacts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.input.wait import InputWait
from analyzer.facts.recording.collected import collected
from analyzer.facts.recording.line_samples import LineSamples, SampledLine, training_lines, worker_lines
from analyzer.facts.recording.loader_code import LoaderFunction, loader_functions
from traces.trace import Meta, Trace

# What is less is not where the loading is.
_MOST_OF_LOADING = 0.5


class InputCode(msgspec.Struct, frozen=True):
    """The user's code behind the loader, as far as anything tells.

    Args:
        functions: What takes part in making a batch, by what the loader was made with; the part that takes most of it first, where
            one is known to.
        samples: Sampled lines of the processes that make batches: the loader's workers where it has any.
        recorded: Functions called inside the loader, from recorded stacks, each with its nanoseconds, most first.
        of_workers: Whether the samples are of worker processes.
    """

    functions: tuple[LoaderFunction, ...]
    samples: LineSamples
    recorded: tuple[tuple[CodeLine, int], ...]
    of_workers: bool = False

    @property
    def lines(self) -> tuple[SampledLine, ...]:
        """Lines that ran inside the loader, the longest first."""
        return self.samples.of_loader

    @property
    def lines_ratio(self) -> float:
        """Share of the loading that the user's lines are, those that call a library included."""
        return sum(line.ns for line in self.lines) / self.samples.loader_ns if self.samples.loader_ns else 0.0

    @property
    def workers_wait_for_training(self) -> bool:
        """Whether the loader's workers, as they were sampled, were mostly asked for no batch: their queue was full."""
        return self.of_workers and self.samples.loader_ns < _MOST_OF_LOADING * self.samples.total_ns

    @property
    def place(self) -> CodeLine | None:
        """The one place to look at: the line that ran longest, else the function that did, else the first that makes samples.

        None where lines were sampled, and most of the loading is in none of the user's.
        """
        if self.lines and self.lines_ratio < _MOST_OF_LOADING:
            return None
        if self.lines:
            top = self.lines[0]
            return CodeLine(top.file, top.line, top.function, top.begins)
        if self.recorded:
            return self.recorded[0][0]
        if self.functions:
            return beginning(self.functions[0])
        return None


def beginning(function: LoaderFunction) -> CodeLine:
    """The place of a function of which no line is known."""
    return CodeLine(function.file, None, function.name, function.begins)


def input_code(trace: Trace, host: HostFacts, input_wait: InputWait) -> InputCode:
    """Finds the code: from sampled lines, from recorded stacks, from the loader's own parts."""
    meta = trace.meta
    multi = input_wait.multi_process
    samples = worker_lines(meta) if multi else training_lines(meta)
    return InputCode(_leading_first(meta), samples, () if multi else _recorded(host, input_wait), multi)


def _leading_first(meta: Meta) -> tuple[LoaderFunction, ...]:
    leading = collected(meta).leading_part
    roles = ("dataset", "transform") if leading == "dataset" else (leading,)
    return tuple(sorted(loader_functions(meta), key=lambda function: function.role not in roles))


def _recorded(host: HostFacts, input_wait: InputWait) -> tuple[tuple[CodeLine, int], ...]:
    """Functions whose frames lie inside a call of the loader: the one that asks it for a batch began before."""
    main, calls = host.main_thread, input_wait.host
    if main is None or not calls:
        return ()
    return tuple(host.stacks.inside(main, calls, whole=True))
