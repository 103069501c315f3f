"""Steps guessed from kernels: the outermost period, and only where it covers the recording; layers are none."""

from __future__ import annotations

import pytest

from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.verdict import judgement_of
from building.builders import TraceBuilder


def facts(builder: TraceBuilder) -> Facts:
    return Facts(builder.trace())


def kernel_sequence(*, gap: float, received: str = "DtoH") -> TraceBuilder:
    """Five repetitions of ten different kernels, with `gap` us between repetitions, where something is copied, and 1 us inside."""
    builder = TraceBuilder()
    at = 0.0
    for _ in range(5):
        for index in range(10):
            builder.launch(at, kernel_start=at + 5, kernel_dur=100, name=f"kernel_{index}")
            at += 101
        if received:
            builder.copy(received, at, 4, start=at + 5, dur=2, size=64)
        at += gap
    return builder


@pytest.mark.parametrize(("received", "found"), [("DtoH", True), ("HtoD", False), ("", False)])
def test_equal_pieces_with_gaps_are_steps_only_where_the_host_receives_something_of_each(
    received: str, *, found: bool
) -> None:
    assert facts(kernel_sequence(gap=50, received=received)).steps.source.startswith("inferred") is found


@pytest.mark.parametrize(("ends", "found"), [(True, True), (False, False)])
def test_layers_between_a_head_and_a_tail_make_a_pass_layers_alone_do_not(ends: bool, found: bool) -> None:
    assert source(Passes(passes=6, layers=12, layer_gap=20, ends=ends)).startswith("inferred") is found


@pytest.mark.parametrize("trains", [False, True])
def test_what_repeats_on_the_device_is_one_pass_of_the_model_where_nothing_trains(trains: bool) -> None:
    builder = kernel_sequence(gap=50)
    if trains:
        builder.op("autograd::engine::evaluate_function: AddmmBackward0", 10, 5)
    steps = facts(builder).steps
    assert steps.source == "inferred:kernel sequence of 10"
    assert (steps.requests, steps.one_pass) == (not trains, not trains)


def test_a_repeating_kernel_sequence_with_gaps_is_a_step() -> None:
    steps = facts(kernel_sequence(gap=50)).steps
    assert steps.source == "inferred:kernel sequence of 10"
    # Between the cuts: ten kernels of 100 us, nine gaps of 1 us and one of 51 us.
    assert set(steps.frame["dur_ns"]) == {1_060_000}


class Passes:
    """Passes through a model of equal layers, each of ten kernels, between an embedding and a head; gaps behind layers and passes.

    Args:
        passes: How many.
        layers: Layers of each.
        layer_gap: How long the device idles behind each layer, us; 1 us behind each other kernel.
        pass_gap: And behind each pass.
        before: When the host begins, us before the first launch.
        after: How long it goes on behind the last one.
        graph: What one call launches: nothing more than a kernel, a `layer` or a `pass`.
        ends: Whether there are an embedding and a head.
        received: Whether the host receives something behind each layer: then each is a step of the program.
        prompt: Layers that stand before the first pass, as a prompt is longer than a token.
    """

    def __init__(
        self, *, passes: int = 1, layers: int = 8, layer_gap: float = 1, pass_gap: float = 50, before: float = 0,
        after: float = 0, graph: str = "", ends: bool = True, prompt: int = 0, received: bool = False,
    ) -> None:  # fmt: skip
        self.builder = TraceBuilder()
        self.at, self.graph, self.received = before, graph, received
        self.spans: list[tuple[float, float]] = []
        self.call: int | None = None
        if before:
            self.builder.op("aten::empty", 0, before)
        for _ in range(prompt):
            self._layer(layer_gap)
        for _ in range(passes):
            began = self.at
            self.call = self._replay() if graph == "pass" else None
            if ends:
                self._kernel("embedding")
            for _ in range(layers):
                self._layer(layer_gap)
            for name in ("final_norm", "head", "argmax") if ends else ():
                self._kernel(name)
            self.spans.append((began, self.at - 1))
            self.at += pass_gap - 1
        if after:
            self.builder.op("aten::empty", self.at, after)

    def _replay(self) -> int:
        return self.builder.runtime("cudaGraphLaunch", self.at, 3)

    def _layer(self, gap: float) -> None:
        if self.graph == "layer":
            self.call = self._replay()
        for index in range(10):
            self._kernel(f"kernel_{index}")
        if self.received:
            self.builder.copy("DtoH", self.at, 2, start=self.at + 4, dur=1, size=64)
        self.at += gap - 1

    def _kernel(self, name: str) -> None:
        if self.call is None:
            self.builder.launch(self.at, kernel_start=self.at + 5, kernel_dur=100, name=name)
        else:
            self.builder.kernel(name, self.at + 5, 100, correlation=self.call)
        self.at += 101


