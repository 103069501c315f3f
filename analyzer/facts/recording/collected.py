"""What `advisor collect` recorded beside the events, typed; None where it did not, or the trace comes from elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.facts.recording.stated import (
    MOST,
    dict_of,
    list_of,
    mean_of,
    text_of,
    texts_of,
    version_of,
    whole_of,
    words_of,
)
from traces.trace import Meta

# A turn of the collector's empty loop, mean, where little else ran: 167 to 185 us for 10,000 on 2 cores (x86_64, Python 3.11.7,
# 2026-11-22), machines as those that this project's samples were recorded on.
QUIET_TURN_NS = 17.5
# Beyond what any machine has; a file may say anything.
_MOST_CORES, _MOST_BYTES, _MOST_BATCHES = 1000, 2**50, 2**20
# Systems count the CPU time of a process in ticks of 10 ms: in less than ten of them a process that computes may have used none.
_LEAST_SAMPLED_S = 0.1
_PARTS = ("sampler", "dataset", "collate")
_LEADS = 0.5


class Collected(msgspec.Struct, frozen=True):
    """Facts about the run that no event shows.

    Args:
        cores: CPU cores the process may use; its part of them where several ranks of the job share a machine.
        num_workers: `num_workers` of the loader.
        own_workers: Workers that the framework has beside the loader's, which only takes from their queue, as those of Keras'
            `PyDataset`; None where there are none, or nobody recorded them.
        own_processes: Whether those are processes, not threads of the training process.
        pin_memory: `pin_memory` of the loader.
        batch_size: Samples a batch.
        batches_per_step: Batches that a step draws, median of the recorded ones: several where gradients are accumulated.
        whole_batches: Whether the data set makes whole batches, which the loader only hands on (`batch_size=None`).
        dataset_name: Class of the data set; None where nobody recorded it.
        dataset_length: Samples in the data set.
        dataset_bytes: Samples times bytes of what one holds.
        profiled_step_ns: Median step time with the profiler on, its start and stop left out.
        unprofiled_step_ns: Median step time with the profiler off.
        core_wait_ratio: Share of the time of the recorded steps in which the training thread could run and had no core.
        python_slowness: How many times as long an empty loop took beside the recording as on a quiet machine, in the mean: more
            where the core is slow, and where other programs take it away.
        core_slowness: The same of the median round, which those hardly change in which another program had the core.
        core_steadiness: The fastest round over the mean, 0..1: below 1 where others had the core, those of a virtual host included.
        process_cores: Cores that the training process uses in the mean, all its threads together, while no profiler is on.
        worker_cpu_ratio: Share of a core that a loader's worker uses, mean of the workers.
        worker_core_wait_ratio: Share of the time in which a worker could run and had no core, mean of the workers.
        worker_private_bytes: Memory that a loader's worker holds alone, mean of the workers.
        memory_bytes: Memory that the run may have: the machine's, or what its container is allowed.
        memory_available_bytes: What was left of it while the run went on.
        intra_op_threads: torch.get_num_threads().
        cpu_features: Vector and matrix units of the processor, of avx2, avx512f, avx512_bf16, amx_bf16.
        torch_version: Major and minor version of torch.
        parameters: Numbers that the optimizers update.
        parameters_bytes: Bytes of these.
        batch_kind: What a batch is: tensors, mapping, text or objects.
        masked_ratio: Share of the places in the first batches that their attention masks leave out.
        masked_beyond_ratio: Share of those that all masks of a batch leave out, beyond its longest text.
        sample_form: What a sample is, where torch's own collation puts samples together: tensor, sequence or mapping (of tensors).
        sample_parts: Parts of it: 1 for a tensor.
        random_samples: Whether samples come out different in each epoch; None where the collector could not tell.
        seeded_samples: Whether making a sample seeds a generator: what it draws is the same in every epoch.
        batch_parts: Share of making a batch that its parts take: `sampler` (choosing samples; none of it is a worker's), `dataset`
            and `collate`; timed where the training process makes it, sampled in workers; empty where nobody did either.
        stream: Whether the data set has no indices, and only yields samples one after the other.
        stream_splits: Whether its workers share out what it yields; None where nobody knows.
        environment: Variables that slow a run down, and how many threads it may use; None where nobody recorded them.
        environment_changed: Those of them that the program set itself, or a library that it imports.
        script: Name of the script that was recorded, or of the module after `-m`; None where it was none.
        launches: Whether `script` is no Python file but a program that starts one, such as `accelerate`.
        arguments: Its arguments; `...` stands for each that is not to be handed around.
        command: What recorded the trace, word by word, without folders; empty where `advisor collect` did not.
        gc_recorded: Whether passes of the garbage collector are in the trace, so that where none is, none was.
    """

    cores: int | None
    num_workers: int | None
    own_workers: int | None
    own_processes: bool
    pin_memory: bool | None
    batch_size: int | None
    batches_per_step: float | None
    whole_batches: bool
    dataset_name: str | None
    dataset_length: int | None
    dataset_bytes: int | None
    profiled_step_ns: int | None
    unprofiled_step_ns: int | None
    core_wait_ratio: float | None
    python_slowness: float | None
    core_slowness: float | None
    core_steadiness: float | None
    process_cores: float | None
    worker_cpu_ratio: float | None
    worker_core_wait_ratio: float | None
    worker_private_bytes: int | None
    memory_bytes: int | None
    memory_available_bytes: int | None
    intra_op_threads: int | None
    cpu_features: frozenset[str] | None
    torch_version: tuple[int, int] | None
    parameters: int | None
    parameters_bytes: int | None
    batch_kind: str | None
    masked_ratio: float | None
    masked_beyond_ratio: float | None
    sample_form: str | None
    sample_parts: int | None
    random_samples: bool | None
    seeded_samples: bool
    batch_parts: dict[str, float]
    stream: bool
    stream_splits: bool | None
    environment: dict[str, str] | None
    environment_changed: frozenset[str]
    script: str | None
    launches: bool
    arguments: tuple[str, ...]
    command: tuple[str, ...]
    gc_recorded: bool

    @property
    def leading_part(self) -> str | None:
        """The part of making a batch that takes most of it: `sampler`, `dataset` or `collate`; None where none is known to."""
        return next((name for name, ratio in self.batch_parts.items() if ratio >= _LEADS), None)

    @property
    def worker_wants_ratio(self) -> float | None:
        """Share of the time in which a loader's worker computes, or would with a core; None where nobody sampled it."""
        used = self.worker_cpu_ratio
        return None if used is None else used + (self.worker_core_wait_ratio or 0.0)

    @property
    def workers_lack_cores(self) -> bool:
        """Whether the loader's workers lacked a core for longer than they had one, whoever had it; no where nobody sampled it."""
        used, lacked = self.worker_cpu_ratio, self.worker_core_wait_ratio
        return used is not None and lacked is not None and lacked > used

    @property
    def workers_crowded_ratio(self) -> float | None:
        """Share of the time in which others had the cores of the loader's workers.

        None where workers ran for longer than they lacked a core, where there are more of them than cores beside training, as then
        they lack them by the program's own doing, and where nobody sampled it.
        """
        enough = self.cores is not None and self.num_workers is not None and self.num_workers <= max(self.cores - 1, 1)
        return self.worker_core_wait_ratio if enough and self.workers_lack_cores else None

    @property
    def profiler_ns(self) -> int | None:
        """What the profiler adds to a step; 0 where it took no longer, None where nobody measured it."""
        if not self.profiled_step_ns or not self.unprofiled_step_ns:
            return None
        return max(0, self.profiled_step_ns - self.unprofiled_step_ns)


def by_command(meta: Meta) -> bool:
    """Whether a command of `advisor` made the recording: its program has no profiler of its own to change."""
    return "command" in meta.advisor


def collected(meta: Meta) -> Collected:
    """Reads the top-level key `advisor`, believing nothing about its shape."""
    top = meta.advisor
    loader, dataset, threads = dict_of(top.get("loader")), dict_of(top.get("dataset")), dict_of(top.get("threads"))
    samples, script = dict_of(top.get("samples")), dict_of(top.get("script"))
    memory, sample = dict_of(samples.get("memory")), dict_of(dataset.get("sample"))
    own = dict_of(loader.get("own_workers"))
    stream, counted = dict_of(top.get("stream")), {} if _brief(samples.get("seconds")) else samples
    length, size = whole_of(dataset.get("length")), whole_of(dataset.get("sample_bytes"))
    return Collected(
        cores=_cores(top),
        num_workers=whole_of(loader.get("num_workers")),
        own_workers=whole_of(own.get("workers")) or None,
        own_processes=own.get("processes") is True,
        pin_memory=loader["pin_memory"] if isinstance(loader.get("pin_memory"), bool) else None,
        batch_size=whole_of(loader.get("batch_size")) or whole_of(top.get("batch_size")),
        batches_per_step=mean_of([dict_of(top.get("steps")).get("batches_per_step")], _MOST_BATCHES),
        whole_batches="batch_size" in loader and loader["batch_size"] is None and bool(whole_of(top.get("batch_size"))),
        dataset_name=text_of(dataset.get("name")),
        dataset_length=length,
        dataset_bytes=length * size if length is not None and size is not None else None,
        profiled_step_ns=whole_of(top.get("profiled_step_ns")),
        unprofiled_step_ns=whole_of(top.get("unprofiled_step_ns")),
        core_wait_ratio=mean_of([top.get("core_wait_ratio")], _MOST_CORES),
        python_slowness=_slowness(dict_of(top.get("python_loop")), "mean_ns"),
        core_slowness=_slowness(dict_of(top.get("python_loop")), "median_ns"),
        core_steadiness=_steadiness(dict_of(top.get("python_loop"))),
        process_cores=mean_of([counted.get("process_cpu_cores")], _MOST_CORES),
        worker_cpu_ratio=mean_of(counted.get("worker_cpu_ratio"), _MOST_CORES),
        worker_core_wait_ratio=mean_of(samples.get("worker_core_wait_ratio"), 1),
        worker_private_bytes=_bytes(mean_of(samples.get("worker_private_bytes"), _MOST_BYTES)),
        memory_bytes=whole_of(memory.get("total_bytes")),
        memory_available_bytes=whole_of(memory.get("available_bytes")),
        intra_op_threads=whole_of(threads.get("intra_op")),
        cpu_features=texts_of(top.get("cpu_features")),
        torch_version=version_of(dict_of(top.get("versions")).get("torch")),
        parameters=whole_of(dict_of(top.get("model")).get("parameters")),
        parameters_bytes=whole_of(dict_of(top.get("model")).get("bytes")),
        batch_kind=text_of(dataset.get("batch_kind")),
        masked_ratio=mean_of([top.get("masked_ratio")], 1),
        masked_beyond_ratio=mean_of([top.get("masked_beyond_ratio")], 1),
        sample_form=text_of(sample.get("form")),
        sample_parts=whole_of(sample.get("parts")),
        seeded_samples=dataset.get("seeds") is True,
        random_samples=dataset["random"] if isinstance(dataset.get("random"), bool) else None,
        batch_parts=_shares(dict_of(top.get("batch_parts_ns"))) or _shares(_of_workers(dict_of(top.get("lines")))),
        stream=isinstance(top.get("stream"), dict),
        stream_splits=stream["splits"] if isinstance(stream.get("splits"), bool) else None,
        environment=words_of(top.get("environment")),
        environment_changed=texts_of(top.get("environment_changed")) or frozenset(),
        script=text_of(script.get("target")),
        launches=script.get("program") is True,
        arguments=tuple(word for word in list_of(script.get("arguments")) if isinstance(word, str)),
        command=tuple(word for word in list_of(top.get("command")) if isinstance(word, str)),
        gc_recorded=top.get("gc_recorded") is True,
    )


def _brief(seconds: Any) -> bool:
    """Whether so little time was looked at that CPU time says nothing."""
    known = mean_of([seconds], MOST)
    return known is not None and known < _LEAST_SAMPLED_S


def _cores(top: dict[str, Any]) -> int | None:
    cores, ranks = whole_of(top.get("usable_cores")) or whole_of(top.get("cpu_count")), whole_of(top.get("local_ranks"))
    return max(1, cores // ranks) if cores and ranks else cores


def _slowness(loop: dict[str, Any], of: str) -> float | None:
    turns, taken_ns = whole_of(loop.get("turns")), whole_of(loop.get(of))
    return taken_ns / turns / QUIET_TURN_NS if turns and taken_ns else None


def _steadiness(loop: dict[str, Any]) -> float | None:
    fastest_ns, mean_ns = whole_of(loop.get("fastest_ns")), whole_of(loop.get("mean_ns"))
    return min(1.0, fastest_ns / mean_ns) if fastest_ns and mean_ns else None


def _shares(parts: dict[str, Any]) -> dict[str, float]:
    """Each part over their sum; empty where one is no duration, or all take no time."""
    found = {name: whole_of(parts.get(name)) for name in _PARTS}
    known = {name: value for name, value in found.items() if value is not None and value < MOST}
    total = sum(known.values())
    return {name: value / total for name, value in known.items()} if len(known) == len(_PARTS) and total else {}


def _of_workers(lines: dict[str, Any]) -> dict[str, Any]:
    """The parts of a batch by what was sampled in the loader's workers; empty where nothing was."""
    workers = dict_of(lines.get("workers"))
    made, together = whole_of(workers.get("loader_ns")), whole_of(workers.get("collate_ns"))
    if made is None or together is None or together > made:
        return {}
    return {"sampler": 0, "dataset": made - together, "collate": together}


def _bytes(value: float | None) -> int | None:
    return None if value is None else round(value)
