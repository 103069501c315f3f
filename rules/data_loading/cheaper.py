"""Less work for each sample: without the loop or the table that is known to cost it, else without what usually does."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.data_loading.looped import without_loop
from rules.data_loading.samples import are_images, may_be_images, random_samples

_OF_IMAGES = "smaller images, a faster decoder, crops before what is costly"


def cheaper_samples(facts: Facts) -> tuple[Advice, ...]:
    """Less work a sample, where nothing of it can be done once: what is known to cost it, and what usually does."""
    return known_causes(facts) or (*arrays(facts), _ways(facts))


def known_causes(facts: Facts) -> tuple[Advice, ...]:
    """What is known to be most of a sample, or to grow with the data set: without it samples are made many times as fast."""
    return (*without_loop(facts), *kept_open(facts))


def kept_open(facts: Facts) -> tuple[Advice, ...]:
    """A file that stays open, or in memory, where code opens or reads it for each sample; nothing elsewhere."""
    found = next((code for code in facts.input.code.functions if code.opens or code.reads), None)
    if found is None:
        return ()
    return (_kept_read(found.name, found.reads) if found.reads else _once_open(found.name, found.opens or ""),)


def _once_open(name: str, opens: str) -> Advice:
    return Advice(
        "diff",
        f"-with {opens}(self.path) as opened:\n-    sample = opened[...]\n"
        f"+if self.opened is None:                 # None in __init__: each worker process opens its own\n"
        f"+    self.opened = {opens}(self.path)\n+sample = self.opened[...]",
        f"`{name}` opens a file by `{opens}` for each sample. Where it is the same one, its list of contents is read as often.",
    )


def _kept_read(name: str, path: str) -> Advice:
    return Advice(
        "diff",
        f"-data = load(self.{path})\n-sample = data[index]\n"
        f"+self.data = load(self.{path})             # once, in __init__\n+sample = self.data[index]",
        f"`{name}` reads all of the file `self.{path}` for each sample. Arrays that memory does not hold: `numpy.load(path, "
        'mmap_mode="r")` reads what is asked for.',
    )


def arrays(facts: Facts) -> tuple[Advice, ...]:
    """Arrays of a table's columns, where the data set's own code takes rows of tables; nothing elsewhere."""
    found = next(((code, code.tables[0]) for code in facts.input.code.functions if code.tables), None)
    if found is None or may_be_images(facts):
        return ()
    code, name = found
    return (
        Advice(
            "diff",
            f"-row = self.{name}.iloc[index]\n+self.values = self.{name}[columns].to_numpy()   # once, in __init__\n"
            "+row = self.values[index]",
            f"`{code.name}` takes rows of a pandas table: pandas makes new objects for each, an array only shows its part. Sums, "
            "means and dates of rows are computed once as well, as columns.",
        ),
    )


def _ways(facts: Facts) -> Advice:
    drawn = random_samples(facts)
    known = are_images(facts)
    ways = [_OF_IMAGES if known else "whole arrays at a time instead of a loop over what they hold"]
    ways += (
        []
        if facts.recording.collected.random_samples is False and not drawn
        else ["fewer or cheaper random transforms"]
    )
    notes = ["Samples come out different in every epoch, so that they cannot be made once and kept."] if drawn else []
    notes += [f"Where they are images: {_OF_IMAGES}."] if not known and may_be_images(facts) else []
    return Advice("text", f"Make a sample cheaper: {', '.join(ways)}, one pass for a whole batch.", " ".join(notes))
