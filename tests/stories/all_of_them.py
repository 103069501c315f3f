"""All stories, and the share of them that is told right.

python tests/confusion.py    prints it, with a line for each story that is not told right
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stories import (
    of_answering,
    of_busy_training,
    of_decoding,
    of_documented_hosts,
    of_documented_kernels,
    of_documented_traces,
    of_endpoints,
    of_engines,
    of_everyday_loops,
    of_fields_in_training,
    of_first_sight,
    of_further_training,
    of_guides,
    of_habits_in_training,
    of_heavy_training,
    of_host_in_training,
    of_hosts_beside_training,
    of_jobs_in_training,
    of_kernels,
    of_kernels_in_training,
    of_makers,
    of_many,
    of_many_fields,
    of_moving,
    of_nested_updates,
    of_odd_recordings,
    of_other_software,
    of_other_uses,
    of_others_programs,
    of_others_traces,
    of_parts_seen,
    of_pipelines,
    of_prepared,
    of_public_recordings,
    of_quantised,
    of_recordings,
    of_reported_hosts,
    of_reported_kernels,
    of_reported_passes,
    of_reported_reads,
    of_requests,
    of_searches_in_training,
    of_serving,
    of_shards,
    of_the_device,
    of_the_host,
    of_training,
    of_tuning_guides,
    of_unseen_reads,
    of_updates,
    of_whole_jobs,
    of_written_out,
)
from stories.story import Story

PARTS: dict[str, tuple[Story, ...]] = {
    "data, values, Python": of_the_host.STORIES,
    "launches, kernels, memory": of_the_device.STORIES,
    "ranks, unusual recordings": of_many.STORIES,
    "guides and forums": of_guides.STORIES,
    "copies, waits for them, ranks": of_moving.STORIES,
    "kernels, graphs, ops": of_kernels.STORIES,
    "at first sight": of_first_sight.STORIES,
    "serving": of_serving.STORIES,
    "engines that answer requests": of_answering.STORIES,
    "pipelines, odd recordings": of_pipelines.STORIES,
    "other devices and software": of_other_software.STORIES,
    "Apple, CPUs, fields of their own": of_many_fields.STORIES,
    "updates": of_updates.STORIES,
    "training": of_training.STORIES,
    "further training": of_further_training.STORIES,
    "training, host": of_host_in_training.STORIES,
    "training, device": of_busy_training.STORIES,
    "training, fields": of_fields_in_training.STORIES,
    "training, jobs": of_jobs_in_training.STORIES,
    "training, searches": of_searches_in_training.STORIES,
    "training, nested updates": of_nested_updates.STORIES,
    "training, kernels": of_heavy_training.STORIES,
    "training, kernels of libraries": of_kernels_in_training.STORIES,
    "training, habits": of_habits_in_training.STORIES,
    "training, recordings": of_recordings.STORIES,
    "training, around the device": of_hosts_beside_training.STORIES,
    "quantised, adapters": of_quantised.STORIES,
    "hosts around passes": of_requests.STORIES,
    "devices of other makers": of_makers.STORIES,
    "shards of a model": of_shards.STORIES,
    "jobs of several ranks": of_whole_jobs.STORIES,
    "engines and their graphs": of_engines.STORIES,
    "odd recordings": of_odd_recordings.STORIES,
    "making tokens": of_decoding.STORIES,
    "endpoints": of_endpoints.STORIES,
    "other uses": of_other_uses.STORIES,
    "reads that nobody sees": of_unseen_reads.STORIES,
    "reported: hosts, ranks": of_reported_hosts.STORIES,
    "reported: kernels, launches": of_reported_kernels.STORIES,
    "documented causes: hosts": of_documented_hosts.STORIES,
    "documented causes: kernels, copies, ranks": of_documented_kernels.STORIES,
    "documented traces": of_documented_traces.STORIES,
    "recordings of others": of_public_recordings.STORIES,
    "parts that are seen": of_parts_seen.STORIES,
    "traces of others": of_others_traces.STORIES,
    "programs of others": of_others_programs.STORIES,
    "reported: reads": of_reported_reads.STORIES,
    "reported: passes": of_reported_passes.STORIES,
    "guides: habits": of_tuning_guides.STORIES,
    "prepared on the host": of_prepared.STORIES,
    "written out by hand": of_written_out.STORIES,
    "loops of every day": of_everyday_loops.STORIES,
}
STORIES: tuple[Story, ...] = tuple(story for part in PARTS.values() for story in part)

# What is documented and not told yet, with the reason. Nothing that is told wrongly may stand here.
SILENT: dict[str, str] = {
    "denormal weights": "a trace holds no values; that convolutions take eight times as long needs the same with other weights",
    "sizes of an exchange read each layer": "the reads own 0.3 % by themselves; what comes behind them, 5 %, is in SY002's line",
    "gradients copied into buckets": "copies of 4 % of the busy time are below the limits of the rules",
    "LoRA beside the layers": "no rule knows adapters; that launches are the limit, and where, is told",
    "mask of a grammar sent blocking": "the copy and what follows it are 3 % of a pass, below the limits of the rules",
    "cache swapped block by block": "that copies are many and small is told; no rule names the op of an extension that makes them",
    "prompts before tokens": "the trace holds no queue: whether texts waited while a prompt was read is not recorded",
    "edges of tiles, row by row": "the loop is found, its ops stand in the evidence; 10 % of the device's time is little",
    "float16 on a CPU": "no rule knows which formats a CPU computes in",
    "kernels of 2 passes of 32": "the trace cannot be the base of advice, which is told; no finding is then",
    "timers that synchronise": "that synchronize calls cost is told; which function of a library makes them is not named",
    "environments reset by scalars": "that many small copies cost is told; no rule knows an index that is given a number",
    "gradients looked at one by one": "the reads are told; one op in a row, as of an average's `lerp_`, is no loop to the rules",
    "advantages in a loop": "minibatches are taken for steps: what happens once for twenty of them is 10 % and in no usual step",
    "weights cast for each micro-batch": "no name tells casts of weights from those of activations, which are needed each time",
    "nine requests, a graph of sixteen": "ranges tell how many texts a pass has, nothing for how many its graph was captured",
    "DPA-2, Adam by passes": "an update of 4 % of the busy time is below the limit of the rule",
}


def share(parts: Mapping[str, tuple[Story, ...]] = PARTS) -> str:
    """How many stories are told right, wrongly, and not at all: of all, of each part; and each story that is not told right."""
    stories = [story for part in parts.values() for story in part]
    lines = [_counted("stories", stories), *(_counted(f"stories: {part}", some) for part, some in parts.items())]
    lines += [
        f"{story.outcome} story: {story.name}: {', '.join(story.untrue or story.missing)} ({story.source})"
        for story in stories
        if story.outcome != "right"
    ]
    return "\n".join(lines)


def _counted(what: str, stories: Sequence[Story]) -> str:
    cells = Counter(story.outcome for story in stories)
    told = f"{cells['right']} of {len(stories)} told right ({cells['right'] / len(stories):.0%})"
    return f"{what}: {told}, {cells['wrong']} wrong, {cells['silent']} silent"
