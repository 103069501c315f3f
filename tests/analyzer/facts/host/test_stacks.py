"""Source lines: which frame of the user's own code was running."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine, parse_frame, relative
from analyzer.spans.intervals import IntervalSet
from building.builders import AUTOGRAD, TraceBuilder


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        ("train.py(88): step", True),
        ("/home/someone/project/src/train.py(88): <module>", True),
        ("project/models/net.py(3): forward", True),
        ("<ipython-input-3-abc>(4): train", True),
        ("torch/nn/modules/module.py(1501): _call_impl", False),
        ("transformers/trainer.py(9): train", False),
        ("threading.py(937): _bootstrap", False),
        ("json/encoder.py(105): __init__", False),
        ("/usr/lib/python3.11/contextlib.py(75): inner", False),
        ("/opt/env/lib/python3.11/site-packages/mylib/a.py(5): f", False),
        ("/home/someone/project/.venv/x/a.py(5): f", False),
        (r"C:\envs\torch\Lib\site-packages\mylib\a.py(5): f", False),
        (r"C:\Python311\Lib\threading.py(5): f", False),
        (r"C:\Users\someone\project\train.py(5): f", True),
        ("/usr/lib/python3/dist-packages/mylib/a.py(5): f", False),
        ("/opt/conda/lib64/python3.10/json/decoder.py(5): f", False),
        ("/home/someone/lib/net.py(5): f", True),
        ("<frozen os>(804): getenv", False),
        ("<string>(2): __init__", False),
        ("/tmp/torchinductor_someone/ab/cab.py(7): call", False),
        ("/tmp/ipykernel_77/123.py(4): train", True),
        ("/root/.cache/huggingface/modules/net.py(7): forward", False),
        ("<torch_package_0>.net.py(7): forward", False),
        ("<built-in method item of Tensor object at 0x7f>", False),
        ("nn.Module: Linear_0", False),
        ("Python GC", False),
    ],
)
def test_frames_of_libraries_are_passed_over(name: str, mine: bool) -> None:
    assert (parse_frame(name) is not None) is mine


def test_paths_are_cut_to_the_project() -> None:
    files = ["/home/someone/work/train.py", "/home/someone/work/data/prepare.py", "util.py"]
    assert relative(files) == {files[0]: "train.py", files[1]: "data/prepare.py", "util.py": "util.py"}
    assert relative(["/home/someone/train.py"]) == {"/home/someone/train.py": "train.py"}


def test_the_innermost_frame_at_a_moment() -> None:
    builder = TraceBuilder(None)
    builder.python("train.py(1): main", 0, 1_000)
    builder.python("losses.py(9): loss", 100, 200)
    builder.python("torch/functional.py(4): norm", 150, 50)
    builder.op("aten::norm", 160, 10)
    facts = Facts(builder.trace())
    at = np.array([50, 170, 170, 250, 500, 2_000]) * 1_000
    assert [name.split("(")[0] for name in facts.host.stacks.nearest(0, at)] == [
        "train.py",
        "losses.py",
        "losses.py",
        "losses.py",
        "train.py",
        "",
    ]


def test_the_backward_thread_is_answered_by_the_main_thread() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, 1_000)
    builder.python("train.py(1): main", 0, 1_000)
    builder.op("aten::mm", 100, 10, thread=AUTOGRAD)
    facts = Facts(builder.trace())
    thread = int(facts.trace.ops["thread"].iloc[0])
    assert thread != facts.host.main_thread
    assert facts.host.stacks.commonest([thread], [105_000], facts.host.main_thread) == CodeLine(
        "train.py", None, "main", 1
    )


def test_call_stacks_of_old_torch() -> None:
    builder = TraceBuilder(None)
    stack = "/x/site-packages/torch/optim/sgd.py(3): step;/home/someone/work/train.py(51): <module>"
    builder.annotation("Optimizer.step#SGD.step", 0, 100)
    builder.op("aten::add_", 10, 20, **{"Call stack": stack})
    facts = Facts(builder.trace())
    # No op is open when the range starts: the first one inside answers.
    assert facts.host.stacks.commonest([0], [0], 0) is None
    assert facts.host.stacks.commonest([0], [0], 0, until_ns=[100_000]) == CodeLine("train.py", 51, "<module>")


def test_own_time_of_functions_in_a_gap() -> None:
    builder = TraceBuilder(None)
    builder.op("aten::mm", 0, 10)
    builder.python("train.py(1): main", 0, 1_000)
    builder.python("data.py(2): prepare", 200, 300)
    facts = Facts(builder.trace())
    found = facts.host.stacks.inside(0, IntervalSet.of([(100_000, 600_000)]))
    assert [(line.function, ns) for line, ns in found] == [("prepare", 300_000), ("main", 200_000)]


def test_without_stacks_nothing_is_known() -> None:
    builder = TraceBuilder(None)
    builder.op("aten::mm", 0, 10)
    facts = Facts(builder.trace())
    assert not facts.host.stacks.known
    assert facts.host.stacks.commonest([0], [5_000], 0) is None
    assert facts.host.stacks.inside(0, IntervalSet.of([(0, 10)])) == []


def test_a_function_that_torch_names_by_its_first_line_gets_the_line_that_ran_longest_where_one_stands_out() -> None:
    def lines(*shares: int) -> dict[str, object]:
        rows = [
            {"loader": False, "file": "train.py", "line": 3 + n, "function": "main", "begins": 1, "text": "", "ns": ns}
            for n, ns in enumerate(shares)
        ]
        return {"training": {"total_ns": 100, "loader_ns": 0, "rows": rows}}

    def place(*shares: int) -> CodeLine | None:
        builder = TraceBuilder(None, top={"advisor": {"lines": lines(*shares)}}).step(1, 0, 100)
        builder.python("train.py(1): main", 0, 100).op("aten::relu", 10, 10)
        facts = Facts(builder.trace())
        return facts.host.stacks.commonest([facts.host.main_thread], [10_000], facts.host.main_thread)

    assert place(10, 80, 10) == CodeLine("train.py", 4, "main", 1)
    assert place(25, 25, 25, 25) == CodeLine("train.py", None, "main", 1)


@pytest.mark.parametrize(("taken", "line"), [(20, None), (60, 4)])
def test_a_line_that_holds_far_more_than_what_is_looked_for_is_another_one(taken: int, line: int | None) -> None:
    """Half of `main` is its line 4: an op that takes a fifth of the recording is at another one."""
    rows = [
        {"loader": False, "file": "train.py", "line": 4 + n, "function": "main", "begins": 1, "text": "", "ns": ns}
        for n, ns in enumerate((50, 20, 30))
    ]
    lines = {"training": {"total_ns": 100, "loader_ns": 0, "rows": rows}}
    builder = TraceBuilder(None, top={"advisor": {"lines": lines}}).step(1, 0, 100)
    builder.python("train.py(1): main", 0, 100).op("aten::relu", 0, 100)
    facts = Facts(builder.trace())
    stacks, main = facts.host.stacks, facts.host.main_thread
    assert stacks.commonest([main], [0], main, until_ns=[taken * 1000]) == CodeLine("train.py", line, "main", 1)


def test_the_frame_of_a_module_names_no_line() -> None:
    builder = TraceBuilder(None).step(1, 0, 100).python("train.py(51): <module>", 0, 100)
    builder.op("aten::relu", 10, 10)
    facts = Facts(builder.trace())
    assert facts.host.stacks.commonest([facts.host.main_thread], [10_000], facts.host.main_thread) == CodeLine(
        "train.py", None, "<module>"
    )
