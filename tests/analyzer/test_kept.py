"""An answer that was kept is given again where nothing differs that it depends on, and nowhere else."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.calibration.store import calibrated
from analyzer.cli.main import main
from analyzer.compare.runs import run_at
from analyzer.compare.snapshot import Snapshot
from analyzer.engine import plugins
from analyzer.explain import Options, analyse
from analyzer.opening import kept
from running.recorded import SAMPLES, recorded, told_of
from traces.reader.cache import folder

CACHED = Options(cached=True)


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(folder, "LEAST_BYTES", 0)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    shutil.copy(SAMPLES / "cnn_workers2.json.gz", tmp_path / "trace.json.gz")
    return tmp_path / "trace.json.gz"


def explain(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> str:
    """What the command prints, JSON where nothing else is asked for."""
    assert main(["explain", str(path), "--isolated", *(arguments or ("--format", "json"))]) in (0, 4)
    return capsys.readouterr().out


def keep(path: Path, options: Options = CACHED) -> None:
    """Keeps the answer to a trace."""
    found = analyse(path)
    kept.keep(path, options, found, found)


def analysed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The traces that are analysed from now on."""
    found: list[Path] = []

    def remember(path: Path, *more: object) -> object:
        found.append(path)
        return real(path, *more)

    real = analyse_with_facts()
    monkeypatch.setattr("analyzer.explain.analyse_with_facts", remember)
    return found


def analyse_with_facts() -> object:
    from analyzer import explain as module

    return module.analyse_with_facts


@pytest.mark.parametrize("path", recorded())
def test_it_is_the_answer(path: Path) -> None:
    # Read and measured once for all tests that ask.
    fresh = told_of(path).analysis
    kept.keep(path, CACHED, fresh, fresh)
    assert kept.load(path, CACHED, Analysis) == fresh


