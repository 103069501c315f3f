"""Which part of making a batch takes its time: choosing the samples, the samples themselves, or putting them together.

A remedy for one leaves the others as they are: samples kept in memory are still tokenised by a collate function that does so, and
workers wait for a sampler, which runs in the training process whatever `num_workers` is.
"""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.finding import Advice
from analyzer.units import share
from rules.data_loading import words
from rules.data_loading.samples import in_memory, keeps_samples, stackable, takes_whole_batches


def sampler_leads(facts: Facts) -> bool:
    """Whether choosing the samples takes most of making a batch."""
    return facts.recording.collected.leading_part == "sampler"


def sampler_ratio(facts: Facts) -> float:
    """Share of making a batch that choosing its samples takes; 0 where nobody timed it."""
    return facts.recording.collected.batch_parts.get("sampler", 0.0)


def collate_stays(facts: Facts) -> bool:
    """Whether most of making a batch is a collate function that keeping samples in memory leaves as it is.

    Torch's own collation goes with the samples: whole batches are then indexed.
    """
    return facts.recording.collected.leading_part == "collate" and not stackable(facts)


def librarys_collate_stays(facts: Facts) -> bool:
    """The same, of a library's collate function, out of which no program takes anything."""
    return collate_stays(facts) and _own(facts, "collate") is None


def saved_ratio(facts: Facts) -> float:
    """Share of making a batch that samples prepared once save at most: not what chooses them, nor a collation that stays."""
    kept = 0.0 if takes_whole_batches(facts) or collate_stays(facts) else _collating_ratio(facts)
    return max(0.0, 1.0 - sampler_ratio(facts) - kept)


def likely_ratio(facts: Facts) -> float:
    """Share that the first of the remedies saves: samples that are kept are put together as before, whole batches still copied."""
    if collate_stays(facts):
        return saved_ratio(facts)
    indexed = takes_whole_batches(facts) and not keeps_samples(facts)
    kept = _copying_ratio(facts) if indexed else _collating_ratio(facts)
    return max(0.0, 1.0 - sampler_ratio(facts) - kept)


def _collating_ratio(facts: Facts) -> float:
    """Share that putting samples together takes, as timed; where nobody timed it, at least what copies them."""
    return collate_ratio(facts) or _copying_ratio(facts)


def _copying_ratio(facts: Facts) -> float:
    """Share of loading in which torch's own collation copies samples into a batch."""
    loading_ns = facts.input.wait.host.total_ns
    return facts.input.loading.copying_ns / loading_ns if loading_ns and stackable(facts) else 0.0


def made_once(facts: Facts) -> tuple[Advice, ...]:
    """Samples that are made once and kept: by the part that takes the time; nothing where that is a library's."""
    if not collate_stays(facts):
        return (in_memory(facts),)
    return () if librarys_collate_stays(facts) else (prepared_before(facts),)


def collate_ratio(facts: Facts) -> float:
    """Share of making a batch that putting its samples together takes; 0 where nobody timed it."""
    return facts.recording.collected.batch_parts.get("collate", 0.0)


def sampler_takes(facts: Facts) -> str:
    """The part of the sampler in words, for the rules on which it has no bearing."""
    return f"choosing the samples takes {share(sampler_ratio(facts))} of making a batch, which stays in the training process"


def faster_sampler(facts: Facts) -> Advice:
    """Draw what the sampler draws at once."""
    return Advice(
        "python",
        "def __iter__(self):                      # of the sampler: once an epoch, not once a batch\n"
        "    order = torch.multinomial(self.weights, len(self) * self.batch_size, replacement=True)\n"
        "    for batch in order.split(self.batch_size):   # one that yields indices: yield from order.tolist()\n"
        "        yield batch.tolist()",
        f"Choosing the samples{_of(facts, 'sampler')} takes {share(sampler_ratio(facts))} of making a batch. Sort, weigh and draw "
        "for an epoch, or for many batches, at once, with tensors instead of lists; workers do not take this over.",
    )


def prepared_before(facts: Facts) -> Advice:
    """Do once what the collate function does to every sample of every batch."""
    name = _of(facts, "collate")
    note = (
        f"{share(collate_ratio(facts))} of making a batch is in the collate function{name}: samples that are only kept in memory "
        "save nothing of it. What it does to each sample alone (tokenising, converting, building) is the same in every epoch."
    )
    each = (
        "sample) for sample in dataset"
        if facts.recording.collected.stream
        else "dataset[index]) for index in range(len(dataset))"
    )
    prepared = f"[prepare({each}]   # once: what the collate function does to each"
    said = words.prepared_once(facts, random=False) if facts.recording.frameworks.of_data == "datasets" else None
    if said is not None:
        return replace(said, note=f"{note} {said.note}")
    if words.makes_loader(facts):
        return Advice("python", f"dataset = {prepared}\n# the collate function then only pads and puts together", note)
    return Advice(
        "python",
        f"samples = {prepared}\nloader = DataLoader(samples, ..., collate_fn=pad)   # only pads and puts together",
        note,
    )


def _of(facts: Facts, role: str) -> str:
    """`` (`Batcher.__call__`)``, where it is a function of the program's own."""
    own = _own(facts, role)
    return f" (`{own}`)" if own is not None else ""


def _own(facts: Facts, role: str) -> str | None:
    return next((one.name for one in facts.input.code.functions if one.role == role), None)