def source(passes: Passes) -> str:
    return facts(passes.builder).steps.source


def test_passes_are_the_outermost_period_and_layers_are_not() -> None:
    """Decoding: 84 kernels a token, of which 80 are eight equal layers with a gap behind each."""
    assert source(Passes(passes=6, layer_gap=20)) == "inferred:kernel sequence of 84"
    assert source(Passes(passes=6, graph="pass", layer_gap=20)) == "inferred:kernel sequence of 84"
    assert source(Passes(passes=6, graph="layer", layer_gap=20)) == "inferred:kernel sequence of 84"


@pytest.mark.parametrize("passes", [1, 2])
def test_layers_of_a_pass_or_two_are_no_steps(passes: int) -> None:
    assert source(Passes(passes=passes, layers=20, layer_gap=20, pass_gap=20)) == "whole-trace"


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(("idle", "found"), [(300, True), (100_000, False)])
def test_a_guess_covers_what_the_host_does(place: str, idle: float, found: bool) -> None:
    passes = Passes(passes=6, **{place: idle})
    assert (source(passes) != "whole-trace") is found


@pytest.mark.parametrize(("prompt", "found"), [(0, True), (40, False)])
def test_a_long_prompt_before_a_few_tokens_is_left_to_the_whole_recording(prompt: int, found: bool) -> None:
    assert (source(Passes(passes=5, prompt=prompt)) != "whole-trace") is found


@pytest.mark.parametrize(("ends", "found"), [(True, False), (False, True)])
def test_kernels_that_are_not_of_the_sequence_speak_of_something_larger(ends: bool, found: bool) -> None:
    """An embedding before the first and a head behind the last repetition: those were layers."""
    assert (source(Passes(layers=20, layer_gap=20, ends=ends, received=True)) != "whole-trace") is found


@pytest.mark.parametrize(("graph", "found"), [("", True), ("layer", True), ("pass", False)])
def test_what_one_call_launches_is_not_several_steps(graph: str, found: bool) -> None:
    assert (source(Passes(layers=12, layer_gap=20, ends=False, graph=graph, received=True)) != "whole-trace") is found


def around(layers: Passes, how: str) -> Passes:
    """The layers, and around all of them what tells that they are parts."""
    (start, end), builder = layers.spans[0], layers.builder
    if how == "range":
        builder.annotation("model_inference", start, end - start)
    elif how == "module":
        builder.python("nn.Module: Transformer_0", start, end - start)
    elif how == "modules of each":
        for event in [event for event in builder.events if event["name"] == "kernel_0"]:
            builder.python("nn.Module: Layer_0", event["ts"] - 5, 1_000)
    elif how == "batch":
        builder.loader(start, 10)
    elif how == "optimizer":
        builder.optimizer(end - 10, 10)
    return layers


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("", True),
        ("modules of each", True),
        ("range", False),
        ("module", False),
        ("batch", False),
        ("optimizer", False),
    ],
)
def test_what_holds_several_repetitions_makes_them_parts(how: str, found: bool) -> None:
    layers = around(Passes(layers=12, layer_gap=20, ends=False, received=True), how)
    assert (source(layers) != "whole-trace") is found


@pytest.mark.parametrize(("decoder", "found"), [(0, True), (60_000, False)])
def test_denoising_steps_before_a_decoder_of_images_are_part_of_a_request(decoder: float, found: bool) -> None:
    made = Passes(passes=12, layers=4)
    end = made.spans[-1][1]
    if decoder:
        made.builder.launch(end + 1, kernel_start=end + 10, kernel_dur=decoder, name="implicit_convolve_sgemm")
    assert (source(made) == "inferred:kernel sequence of 44") is found


def test_a_device_that_does_nothing_for_most_of_the_recording_is_not_compute_bound() -> None:
    """1.2 ms of equal layers in a second of Python: of the layers alone one would say that the model takes all of the time."""
    for before, bound in ((0, "compute"), (1_000_000, "python")):
        made = Passes(layers=12, layer_gap=20, ends=False)
        for event in made.builder.events:
            event["ts"] += before
        made.builder.op("aten::empty", 0, 10)
        measured = facts(made.builder)
        totals = {cause: measured.time.waterfall.owned(cause).total_ns for cause in CAUSES}
        assert judgement_of(measured, totals).verdict.bound_by == bound


def test_equal_layers_without_a_gap_are_no_steps() -> None:
    assert facts(kernel_sequence(gap=0)).steps.source == "whole-trace"
