"""KE005: a skinny product that takes five times as long as an MI300X needs for it."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.finding import Confidence, State
from analyzer.hardware.operators import Operator
from analyzer.hardware.shortfall import reasons, shortfalls
from analyzer.hardware.work import work_of
from building.builders import TraceBuilder
from programs.hardware import layer
from rules.kernels.far_from_roofline import RULE
from running.one_rule import judged, run

# 2 * 4096^3 at 1307.4 TFLOP/s take 105 us.
LEAST_US = 2 * 4096**3 / 1307.4e6


def world(
    *, dur: float = 500, sizes: tuple[int, int, int] = (4096, 4096, 4096), calibrated: float | None = None
) -> TraceBuilder:
    """Steps of 2 ms, each with two products and their kernels.

    Args:
        dur: Of a kernel, us.
        sizes: M, K, N.
        calibrated: FLOP/s that were measured of a CPU without device, instead of an MI300X.
    """
    builder = TraceBuilder(device="rocm" if calibrated is None else None)
    if calibrated is not None:
        told = {"device": "cpu", "threads": 2, "flops_per_s": {"fp32": calibrated}, "bytes_per_s": 2e10}
        builder.top["advisor"] = {"calibration": told}
    for number in range(3):
        at = number * 2_000
        builder.step(number, at, 2_000)
        for index in range(2):
            if calibrated is None:
                layer(builder, at + 10 + 700 * index, sizes=sizes, dur=dur)
            else:
                rows, depth, columns = sizes
                dims = {"Input Dims": [[rows, depth], [depth, columns]], "Input type": ["float"] * 2}
                builder.op("aten::mm", at + 10 + 900 * index, dur, **dims)
    return builder


def test_fires_with_what_is_above_the_roofline() -> None:
    found = judged(RULE, world())
    above = 2 * (500 - LEAST_US)
    assert found.finding.saving.kernel_ns == pytest.approx(3 * above * 1_000, rel=1e-3)
    assert "reaches 21 %" in found.finding.why
    # 32 x 32 tiles fill 304 units three times and a little: the shape does not tell why.
    assert "partly empty" not in found.finding.why
    assert found.finding.confidence is Confidence.LOW


@pytest.mark.parametrize(("dur", "state"), [(LEAST_US / 0.39, State.FIRED), (LEAST_US / 0.41, State.CLEAR)])
def test_boundary_of_the_peak(dur: float, state: State) -> None:
    assert run(RULE, world(dur=dur)).state is state


def test_boundary_of_the_share_of_the_step() -> None:
    assert run(RULE, world(dur=500), {"min_ratio": 0.38}).state is State.FIRED
    assert run(RULE, world(dur=500), {"min_ratio": 0.41}).state is State.CLEAR


def test_a_reason_raises_confidence_and_names_the_fix() -> None:
    found = judged(RULE, world(sizes=(4096, 4096, 9))).finding
    assert found.confidence is Confidence.MEDIUM
    fixes = " ".join(advice.code for advice in found.fix)
    assert "multiple of 8" in fixes
    assert "one product of several" in fixes


def test_without_peaks_it_cannot_tell() -> None:
    builder = world()
    builder.top["deviceProperties"] = [builder.top["deviceProperties"][0] | {"numSms": 38}]
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_without_shapes_it_cannot_tell() -> None:
    builder = world()
    for event in builder.events:
        event.get("args", {}).pop("Input Dims", None)
        event.get("args", {}).pop("Input type", None)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_on_a_cpu_what_was_measured_counts() -> None:
    # 2 * 256^3 in 800 us are 42 GFLOP/s.
    far, near = (run(RULE, world(dur=800, sizes=(256, 256, 256), calibrated=peak)) for peak in (2e11, 6e10))
    assert (far.state, near.state) == (State.FIRED, State.CLEAR)
    skinny = Facts(world(dur=800, sizes=(1024, 1024, 4), calibrated=2e11).trace())
    (one,) = shortfalls(skinny)
    assert one.place.side == "memory"
    assert one.reasons == ("skinny: one side of [1024, 1024] x [1024, 4] is 4 long",)
    (one,) = shortfalls(Facts(world(dur=800, sizes=(4096, 32, 32), calibrated=2e11).trace()))
    assert one.reasons == ("skinny: one side of [4096, 32] x [32, 32] is 32 long",)
    (one,) = shortfalls(Facts(world(dur=800, sizes=(4096, 33, 40), calibrated=2e11).trace()))
    assert not one.reasons


@pytest.mark.parametrize(("lacked", "state"), [(0.0, State.FIRED), (0.1, State.FIRED), (0.6, State.CANNOT_TELL)])
def test_on_a_cpu_other_programs_may_have_had_the_core_meanwhile(lacked: float, state: State) -> None:
    """30 % of what was measured: with a core for 40 % of the time that is 75 %."""
    sizes = (512, 512, 512)
    builder = world(dur=2 * 512**3 / 1e6 / 0.3, sizes=sizes, calibrated=1e12)
    builder.top["advisor"]["core_wait_ratio"] = lacked
    assert Facts(builder.trace()).steps.ratio(Facts(builder.trace()).time.without_core_ns) == pytest.approx(lacked)
    assert run(RULE, builder).state is state


def told(
    op: str, dims: str, kind: str, values: str = "", processors: int | None = 132, us: float = 500
) -> tuple[str, ...]:
    types = f'["{kind}", "{kind}", "{kind}"]'
    work = work_of(op, dims, types, values)
    return reasons(Operator(op, dims, types, 1, round(us * 1_000), work, {}), processors)


@pytest.mark.parametrize(
    ("op", "dims", "kind", "said"),
    [
        ("aten::mm", "[[4096, 4096], [4096, 4096]]", "Half", ()),
        ("aten::mm", "[[4096, 4096], [4096, 4095]]", "Half", ("misaligned: 4095 not a multiple of 8",)),
        ("aten::mm", "[[4096, 4096], [4096, 4095]]", "float", ()),
        ("aten::mm", "[[512, 4096], [4096, 512]]", "Half", ("small: 16 tiles of 128 x 128 for 132 multiprocessors",)),
        (
            "aten::mm", "[[1664, 4096], [4096, 1664]]", "Half",
            ("the last of 2 rounds is partly empty: 169 tiles for 132 multiprocessors",),
        ),
        ("aten::bmm", "[[64, 256, 64], [64, 64, 256]]", "Half", ()),
        # The tiles are those of 8192 columns, not of the 256 that are summed over; of groups it is not known how large they are.
        ("aten::_scaled_mm", "[[2048, 256], [256, 8192], []]", "c10::Float8_e4m3fn", ()),
        ("aten::_scaled_mm", "[[512, 8192], [8192, 512], []]", "c10::Float8_e4m3fn",
         ("small: 16 tiles of 128 x 128 for 132 multiprocessors",)),
        ("aten::addmm_", "[[512, 512], [512, 4096], [4096, 512]]", "Half",
         ("small: 16 tiles of 128 x 128 for 132 multiprocessors",)),
        ("aten::_grouped_mm", "[[512, 64], [8, 64, 512], [8]]", "c10::BFloat16", ()),
        (
            "aten::_scaled_dot_product_flash_attention", "[[8, 16, 4096, 80], [8, 16, 4096, 80], [8, 16, 4096, 80]]", "Half",
            ("a head dimension of 80 is padded to 96",),
        ),
        ("aten::_scaled_dot_product_flash_attention", "[[8, 16, 4096, 64], [8, 16, 4096, 64], [8, 16, 4096, 64]]", "Half", ()),
    ],
)  # fmt: skip
def test_shapes_tell_why(op: str, dims: str, kind: str, said: tuple[str, ...]) -> None:
    assert told(op, dims, kind) == said


@pytest.mark.parametrize(
    ("kind", "channels", "processors", "said"),
    [
        ("float", 3, 132, ("few channels: 3 in each input, of 4 that are loaded at once",)),
        ("float", 4, 132, ()),
        ("Half", 3, 132, ("few channels: 3 in each input, of 8 that are loaded at once",)),
        ("Half", 12, 132, ("misaligned: 12 channels, not a multiple of 8",)),
        ("float", 3, None, ()),
    ],
)
def test_images_have_few_channels(kind: str, channels: int, processors: int | None, said: tuple[str, ...]) -> None:
    dims = f"[[256, {channels}, 224, 224], [64, {channels}, 7, 7], [], [], [], [], [], [], []]"
    values = '["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"]'
    assert told("aten::convolution", dims, kind, values, processors) == said


def test_without_a_device_only_the_shape_itself_counts() -> None:
    assert told("aten::mm", "[[512, 4096], [4096, 512]]", "float", processors=None) == ()
    assert told("aten::mm", "[[512, 4096], [4096, 512]]", "Half", us=5)[-1].startswith(
        "a call is over in less than 10 us"
    )


@pytest.mark.parametrize(
    ("sizes", "likely"),
    [((4096, 4096, 4095), True), ((4096, 4096, 9), False), ((512, 4096, 512), False), ((4096, 4096, 4096), False)],
    ids=["misaligned", "skinny, too", "small", "not told"],
)
def test_only_sizes_that_can_be_rounded_up_fit_the_same_work(sizes: tuple[int, int, int], likely: bool) -> None:
    (one,) = shortfalls(Facts(world(sizes=sizes).trace()))
    assert one.padding_only == likely


def test_what_needs_more_work_in_each_call_is_no_likely_saving() -> None:
    saving = judged(RULE, world(dur=800, sizes=(1024, 1024, 4), calibrated=2e11)).finding.saving
    assert saving.kernel_ns > 0
    assert saving.usual_kernel_ns == 0


@pytest.mark.parametrize(("calibrated", "unstated"), [(2e11, True), (None, False)], ids=["on a CPU", "on a device"])
def test_where_nothing_is_likely_a_finding_without_a_device_says_why_it_states_no_saving(
    calibrated: float | None, *, unstated: bool
) -> None:
    """Small products: a device still has a bound, which the clock cannot exceed."""
    found = judged(RULE, world(dur=800, sizes=(256, 256, 256), calibrated=calibrated))
    assert (found.ns_per_step == 0) is unstated
    assert ("No saving is stated" in found.finding.why) is unstated


def test_no_profiler_of_a_device_is_advised_without_one() -> None:
    on_host = " ".join(
        advice.code for advice in judged(RULE, world(dur=800, sizes=(256,) * 3, calibrated=2e11)).finding.fix
    )
    assert "perf" in on_host
    assert "Nsight" not in on_host
    assert "ROCm Compute Profiler" in judged(RULE, world()).finding.fix[0].code


def test_an_operator_is_named_by_its_shapes() -> None:
    (table,) = judged(RULE, world(sizes=(4096, 4096, 9))).finding.evidence
    assert table.rows[0][0] == "mm 4096x4096, 4096x9"


@pytest.mark.parametrize(("us", "state", "reached"), [(2_000, State.CLEAR, ""), (3_000, State.FIRED, "reaches 14 %")])
def test_causal_attention_is_far_only_where_it_would_be_with_what_its_mask_leaves_out(
    us: float, state: State, reached: str
) -> None:
    """841 us if all were computed, half of that without what is masked: 42 and 28 % of its peak, or 21 and 14."""
    builder = TraceBuilder(device="rocm")
    for number in range(3):
        at = number * 5_000
        builder.step(number, at, 4_000)
        dims, values = [[4, 32, 4096, 128]] * 3 + [[]] * 3, ["", "", "", "0.", "True", "False"]
        args = {"Input Dims": dims, "Input type": ["c10::BFloat16"] * 3 + ["Scalar"] * 3, "Concrete Inputs": values}
        builder.op("aten::_scaled_dot_product_flash_attention", at + 10, 80, **args)
        builder.launch(at + 30, kernel_start=at + 150, kernel_dur=us, name="flash_fwd_kernel", op=None)
    found = run(RULE, builder)
    assert found.state is state
    if reached:
        assert reached in judged(RULE, builder).finding.why


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_GSU2_ISA942_IU1", State.FIRED),
        ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_GSU2_IU1", State.CANNOT_TELL),
    ],
)
def test_kernels_say_what_they_were_built_for_where_the_trace_does_not(name: str, state: State) -> None:
    """Eight tiles for what has 304 compute units, or nobody knows how many."""
    builder = TraceBuilder(device="rocm")
    builder.top["deviceProperties"] = []
    for number in range(3):
        at = number * 2_000
        builder.step(number, at, 2_000)
        layer(builder, at + 10, sizes=(256, 131_072, 512), dur=1_084, name=name)
    found = run(RULE, builder)
    assert found.state is state
    if state is State.FIRED:
        told = judged(RULE, builder)
        assert "8 tiles of 128 x 128 for 304 multiprocessors" in told.finding.why
        assert told.finding.confidence is Confidence.LOW
        assert any("does not name its device" in one for one in told.finding.caveats)
