"""Fixes fit the versions of the program: what it has goes unsaid, what is unknown is named, what it lacks gives way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import rules
from analyzer.engine.api_versions import APIS
from analyzer.engine.fitting import fitted
from analyzer.facts.recording.frameworks import Frameworks
from analyzer.facts.recording.versions import Versions, versions
from analyzer.finding import Advice, Finding, Saving
from building.builders import TraceBuilder

COMPILE = Advice("diff", "+model = torch.compile(model)", "Fuses.")
FUSED = Advice("diff", "-o = torch.optim.AdamW(p)\n+o = torch.optim.AdamW(p, fused=True)", "One pass.")
PLAIN = Advice("python", "y = f(x)", "On the whole tensor.")
UNKNOWN = Versions({})


def torch(major: int, minor: int, **others: tuple[int, int]) -> Versions:
    return Versions({"torch": (major, minor), **others})


def fixes(
    *advice: Advice, known: Versions, on_device: bool = True, imported: Mapping[str, None] | None = None
) -> list[Advice]:
    finding = Finding(why="", saving=Saving(), fix=advice, verify="", steps_seen=1)
    return list(fitted(finding, known, Frameworks(imported, frozenset(), frozenset()), on_device=on_device).fix)


def test_what_the_program_has_goes_unsaid() -> None:
    assert fixes(COMPILE, PLAIN, known=torch(2, 4)) == [COMPILE, PLAIN]


def test_an_unknown_version_is_named() -> None:
    (compiled,) = fixes(COMPILE, known=UNKNOWN)
    assert compiled.note == "Fuses. Needs torch 2.0 or newer."
    assert compiled.code == COMPILE.code


def test_what_is_as_old_as_any_trace_needs_nothing() -> None:
    assert fixes(PLAIN, known=UNKNOWN) == [PLAIN]


def test_a_fix_that_the_program_cannot_follow_gives_way() -> None:
    assert fixes(COMPILE, PLAIN, known=torch(1, 13)) == [PLAIN]


def test_the_only_fix_says_what_to_upgrade() -> None:
    (compiled,) = fixes(COMPILE, known=torch(1, 13))
    assert compiled.note == "Fuses. Needs torch 2.0 or newer; this program ran with torch 1.13: upgrade first."


def test_a_file_that_only_an_old_torch_writes_tells_as_much() -> None:
    assert fixes(COMPILE, PLAIN, known=Versions({}, torch_before=(1, 13))) == [PLAIN]
    (compiled,) = fixes(COMPILE, known=Versions({}, torch_before=(2, 3)))
    assert "Needs torch 2.0 or newer." in compiled.note


@pytest.mark.parametrize(
    ("known", "on_device", "follows"),
    [
        (torch(2, 0), True, True),
        (torch(2, 3), True, True),
        (torch(1, 13), True, False),
        (torch(2, 3), False, False),  # on the CPU one kernel for all parameters came later
        (torch(2, 4), False, True),
    ],
)
def test_what_runs_on_the_cpu_and_on_a_device_came_at_different_times(
    known: Versions, *, on_device: bool, follows: bool
) -> None:
    assert (FUSED in fixes(FUSED, PLAIN, known=known, on_device=on_device)) is follows


@pytest.mark.parametrize(
    ("python", "minor", "follows"),
    [((3, 11), 1, True), ((3, 12), 3, False), ((3, 12), 4, True), ((3, 13), 5, False), ((3, 13), 6, True)],
)
def test_the_compiler_needs_a_torch_that_knows_the_python(
    python: tuple[int, int], minor: int, *, follows: bool
) -> None:
    assert (COMPILE in fixes(COMPILE, PLAIN, known=torch(2, minor, python=python))) is follows


AUTOCAST = Advice("diff", '+with torch.autocast("cuda", dtype=torch.bfloat16):', "Half the bytes.")
GRAPHED = Advice("python", "model = torch.cuda.make_graphed_callables(model, (example,))", "One call.")


@pytest.mark.parametrize(
    ("advice", "card", "cuda", "needs"),
    [
        (COMPILE, (7, 0), (12, 6), None),
        (COMPILE, (6, 1), (12, 6), "compute capability 7.0 or newer; this program ran with compute capability 6.1"),
        (COMPILE, None, (12, 6), "compute capability 7.0 or newer."),
        (AUTOCAST, (8, 0), (12, 6), None),
        (AUTOCAST, (7, 5), (12, 6), "compute capability 8.0 or newer; this program ran with compute capability 7.5"),
        (GRAPHED, (7, 0), (11, 0), None),
        (GRAPHED, (7, 0), (10, 2), "CUDA 11.0 or newer; this program ran with CUDA 10.2"),
        (GRAPHED, (7, 0), None, "CUDA 11.0 or newer."),
    ],
)
def test_a_card_and_its_cuda_are_conditions_too(
    advice: Advice, card: tuple[int, int] | None, cuda: tuple[int, int] | None, needs: str | None
) -> None:
    stated = {"compute capability": card, "CUDA": cuda}
    known = Versions(
        {"torch": (2, 4), **{name: version for name, version in stated.items() if version is not None}}, on_cuda=True
    )
    (fix,) = fixes(advice, known=known)
    assert (fix == advice) is (needs is None)
    assert needs is None or needs in fix.note
    # On the CPU, and on cards of other makers, neither is asked for.
    assert fixes(advice, known=torch(2, 4)) == [advice]
    assert fixes(advice, known=known, on_device=False) == [advice]


@pytest.mark.parametrize(
    ("version", "on_device", "refused"), [((2, 11), True, True), ((2, 12), True, False), ((2, 4), False, False)]
)
def test_adagrad_is_fused_on_a_device_later_than_on_the_cpu(
    version: tuple[int, int], on_device: bool, refused: bool
) -> None:
    adagrad = Advice("diff", "+o = torch.optim.Adagrad(p, fused=True)", "One pass.")
    assert (fixes(adagrad, PLAIN, known=torch(*version), on_device=on_device) == [PLAIN]) is refused


@pytest.mark.parametrize(
    ("device", "version", "kept"),
    [("cuda", "2.11.0", True), ("rocm", "2.11.0", False), ("rocm", "2.12.0", True)],
)
def test_segments_grow_on_cards_of_amd_from_a_later_version_on(device: str, version: str, kept: bool) -> None:
    grown = Advice("shell", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "Blocks grow.")
    builder = TraceBuilder(device, advisor={"versions": {"torch": version}})
    builder.launch(10, kernel_start=20, kernel_dur=30)
    found = fixes(grown, PLAIN, known=versions(builder.trace().meta))
    assert (grown in found) is kept


@pytest.mark.parametrize(
    ("cards", "found"),
    [([(8, 0), (8, 0)], (8, 0)), ([(8, 0), (7, 5)], None), ([], None), ([("8", 0)], None)],
)
def test_the_compute_capability_is_that_of_all_cards_of_the_machine(
    cards: list[tuple[object, object]], found: tuple[int, int] | None
) -> None:
    listed = [
        {"id": number, "name": "card", "computeMajor": major, "computeMinor": minor}
        for number, (major, minor) in enumerate(cards)
    ]
    builder = TraceBuilder(top={"deviceProperties": listed, "cuda_runtime_version": 12060})
    builder.launch(10, kernel_start=20, kernel_dur=30)
    known = versions(builder.trace().meta)
    assert known.on_cuda
    assert known.known.get("compute capability") == found
    assert known.known["CUDA"] == (12, 6)


def test_lines_that_go_and_prose_need_nothing() -> None:
    less = Advice("diff", "-model = torch.compile(model)", "Leave it.")
    prose = Advice("text", "Without torch.compile it would start sooner.")
    assert fixes(less, prose, known=torch(1, 8)) == [less, prose]


def test_each_package_is_named_once_with_its_own_version() -> None:
    both = Advice(
        "python", "x = v2.functional.to_dtype(x, torch.float32, scale=True)\nm = torch.compile(m)\nv2.Resize(9)"
    )
    (found,) = fixes(both, known=UNKNOWN)
    assert found.note == "Needs torch 2.0 and torchvision 0.16 or newer."
    (found,) = fixes(both, known=torch(2, 1, torchvision=(0, 15)))
    assert "this program ran with torchvision 0.15" in found.note


def test_versions_are_read_from_what_the_collector_recorded() -> None:
    advisor = {
        "versions": {"torch": "2.4.1+cu121", "python": "3.12.3", "cuda": "12.1", "rocm": None},
        "frameworks": {"imported": {"lightning": "2.5.0.post0", "odd": 7}},
    }
    found = versions(TraceBuilder(None, advisor=advisor).step(0, 0, 100).trace().meta)
    assert found.known == {"torch": (2, 4), "python": (3, 12), "cuda": (12, 1), "lightning": (2, 5)}
    assert found.has("torch", (2, 4)) is True
    assert found.has("timm", (1, 0)) is None


@pytest.mark.parametrize("advisor", [None, {"versions": 3}, {"versions": {"torch": [2]}}, {"frameworks": ["timm"]}])
def test_nothing_is_believed_about_the_shape(advisor: dict[str, object] | None) -> None:
    assert versions(TraceBuilder(None, advisor=advisor).step(0, 0, 100).trace().meta).known == {}


SHARDED = Advice("python", 'ds_config["communication_data_type"] = "bf16"   # DeepSpeed', "Half the bytes.")


@pytest.mark.parametrize(
    ("imported", "given"),
    [(None, [SHARDED, PLAIN]), ({"deepspeed": None}, [SHARDED, PLAIN]), ({"lightning": None}, [PLAIN])],
)
def test_flags_of_a_framework_that_is_not_in_use_give_way(
    imported: dict[str, None] | None, given: list[Advice]
) -> None:
    assert fixes(SHARDED, PLAIN, known=torch(2, 8), imported=imported) == given


@pytest.mark.parametrize("given", [True, False])
def test_what_a_fix_is_called_elsewhere_is_no_condition(given: bool) -> None:
    more = Advice("python", f'schedule = f(4)\n{"# DeepSpeed: " if given else ""}ds_config["steps"] = 4', "More.")
    assert (more in fixes(more, PLAIN, known=torch(2, 8), imported={"lightning": None})) is given


# Every fix in the rules: what it names of torch's stands in the table, or is as old as the oldest traces.

AS_OLD_AS_TORCH_1_8 = """
_foreach_add_ _foreach_mul_ arange as_tensor autograd.grad autograd.set_detect_anomaly backends.cudnn.benchmark bfloat16 bincount
bmm bool cat cdist channels_last contiguous_format cuda.Event cuda.Stream cuda.current_stream cuda.set_device
cuda.stream cuda.synchronize
distributed.all_reduce distributed.all_to_all_single distributed.get_world_size distributed.init_process_group empty eye
float32 from_numpy full int32
isclose jit.script logsumexp multinomial nn.Conv2d nn.functional.one_hot nn.functional.pad nn.parallel.DistributedDataParallel
 no_grad nn.utils.rnn.pack_sequence nn.utils.rnn.pad_sequence nn.utils.vector_to_parameters ones_like optim optim.Adam optim.SGD
 optim.SparseAdam profiler.schedule rand randint randperm
