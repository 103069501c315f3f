"""What is said of programs that answer: devices in turn, servers without requests, kernels compiled late, tensors to and fro."""

from __future__ import annotations

from building.builders import CUDA_DEVICE, TraceBuilder
from building.clocked import Clocked
from known.sayings import Saying, advised, explained, found
from stories.models import ADD, NVJET, layers

_COMPILES = ("triton/runtime/jit.py(591): run", "triton/compiler/compiler.py(318): compile")


def _two_devices(*, in_turn: bool, threads: bool = False) -> TraceBuilder:
    """Batches over two devices: the second works on what the first made, or beside it; launched by one thread, or by two."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.inside(f"batch {number}"):
            for device in (0, 1):
                world.thread += device * threads
                stream = 7 if in_turn else 7 + device
                for _ in range(20):
                    world.kernel_of("aten::linear/aten::mm", NVJET, 500, device=device, stream=stream)
                world.thread -= device * threads
            world.copied("DtoH", 64, stream=7 if in_turn else 8)
    world.top["deviceProperties"] = [dict(CUDA_DEVICE), {**CUDA_DEVICE, "id": 1}]
    return world


def _serving(frames: tuple[str, ...], *, trains: bool = False) -> TraceBuilder:
    """Answers with 300 ms between, in which the main thread is in some frames."""
    world = Clocked(marks=False)
    for number in range(6):
        with world.stack("serve.py(12): loop", *frames):
            world.now += 300_000
        with world.stack("serve.py(12): loop", "serve.py(20): answer"), world.inside(f"answer {number}"):
            layers(world, 6)
            if trains:
                world.optimizer(world.now, 400)
                world.now += 500
            world.copied("DtoH", 4_096)
    return world


def _late_kernels(*frames: str) -> TraceBuilder:
    """Steps of which the second holds 900 ms in some frames."""
    world = Clocked()
    for number in world.steps(6):
        with world.stack("infer.py(8): answer"):
            layers(world, 6)
            if number == 1:
                with world.stack(*frames):
                    world.idle(900_000)
            world.kernel_of(None, "_my_kernel", 40, api="cuLaunchKernel")
    return world


def _to_and_fro(*, back: int, trains: bool = False) -> TraceBuilder:
    """Ten tensors of 4 MiB go to the device in each pass, ten of another size or of the same come back."""
    world = Clocked()
    for _ in world.steps(5):
        for _ in range(10):
            world.copied("HtoD", 4 << 20)
        layers(world, 4)
        if trains:
            with world.backward(), world.node("MmBackward0"):
                world.kernel_of("aten::mm", NVJET, 400)
        for _ in range(10):
            world.copied("DtoH", back)
    return world


def _copy_of(*, longer_us: float, kernels: int) -> TraceBuilder:
    """Steps in which a copy to the host seems to last longer than it does, with kernels behind it on its stream."""
    world = Clocked()
    for _ in world.steps(4):
        layers(world, 30)
        world.copied("DtoH", 4 << 20, blocks=False)
        world.events[-1]["dur"] += longer_us
        for _ in range(kernels):
            world.kernel_of("aten::add", ADD, 20)
        world.now += longer_us * (kernels == 0)
        world.busy_until[7] += longer_us * (kernels == 0)
        world.synchronize()
    return world


def _products(*ops: str) -> TraceBuilder:
    """Steps of products by one kernel, which so many ops launch in turn."""
    world = Clocked()
    for _ in world.steps(4):
        for place in range(40):
            world.kernel_of(ops[place % len(ops)], "gemm_kernel", 300)
        world.kernel_of("aten::relu", ADD, 30)
    return world


def _decoding(*, single: int) -> TraceBuilder:
    """Passes of an engine that are a replayed graph, with so many kernels launched one by one behind it."""
    world = Clocked(marks=False)
    for _ in range(8):
        with world.inside("execute_context_0(0)_generation_4(4)"):
            world.graph([(NVJET, 20)] * 60)
            for _ in range(single):
                world.kernel_of("aten::linear/aten::mm", NVJET, 3, host=16)
            world.copied("DtoH", 64)
    return world


def _bound(builder: TraceBuilder) -> str:
    return explained(builder).summary.verdict.text.partition(":")[0]


def _in_turn(**how: bool) -> bool:
    return _bound(_two_devices(**how)) == "Queue-bound"


def _compiles(*frames: str) -> bool:
    return found("GR003", _late_kernels(*frames)) is not None


def _left_out(single: int) -> bool:
    return advised("ID001", _decoding(single=single), "capture that part")


def _waits(builder: TraceBuilder) -> bool:
    return _bound(builder) == "Waiting for work" and found("PY001", builder) is None and found("ID003", builder) is None


def _brought_back(builder: TraceBuilder) -> bool:
    one = found("XF001", builder)
    return one is not None and "comes back" in one.why


def _set_aside(builder: TraceBuilder) -> bool:
    return bool(len(builder.trace().quarantined))


_LOOP = ("asyncio/base_events.py(1922): _run_once", "selectors.py(451): select")
_BOTH = ("aten::linear/aten::mm", "aten::matmul/aten::bmm")
_GET = ("queue.py(154): get", "threading.py(355): wait")

ANSWERING = (
    Saying("devices work in turn", "the second on what the first made", True, lambda: _in_turn(in_turn=True)),
    Saying("devices work in turn", "side by side", False, lambda: _in_turn(in_turn=False)),
    Saying("devices work in turn", "another thread's device", False, lambda: _in_turn(in_turn=True, threads=True)),
    Saying("it waits for work", "a queue of threads", True, lambda: _waits(_serving(_GET))),
    Saying("it waits for work", "an event loop", True, lambda: _waits(_serving(_LOOP))),
    Saying("it waits for work", "code of its own", False, lambda: _waits(_serving(("serve.py(31): tokenize",)))),
    Saying("it waits for work", "a queue, in training", False, lambda: _waits(_serving(_GET, trains=True))),
    Saying("Triton compiles", "its compiler", True, lambda: _compiles(*_COMPILES)),
    Saying("Triton compiles", "tuning", True, lambda: _compiles("triton/runtime/autotuner.py(160): _bench")),
    Saying("Triton compiles", "its launcher", False, lambda: _compiles(_COMPILES[0])),
    Saying("Triton compiles", "a compiler of the user's", False, lambda: _compiles("compiler.py(318): compile")),
    Saying("what is sent comes back", "ten of equal size", True, lambda: _brought_back(_to_and_fro(back=4 << 20))),
    Saying("what is sent comes back", "ten of another size", False, lambda: _brought_back(_to_and_fro(back=1 << 20))),
    Saying("what is sent comes back", "in training", False, lambda: _brought_back(_to_and_fro(back=4 << 20, trains=True))),
    Saying("ops share a kernel", "two", True, lambda: "aten::bmm" in explained(_products(*_BOTH)).summary.verdict.text),
    Saying("ops share a kernel", "one", False, lambda: "aten::mm" in explained(_products(_BOTH[0])).summary.verdict.text),
    Saying("graphs leave kernels out", "400 beside them", True, lambda: _left_out(400)),
    Saying("graphs leave kernels out", "none", False, lambda: _left_out(0)),
    Saying("a copy is too long", "300 ms over 40 kernels", True, lambda: _set_aside(_copy_of(longer_us=300_000, kernels=40))),
    Saying("a copy is too long", "300 ms, nothing behind", False, lambda: _set_aside(_copy_of(longer_us=300_000, kernels=0))),
    Saying("a copy is too long", "10 us over 40 kernels", False, lambda: _set_aside(_copy_of(longer_us=10, kernels=40))),
)  # fmt: skip
