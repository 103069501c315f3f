"""Clocked: worlds written as programs run: a host clock that moves with each call, streams that work in order, and a little noise.

    world = Clocked()
    for number in range(6):
        with world.step(number):
            world.load(40_000, workers=4)
            world.kernel_of("aten::linear/aten::addmm", GEMM, 300)
            world.read_value()

Times are microseconds. Noise is the same in each run of the same program: kernels vary by 2 %, the host's work by 10 %.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from building.builders import AUTOGRAD, MAIN, TraceBuilder


class Clocked(TraceBuilder):
    """A host clock and one clock a stream.

    Args:
        device: As of the builder.
        marks: Whether steps are marked with `ProfilerStep`.
        top: Further top-level keys.
        advisor: What `advisor collect` would have recorded.
    """

    def __init__(self, device: str | None = "cuda", *, marks: bool = True, **keys: Any) -> None:
        super().__init__(device, **keys)
        self.marks = marks
        self.now = 1_000_000.0
        self.thread = MAIN
        self.busy_until: dict[int, float] = {}
        self._random = random.Random(1)
        self._first = 5
        # Whether forward ops are recorded for a backward pass: then torch numbers them.
        self.recorded = False
        self._sequence = 0

    def _host(self, dur: float) -> float:
        return dur * self._random.uniform(0.9, 1.1)

    def _device(self, dur: float) -> float:
        return dur * self._random.uniform(0.98, 1.02)

    @contextmanager
    def marked(self, number: int) -> Iterator[None]:
        """One step of the program, marked where steps are."""
        begin = self.now
        yield
        if self.marks:
            self.step(self._first + number, begin, self.now - begin)
        self.now += 8

    def steps(self, count: int) -> Iterator[int]:
        """Steps of the program one after the other, numbered from 0; what is told inside the loop is of that step."""
        for number in range(count):
            with self.marked(number):
                yield number

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """A range of the user's or a library's, around what runs in it."""
        begin = self.now
        yield
        self.annotation(name, begin, self.now - begin, self.thread)

    @contextmanager
    def within(self, op: str, **args: Any) -> Iterator[None]:
        """An op around what runs in it."""
        begin = self.now
        self.now += 2
        yield
        self.now += 2
        # A node of the backward pass around it ends a little before the clock.
        self.op(op, begin, self.now - begin - 1.5, self.thread, **args)

    @contextmanager
    def backward(self) -> Iterator[None]:
        """Autograd's thread, until the main one goes on; without a device the main one does it."""
        self.now += 20
        self.thread = AUTOGRAD if self.device else MAIN
        yield
        self.thread = MAIN
        self.now += 10

    @contextmanager
    def node(self, name: str, **args: Any) -> Iterator[None]:
        """A node of the backward pass; `args` of its ops, as the number of the forward op that left it."""
        begin = self.now
        self.now += 4
        yield
        self.op(f"autograd::engine::evaluate_function: {name}", begin, self.now - begin, self.thread, **args)
        self.op(name, begin + 1, self.now - begin - 2, self.thread, **args)

    @contextmanager
    def stack(self, *frames: str) -> Iterator[None]:
        """Python frames, outermost first, around what runs in them."""
        begin = self.now
        yield
        for depth, frame in enumerate(frames):
            self.python(frame, begin + depth * 0.1, self.now - begin - depth * 0.2, self.thread)

    def idle(self, dur: float) -> None:
        """The host does something that no event tells of."""
        self.now += self._host(dur)

    def load(self, dur: float, *, workers: int = 0) -> None:
        """The loop asks the DataLoader for a batch."""
        dur = self._host(dur)
        self.loader(self.now, dur, workers=workers)
        self.now += dur + 3

    def host_op(self, path: str, dur: float, **args: Any) -> None:
        """Ops inside one another that work on the host alone."""
        dur = self._host(dur)
        for depth, op in enumerate(path.split("/")):
            self.op(op, self.now + depth * 0.5, dur - depth, self.thread, **args)
        self.now += dur + 1

    def kernel_of(
        self,
        path: str | None,
        name: str,
        dur: float,
        *,
        host: float = 12,
        call: float = 4,
        stream: int = 7,
        after: float = 0,
        api: str = "cudaLaunchKernel",
        args: dict[str, Any] | None = None,
        **kernel: Any,
    ) -> float:
        """Ops inside one another whose innermost launches a kernel; when that ends.

        Args:
            path: Names of the ops, outermost first, with slashes between; None for a launch outside of ops.
            name: Of the kernel.
            dur: Of the kernel.
            host: Of the outermost op.
            call: Of the launch call.
            stream: Where the kernel runs, in order.
            after: The kernel waits for this time too, as behind an event.
            api: The call that launches.
            args: Of the ops: shapes and types.
            kernel: Arguments of the kernel.
        """
        begin, host = self.now, self._host(host)
        ops = path.split("/") if path else []
        for depth, op in enumerate(ops):
            self.op(op, begin + depth * 0.5, host - depth, self.thread, **(args or {}), **self._numbered())
        at = begin + (host - call) * 0.6 if path else begin
        correlation = self.runtime(self._call(api), at, call, self.thread)
        start = max(at + call + 2, self.busy_until.get(stream, 0) + 1, after)
        end = start + self._device(dur)
        self.kernel(name, start, end - start, stream=stream, correlation=correlation, **kernel)
        self.busy_until[stream] = end
        self.now = begin + (host if path else call) + 1
        return end

    def graph(self, kernels: Sequence[tuple[str, float]], *, gap: float = 1, host: float = 150) -> None:
        """A captured graph, launched with one call."""
        correlation = self.runtime(self._call("cudaGraphLaunch"), self.now, host, self.thread)
        start = max(self.now + 60, self.busy_until.get(7, 0) + 1)
        for index, (name, dur) in enumerate(kernels):
            length = self._device(dur)
            self.kernel(name, start, length, correlation=correlation, **{"graph node id": index, "graph id": 3})
            start += length + gap
        self.busy_until[7] = start
        self.now += host + 5

    def copied(
        self,
        direction: str,
        size: int,
        *,
        pinned: bool = False,
        blocks: bool | None = None,
        rate: float = 12_000,
        stream: int = 7,
        path: str | None = "aten::to/aten::_to_copy/aten::copy_",
        args: dict[str, Any] | None = None,
    ) -> float:
        """A copy of so many bytes at so many bytes a microsecond; from or to pageable memory its call returns when it is done."""
        blocks = not pinned if blocks is None else blocks
        begin = self.now
        start = max(begin + 8, self.busy_until.get(stream, 0) + 1)
        end = start + max(1.5, self._device(size / rate))
        call = end - begin - 1 if blocks else 6
        for depth, op in enumerate(path.split("/") if path else []):
            self.op(op, begin + depth * 0.4, call + 5 - depth * 0.8, self.thread, **(args or {}))
        how = {"start": start, "dur": end - start, "size": size, "pinned": pinned, "stream": stream}
        self.copy(direction, begin + 3, call, op=None, thread=self.thread, **how)
        self.busy_until[stream] = end
        self.now = begin + call + 7
        return end

    def read_value(self, path: str = "aten::item/aten::_local_scalar_dense") -> None:
        """`.item()`: a copy of a few bytes, and a wait for the stream."""
        begin = self.now
        start = max(begin + 10, self.busy_until.get(7, 0) + 1)
        end = start + 2
        for depth, op in enumerate(path.split("/")):
            self.op(op, begin + depth, end - begin + 8 - 2 * depth, self.thread)
        self.copy("DtoH", begin + 3, 4, start=start, dur=2, size=4, op=None, thread=self.thread)
        self.runtime(self._call("cudaStreamSynchronize"), begin + 9, max(end - begin - 6, 1), self.thread)
        self.busy_until[7] = end
        self.now = end + 10

    def synchronize(self, call: str = "cudaDeviceSynchronize") -> None:
        """The program waits for all streams."""
        end = max([self.now + 2, *self.busy_until.values()])
        self.runtime(self._call(call), self.now, end - self.now + 2, self.thread)
        self.now = end + 4

    def collective(
        self,
        kind: str,
        dur: float,
        *,
        kernel: str,
        stream: int = 20,
        after: float = 0,
        elements: int = 8 << 20,
        dtype: str = "BFloat16",
        group: str = "default_pg",
        size: int = 16,
    ) -> float:
        """A collective of NCCL, with what torch 2.4 and later records of it; when it ends."""
        begin = self.now
        facts = {
            "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements, "Group size": size,
            "dtype": dtype, "Process Group Name": "0", "Process Group Description": group,
        }  # fmt: skip
        self.op(f"c10d::{kind}_", begin, 25, self.thread)
        self.op("record_param_comms", begin + 2, 21, self.thread, **facts)
        self.annotation(f"nccl:{kind}", begin + 3, 19, self.thread)
        correlation = self.runtime("cudaLaunchKernelExC", begin + 6, 5, self.thread)
        start = max(begin + 13, self.busy_until.get(stream, 0) + 1, after)
        end = start + self._device(dur)
        self.kernel(kernel, start, end - start, stream=stream, correlation=correlation, **facts)
        self.busy_until[stream] = end
        self.now = begin + 26
        return end

    @property
    def numbered(self) -> int:
        """The number of the last forward op that was recorded for a backward pass."""
        return self._sequence

    def _numbered(self) -> dict[str, Any]:
        self._sequence += self.recorded
        return {"Sequence number": self._sequence, "Fwd thread id": 0} if self.recorded else {}

    def _call(self, name: str) -> str:
        return name.replace("cuda", "hip", 1) if self.device == "rocm" else name
