"""Habits that only a test keeps: file sizes, links, constraints, the numbers the README repeats."""

from __future__ import annotations

import ast
import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from running.recorded import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SIZE_LIMIT = 300
# Declarations, not code: splitting them would scatter what is read as one list.
LARGER: dict[str, str] = {}
SOURCES = sorted(
    path
    for name in ("traces", "analyzer", "rules")
    for path in (ROOT / name).rglob("*")
    if path.suffix in (".py", ".js", ".css", ".tcss", ".j2")
)
# Scripts that are called by hand, and by `.ci/all`.
SCRIPTS = sorted(path for name in ("bench", "fuzz", "gpu") for path in (ROOT / "tests" / name).rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted(page for name in ("traces", "analyzer", "rules", "tests") for page in (ROOT / name).rglob("*.md")),
]


def test_the_readme_takes_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130


def test_source_files_are_short() -> None:
    sizes = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name for name, size in sizes.items() if size > SIZE_LIMIT} <= set(LARGER)
    assert all(sizes[name] > SIZE_LIMIT for name in LARGER), "an exception that is none any more"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name + "/" + page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    # `kernel[grid](x, y)` in code is no link.
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_files_named_in_contributing_exist() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`((?:traces|analyzer|rules|tests|\.github)/[\w./]+\.\w+)`", text)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.name}")
def test_what_a_script_asks_of_the_sources_is_there(script: Path) -> None:
    """No other test runs them to their end: an import inside a function would be missed when it is wanted."""
    tree = ast.parse(script.read_text("utf-8"))
    asked = [
        (str(node.module), one.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
        if str(node.module).partition(".")[0] in ("traces", "analyzer", "rules")
    ]  # fmt: skip
    missing = [
        f"{module}.{name}"
        for module, name in asked
        if importlib.util.find_spec(module) is None
        or not (hasattr(importlib.import_module(module), name) or importlib.util.find_spec(f"{module}.{name}"))
    ]
    assert missing == []


def test_readme_shows_the_exit_codes_there_are() -> None:
    from analyzer.cli.commands.explain import GATE_FAILED
    from analyzer.cli.main import PIPE_CLOSED
    from traces.ending import BY_SIGNAL, SIGNALS
    from traces.errors import AdvisorError, UnreadableTraceError, UntrustedTraceError, UsageError

    errors = (UsageError, UnreadableTraceError, UntrustedTraceError, AdvisorError)
    signalled = {BY_SIGNAL + number for number in (signal.SIGINT, *SIGNALS)}
    codes = {0, GATE_FAILED, PIPE_CLOSED, *signalled, *(error.exit_code for error in errors)}
    shown = re.findall(r"^\| (\d+(?:, \d+)*) \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert {int(code) for row in shown for code in row.split(", ")} == codes


def test_constraints_are_exact_and_name_no_host() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text("utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.!+]+( ; .+)?", line) for line in pinned)
    assert not [line for line in lines if "://" in line]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = required["dependencies"] + [one for extra in required["optional-dependencies"].values() for one in extra]
    names = {re.match(r"[A-Za-z0-9-]+", one).group().lower() for one in wanted} - {"trace-advisor"}
    assert names <= {line.partition("==")[0] for line in pinned}


def test_every_dependency_has_an_oldest_version_to_test_with() -> None:
    done = subprocess.run([sys.executable, ROOT / ".ci" / "oldest.py"], capture_output=True, text=True, check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    used = project["dependencies"] + [
        one for name in ("collect", "hta") for one in project["optional-dependencies"][name]
    ]
    lines = done.stdout.splitlines()
    assert len(lines) == len(used)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+==[\d.]+( ; .+)?", line) for line in lines)


def test_the_licence_that_is_declared_is_shipped() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = [path.read_text("utf-8") for pattern in project["license-files"] for path in ROOT.glob(pattern)]
    assert [text.partition("\n")[0] for text in texts] == [f"{project['license']} License"]


def test_no_page_names_this_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(?:home|root|work|tmp)/", page.read_text("utf-8"))


def test_the_drawing_of_the_layers_is_that_of_the_contracts() -> None:
    """Each room above those it may import, as import-linter holds it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    wanted = [
        layer
        for contract in contracts
        if contract["type"] == "layers"
        and contract.get("containers", ["analyzer"]) in (["analyzer"], ["traces.reader"])
        for layer in zip(contract["layers"], contract["layers"][1:], strict=False)
    ]
    page = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    labels = dict(re.findall(r'(\w+)\["([^"]+)"\]', drawing))
    drawn = [
        (labels[above], labels[below]) for above, below in re.findall(r"^ +(\w+) --> (\w+)$", drawing, re.MULTILINE)
    ]
    assert sorted(drawn) == sorted(wanted)
