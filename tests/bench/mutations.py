"""How many faults that are planted in the code do the tests find? Faults stand at places drawn by chance, one at a time.

    python tests/bench/mutations.py --seed 1711 --places 10            what a plain `pytest` finds
    python tests/bench/mutations.py --seed 1711 --places 10 --all-cases    what all cases find
    python tests/bench/mutations.py --seed 1711 --places 10 --near    what the tests of its folder find, by a part and by all

A fault is one of: a comparison turned to the next (`<` for `<=`, `==` for `!=`), `and` for `or`, `+` for `-`, `*` for `//`, a
number one larger, a condition turned round, a returned value replaced by None. Each is planted in a copy of the checkout, so that
nothing here is touched, and the tests stop at the first that fails. What none finds is printed to be read: it may change nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from nearby import PACKAGES, near  # noqa: E402

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def faulty(node: ast.AST) -> ast.AST | None:
    """The node with a fault; None where none can be planted."""
    made = copy.deepcopy(node)
    if isinstance(made, ast.Compare) and type(made.ops[0]) in _COMPARED:
        made.ops[0] = _COMPARED[type(made.ops[0])]()
    elif isinstance(made, ast.BoolOp):
        made.op = ast.Or() if isinstance(made.op, ast.And) else ast.And()
    elif isinstance(made, ast.BinOp) and type(made.op) in _COUNTED:
        made.op = _COUNTED[type(made.op)]()
    elif isinstance(made, ast.Constant) and type(made.value) in (int, float):
        made.value = made.value + 1
    elif isinstance(made, ast.If | ast.IfExp):
        made.test = ast.UnaryOp(ast.Not(), made.test)
    elif isinstance(made, ast.Return) and made.value is not None:
        made.value = ast.Constant(None)
    else:
        return None
    return made


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """Where a fault can be planted: in functions, not in what only types and documents read."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for statement in function.body:
            yield from (
                node for node in ast.walk(statement) if faulty(node) is not None and not _annotates(node, function)
            )


def _annotates(node: ast.AST, function: ast.FunctionDef) -> bool:
    hints = [one.annotation for one in ast.walk(function) if isinstance(one, ast.AnnAssign)]
    return any(node is inner for hint in hints for inner in ast.walk(hint))


def planted(path: Path, seed: random.Random) -> tuple[str, str, str]:
    """The file with a fault at a place drawn by chance, the line before, and the line after."""
    text = path.read_text(encoding="utf-8")
    chosen = seed.choice(list(places(ast.parse(text))))
    made = faulty(chosen)
    assert made is not None
    before = ast.get_source_segment(text, chosen)
    assert before is not None
    after = ast.unparse(made)
    if isinstance(chosen, ast.If):
        # A statement is as long as its body: the condition alone is replaced.
        before, after = ast.get_source_segment(text, chosen.test) or "", f"(not ({ast.unparse(chosen.test)}))"
        chosen = chosen.test
    elif isinstance(chosen, ast.expr):
        after = f"({after})"
    lines = text.splitlines(keepends=True)
    # Columns are of UTF-8.
    start = sum(len(line.encode()) for line in lines[: chosen.lineno - 1]) + chosen.col_offset
    data = text.encode()
    return (data[:start] + after.encode() + data[start + len(before.encode()) :]).decode(), before, after


def main() -> int:
    """Exit code 1 where a fault was not found, or by a part and not by all; 2 where tests fail without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1711)
    parser.add_argument("--places", type=int, default=10)
    parser.add_argument("--all-cases", action="store_true", help="every case of every test")
    parser.add_argument(
        "--near", action="store_true", help="the tests of the same folder, a part of their cases and all"
    )
    arguments = parser.parse_args()
    seed = random.Random(arguments.seed)
    files = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py") if any(places(_tree(path))))
    missed = missed_by_all = 0
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, "checkout")
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns("__pycache__"))
        if (ROOT.parent / "shared").is_dir():
            Path(folder, "shared").symlink_to((ROOT.parent / "shared").resolve())
        asked = ["--all-cases"] if arguments.all_cases else []
        if not arguments.near:
            by, seconds = _failing(checkout, asked)
            click.echo(f"without a fault {'nothing fails' if by is None else f'{by} fails'}, {seconds:.0f} s")
            if by is not None:
                return 2
        for number in range(arguments.places):
            path = seed.choice(files)
            text, before, after = planted(path, seed)
            target = checkout / path.relative_to(ROOT)
            target.write_text(text, encoding="utf-8")
            click.echo(f"{number + 1}. {path.relative_to(ROOT)}: {_line(before)} -> {_line(after)}")
            beside = str(near(path, ROOT).relative_to(ROOT))
            ways = [["--some-cases", beside], [beside]] if arguments.near else [asked]
            found = [_failing(checkout, way) for way in ways]
            for way, (by, seconds) in zip(ways, found, strict=True):
                told = "NOT FOUND" if by is None else f"found by {by[:120]}"
                click.echo("   " + " ".join([*way, f"{told}, {seconds:.0f} s"]))
            missed += found[0][0] is None
            missed_by_all += found[-1][0] is None
            shutil.copyfile(path, target)
            for test in {by.split()[1] for by, _ in found if arguments.near and by is not None and "::" in by}:
                if _failing(checkout, [test])[0] is not None:
                    click.echo(f"   {test} fails without the fault, too")
                    return 2
    click.echo(f"{arguments.places - missed} of {arguments.places} were found")
    if arguments.near:
        click.echo(f"{arguments.places - missed_by_all} by all cases")
    return 1 if missed > (missed_by_all if arguments.near else 0) else 0


def _failing(checkout: Path, asked: list[str]) -> tuple[str | None, float]:
    """The first test that fails, None where none does, and how long that took in seconds."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *asked]
    # The commands that tests start have to find the copy, too.
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment)
    by = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "pytest itself")
    return None if done.returncode == 0 else by, time.perf_counter() - began


def _line(code: str) -> str:
    return " ".join(code.split())[:100]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