@pytest.mark.parametrize("form", ["text", "markdown", "json", "sarif", "svg"])
def test_the_second_time_nothing_is_measured_and_the_same_is_said(
    form: str, trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = analysed(monkeypatch)
    first = explain(capsys, trace, "--format", form)
    assert found == [trace]
    assert explain(capsys, trace, "--format", form) == first
    assert found == [trace]


@pytest.mark.parametrize(
    "asked",
    [
        ("--ignore", "PY", "--format", "json"),
        ("--steps", "24-26", "--format", "json"),
        ("--no-cache", "--format", "json"),
        # A page draws lanes, which the document does not hold.
        ("--format", "html"),
    ],
    ids=lambda one: one[0],
)
def test_what_asks_for_something_else_is_measured(
    asked: tuple[str, ...], trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explain(capsys, trace)
    found = analysed(monkeypatch)
    explain(capsys, trace, *asked)
    assert found == [trace]


def test_a_file_of_another_name_is_measured(trace: Path) -> None:
    keep(trace)
    moved = trace.rename(trace.with_name("other.json.gz"))
    assert kept.load(moved, CACHED, Analysis) is None


def test_a_file_of_other_bytes_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Changed where nothing looks before the digest does.
    monkeypatch.setattr(folder, "_LOOK_BYTES", 0)
    path = tmp_path / "trace.json"
    text = gzip.decompress((SAMPLES / "cnn_workers2.json.gz").read_bytes())
    path.write_bytes(text)
    keep(path)
    assert kept.load(path, CACHED, Analysis)
    path.write_bytes(text.replace(b"aten::conv2d", b"aten::conv3d"))
    assert kept.load(path, CACHED, Analysis) is None
    # What stood for the old bytes is gone.
    assert folder.entries() == []


@pytest.mark.parametrize("at", [0, 1000, -1, -40])
def test_what_was_damaged_is_not_used(at: int, trace: Path) -> None:
    keep(trace)
    (entry,) = folder.entries()
    content = bytearray(entry.read_bytes())
    content[at] ^= 1
    entry.write_bytes(content)
    assert kept.load(trace, CACHED, Analysis) is None
    assert folder.entries() == []


@pytest.mark.parametrize("size", [0, 10, 32, 5000])
def test_what_was_cut_is_not_used(size: int, trace: Path) -> None:
    keep(trace)
    (entry,) = folder.entries()
    entry.write_bytes(entry.read_bytes()[:size])
    assert kept.load(trace, CACHED, Analysis) is None


def test_another_version_of_the_code_does_not_use_it(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(trace)
    monkeypatch.setattr(folder, "state_of", lambda root: "another" if root.name == "rules" else "the same")
    changed = kept._place(trace, CACHED, Analysis)
    monkeypatch.setattr(folder, "state_of", lambda root: "the same")
    assert changed != kept._place(trace, CACHED, Analysis)


def test_what_is_installed_meanwhile_may_measure_otherwise(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed)])
    keep(trace)
    assert kept.load(trace, CACHED, Analysis)
    (installed / "more-rules-1.dist-info").mkdir()
    assert kept.load(trace, CACHED, Analysis) is None


def test_what_rules_of_others_say_is_not_kept(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plugins.only_ours()
    monkeypatch.setattr(plugins, "only_ours", lambda: False)
    keep(trace)
    assert folder.entries() == []


def test_a_rule_that_crashed_may_come_through_next_time(trace: Path) -> None:
    found = analyse(trace)
    first, *others = found.checks
    crashed = msgspec.structs.replace(first, state="crashed")
    kept.keep(trace, CACHED, msgspec.structs.replace(found, checks=(crashed, *others)), found)
    assert folder.entries() == []


def test_nothing_is_kept_of_a_small_trace(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "LEAST_BYTES", trace.stat().st_size + 1)
    keep(trace)
    assert folder.entries() == []


def test_a_folder_that_cannot_be_made_costs_nothing(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(trace))
    keep(trace)
    assert kept.load(trace, CACHED, Analysis) is None


def test_it_is_given_without_what_measuring_needs(trace: Path) -> None:
    # As the command line asks: what measured pairs say of figures is a part of the answer.
    keep(trace, msgspec.structs.replace(CACHED, calibrated=calibrated()))
    code = (
        "import sys; from traces.reader.cache import folder; folder.LEAST_BYTES = 0\n"
        "from analyzer.cli.main import main\n"
        f"main(['explain', {str(trace)!r}, '--isolated', '--full'])\n"
        "sys.stderr.write(' '.join({'numpy', 'pandas', 'scipy'} & set(sys.modules)) or 'none')"
    )
    # With the paths of this process: what is installed is part of what an answer depends on.
    started = f"import sys; sys.path[:] = {sys.path!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", started], capture_output=True, text=True, check=True)
    assert done.stderr == "none"
    assert json.dumps(analyse(trace).trace.name)[1:-1] in done.stdout


def test_an_answer_that_another_user_put_there_is_not_given(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = analyse(trace)
    kept.keep(trace, CACHED, answer, answer)
    assert kept.load(trace, CACHED, Analysis) == answer
    (entry,) = folder.entries()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: trace.stat().st_uid + 1)
        assert kept.load(trace, CACHED, Analysis) is None
        entry.unlink()
        kept.keep(trace, CACHED, answer, answer)
        assert folder.entries() == []


def test_an_answer_that_is_a_link_is_not_given(trace: Path) -> None:
    keep(trace)
    (entry,) = folder.entries()
    entry.symlink_to(entry.rename(trace.with_name("elsewhere")))
    assert kept.load(trace, CACHED, Analysis) is None


def test_the_second_comparison_measures_nothing_and_says_the_same(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copy(SAMPLES / "cnn_workers0.json.gz", trace.with_name("other.json.gz"))
    found = analysed(monkeypatch)
    arguments = ["compare", str(other), str(trace), "--format", "json", "--isolated"]
    said = []
    for _ in range(2):
        assert main(arguments) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert found == [other, trace]


def test_what_a_comparison_needs_lies_beside_the_answer(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain(capsys, trace)
    answer = kept.load(trace, CACHED, Analysis)
    run_at(trace, CACHED)
    assert kept.load(trace, CACHED, Analysis) == answer
    assert kept.load(trace, CACHED, Snapshot) == run_at(trace, CACHED)