relu repeat_interleave save set_num_threads stack tanh tensor uint8 utils.checkpoint utils.data.IterableDataset where zeros
zeros_like
"""
_NAME = re.compile(r"\btorch\.((?:\w+\.)*\w+)")


def code_of_fixes() -> Iterator[tuple[str, str]]:
    """The code of every fix that is written out in the rules, with its place."""
    for path in sorted(Path(rules.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Advice":
                language, code = node.args[0], node.args[1]
                if isinstance(language, ast.Constant) and language.value != "text":
                    parts = [one.value for one in ast.walk(code) if isinstance(one, ast.Constant)]
                    yield f"{path.parent.name}/{path.name}:{node.lineno}", "".join(map(str, parts))


def test_every_name_in_a_fix_has_a_version() -> None:
    unknown, old = {}, set()
    for place, code in code_of_fixes():
        lines = [line.partition("#")[0] for line in code.splitlines() if not line.startswith("-")]
        for line in lines:
            for match in _NAME.finditer(line):
                name = match[1].rstrip(".")
                listed = any(api.package == "torch" and api.pattern.search(line) for api in APIS)
                if not listed and name in AS_OLD_AS_TORCH_1_8.split():
                    old.add(name)
                elif not listed:
                    unknown[place] = name
    assert not unknown
    assert sorted(old) == sorted(AS_OLD_AS_TORCH_1_8.split())
