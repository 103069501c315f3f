"""KE003: half of the busy time looks up embeddings."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.kernels.gather_bound import RULE
from running.one_rule import judged, run

INDEX = "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(p)"
FUSED = "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 2ul>(p)"
ROW_BY_ROW = "void at::native::(anonymous namespace)::compute_grad_weight<float, long, float>"
OTHER = "volta_sgemm_64x64_nt"


def world(*, gather: float = 45_000, rest: float = 45_000, name: str = INDEX) -> TraceBuilder:
    """Three steps of 100 ms: a lookup and a product."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 2_000, kernel_dur=gather, name=name)
        builder.launch(at + 100, kernel_start=at + 2_000 + gather, kernel_dur=rest, name=OTHER)
    return builder


def test_fires_without_a_saving_it_cannot_know() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "50 % of the device's busy time" in found.finding.why


def test_fused_lookups_get_other_advice() -> None:
    assert "SplitTable" in judged(RULE, world()).finding.fix[0].code
    assert "SplitTable" not in judged(RULE, world(name=FUSED)).finding.fix[0].code


@pytest.mark.parametrize(
    ("name", "in_parts"),
    [
        ("void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(p)", True),
        ("void at::native::mbtopk::radixFindKthValues<float, unsigned int, unsigned int, 1>(p)", True),
        ("void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<float>(p)", False),
    ],
)
def test_topk_is_no_remedy_for_topk(name: str, *, in_parts: bool) -> None:
    fix = judged(RULE, world(name=name)).finding.fix
    assert ("parts.topk(k)" in fix[0].code) is in_parts
    assert any("`torch.topk` instead of a whole sort" in advice.code for advice in fix) is not in_parts


@pytest.mark.parametrize(("gather", "state"), [(29_900, State.CLEAR), (30_100, State.FIRED)])
def test_boundary(gather: float, state: State) -> None:
    assert run(RULE, world(gather=gather, rest=100_000 - gather)).state is state


def test_not_applicable_without_such_kernels() -> None:
    assert run(RULE, world(name=OTHER)).state is State.NOT_APPLICABLE


def gradient(*, rows: float = 8_000, name: str = "indexing_backward_kernel") -> TraceBuilder:
    """Steps of 100 ms: products, and an op that sorts for 2 ms and then adds rows up."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 100, kernel_dur=97_900 - rows, name=OTHER)
        builder.op("aten::_index_put_impl_", at + 1_000, 500)
        sort = "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>(p)"
        builder.launch(at + 1_010, kernel_start=at + 98_000 - rows, kernel_dur=2_000, name=sort, op=None)
        kernel = f"void at::native::(anonymous namespace)::{name}<float, 4>(long const*, long)"
        builder.launch(at + 1_030, kernel_start=at + 100_000 - rows, kernel_dur=rows, name=kernel, op=None)
    return builder


def test_the_gradient_of_an_index_is_told_with_its_sort() -> None:
    found = judged(RULE, gradient())
    assert found.ns_per_step == pytest.approx(10_000_000, rel=0.01)
    assert "gradient of `x[index]`" in found.finding.why
    assert "index_select" in found.finding.fix[0].code


@pytest.mark.parametrize(("rows", "state"), [(2_900, State.CLEAR), (3_100, State.FIRED)])
def test_boundary_of_the_gradient(rows: float, state: State) -> None:
    assert run(RULE, gradient(rows=rows)).state is state


def test_other_scatters_are_no_gradient_of_an_index() -> None:
    assert run(RULE, gradient(name="index_elementwise_kernel")).state is State.CLEAR


@pytest.mark.parametrize(
    ("name", "sorts"),
    [
        ("void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<float>(p)", True),
        ("void at::native::_scatter_gather_elementwise_kernel<128, 8, scatter_add>(p)", False),
    ],
)
def test_what_sorts_nothing_is_not_told_to_sort_less_first(name: str, *, sorts: bool) -> None:
    first = judged(RULE, world(name=name)).finding.fix[0].code
    assert first.startswith("Sort and search less" if sorts else "Index less often")


def embedding(gradient: float) -> TraceBuilder:
    """Three steps of 100 ms: a product, and the gradient of an embedding, whose op sorts first."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        builder.launch(at, kernel_start=at + 100, kernel_dur=80_000, name=OTHER)
        builder.op("aten::embedding_dense_backward", at + 100, 80)
        for order, (name, dur) in enumerate((("DeviceRadixSortOnesweepKernel<long>", 100), (ROW_BY_ROW, gradient))):
            builder.launch(
                at + 110 + 30 * order, kernel_start=at + 80_200 + 200 * order, kernel_dur=dur, name=name, op=None
            )
    return builder


@pytest.mark.parametrize(("gradient", "state"), [(4_000, State.CLEAR), (4_200, State.FIRED)])
def test_the_gradient_of_an_embedding_is_told_apart(gradient: float, state: State) -> None:
    found = run(RULE, embedding(gradient))
    assert found.state is state
    if state is State.FIRED:
        finding = judged(RULE, embedding(gradient))
        assert finding.ns_per_step == 0
        assert "gradient of embeddings: 4.3 ms" in finding.finding.why
        assert "one_hot" in finding.finding.fix[0].code
