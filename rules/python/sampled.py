"""The line that host code outside ops is at, by lines sampled in a pass of their own: where no stack was recorded."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.finding import Advice, Location
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from rules.python import in_framework
from traces.patterns import Pattern

# A line that holds so much more of the step than the time does runs ops as well: it calls the model, and cannot go elsewhere.
_WITH_OPS = 1.5
# `print(`, `json.dumps(`, `file.write(`, `logger.info(`, `wandb.log(`; no logarithm.
_WRITES = Pattern(
    r"\bprint\(|\.(?:dumps?|write|writelines|writerow|savefig|add_scalars?|add_histogram)\("
    r"|\b(?:log(?:ger|ging)?|_log(?:ger)?|wandb|mlflow|writer)\.\w+\("
)
# `torch.save(state, path)`, `model.save_pretrained(path)`, `trainer.save_checkpoint(path)`: no op is run by it.
_SAVES = Pattern(r"\btorch\.save\(|\bsave_(?:pretrained|checkpoint|model|state|file)\(|\bpickle\.dump\(")
# A line that holds less of the time than this is one of several.
_MOST = 0.5


def sampled_line(facts: Facts, time: IntervalSet, ratio: float) -> SampledLine | None:
    """The line that most of a time must lie at; None where samples leave that open.

    Samples are of whole steps, ops included: of a time that is `ratio` of the step a line with a share of the samples holds at
    least as much as the two exceed one by. What a line that saves has of the samples is all of that time. Else the ops around it
    tell, where one function of the program's makes most calls of both that before and that behind most of the time.

    Args:
        facts: The measurements.
        time: The time.
        ratio: Share of the step that the time is.
    """
    samples = facts.recording.training_lines
    saving = next((line for line in samples.lines if not line.loader and saves(line)), None)
    if saving is not None and saving.ns >= _MOST * ratio * samples.total_ns > 0:
        return saving
    line = max(samples.lines, key=lambda line: 0 if line.loader else line.ns, default=None)
    if line is None or not samples.total_ns:
        return None
    sure = line.ns / samples.total_ns + ratio - 1 >= _MOST * ratio
    return line if sure and not in_framework.began(facts, line) and not line.loader else _around(facts, time, ratio)


def _around(facts: Facts, time: IntervalSet, ratio: float) -> SampledLine | None:
    """The line that runs longest of the function that calls the ops around most of a time; None where several do.

    Of the samples the function must hold about as much: else what it is called by takes the time.
    """
    found: dict[CodeLine, int] = {}
    for silence in facts.sync.silences(time):
        function = facts.host.stacks.caller((silence.before, silence.after), mostly=True)
        if function is not None:
            found[function] = found.get(function, 0) + silence.total_ns
    most = max(found, key=lambda function: found[function], default=None)
    if most is None or most.begins is None or found[most] <= _MOST * time.total_ns:
        return None
    samples = facts.recording.training_lines
    own_ns = sum(one.ns for one in samples.lines if one.file == most.file and one.begins == most.begins)
    if own_ns < _MOST * ratio * samples.total_ns:
        return None
    busiest = samples.busiest_line(most.file, most.begins, ratio)
    named = (one for one in samples.lines if (one.file, one.line) == (most.file, busiest) and not one.loader)
    return next(named, None)


def writes(line: SampledLine) -> bool:
    """Whether the line prints, logs, saves, or makes a text of what is to be kept."""
    return _WRITES.search(line.text or "") is not None or saves(line)


def writing(facts: Facts, time: IntervalSet, line: SampledLine | None) -> bool:
    """Whether most of a time is writing: by the calls that stacks name, or by the sampled line."""
    return 2 * (facts.host.output.spans & time).total_ns > time.total_ns or (line is not None and writes(line))


def saves(line: SampledLine) -> bool:
    """Whether the line writes the state of a model to a file."""
    return _SAVES.search(line.text or "") is not None


def sentence(facts: Facts, line: SampledLine) -> str:
    """Words to put behind the cause."""
    text = f" (`{line.text}`)" if line.text else ""
    of = share(line.ns / facts.recording.training_lines.total_ns)
    return f". Sampled, {of} of the step is at {line.file}:{line.line} in `{line.function}`{text}"


def location(line: SampledLine) -> Location:
    """The contract's form of it."""
    return Location(line.file, line.line, line.function, line.begins)


def move(facts: Facts, line: SampledLine, ratio: float) -> Advice | None:
    """Another place for the work of the line; None for one that runs ops for much of its time, as a call of the model does.

    Args:
        facts: The measurements.
        line: The line.
        ratio: Share of the step that host code outside ops is.
    """
    if line.ns / facts.recording.training_lines.total_ns > _WITH_OPS * ratio:
        return None
    return Advice(
        "text",
        f"Move what {line.file}:{line.line} does out of the step, do it beside training, or do it every N steps.",
        "The line was sampled without the profiler, in steps of their own after the recorded ones.",
    )
