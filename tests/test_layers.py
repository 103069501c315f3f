"""What import-linter cannot promise by itself: that it sees every import, and that the order it holds is the whole one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from running.recorded import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = ("traces", "analyzer", "rules")
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
TOPICS = sorted(path for path in (ROOT / "analyzer" / "facts").rglob("*.py") if path.parent.name != "facts")


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def type_only(path: Path) -> Iterator[ast.ImportFrom]:
    """Imports that only a type checker follows."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (one for one in ast.walk(node) if isinstance(one, ast.ImportFrom))


@pytest.mark.slow
def test_the_linter_follows_imports_for_types() -> None:
    assert not LINTER.get("exclude_type_checking_imports", False)
    seen = grimp.build_graph(*PACKAGES, cache_dir=None)
    wanted = {
        (module_of(path), name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for one in type_only(path)
        for name in (one.module or "", *(f"{one.module}.{alias.name}" for alias in one.names))
        if name in seen.modules and name != module_of(path)
    }
    # `from analyzer.tui import x` imports the package, unless x is a module itself.
    hidden = {
        (importer, name)
        for importer, name in wanted
        if name not in seen.find_modules_directly_imported_by(importer)
        and not any(inner.startswith(f"{name}.") for inner in seen.find_modules_directly_imported_by(importer))
    }
    assert len(wanted) > 20
    assert hidden == set()


@pytest.mark.parametrize("path", TOPICS, ids=module_of)
def test_no_topic_of_facts_takes_all_facts(path: Path) -> None:
    names = {node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)}
    assert "Facts" not in names


def test_the_order_of_facts_names_every_concept() -> None:
    (order,) = (one for one in LINTER["contracts"] if one.get("containers") == ["analyzer.facts"])
    folders = {path.name for path in (ROOT / "analyzer" / "facts").iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(order["layers"])
    assert order["exhaustive"]


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.py")), ids=lambda path: path.stem)
def test_no_rule_reads_the_trace(path: Path) -> None:
    # What the events say is measured in facts, under a name: a rule that looks at them itself measures.
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    assert not [node.lineno for node in tree if isinstance(node, ast.Attribute) and node.attr == "trace"]
