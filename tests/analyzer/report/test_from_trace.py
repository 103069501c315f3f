"""What a page takes from the trace itself: tables of operators and kernels, memory over time."""

from __future__ import annotations

import re

from analyzer.report import html
from analyzer.report.drawing.memory import memory as drawn
from analyzer.report.from_trace import FromTrace, from_trace
from analyzer.views.memory_curve import Allocator, MemoryCurve
from building.builders import PROCESS, TraceBuilder
from programs.hardware import explained
from showing import analyses

MIB = 1 << 20
SECRET = "hf_" + "abCD" * 6


def world(*, device: str | None = "cuda", memory: bool = True) -> TraceBuilder:
    """Four steps of an op that is named after a secret, with a kernel of that name where there is a device."""
    builder = TraceBuilder(device)
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op(f"mine::{SECRET}", at + 100, 6_000)
        if device:
            builder.launch(at + 200, kernel_start=at + 250, kernel_dur=7_000, name=f"kernel_{SECRET}", op=None)
        if memory:
            for place, delta in ((150, 4 * MIB), (9_000, -4 * MIB)):
                arguments = {"Addr": 1, "Bytes": delta, "Device Type": 1, "Device Id": 0}
                event = {"ph": "i", "name": "[memory]", "s": "t", "pid": PROCESS, "tid": PROCESS, "ts": at + place}
                builder.events.append({**event, "args": arguments})
    return builder


def captions(text: str) -> list[str]:
    """The tables of a page."""
    return re.findall(r"<caption[^>]*>(.*?)</caption>", text)


def page(builder: TraceBuilder, folder) -> str:
    """The page of a built trace."""
    made = explained(builder, folder)
    return html.render(made.analysis, from_trace(made))


def test_a_page_holds_every_operator_every_kernel_and_memory(tmp_path):
    text = page(world(), tmp_path)
    assert {"Every operator, a step", "Every kernel, a step", "What allocates on GPU 0, a step"} <= set(captions(text))
    assert "GPU 0: up to 4.0 MiB allocated in step 0; counted from the first event" in text


def test_without_a_device_there_are_no_kernels_and_without_memory_events_no_curve(tmp_path):
    text = page(world(device=None, memory=False), tmp_path)
    assert "Every operator, a step" in captions(text)
    assert "Every kernel, a step" not in captions(text)
    assert 'id="memory"' not in text


def test_names_of_the_trace_are_cleaned_unless_all_may_be_seen(tmp_path):
    made = explained(world(), tmp_path)
    for redacted in (True, False):
        found = from_trace(made, redacted=redacted)
        names = [row.name for row in (*found.operators, *found.kernels)]
        names += [one.name for curve in found.memory for one in curve.allocators]
        assert len(names) >= 3
        assert any(SECRET in name for name in names) is not redacted


def test_a_column_in_which_nothing_is_known_is_left_out(tmp_path):
    # No name of a kernel says whether it used tensor cores.
    text = page(world(), tmp_path)
    kernels = text.partition("Every kernel, a step</caption>")[2].partition("</thead>")[0]
    assert "Calls" in kernels
    assert "Tensor cores" not in kernels


def curve(**changed) -> MemoryCurve:
    """A device's memory: 1 MiB, 3 MiB, nothing; the allocator holds 4 MiB throughout."""
    values = {"reserved_bytes": (4 * MIB,) * 3, "relative": False, **changed}
    allocator = Allocator("aten::empty", 3 * MIB, 2.0, 2 * MIB, "")
    return MemoryCurve(
        device="GPU 0", start_ns=0, end_ns=9_000_000, allocated_bytes=(MIB, 3 * MIB, 0), peak_bytes=3 * MIB,
        peak_step=6, step_numbers=(5, 6), step_starts_ns=(-1_000, 4_500_000), allocators=(allocator,), **values,
    )  # fmt: skip


def heights(shape: str) -> list[float]:
    """Where the points of a path stand, from the top."""
    return [float(pair.split()[1]) for pair in re.findall(r"[\d.]+ [\d.]+", shape)]


def test_the_curve_is_drawn_against_what_the_allocator_holds():
    body = drawn(curve()).body
    held = heights(re.search(r'class="reserved" d="(.*?)"', body).group(1))
    area = heights(re.search(r'class="c-compute" d="(.*?)"', body).group(1))
    floor, top = max(area), min(area)
    assert len(set(held)) == 1
    # 3 of 4 MiB, to a tenth of a pixel.
    assert abs((floor - top) / (floor - held[0]) - 3 / 4) < 0.01
    # The step that began before the first event has no place.
    assert re.findall(r">step (\d+)<", body) == ["6"]


def test_without_what_is_held_the_peak_is_the_top():
    body = drawn(curve(reserved_bytes=())).body
    assert 'class="reserved"' not in body
    assert ">3.0 MiB<" in body


def test_an_untrusted_trace_shows_none_of_it():
    found = FromTrace(memory=(curve(),))
    assert 'id="memory"' in html.render(analyses.example(), found)
    assert 'id="memory"' not in html.render(analyses.unusable(), found)
